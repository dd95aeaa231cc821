//! Claims about how a trail is written: over files, restarts, crashes, full disks, and by several
//! at once.

use std::path::Path;
use std::sync::Arc;

use stdx::{Disk, FaultyDisk, Lasting, RealDisk, SystemClock};

use super::Trail;
use crate::entry::Kind;
use crate::files;
use crate::tests::{DIR, append, bytes, fill, lines, put, trail, whole};

#[test]
fn an_entry_is_a_line_whose_hash_can_be_computed_by_hand() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 1);
    let all = lines(&disk, "audit-000001.ndjson");
    let first = String::from_utf8(all[0].clone()).unwrap();
    let (body, hash) = first.trim_end().split_once(",\"hash\":\"").unwrap();
    assert_eq!(
        body,
        format!(
            "{{\"number\":1,\"time\":\"2026-11-27T12:00:00.000000Z\",\"kind\":\"begun\",\
             \"of\":null,\"who\":{{\"client\":\"127.0.0.1\",\"uid\":1000}},\"action\":\"purge\",\
             \"what\":\"url=/0\",\"result\":null,\"before\":\"{}\"",
            "0".repeat(64)
        )
    );
    let hash = hash.strip_suffix("\"}").unwrap();
    assert_eq!(hash, crate::entry::hash_of(body.as_bytes()));
    assert!(String::from_utf8_lossy(&all[1]).contains(&format!("\"before\":\"{hash}\"")));
    let head = String::from_utf8(bytes(&disk, "head")).unwrap();
    assert!(head.starts_with("{\"number\":2,\"hash\":\""), "{head}");
}

#[test]
fn the_chain_goes_on_over_files_and_restarts() {
    let disk = FaultyDisk::new(1);
    for _ in 0..10 {
        fill(&trail(&disk, 900), 2);
    }
    let reading = whole(&disk);
    assert_eq!((reading.entries, reading.actions.len()), (40, 20));
    assert!(reading.files > 5, "{} files", reading.files);
    assert!(reading.actions.iter().all(|action| action.result.as_deref() == Some("done")));
}

#[test]
fn several_append_to_one_trail_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (disk, clock) = (Arc::new(RealDisk), Arc::new(SystemClock));
                let trail = Trail::new(path.clone(), 4000, disk, clock);
                fill(&trail, 10);
            });
        }
    });
    let reading = crate::read(&path, &RealDisk).unwrap();
    assert_eq!((reading.breaks.len(), reading.entries), (0, 80));
    assert!(reading.actions.iter().all(|action| action.ended.is_some()));
}

#[test]
fn an_unfinished_line_is_closed_and_said_at_whatever_byte_it_ends() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 2);
    let name = "audit-000001.ndjson";
    let (sound, head) = (bytes(&disk, name), bytes(&disk, "head"));
    append(&trail(&disk, 1 << 20), Kind::Begun, None, "url=/cut").unwrap();
    let longer = bytes(&disk, name);
    for length in sound.len() + 1..longer.len() {
        put(&disk, name, &longer[..length]);
        put(&disk, "head", &head);
        let unfinished = whole(&disk);
        let is_whole = length + 1 == longer.len();
        assert_eq!(unfinished.remarks.len(), 1, "at byte {length}: {:?}", unfinished.remarks);
        let appended = append(&trail(&disk, 1 << 20), Kind::Begun, None, "url=/next").unwrap();
        assert_eq!(appended.found.len(), usize::from(!is_whole), "at byte {length}");
        assert_eq!(appended.number, 6);
        assert_eq!(&bytes(&disk, name)[..length], &longer[..length], "nothing is overwritten");
        let reading = whole(&disk);
        assert_eq!(reading.notes.len(), usize::from(!is_whole), "at byte {length}");
    }
}

#[test]
fn no_crash_leaves_a_broken_chain() {
    for seed in 0..60 {
        let mut disk = FaultyDisk::new(seed);
        for round in 0..6 {
            fill(&trail(&disk, 1200), 1);
            // Within the next entry.
            disk.fail_nth(1 + (seed + round) % 14, Lasting::Forever);
            let what = format!("url=/{round}/last");
            let last = append(&trail(&disk, 1200), Kind::Begun, None, &what);
            disk = disk.crash();
            let is_kept = whole(&disk).actions.iter().any(|action| action.what == what);
            assert!(is_kept || last.is_err(), "seed {seed}: an entry was lost");
        }
        fill(&trail(&disk, 1200), 1);
        whole(&disk);
    }
}

