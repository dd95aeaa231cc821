//! Claims about what a reader finds in a trail that was changed.

use std::path::Path;

use stdx::{Disk, FaultyDisk, Random};

use super::BreakKind;
use crate::entry::{EntryLine, Kind};
use crate::tests::{DIR, append, breaks, bytes, fill, lines, put, reading, trail, whole};

const FIRST: &str = "audit-000001.ndjson";

/// A trail of two actions in one file.
fn small() -> FaultyDisk {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 2);
    disk
}

/// Puts other lines into the first file, and returns the breaks.
fn after(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<String> {
    let disk = small();
    let mut all = lines(&disk, FIRST);
    change(&mut all);
    put(&disk, FIRST, &all.concat());
    breaks(&disk)
}

#[test]
fn whatever_single_byte_changes_is_found() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 900), 3);
    let mut random = Random::new(7);
    for name in [FIRST, "audit-000002.ndjson", "head"] {
        let sound = bytes(&disk, name);
        for at in 0..sound.len() {
            let others = [1, 0x20, 0x80, 1 + random.up_to(254) as u8];
            for flipped in others {
                let mut changed = sound.clone();
                changed[at] ^= flipped;
                put(&disk, name, &changed);
                let found = reading(&disk).breaks;
                assert!(!found.is_empty(), "{name}: byte {at} changed by {flipped:#x}");
            }
            for other in *b"\n\0\" 0}" {
                let mut changed = sound.clone();
                changed[at] = other;
                put(&disk, name, &changed);
                assert_eq!(reading(&disk).breaks.is_empty(), changed == sound, "{name}: {at}");
            }
            let mut shorter = sound.clone();
            shorter.remove(at);
            put(&disk, name, &shorter);
            assert!(!reading(&disk).breaks.is_empty(), "{name}: byte {at} removed");
            let mut longer = sound.clone();
            longer.insert(at, b' ');
            put(&disk, name, &longer);
            assert!(!reading(&disk).breaks.is_empty(), "{name}: a byte before {at}");
        }
        put(&disk, name, &sound);
    }
    whole(&disk);
}

#[test]
fn an_edited_line_is_named_with_its_place_and_the_rest_is_followed() {
    let disk = small();
    let mut all = lines(&disk, FIRST);
    let text = String::from_utf8(all[2].clone()).unwrap().replace("url=/1", "url=/2");
    all[2] = text.into_bytes();
    put(&disk, FIRST, &all.concat());
    let offset = all[..2].concat().len();
    let reading = reading(&disk);
    let place = format!("{FIRST}, line 3, byte {offset}");
    assert_eq!(
        breaks(&disk),
        [format!("{place}: edited: entry 3: its bytes do not give its hash")]
    );
    assert_eq!(reading.entries, 3);
    assert_eq!((reading.actions[0].is_sound, reading.actions[1].is_sound), (true, false));
    assert_eq!(reading.actions[1].result.as_deref(), Some("done"));
}

#[test]
fn an_edited_line_with_a_new_hash_does_not_fit_the_next_one() {
    let found = after(|all| {
        let line = all[1].strip_suffix(b"\n").unwrap();
        let mut entry = EntryLine::read(line).entry.unwrap();
        entry.result = Some("failed".to_owned());
        all[1] = entry.line().0.into_bytes();
    });
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("line 3, "), "{found:?}");
    assert!(
        found[0]
            .ends_with("edited: entry 3 does not follow the line before: one of both was replaced")
    );
}

#[test]
fn removed_swapped_and_repeated_lines_are_told_apart() {
    let found = after(|all| drop(all.remove(1)));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("line 2, "), "{found:?}");
    assert!(found[0].ends_with("missing: entry 2 is missing before entry 3"), "{found:?}");

    let found = after(|all| all.swap(1, 2));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].ends_with("reordered: entry 3 stands here in place of entry 2"));
    assert!(found[1].ends_with("reordered: entry 2 stands behind entry 3"));

    let found = after(|all| all.insert(3, all[1].clone()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with(&format!("inserted: entry 2 stands on {FIRST} line 2 already")));

    let found = after(|all| drop(all.remove(0)));
    assert!(found[0].ends_with("missing: entry 1 is missing before entry 2"), "{found:?}");

    let found = after(|all| all.insert(2, b"nonsense\n".to_vec()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("edited: the line is no entry"), "{found:?}");
}

#[test]
fn a_cut_tail_is_found_by_the_head() {
    let found = after(|all| drop(all.pop()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("cut: the tail is cut: `head` knows entry 4, the last is 3"),
        "{found:?}"
    );
    let found = after(Vec::clear);
    assert!(found[0].ends_with("cut: the tail is cut: `head` knows entry 4, there is none"));
    let found = after(|all| drop(all.last_mut().unwrap().drain(20..)));
    assert!(found[0].ends_with("cut: the line has no end"), "{found:?}");
}

#[test]
fn missing_and_cut_files_are_found() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 900), 4);
    let second = "audit-000002.ndjson";
    let whole = bytes(&disk, second);
    put(&disk, second, &whole[..whole.len() - 30]);
    let kinds = |disk| reading(disk).breaks.iter().map(|it| it.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&disk)[0], BreakKind::Cut);
    disk.remove(&Path::new(DIR).join(second)).unwrap();
    assert_eq!(reading(&disk).breaks.len(), 2);
    let found = breaks(&disk);
    assert_eq!(found[0], format!("{second}, line 1, byte 0: missing: the file is missing"));
    assert!(found[1].contains("are missing before entry"), "{found:?}");
    assert_eq!(found.len(), 2);
}

