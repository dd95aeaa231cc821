//! Tests of the notes about what was committed.

use super::*;

fn note(source: &str, sequence: u64) -> Note {
    let (node, sink) = ("n".to_owned(), "main".to_owned());
    let (source, position) = (source.to_owned(), "1".repeat(100));
    Note { time_us: 1, node, source, sink, sequence, rows: 2, position }
}

#[test]
fn the_last_note_of_each_pipeline_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let binlog = Binlog::new(&folder.path().join("data/binlog"));
    assert!(binlog.last().is_empty());
    for sequence in 1..=3 {
        binlog.note(&note("a", sequence));
        binlog.note(&note("b", 10 * sequence));
    }
    assert_eq!(binlog.last(), [note("a", 3), note("b", 30)]);
}

#[test]
fn it_is_bounded_and_keeps_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let binlog = Binlog::new(&folder.path().join("binlog"));
    let count = 5 * BYTES_MAX / 200;
    (0..count).for_each(|sequence| binlog.note(&note("a", sequence)));
    let files = fs::read_dir(folder.path()).unwrap();
    let bytes: u64 = files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes <= 2 * BYTES_MAX + 400, "{bytes}");
    assert_eq!(binlog.last(), [note("a", count - 1)]);
}

#[test]
fn a_spoilt_file_costs_only_the_notes_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binlog");
    Binlog::new(&path).note(&note("a", 1));
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut flipped = good.clone();
        flipped[at] ^= 0x40;
        for spoilt in [&good[..at], &flipped[..]] {
            fs::write(&path, spoilt).unwrap();
            let binlog = Binlog::new(&path);
            binlog.note(&note("b", 7));
            let last = binlog.last();
            assert_eq!(last.last(), Some(&note("b", 7)), "{}", spoilt.escape_ascii());
        }
    }
}

#[test]
fn a_file_that_was_removed_or_moved_away_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/binlog");
    let binlog = Binlog::new(&path);
    binlog.note(&note("a", 1));
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    binlog.note(&note("a", 2));
    fs::rename(&path, folder.path().join("moved")).unwrap();
    binlog.note(&note("a", 3));
    assert_eq!(fs::read(&path).unwrap().iter().filter(|byte| **byte == b'{').count(), 1);
    assert_eq!(binlog.last(), [note("a", 3)]);
}
