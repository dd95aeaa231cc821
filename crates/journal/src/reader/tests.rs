//! Claims about where reading goes on, and what is said of what is lost, over journals made by
//! hand.

use stdx::FaultyDisk;

use super::*;
use crate::segment::Segment;
use crate::sessions::{Evidence, Extent};
use crate::tests::vanishing::VanishingDisk;

pub(super) fn dir() -> &'static Path {
    Path::new("/journal")
}

/// A journal of lines of ten bytes: each session wrote five, and each segment has up to ten.
pub(super) fn journal(sessions: &[u64]) -> FaultyDisk {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(dir()).unwrap();
    for (end, id) in (0..).step_by(50).zip(sessions) {
        let evidence = Evidence { durable: end, ..Evidence::default() };
        sessions::begin(&disk, dir(), &Extent { first: 0, end, evidence }, *id).unwrap();
    }
    let lines: Vec<_> = (0..sessions.len() as u64 * 5).map(line).collect();
    for (start, lines) in (0..).step_by(100).zip(lines.chunks(10)) {
        let file = disk.create(&Segment::plain(start).path(dir())).unwrap();
        file.append(lines.concat().as_bytes()).unwrap();
    }
    let end = lines.len() as u64 * 10;
    let newest_first: Vec<_> = sessions.iter().rev().copied().collect();
    for is_witness in [false, true] {
        set_limit(&disk, is_witness, end, &newest_first);
    }
    disk
}

/// Has the limit, or the witness, say something else.
pub(super) fn set_limit(disk: &FaultyDisk, is_witness: bool, offset: u64, sessions: &[u64]) {
    let (shared, dir) = (Arc::new(disk.clone()), dir());
    let file =
        if is_witness { Limit::witness(shared, dir).unwrap() } else { Limit::new(shared, dir) };
    file.begin(offset, sessions).unwrap();
}

fn line(n: u64) -> String {
    format!("line {n:04}\n")
}

/// The place behind so many lines.
pub(super) fn behind(lines: u64, session: u64) -> Place {
    let mark = Mark::of(session, line(lines - 1).as_bytes());
    Place { offset: lines * 10, mark: Some(mark) }
}

/// The same place, where another line was read.
pub(super) fn behind_another(lines: u64, session: u64) -> Place {
    Place { mark: Some(Mark::of(session, b"other ....\n")), ..behind(lines, session) }
}

pub(super) fn nameless(offset: u64) -> Place {
    Place { offset, mark: None }
}

fn open(disk: &FaultyDisk) -> Reader {
    Reader::open(dir(), Arc::new(disk.clone())).unwrap()
}

#[test]
fn reading_goes_on_at_the_furthest_place_of_this_journal() {
    let mine = behind(3, 10);
    let far = behind(12, 30);
    let cases: [(&str, Option<Place>, &[Place], Place); 15] = [
        ("nobody has read", None, &[], nameless(0)),
        ("only others have", None, &[mine, far, behind(7, 20)], far),
        ("of another journal", None, &[behind(7, 77), nameless(30)], nameless(0)),
        ("only the caller has", Some(mine), &[], mine),
        ("another is further", Some(mine), &[behind(7, 20), far], far),
        ("the caller is further", Some(far), &[mine], far),
        ("its line is not here", Some(mine), &[behind_another(12, 30)], mine),
        ("it is of another journal", Some(mine), &[behind(12, 77)], mine),
        ("an older version", Some(nameless(30)), &[far], far),
        ("an older version, further", Some(nameless(140)), &[far], nameless(140)),
        ("as far", Some(far), &[behind(12, 0), far], far),
        ("cut since: a later session is further", Some(behind_another(14, 20)), &[far], far),
        ("the same, by others", None, &[behind_another(14, 20), far], far),
        ("the same, the other way", None, &[far, behind_another(14, 20)], far),
        ("of no session", None, &[behind(5, 0), behind(4, 0)], behind(5, 0)),
    ];
    for (name, place, others, expected) in cases {
        let (reader, displaced) =
            open(&journal(&[10, 20, 30])).resume_furthest(place, others).unwrap();
        assert_eq!((reader.place(), displaced), (expected, None), "{name}");
    }
}

