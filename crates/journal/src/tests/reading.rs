//! Readers: from any offset, over sealed, compressed and live segments, while lines come.

use stdx::{Lasting, RealDisk};

use super::*;
use crate::{Change, Displaced};

fn filled(disk: &FaultyDisk, lines: usize) -> Vec<(String, u64)> {
    let mut options = options(disk);
    options.segment_bytes_max = 100;
    let journal = Journal::open(options, shared(disk)).unwrap();
    let lane = journal.lane();
    let mut written = Vec::new();
    for n in 0..lines {
        let line = format!("line {n} {}", "x".repeat(n % 40));
        let ticket = lane.append_durable(|out| out.extend_from_slice(line.as_bytes()));
        written.push((line, ticket.wait().unwrap()));
    }
    until(&journal, "sealed segments are compressed", |_| {
        let names = disk.list(&dir()).unwrap();
        names.iter().filter(|name| name.ends_with(".log")).count() == 1
    });
    written
}

#[test]
fn resumes_at_the_end_of_any_line() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 60);
    let lines: Vec<_> = written.iter().map(|(line, _)| line.clone()).collect();
    assert_eq!(read_all(&dir(), shared(&disk)), lines);
    for (n, (_, end)) in written.iter().enumerate() {
        assert_eq!(read_from(&dir(), shared(&disk), *end), lines[n + 1..], "from {end}");
    }
}

#[test]
fn gives_the_offset_of_each_line() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 20);
    let mut reader = Reader::open(&dir(), shared(&disk)).unwrap();
    let mut ends = Vec::new();
    let mut bytes = Vec::new();
    while let JournalRead::Lines(lines) = reader.read().unwrap() {
        bytes.extend_from_slice(lines.bytes());
        ends.extend(lines.map(|(_, end)| end));
    }
    assert!(ends.iter().eq(written.iter().map(|(_, end)| end)));
    let text: String = written.iter().map(|(line, _)| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), text);
    assert_eq!(reader.offset(), *ends.last().unwrap());
    assert_eq!(reader.end().unwrap(), reader.offset());
    disk.remove(&dir().join("synced")).unwrap();
    assert_eq!(reader.end().unwrap(), reader.offset(), "without a limit it is that of the lines");
}

/// Resumes at a place that is not here: what was said, and what came then.
fn resume(disk: &FaultyDisk, place: Place) -> (Displaced, Vec<String>) {
    let reader = Reader::open(&dir(), shared(disk)).unwrap();
    let (mut reader, displaced) = reader.resume(place).unwrap();
    let mut found = Vec::new();
    drain(&mut reader, &mut found);
    (displaced.unwrap(), found)
}

#[test]
fn a_place_of_an_older_version_that_is_not_here_leads_to_the_next_line_or_session() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 20);
    let resume = |offset| resume(&disk, Place { offset, mark: None });
    let lines: Vec<_> = written.iter().map(|(line, _)| line.clone()).collect();
    for (offset, line) in [(1, 1), (written[3].1 + 1, 5), (written[19].1 - 1, 20)] {
        let (displaced, found) = resume(offset);
        let goes_on = written[line - 1].1;
        assert_eq!(
            displaced,
            Displaced { read_to: offset, goes_on, lost_to: Some(goes_on), change: Change::Damaged }
        );
        assert_eq!(found, lines[line..]);
    }
    // Nobody who knew sessions has read from this journal, so all of it is unread.
    for offset in [written[19].1 + 1, u64::MAX] {
        let (displaced, found) = resume(offset);
        assert_eq!(
            displaced,
            Displaced { read_to: offset, goes_on: 0, lost_to: None, change: Change::Replaced }
        );
        assert_eq!(found, lines);
    }
}

#[test]
fn a_damaged_line_of_no_known_session_leads_to_the_next_line() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 20);
    // Where the file `sessions` was lost, places have session 0.
    let place = format!("{}-0-1-00", written[3].1).parse().unwrap();
    let (displaced, found) = resume(&disk, place);
    assert_eq!((displaced.change, displaced.goes_on), (Change::Damaged, written[3].1));
    assert_eq!(found[0], written[4].0);
}

