//! Claims about which places are of a journal, and where the next unread line is.

use stdx::FaultyDisk;

use super::*;
use crate::reader::tests::{behind, behind_another, dir, journal, nameless, set_limit};

fn files(disk: &FaultyDisk) -> SegmentFiles {
    SegmentFiles { disk: Arc::new(disk.clone()), dir: dir().to_owned() }
}

/// Marks a place behind a gap, where no line was read.
fn behind_a_gap(offset: u64) -> Place {
    Place { offset, mark: Some(Mark::of(20, b"")) }
}

fn session(start: u64, id: u64) -> Session {
    Session { start, id, is_marked: true, ..Session::default() }
}

#[test]
fn a_place_is_of_the_journal_that_has_its_line_or_perhaps_of_one_that_has_its_session() {
    use Belonging::{Certain, Foreign, Likely};

    let disk = journal(&[10, 20, 30]);
    let files = files(&disk);
    let all = sessions::read(&disk, dir()).unwrap();
    // The file of sessions was lost once: of the first lines no session is known.
    let later = &all[1..];
    let cases: [(&str, &[Session], Place, Belonging); 14] = [
        ("its line is here", &all, behind(7, 20), Certain),
        ("its line is the last", &all, behind(15, 30), Certain),
        ("the place was noted without a session", &all, behind(7, 0), Certain),
        ("no session is known there", later, behind(3, 77), Certain),
        ("the line there is known to be of another session", &all, behind(3, 77), Foreign),
        ("it says nothing of its line", &all, nameless(70), Foreign),
        ("its line is damaged", &all, behind_another(7, 20), Likely),
        ("it is behind a gap", &all, behind_a_gap(70), Likely),
        ("the journal was as long", &all, behind_another(15, 30), Likely),
        ("the journal was never so long", &all, behind_another(16, 30), Foreign),
        ("of no session, its line is not here", &all, behind_another(7, 0), Foreign),
        ("of another journal, its line is not here", later, behind_another(3, 77), Foreign),
        ("of another journal, its line would be", &all, behind_another(7, 77), Foreign),
        ("of no journal yet", &[], behind_another(7, 20), Foreign),
    ];
    for (name, sessions, place, expected) in cases {
        let places = JournalPlaces { files: &files, sessions };
        assert_eq!(places.belonging(place).unwrap(), expected, "{name}");
    }
}

#[test]
fn a_line_that_is_known_to_be_of_another_session_costs_no_look_at_the_disk() {
    let disk = journal(&[10, 20, 30]);
    let files = files(&disk);
    let sessions = &sessions::read(&disk, dir()).unwrap();
    let looks = disk.operations();
    let places = JournalPlaces { files: &files, sessions };
    assert_eq!(places.furthest(&[behind(7, 77), behind(9, 78), nameless(30)], true).unwrap(), None);
    assert_eq!(disk.operations(), looks);
}

#[test]
fn how_long_the_journal_was_is_said_by_its_sessions_its_limit_or_its_witness() {
    let cases: [(&str, [u64; 2], [u64; 2], u64); 4] = [
        ("the limit", [170, 30], [50, 30], 17),
        ("the witness", [50, 30], [160, 20], 16),
        ("both are of another journal", [170, 77], [160, 77], 12),
        ("neither has moved", [0, 30], [0, 30], 12),
    ];
    for (name, [limit, of], [witness, of_other], lines) in cases {
        let disk = journal(&[10, 20, 30]);
        set_limit(&disk, false, limit, &[of]);
        set_limit(&disk, true, witness, &[of_other]);
        let mut sessions = sessions::read(&disk, dir()).unwrap();
        // More lines were durable before it began.
        sessions[2].durable = 120;
        let places = JournalPlaces { files: &files(&disk), sessions: &sessions };
        let belonging = |lines| places.belonging(behind_another(lines, 30)).unwrap();
        let found = [belonging(lines), belonging(lines + 1)];
        assert_eq!(found, [Belonging::Likely, Belonging::Foreign], "{name}");
    }
}

#[test]
fn a_limit_counts_where_it_names_a_session_of_the_journal_or_of_the_place_or_is_old() {
    let old = Session { is_marked: false, ..session(0, 10) };
    let [new, newer] = [session(0, 10), session(50, 20)];
    let cases = [
        ("a session of the journal", vec![new.clone()], &[77, 10][..], Some(99)),
        ("the session of the place", vec![new.clone()], &[20], Some(99)),
        ("that of another journal", vec![new], &[77], None),
        ("none, by a version that knew none", vec![session(0, 5), old.clone()], &[], Some(99)),
        ("another, where an older version wrote last", vec![old.clone()], &[77], None),
        ("none, where a newer version wrote last", vec![old, newer], &[], None),
        ("none, where no session is known", vec![], &[], None),
    ];
    for (name, sessions, named, expected) in cases {
        let disk = journal(&[]);
        set_limit(&disk, true, 99, named);
        let places = JournalPlaces { files: &files(&disk), sessions: &sessions };
        assert_eq!(places.durable_by(Limit::witness, behind(7, 20)), expected, "{name}");
    }
}