#[test]
fn a_caller_without_a_place_goes_on_where_another_has_read_what_is_damaged_now() {
    let (lost, read_to) = (behind_another(12, 30), 120);
    let (reader, displaced) = open(&journal(&[10, 20, 30])).resume_furthest(None, &[lost]).unwrap();
    let (lost_to, change) = (Some(read_to), Change::Damaged);
    assert_eq!(displaced, Some(Displaced { read_to, goes_on: read_to, lost_to, change }));
    assert_eq!(reader.place(), nameless(read_to));
    // It says nothing to one that has a place as far.
    let far = behind_another(12, 30);
    let (_, said) =
        open(&journal(&[10, 20, 30])).resume_furthest(Some(far), &[behind(12, 30)]).unwrap();
    assert_eq!(said, displaced);
}

#[test]
fn of_a_journal_that_was_replaced_no_line_comes_that_another_node_has_read() {
    // The lines since are those from session 20 on.
    let place = behind_another(6, 15);
    for (other, goes_on) in [
        (behind(12, 30), behind(12, 30)),
        (behind(5, 10), nameless(50)),
        (behind(3, 10), nameless(50)),
    ] {
        let reader = open(&journal(&[10, 20, 30]));
        let (reader, displaced) = reader.resume_furthest(Some(place), &[other]).unwrap();
        let (read_to, change) = (place.offset, Change::Replaced);
        let expected = Displaced { read_to, goes_on: goes_on.offset, lost_to: None, change };
        assert_eq!((displaced, reader.place()), (Some(expected), goes_on));
    }
}

#[test]
fn what_a_replaced_journal_has_lost_is_known_where_the_witness_reaches_beyond_the_place() {
    let copy: &[u64] = &[10];
    let longer: &[u64] = &[5, 6, 7, 8];
    let cases = [
        (copy, 150, &[30, 20, 10][..], Some(150)),
        (copy, 150, &[30], Some(150)),
        (copy, 150, &[77], None),
        (copy, 150, &[], None),
        (copy, 120, &[30, 20, 10], Some(120)),
        (copy, 119, &[30, 20, 10], None),
        (longer, 150, &[30], None),
        (longer, 200, &[30], None),
        (longer, 201, &[30], Some(201)),
    ];
    for (sessions, durable, named, lost_to) in cases {
        let disk = journal(sessions);
        set_limit(&disk, true, durable, named);
        let (mut reader, displaced) = open(&disk).resume(behind_another(12, 30)).unwrap();
        let (goes_on, change) = (sessions.len() as u64 * 50, Change::Replaced);
        let expected = Displaced { read_to: 120, goes_on, lost_to, change };
        assert_eq!(displaced, Some(expected), "witness {durable} {named:?}");
        assert!(matches!(reader.read().unwrap(), JournalRead::CaughtUp));
        assert_eq!(reader.missing_to(), None);
    }
}

#[test]
fn what_a_shorter_journal_has_lost_is_said_by_the_limit_or_a_witness_that_reaches_the_place() {
    let cases = [
        ("both", Some(230), Some(220), Some(230)),
        ("limit", Some(230), None, Some(230)),
        ("witness", None, Some(220), Some(220)),
        ("witness of the place", None, Some(200), Some(200)),
        ("witness that lags", None, Some(199), None),
    ];
    for (name, limit, witness, lost_to) in cases {
        let disk = journal(&[10, 20, 30]);
        for (is_witness, says) in [(false, limit), (true, witness)] {
            // Nothing was durable of a journal of which nothing else is known.
            let (offset, named) = says.map_or((0, 77), |says| (says, 30));
            set_limit(&disk, is_witness, offset, &[named]);
        }
        if limit.is_none() {
            disk.remove(&Limit::path(dir())).unwrap();
        }
        let (mut reader, displaced) = open(&disk).resume(behind(20, 30)).unwrap();
        let expected = Displaced { read_to: 200, goes_on: 150, lost_to, change: Change::Shorter };
        assert_eq!(displaced, Some(expected), "{name}");
        assert!(matches!(reader.read().unwrap(), JournalRead::CaughtUp), "{name}");
        assert_eq!(reader.missing_to(), None, "{name}: it was said");
    }
}

#[test]
fn a_place_is_looked_for_a_hundred_times_while_segments_go_away_and_then_it_is_an_error() {
    let disk = Arc::new(VanishingDisk::default());
    let reader = Reader::open(dir(), disk.clone()).unwrap();
    let before = disk.lists();
    let error = reader.resume(behind(1, 1)).err().expect("its segment is never there");
    assert!(error.is_not_found(), "{error}");
    assert_eq!(disk.lists() - before, LOOKS_MAX);
}
