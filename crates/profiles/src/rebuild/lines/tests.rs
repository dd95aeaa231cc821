//! Claims about `lines`: how late the reads were that a journal deleted.

use super::*;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// A position behind lines of a MiB from `first` on. A line's time is its end, in this test.
fn position(first: u64, bytes: u64) -> JournalPosition {
    let mut position = JournalPosition { first, ..JournalPosition::default() };
    for end in (first + MIB..=first + bytes).step_by(MIB as usize) {
        position.latest_unix_ms = end;
        mark_if_due(&mut position, end);
        assert!(position.marks.len() < MARKS_MAX);
    }
    mark(&mut position, first + bytes);
    position
}

#[test]
fn how_late_deleted_reads_were_is_known_to_16_mib_and_later_in_large_journals() {
    for (first, bytes, known_to) in
        [(0, 50 * MIB, 16 * MIB), (7 * MIB, 10 * GIB, 16 * MIB), (GIB, 40 * GIB, 256 * MIB)]
    {
        let position = position(first, bytes);
        for deleted in (first + 1..first + bytes).step_by(MIB as usize / 3) {
            let latest = deleted_unix_ms(&position, deleted);
            assert!((deleted..deleted + known_to).contains(&latest), "{deleted}: {latest}");
        }
        let beyond = deleted_unix_ms(&position, first + bytes + 1);
        assert_eq!(beyond, first + bytes, "all that was read");
    }
}

#[test]
fn marks_of_what_the_journal_deleted_are_forgotten() {
    let mut position = position(0, GIB);
    position.first = GIB / 2;
    mark(&mut position, GIB + MIB);
    assert!(position.marks.iter().all(|(offset, _)| *offset > GIB / 2));
    assert_eq!(position.marks.len(), 32 + 1);
    mark(&mut position, GIB + MIB);
    assert_eq!(position.marks.len(), 32 + 1, "one mark for one offset");
}
