//! Claims about the log that is removed, and about how changes become transactions.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use metrics::Registry;
use stdx::{Disk, FaultyDisk, Lasting, ManualClock};

use super::super::metrics::DiskMetrics;
use super::{DiskState, LAG_HOPELESS, TRANSACTION_BYTES, open, open_store, write};
use crate::area::Area;
use crate::disk::log::AreaPurge;
use crate::disk::record::{DiskContent, DiskEntry};
use crate::disk::state::{DiskPlan, DiskTimes};
use crate::entry::Entry;
use crate::tests::{MINUTE, response};

const START: u64 = 1_700_000_000_000_000;
const BYTES: u64 = 5_000_000;

fn state(disk: &FaultyDisk, clock: &ManualClock) -> DiskState {
    let plan = DiskPlan { dir: "/cache".into(), bytes: BYTES, times: DiskTimes::for_tests() };
    let metrics = DiskMetrics::new(&Registry::default());
    DiskState::new(plan, Arc::new(disk.clone()), Arc::new(clock.clone()), Arc::default(), metrics)
}

fn fresh() -> (FaultyDisk, ManualClock, DiskState) {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let state = state(&disk, &clock);
    (disk, clock, state)
}

fn push(state: &DiskState, key: &str, length: usize) {
    let entry = Entry::new(response(&[], vec![0; length]), MINUTE, Instant::now());
    let kept = DiskEntry { entry, born_us: START, has_encodings: false };
    assert!(state.queue.push(key.as_bytes().into(), Some(DiskContent::Entry(kept))));
}

/// Writes what waits, as the thread does.
fn write_now(state: &DiskState, opened: &super::Opened) {
    let work = state.queue.take(Instant::now(), 0);
    write(state, &opened.log, &work).unwrap();
    state.queue.written();
}

#[test]
fn removing_a_log_clears_what_belongs_to_it_and_fails_only_if_it_is_still_there() {
    let (disk, _, state) = fresh();
    let soil = || {
        state.broken.store(true, Ordering::Relaxed);
        state.latest_us.store(7, Ordering::Relaxed);
        state.queue.push(b"a"[..].into(), None);
        state.queue.push_purges(std::iter::empty(), 5);
    };
    let is_clean = || {
        let latest = state.latest_us.load(Ordering::Relaxed);
        let numbers = (state.progress.made(), state.progress.durable());
        let is_clean = !state.broken.load(Ordering::Relaxed) && latest == 0;
        is_clean && numbers == (5, 5) && state.queue.count() == 0
    };
    disk.create_dir_all(Path::new("/cache")).unwrap();
    soil();
    state.remove().unwrap();
    assert!(is_clean(), "where there is none, none is left");
    drop(disk.open_write(&state.path()).unwrap());
    soil();
    // The removal fails, and then the sync without which the file may come back.
    for nth in [1, 2] {
        disk.fail_nth(nth, Lasting::Once);
        assert!(state.remove().is_err() && !is_clean());
    }
    state.remove().unwrap();
    assert!(is_clean() && disk.metadata(&state.path()).is_err());
}

#[test]
fn small_responses_of_a_moment_share_a_transaction_and_many_bytes_have_their_share_each() {
    let (_, _, state) = fresh();
    let opened = open(&state).unwrap();
    for number in 0..200 {
        push(&state, &number.to_string(), 10);
    }
    write_now(&state, &opened);
    assert_eq!(opened.log.entries(), 200);
    // By itself each would take two pages at least.
    assert!(opened.log.used() < 200 * 4096, "{}", opened.log.used());
    assert_eq!((opened.log.evicted(), state.metrics.written.get()), (0, 200));
    // A transaction that has more than fits would evict what it has just written.
    for number in 0..6 {
        push(&state, &format!("large {number}"), TRANSACTION_BYTES);
    }
    write_now(&state, &opened);
    let entries = opened.log.entries();
    assert!((2..=4).contains(&entries), "{entries}");
    assert!(opened.log.used() <= (BYTES as f64 * super::FILL) as u64);
    let bytes = state.metrics.written_bytes.get();
    assert!(bytes > 6 * TRANSACTION_BYTES as u64 && bytes < 7 * TRANSACTION_BYTES as u64);
}

