//! Opening a journal that was closed well, or was left in the middle of its upkeep.

use super::*;
use crate::limit::Limit;
use crate::segment::{self, Segment};
use crate::sessions;

fn line(journal: &Journal, line: &str) {
    let append = |out: &mut Vec<u8>| out.extend_from_slice(line.as_bytes());
    journal.lane().append_durable(append).wait().unwrap();
}

#[test]
fn opening_a_whole_journal_leaves_its_segment_as_it_is() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    line(&journal, "whole");
    drop(journal);
    let path = Segment::plain(0).path(&dir());
    let before = disk.metadata(&path).unwrap();
    disk.clock().advance(Duration::from_secs(60));
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    // Its age is what retention goes by.
    assert_eq!(disk.metadata(&path).unwrap(), before);
    assert_eq!(journal.stats().repaired_bytes, 0);
}

#[test]
fn opening_removes_what_a_crash_left_of_a_compression() {
    let disk = FaultyDisk::new(1);
    let options = Options { segment_bytes_max: 10, ..options(&disk) };
    let journal = Journal::open(options.clone(), shared(&disk)).unwrap();
    ["first 1", "second 2"].iter().for_each(|text| line(&journal, text));
    let names = || -> Vec<_> {
        let names = disk.list(&dir()).unwrap();
        names.into_iter().filter(|name| name.contains(".log")).collect()
    };
    let compressed = Segment::compressed(0).to_string();
    until(&journal, "the first segment is compressed", |_| {
        names().contains(&compressed) && names().len() == 2
    });
    drop(journal);
    let before = names();
    for name in [Segment::plain(0).to_string(), format!("{}.tmp", Segment::compressed(8))] {
        disk.create(&dir().join(name)).unwrap().append(b"unfinished").unwrap();
    }
    drop(Journal::open(options, shared(&disk)).unwrap());
    assert_eq!(names(), before);
    assert_eq!(read_all(&dir(), shared(&disk)), ["first 1", "second 2"]);
    assert_eq!(segment::list(&disk, &dir()).unwrap(), [Segment::compressed(0), Segment::plain(8)]);
}

#[test]
fn what_a_witness_says_counts_by_whether_lines_are_left_where_no_session_is_known() {
    // Of lines that are left nobody knows whose they are; where none is left, they were its.
    for (has_lines, expected) in [(true, (6, true, vec![])), (false, (90, false, vec![77]))] {
        let disk = FaultyDisk::new(1);
        let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
        line(&journal, "first");
        drop(journal);
        disk.remove(&dir().join("sessions")).unwrap();
        if !has_lines {
            disk.remove(&Segment::plain(0).path(&dir())).unwrap();
        }
        let witness = Limit::witness(shared(&disk), &dir()).unwrap();
        witness.begin(if has_lines { 3 } else { 90 }, &[77]).unwrap();
        drop(Journal::open(options(&disk), shared(&disk)).unwrap());
        let begun = sessions::read(&disk, &dir()).unwrap().pop().unwrap();
        let found = (begun.durable, begun.in_doubt, begun.former);
        assert_eq!(found, expected, "lines: {has_lines}");
    }
}