#[test]
fn a_place_within_a_torn_line_or_a_long_one_leads_behind_it() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(&dir()).unwrap();
    let long = "y".repeat(600_000);
    for (start, text) in [(0, "whole\ntorn"), (100, &format!("{long}\nlast\n"))] {
        let file = disk.create(&crate::segment::Segment::plain(start).path(&dir())).unwrap();
        file.append(text.as_bytes()).unwrap();
    }
    let (displaced, found) = resume(&disk, Place { offset: 8, mark: None });
    assert_eq!((displaced.change, displaced.goes_on), (Change::Damaged, 100));
    assert_eq!(found, [&long, "last"]);
    let (displaced, found) = resume(&disk, Place { offset: 107, mark: None });
    assert_eq!((displaced.change, displaced.goes_on), (Change::Damaged, 600_101));
    assert_eq!(found, ["last"]);
}

#[test]
fn every_fault_of_the_disk_is_an_error_of_the_reader_and_costs_no_line() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 12);
    let (line, end) = &written[3];
    let mark = crate::place::Mark::of(0, format!("{line}\n").as_bytes());
    let place = Place { offset: *end, mark: Some(mark) };
    for nth in 1.. {
        let begun = disk.operations();
        disk.fail_nth(nth, Lasting::Once);
        let mut errors = 0;
        let open = || Reader::open(&dir(), shared(&disk))?.resume(place);
        let resumed = open().or_else(|_| {
            errors += 1;
            open()
        });
        let (mut reader, displaced) = resumed.unwrap();
        assert_eq!(displaced, None, "operation {nth}");
        let mut found = Vec::new();
        loop {
            match reader.read() {
                Ok(JournalRead::Lines(lines)) => found.extend(lines.map(|(_, end)| end)),
                Ok(JournalRead::CaughtUp) => break,
                Ok(other) => panic!("operation {nth}: {other:?}"),
                Err(_) => errors += 1,
            }
        }
        assert!(found.iter().eq(written[4..].iter().map(|(_, end)| end)), "operation {nth}");
        let was_met = disk.operations() >= begun + nth;
        assert_eq!(errors, u32::from(was_met), "operation {nth}");
        if !was_met {
            assert!(nth > 20, "the reader reads");
            break;
        }
    }
}

#[test]
fn reports_a_segment_that_is_gone_or_short_as_a_gap() {
    let disk = FaultyDisk::new(1);
    filled(&disk, 40);
    let segments = crate::segment::list(&disk, &dir()).unwrap();
    assert!(segments.len() > 4);
    let reader = Reader::open(&dir(), shared(&disk)).unwrap();
    assert!(reader.segment_starts().unwrap().iter().eq(segments.iter().map(|it| &it.start)));
    let (one, two) = (segments[1].start, segments[2].start);
    disk.remove(&segments[1].path(&dir())).unwrap();
    let found = read_all(&dir(), shared(&disk));
    assert!(found.contains(&format!("GAP {one} {two}")), "{found:#?}");
    let first = segments[0].path(&dir());
    disk.remove(&first).unwrap();
    disk.create(&first.with_extension("")).unwrap().append(b"line 0 \ntorn").unwrap();
    let found = read_all(&dir(), shared(&disk));
    assert_eq!(found[..2], ["line 0 ".to_owned(), format!("GAP 8 {two}")]);
}

#[test]
fn reports_a_damaged_compressed_segment_as_a_gap_and_goes_on() {
    let disk = FaultyDisk::new(1);
    filled(&disk, 40);
    let segments = crate::segment::list(&disk, &dir()).unwrap();
    let (damaged, next) = (segments[1], segments[2]);
    let path = damaged.path(&dir());
    let last = disk.metadata(&path).unwrap().len - 1;
    disk.open_write(&path).unwrap().write_at(b"?", last).unwrap();
    let found = read_all(&dir(), shared(&disk));
    let gap = found.iter().find(|line| line.starts_with("GAP ")).unwrap();
    assert!(gap.ends_with(&format!(" {}", next.start)), "{gap}");
    assert!(found.last().unwrap().starts_with("line 39 "));
}