#[test]
fn any_mixture_of_sound_and_forged_lines_is_read_and_only_the_whole_trail_is_whole() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 3);
    let sound = lines(&disk, FIRST);
    let mut pieces = sound.clone();
    for number in [0, 1, 4, 7, u64::MAX - 1, u64::MAX] {
        let mut entry = EntryLine::read(sound[1].strip_suffix(b"\n").unwrap()).entry.unwrap();
        entry.number = number;
        entry.of = Some(number);
        pieces.push(entry.line().0.into_bytes());
    }
    pieces.extend([b"\n".to_vec(), b"{}\n".to_vec(), vec![0; 100], sound[2][..50].to_vec()]);
    let mut random = Random::new(3);
    for _ in 0..3000 {
        let count = random.up_to(8) as usize;
        let mut drawn = || pieces[random.up_to(pieces.len() as u64 - 1) as usize].clone();
        let mixed: Vec<Vec<u8>> = (0..count).map(|_| drawn()).collect();
        put(&disk, FIRST, &mixed.concat());
        assert_eq!(reading(&disk).breaks.is_empty(), mixed == sound, "{mixed:?}");
        // The writer goes on behind whatever there is.
        if let Ok(appended) = append(&trail(&disk, 1 << 20), Kind::Begun, None, "url=/x") {
            let last = lines(&disk, FIRST).pop().unwrap();
            let read = EntryLine::read(last.strip_suffix(b"\n").unwrap());
            assert!(read.is_sound && read.hash == Some(appended.hash));
        }
    }
}

#[test]
fn a_file_with_a_far_number_is_one_break() {
    let disk = small();
    let sound = bytes(&disk, FIRST);
    disk.create(&Path::new(DIR).join("audit-9000000000000.ndjson")).unwrap();
    let found = breaks(&disk);
    let file = "audit-8999999999999.ndjson";
    assert_eq!(
        found,
        [format!(
            "audit-000002.ndjson, line 1, byte 0: missing: the files from here to {file} are \
             missing"
        )]
    );
    assert_eq!(bytes(&disk, FIRST), sound);
}

#[test]
fn a_lost_head_is_a_break_and_an_older_one_is_not() {
    let disk = small();
    let old = bytes(&disk, "head");
    fill(&trail(&disk, 1 << 20), 1);
    put(&disk, "head", &old);
    let found = whole(&disk);
    assert_eq!(found.remarks, ["`head` knows entry 4 only, as after a crash; the last is 6"]);
    disk.remove(&Path::new(DIR).join("head")).unwrap();
    assert_eq!(breaks(&disk), ["head, line 1, byte 0: edited: the file is missing"]);
}

#[test]
fn an_action_without_a_result_is_shown_as_such_and_a_late_result_finds_its_action() {
    let disk = FaultyDisk::new(1);
    let trail = trail(&disk, 1 << 20);
    let first = append(&trail, Kind::Begun, None, "url=/first").unwrap();
    append(&trail, Kind::Begun, None, "url=/second").unwrap();
    append(&trail, Kind::Ended, Some(first.number), "").unwrap();
    append(&trail, Kind::Ended, None, "url=/third").unwrap();
    let actions = whole(&disk).actions;
    let shown = |at: usize| (actions[at].what.as_str(), actions[at].result.as_deref());
    assert_eq!(shown(0), ("url=/first", Some("done")));
    assert_eq!(shown(1), ("url=/second", None));
    assert_eq!(shown(2), ("url=/third", Some("done")));
}

#[test]
fn a_trail_that_is_not_there_cannot_be_read_nor_a_directory_without_one() {
    let disk = FaultyDisk::new(1);
    let error = crate::read(Path::new(DIR), &disk).unwrap_err();
    assert_eq!(error.to_string(), format!("read `{DIR}`"));
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let error = crate::read(Path::new(DIR), &disk).unwrap_err();
    assert_eq!(error.to_string(), format!("find a trail in `{DIR}`"));
}