#[test]
fn a_place_is_here_where_its_line_stands_or_nothing_is_left_that_could_tell() {
    let disk = journal(&[10, 20, 30]);
    // The first segment ends within a line, and of the next one nothing but two lines is left.
    let file = disk.open_write(&Segment::plain(0).path(dir())).unwrap();
    file.write_at(b"?", 99).unwrap();
    disk.open_write(&Segment::plain(100).path(dir())).unwrap().truncate(20).unwrap();
    let files = files(&disk);
    let segments = files.list().unwrap();
    let places = JournalPlaces { files: &files, sessions: &[] };
    let cases = [
        ("its line", behind(7, 20), true),
        ("another line", behind_another(7, 20), false),
        ("the end of a line", nameless(70), true),
        ("within a line", nameless(71), false),
        ("the start of a segment", nameless(100), true),
        ("another line before the start of a segment", behind(10, 20), false),
        ("behind a gap, the end of a line", behind_a_gap(70), true),
        ("behind a gap, within a line", behind_a_gap(71), false),
        ("the beginning", nameless(0), true),
        ("in a gap", behind(14, 30), true),
        ("at its beginning", behind(12, 30), true),
    ];
    for (name, place, expected) in cases {
        assert_eq!(places.is_here(place, &segments).unwrap(), expected, "{name}");
    }
}

#[test]
fn behind_a_place_that_is_not_here_the_next_unread_line_depends_on_its_session() {
    use Change::{Damaged, Replaced, Shorter};

    let disk = journal(&[10, 20, 30]);
    let files = files(&disk);
    let segments = files.list().unwrap();
    let known = [session(0, 10), session(50, 20), session(100, 30)];
    let at = |offset, session| Place { offset, mark: Some(Mark::of(session, b"other\n")) };
    let cases: [(&[Session], Place, u64, Change); 16] = [
        (&known, at(75, 20), 80, Damaged),
        (&known, at(100, 20), 100, Damaged),
        (&known, at(101, 20), 100, Shorter),
        (&known, at(150, 30), 150, Damaged),
        (&known, at(151, 30), 150, Shorter),
        // Of the later sessions the first one counts.
        (&known, at(75, 15), 50, Replaced),
        (&known, at(75, 40), 150, Replaced),
        (&known, at(75, 0), 80, Damaged),
        (&known, nameless(150), 150, Damaged),
        (&known, nameless(151), 0, Replaced),
        (&known[1..], nameless(151), 50, Replaced),
        (&[], nameless(151), 150, Replaced),
        (&[], at(75, 40), 80, Damaged),
        (&[], at(150, 40), 150, Damaged),
        (&[], at(151, 40), 150, Shorter),
        // The journal was cut before its last session.
        (&[session(0, 10), session(170, 20)], at(160, 10), 150, Shorter),
    ];
    for (sessions, place, goes_on, change) in cases {
        let places = JournalPlaces { files: &files, sessions };
        let found = places.next_unread(place, &segments, 150).unwrap();
        let expected = Displaced { read_to: place.offset, goes_on, lost_to: None, change };
        assert_eq!(found, expected, "{place}");
    }
}

#[test]
fn the_next_line_is_sought_over_the_end_of_a_segment_and_before_the_first_one() {
    let disk = journal(&[10, 20, 30]);
    let file = disk.open_write(&Segment::plain(0).path(dir())).unwrap();
    file.write_at(b"?", 89).unwrap();
    file.truncate(98).unwrap();
    let files = files(&disk);
    let segments = files.list().unwrap();
    let places = JournalPlaces { files: &files, sessions: &[] };
    let next_line = |offset, segments: &[Segment]| places.next_line(offset, segments).unwrap();
    assert_eq!(
        [1, 80, 81, 95, 100, 101].map(|at| next_line(at, &segments)),
        [10, 80, 100, 100, 100, 110]
    );
    assert_eq!([0, 30, 100].map(|at| next_line(at, &segments[1..])), [100; 3]);
    assert_eq!([0, 30].map(|at| next_line(at, &[])), [0; 2]);
    // The last segment ends within a line, which nobody can have read.
    assert_eq!([85, 95].map(|at| next_line(at, &segments[..1])), [98; 2]);
}