#[test]
fn a_place_of_which_nothing_is_left_is_followed_by_a_gap() {
    let disk = FaultyDisk::new(1);
    let written = filled(&disk, 40);
    let segments = crate::segment::list(&disk, &dir()).unwrap();
    let path = segments[0].path(&dir());
    disk.open_write(&path).unwrap().write_at(b"garbage", 0).unwrap();
    let (line, end) = &written[0];
    let mark = crate::place::Mark::of(0, format!("{line}\n").as_bytes());
    let place = Place { offset: *end, mark: Some(mark) };
    let reader = Reader::open(&dir(), shared(&disk)).unwrap();
    let (mut reader, displaced) = reader.resume(place).unwrap();
    let mut found = Vec::new();
    drain(&mut reader, &mut found);
    assert_eq!(displaced, None);
    assert_eq!(found[0], format!("GAP {end} {}", segments[1].start));
}

#[test]
fn damage_that_comes_while_a_segment_is_read_is_a_gap_from_there() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(&dir()).unwrap();
    let mut random = stdx::Random::new(1);
    let lines: Vec<_> = (0..40_000).map(|_| format!("{:016x}{:07x}", random.bits(), 0)).collect();
    let text = lines.join("\n") + "\n";
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let path = crate::segment::Segment::compressed(0).path(&dir());
    disk.create(&path).unwrap().append(&packed).unwrap();
    let next = crate::segment::Segment::plain(text.len() as u64).path(&dir());
    disk.create(&next).unwrap().append(b"after\n").unwrap();
    let mut reader = Reader::open(&dir(), shared(&disk)).unwrap();
    assert!(matches!(reader.read().unwrap(), JournalRead::Lines(_)));
    disk.open_write(&path).unwrap().truncate(packed.len() as u64 - 9).unwrap();
    let mut found = Vec::new();
    drain(&mut reader, &mut found);
    let gap = found.iter().position(|line| line.starts_with("GAP")).unwrap();
    assert!(found[gap].ends_with(&format!(" {}", text.len())), "{}", found[gap]);
    assert_eq!(found[gap + 1..], ["after"]);
}

#[test]
fn follows_a_journal_that_rotates_and_compresses_under_it() {
    let disk = FaultyDisk::new(1);
    let mut options = options(&disk);
    options.segment_bytes_max = 2000;
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    let writer = std::thread::spawn(move || {
        for n in 0..3000 {
            let ticket = lane.append_durable(|out| out.extend_from_slice(n.to_string().as_bytes()));
            if n % 10 == 0 {
                ticket.wait().unwrap();
            }
        }
    });
    let mut reader = Reader::open(&dir(), shared(&disk)).unwrap();
    let mut found = Vec::new();
    while !writer.is_finished() {
        drain(&mut reader, &mut found);
    }
    writer.join().unwrap();
    drop(journal);
    drain(&mut reader, &mut found);
    assert!(found.into_iter().eq((0..3000).map(|n: i32| n.to_string())));
}

#[test]
fn shows_no_line_before_it_is_durable() {
    let disk = FaultyDisk::new(1);
    let options = Options { segment_bytes_max: 10, ..options(&disk) };
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    disk.hold_syncs();
    let mut reader = Reader::open(&dir(), shared(&disk)).unwrap();
    let mut ends = Vec::new();
    let mut found = Vec::new();
    // The second line leaves the first segment behind.
    for (line, end) in [("early", 6), ("later on", 15)] {
        put(&lane, line);
        until(&journal, "the line is written", |stats| stats.offset == end);
        drain(&mut reader, &mut found);
        ends.push(reader.end().unwrap());
    }
    disk.release_syncs();
    assert_eq!((found.len(), ends), (0, vec![0; 2]));
    until(&journal, "the lines are durable", |stats| stats.synced == 15);
    drain(&mut reader, &mut found);
    assert_eq!(found, ["early", "later on"]);
}

#[test]
fn a_journal_that_does_not_exist_yet_is_empty() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("journal");
    let mut reader = Reader::open(&dir, Arc::new(RealDisk)).unwrap();
    assert!(matches!(reader.read().unwrap(), JournalRead::CaughtUp));
    let journal = Journal::open(Options::new(&dir), Arc::new(RealDisk)).unwrap();
    put(&journal.lane(), "first");
    drop(journal);
    let JournalRead::Lines(mut lines) = reader.read().unwrap() else { panic!("no lines") };
    assert_eq!(lines.next(), Some((&b"first"[..], 6)));
}

#[test]
fn a_line_may_be_longer_than_a_chunk() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    let long = "y".repeat(1_000_000);
    put(&lane, "a");
    put(&lane, &long);
    put(&lane, "b");
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["a", &long, "b"]);
}
