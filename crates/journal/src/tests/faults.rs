//! SQLite's fault loop: the Nth operation fails, N = 1, 2, …, until a run meets no fault.

use std::collections::BTreeMap;

use stdx::{FaultyDisk, Lasting, Random};

use super::*;
use crate::Ticket;

/// Lines of one lane, and whether each was acknowledged.
type Ledger = BTreeMap<String, bool>;

#[test]
fn every_acknowledged_line_survives_any_single_fault_and_a_crash() {
    check_all(Lasting::Once, 11);
}

#[test]
fn every_acknowledged_line_survives_any_lasting_fault_and_a_crash() {
    check_all(Lasting::Forever, 12);
}

fn check_all(lasting: Lasting, seed: u64) {
    let mut random = Random::new(seed);
    let mut survived_faults = 0;
    for nth in 1.. {
        let run_seed = random.bits();
        println!("fault at operation {nth}, {lasting:?}, seed {run_seed}");
        let disk = FaultyDisk::new(run_seed);
        disk.fail_nth(nth, lasting);
        let mut ledger = Ledger::new();
        let disk = write_some(&disk, "first", &mut ledger);
        let met = disk.operations() >= nth;
        // A second life after the first: repair, write, crash again.
        let disk = write_some(&disk, "second", &mut ledger);
        check(&disk, &ledger);
        survived_faults += usize::from(met);
        if !met {
            break;
        }
    }
    println!("{survived_faults} faults");
    assert!(survived_faults > 30, "the loop made faults");
}

/// Writes until the power goes, with small segments, so that lines are rotated and compressed as
/// well; returns the disk as it is then.
fn write_some(disk: &FaultyDisk, life: &str, ledger: &mut Ledger) -> FaultyDisk {
    let mut options = options(disk);
    options.segment_bytes_max = 60;
    let Ok(journal) = Journal::open(options, shared(disk)) else {
        return disk.crash();
    };
    let lanes = [journal.lane(), journal.lane()];
    for n in 0..8 {
        let tickets: Vec<(String, Ticket)> = lanes
            .iter()
            .enumerate()
            .map(|(lane, buffer)| {
                let line = format!("{life} lane {lane} line {n:04}");
                let ticket = buffer.append_durable(|out| out.extend_from_slice(line.as_bytes()));
                (line, ticket)
            })
            .collect();
        for (line, ticket) in tickets {
            ledger.insert(line, ticket.wait().is_ok());
        }
    }
    // The power goes while the journal still runs.
    disk.crash()
}

fn check(disk: &FaultyDisk, ledger: &Ledger) {
    drop(Journal::open(options(disk), shared(disk)).unwrap());
    let found = read_all(&dir(), shared(disk));
    for (line, acknowledged) in ledger {
        let times = found.iter().filter(|own| *own == line).count();
        let wanted = if *acknowledged { 1..=1 } else { 0..=1 };
        assert!(wanted.contains(&times), "{line}: {times} times in {found:#?}");
    }
    for line in &found {
        let whole = ledger.contains_key(line) || line.starts_with("GAP ");
        // What a failed sync lost comes back as zeros, which no ticket promised.
        assert!(whole || line.contains('\0'), "torn line {line:?}");
    }
    for life in ["first", "second"] {
        for lane in 0..2 {
            let name = format!("{life} lane {lane} ");
            let own = found.iter().filter(|line| line.starts_with(&name));
            assert!(own.is_sorted(), "order of {name}: {found:#?}");
        }
    }
}

#[test]
fn goes_on_in_a_fresh_segment_after_a_failed_sync() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    disk.hold_syncs();
    let lost = lane.append_durable(|out| out.extend_from_slice(b"lost"));
    until(&journal, "the line is written", |stats| stats.offset == 5);
    disk.fail_next_sync();
    disk.release_syncs();
    assert_eq!(lost.wait(), Err(crate::Unrecorded::NotSynced));
    assert_eq!(journal.stats().sync_failures, 1);
    let kept = lane.append_durable(|out| out.extend_from_slice(b"kept"));
    assert_eq!(kept.wait(), Ok(10));
    let disk = disk.crash();
    drop(journal);
    let found = read_from(&dir(), shared(&disk), 5);
    assert_eq!(found.last().unwrap(), "kept");
}

#[test]
fn what_a_killed_writer_left_unsynced_is_durable_once_readers_see_it() {
    for seed in 0..20 {
        let disk = FaultyDisk::new(seed);
        let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
        disk.hold_syncs();
        put(&journal.lane(), "cached only");
        until(&journal, "the line is written", |stats| stats.offset == 12);
        let disk = disk.kill();
        drop(journal);
        drop(Journal::open(options(&disk), shared(&disk)).unwrap());
        assert_eq!(read_all(&dir(), shared(&disk)), ["cached only"]);
        let disk = disk.crash();
        assert_eq!(read_all(&dir(), shared(&disk)), ["cached only"], "seed {seed}");
    }
}

#[test]
fn cuts_a_torn_tail_when_it_opens() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    put(&journal.lane(), "whole");
    drop(journal);
    let path = dir().join("00000000000000000000.log");
    disk.open_append(&path).unwrap().append(b"torn line without end\0\0\0").unwrap();
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    assert_eq!(journal.stats().repaired_bytes, 24);
    put(&journal.lane(), "next");
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["whole", "next"]);
}

#[test]
fn garbage_beside_the_segments_costs_nothing() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    put(&journal.lane(), "whole");
    drop(journal);
    for garbage in [&b"\xff\xfe"[..], b"", &[0; 42], &[b'9'; 42]] {
        let file = disk.open_write(&dir().join("synced")).unwrap();
        file.truncate(0).unwrap();
        file.write_at(garbage, 0).unwrap();
        assert_eq!(read_all(&dir(), shared(&disk)), ["whole"]);
        drop(Journal::open(options(&disk), shared(&disk)).unwrap());
        assert_eq!(read_all(&dir(), shared(&disk)), ["whole"]);
    }
}

/// With `Sync::Interval` nobody waits for a line, so only the syncer finds the fresh segment.
#[test]
fn lines_after_a_failed_sync_are_synced_although_nobody_waits_for_them() {
    let disk = FaultyDisk::new(1);
    let interval = Sync::Interval(Duration::from_millis(1));
    let journal =
        Journal::open(Options { sync: interval, ..options(&disk) }, shared(&disk)).unwrap();
    disk.hold_syncs();
    put(&journal.lane(), "lost");
    until(&journal, "the line is written", |stats| stats.offset == 5);
    disk.fail_next_sync();
    disk.release_syncs();
    until(&journal, "the segment is given up", |stats| stats.sync_failures == 1);
    until(&journal, "nothing waits", |stats| stats.unsynced_age.is_zero());
    put(&journal.lane(), "kept");
    until(&journal, "the line is durable", |stats| stats.synced == 10);
}