#[test]
fn purges_are_made_before_the_changes_that_wait_with_them() {
    let (_, _, state) = fresh();
    let opened = open(&state).unwrap();
    push(&state, "http\na\n/old", 10);
    write_now(&state, &opened);
    let area = Area::prefix(None, "/");
    state.queue.push_purges([AreaPurge { area, stale_us: None }].into_iter(), 1);
    push(&state, "http\na\n/new", 10);
    write_now(&state, &opened);
    let has = |key: &str| opened.log.get(key.as_bytes()).unwrap().is_some();
    assert_eq!([has("http\na\n/old"), has("http\na\n/new")], [false, true]);
    assert_eq!((state.progress.made(), state.progress.durable()), (1, 0));
    super::make_durable(&state, &opened.log).unwrap();
    assert_eq!(state.progress.durable(), 1);
}

#[test]
fn nothing_is_written_to_a_log_that_is_broken_or_has_missed_changes() {
    let (_, _, state) = fresh();
    let opened = open(&state).unwrap();
    let mut work = state.queue.take(Instant::now(), 0);
    write(&state, &opened.log, &work).unwrap();
    work.lost_count = true;
    write(&state, &opened.log, &work).unwrap_err();
    work.lost_count = false;
    state.engine_failed("a made fault");
    write(&state, &opened.log, &work).unwrap_err();
}

#[test]
fn a_log_from_more_than_an_hour_ahead_is_emptied_and_one_that_comes_to_be_so_is_given_up() {
    for (back_us, is_kept) in
        [(0, true), (LAG_HOPELESS - 1, true), (LAG_HOPELESS, true), (LAG_HOPELESS + 1, false)]
    {
        let (disk, clock, state) = fresh();
        disk.create_dir_all(Path::new("/cache")).unwrap();
        let log = open_store(&state).unwrap();
        push(&state, "a", 10);
        let work = state.queue.take(Instant::now(), 0);
        write(&state, &log, &work).unwrap();
        super::make_durable(&state, &log).unwrap();
        clock.set_back(Duration::from_micros(back_us));
        assert_eq!(super::make_durable(&state, &log).is_ok(), is_kept, "{back_us}");
        assert_eq!(log.clock().unwrap(), START, "the latest time counts");
        drop(log);
        let next = self::state(&disk, &clock);
        let log = open_store(&next).unwrap();
        assert_eq!(log.entries() == 1, is_kept, "{back_us}");
        let latest = next.latest_us.load(Ordering::Relaxed);
        assert_eq!(latest, if is_kept { START } else { START - back_us });
    }
}

#[test]
fn a_log_that_is_broken_or_behind_is_removed_before_it_is_opened_again() {
    let spoil: [fn(&DiskState); 3] = [
        |_| (),
        |state| state.engine_failed("a made fault"),
        |state| {
            let areas = (0..40).map(|_| Area::tag(&"x".repeat(1 << 20)));
            state.queue.push_purges(areas.map(|area| AreaPurge { area, stale_us: None }), 40);
        },
    ];
    for (spoil, entries) in spoil.into_iter().zip([1, 0, 0]) {
        let (_, _, state) = fresh();
        let opened = open(&state).unwrap();
        push(&state, "a", 10);
        write_now(&state, &opened);
        super::make_durable(&state, &opened.log).unwrap();
        drop(opened);
        spoil(&state);
        let opened = open(&state).unwrap();
        assert_eq!(opened.log.entries(), entries);
        assert!(!state.queue.lost_count() && !state.broken.load(Ordering::Relaxed));
    }
}

#[test]
fn who_cannot_use_the_directory_says_why() {
    let (disk, _, state) = fresh();
    let lock = disk.lock(Path::new("/cache/lock")).unwrap();
    let why = |state: &DiskState| stdx::Chain(&open(state).err().unwrap()).to_string();
    assert_eq!(why(&state), "another process uses the directory `/cache`");
    drop(lock);
    disk.fail_nth(1, Lasting::Once);
    assert!(why(&state).starts_with("use the directory `/cache`: "), "no directory");
    disk.fail_nth(2, Lasting::Once);
    assert!(why(&state).starts_with("use the directory `/cache`: "), "no lock");
    assert!(open(&state).is_ok());
}