#[test]
fn what_was_appended_is_there_after_a_crash() {
    for seed in 0..40 {
        let disk = FaultyDisk::new(seed);
        fill(&trail(&disk, 900), 4);
        let reading = whole(&disk.crash());
        assert_eq!((reading.entries, reading.actions.len()), (8, 4));
    }
}

#[test]
fn a_full_disk_is_an_error_and_breaks_nothing() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 2);
    let length = bytes(&disk, "audit-000001.ndjson").len() as u64;
    for room in [0, 1, 40, 200] {
        disk.set_capacity(Some(length + 100 + room));
        append(&trail(&disk, 1 << 20), Kind::Begun, None, "url=/full").unwrap_err();
    }
    disk.set_capacity(None);
    fill(&trail(&disk, 1 << 20), 1);
    let reading = whole(&disk);
    assert_eq!(reading.actions.last().unwrap().result.as_deref(), Some("done"));
}

#[test]
fn every_failing_operation_is_an_error_and_breaks_nothing() {
    for nth in 1..40 {
        let disk = FaultyDisk::new(nth);
        fill(&trail(&disk, 1200), 2);
        disk.fail_nth(nth, Lasting::Once);
        let _ = append(&trail(&disk, 1200), Kind::Begun, None, "url=/x");
        disk.heal();
        fill(&trail(&disk, 1200), 2);
        whole(&disk);
    }
}

#[test]
fn a_lost_head_is_noted_before_it_is_written_anew() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 1);
    for (bytes, text) in [
        (None, "head: it was missing"),
        (Some(&b"{}"[..]), "head: it was damaged"),
        (
            Some(format!("{{\"number\":3,\"hash\":\"{}\"}}\n", "0".repeat(64)).as_bytes()),
            "head: it had another hash than the last entry",
        ),
    ] {
        match bytes {
            None => disk.remove(&Path::new(DIR).join("head")).unwrap(),
            Some(bytes) => {
                let number = whole_entries(&disk).to_string();
                let text = String::from_utf8_lossy(bytes).replace(":3,", &format!(":{number},"));
                put(&disk, "head", text.as_bytes());
            }
        }
        let appended = append(&trail(&disk, 1 << 20), Kind::Begun, None, "url=/x").unwrap();
        assert_eq!(appended.found, [text]);
        assert_eq!(whole(&disk).notes.last().unwrap().text, text);
    }
}

fn whole_entries(disk: &FaultyDisk) -> usize {
    lines(disk, "audit-000001.ndjson").len()
}

#[test]
fn a_cut_tail_stays_visible_when_more_is_appended() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 3);
    let name = "audit-000001.ndjson";
    let all = lines(&disk, name);
    put(&disk, name, &all[..4].concat());
    fill(&trail(&disk, 1 << 20), 1);
    let breaks = crate::tests::breaks(&disk);
    let offset = all[..4].concat().len();
    let place = format!("{name}, line 5, byte {offset}: missing: ");
    assert_eq!(breaks, [format!("{place}entries 5 to 6 are missing before entry 7")]);
}

#[test]
fn a_trail_that_is_removed_under_its_writer_leaves_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let trail = Trail::new(path.clone(), 4000, Arc::new(RealDisk), Arc::new(SystemClock));
    fill(&trail, 3);
    std::fs::remove_dir_all(&path).unwrap();
    fill(&trail, 1);
    let reading = crate::read(&path, &RealDisk).unwrap();
    let texts: Vec<_> = reading.breaks.iter().map(|found| found.text.as_str()).collect();
    assert_eq!(texts, ["entries 1 to 6 are missing before entry 7"]);
}

#[test]
fn long_and_hostile_texts_are_cut_and_read_again() {
    let disk = FaultyDisk::new(1);
    let text = "\u{1}\u{0}\n\"\\ü".repeat(2000);
    append(&trail(&disk, 1 << 20), Kind::Begun, None, &text).unwrap();
    let action = whole(&disk).actions.remove(0);
    assert!(action.what.ends_with('…') && action.what.len() <= 4096);
    assert!(text.starts_with(action.what.trim_end_matches('…')));
}

#[test]
fn other_files_in_the_directory_are_left_alone() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new(DIR)).unwrap();
    for name in ["audit-1.ndjson", "audit-000002.ndjson.gz", "notes"] {
        disk.create(&Path::new(DIR).join(name)).unwrap();
    }
    fill(&trail(&disk, 1 << 20), 1);
    assert_eq!(files::list(&disk, Path::new(DIR)).unwrap(), [1]);
    whole(&disk);
}
