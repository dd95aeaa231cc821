//! What says how far a journal was written is missing, old, damaged or of another journal. What is
//! lost is then a loss without a length, and nothing else is called lost.

use std::fs;

use stdx::RealDisk;
use tempfile::{TempDir, tempdir};

use super::damage::{copy, found_by, lines_of, read_to_a, write};
use super::*;
use crate::Change;

fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// What a reader gives that goes on behind `place`; what it is told at first comes first.
fn read_on(dir: &Path, place: Place) -> Vec<String> {
    let (mut reader, displaced) = Reader::open(dir, disk()).unwrap().resume(place).unwrap();
    let mut found: Vec<_> = displaced.iter().map(|it| format!("{it:?}")).collect();
    found.extend(found_by(&mut reader).0);
    found
}

fn doubt(offset: u64) -> String {
    let (goes_on, lost_to, change) = (offset, None, Change::Unwitnessed);
    format!("{:?}", crate::Displaced { read_to: offset, goes_on, lost_to, change })
}

/// Cuts the newest segment in its middle, to the start of a line or not.
fn cut(dir: &Path) {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let newest = files.filter(|file| file.extension().is_some_and(|end| end == "log")).max();
    let file = fs::File::options().write(true).open(newest.unwrap()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

fn limit(dir: &Path) -> PathBuf {
    dir.join("synced")
}

fn witness(dir: &Path) -> PathBuf {
    dir.with_extension("synced")
}

/// A witness of another journal, as long as this one.
fn foreign() -> Vec<u8> {
    let home = tempdir().unwrap();
    let (dir, ..) = read_to_a(home.path());
    fs::read(witness(&dir)).unwrap()
}

/// A file as versions write it that name no sessions.
fn nameless(offset: u64) -> Vec<u8> {
    format!("{offset:020}\n{offset:020}\n").into()
}

/// What somebody does to the file that says how far a journal was written.
type Spoil = fn(&Path);

#[test]
fn a_cut_end_without_a_sound_witness_is_a_loss_without_a_length_named_once() {
    let make: [(&str, Spoil); 6] = [
        ("missing", |file| fs::remove_file(file).unwrap()),
        ("garbage", |file| fs::write(file, [0x97; 42]).unwrap()),
        ("empty", |file| fs::write(file, "").unwrap()),
        ("foreign", |file| fs::write(file, foreign()).unwrap()),
        ("nameless", |file| fs::write(file, nameless(5)).unwrap()),
        ("a directory", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
    ];
    for (name, make) in make {
        let home = tempdir().unwrap();
        let (dir, place, _) = read_to_a(home.path());
        cut(&dir);
        make(&witness(&dir));
        // A directory there could not be replaced.
        if name == "a directory" {
            fs::remove_file(limit(&dir)).unwrap()
        } else {
            make(&limit(&dir))
        };
        write(&dir, "c");
        let mut found = read_on(&dir, place);
        let doubts: Vec<_> = found.extract_if(.., |it| it.starts_with("Displaced")).collect();
        assert_eq!(doubts.len(), 1, "{name}: {found:?}");
        assert!(doubts[0].contains("lost_to: None, change: Unwitnessed"), "{name}: {doubts:?}");
        assert!(found.ends_with(&lines_of("c")), "{name}: {found:?}");
        let (mut reader, _) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
        found_by(&mut reader);
        assert_eq!(read_on(&dir, reader.place()), [""; 0], "{name}: it is named once");
    }
}

#[test]
fn one_sound_file_of_the_two_tells_a_cut_end_to_the_byte() {
    for spoilt in [limit, witness] {
        let home = tempdir().unwrap();
        let (dir, place, end) = read_to_a(home.path());
        cut(&dir);
        fs::remove_file(spoilt(&dir)).unwrap();
        write(&dir, "c");
        let found = read_on(&dir, place);
        let lost: Vec<_> = found.iter().filter(|it| it.starts_with("LOST")).collect();
        assert!(lost.len() == 1 && lost[0].ends_with(&end.to_string()), "{found:?}");
        assert!(found.iter().all(|it| !it.contains("Displaced")), "{found:?}");
    }
}

#[test]
fn a_foreign_or_broken_witness_is_a_doubt_though_nothing_says_that_lines_are_gone() {
    for text in [foreign(), b"garbage".to_vec(), nameless(999_999)] {
        let home = tempdir().unwrap();
        let (dir, place, end) = read_to_a(home.path());
        fs::write(witness(&dir), text).unwrap();
        write(&dir, "c");
        let expected = [lines_of("b"), vec![doubt(end)], lines_of("c")];
        assert_eq!(read_on(&dir, place), expected.concat());
        write(&dir, "d");
        let expected = [expected.concat(), lines_of("d")].concat();
        assert_eq!(read_on(&dir, place), expected, "it is replaced by a sound one");
    }
}

#[test]
fn of_a_removed_journal_a_foreign_witness_tells_no_length() {
    for text in [foreign(), nameless(9000), nameless(5), b"garbage".to_vec()] {
        for is_reader_first in [false, true] {
            let home = tempdir().unwrap();
            let (dir, place, _) = read_to_a(home.path());
            fs::remove_dir_all(&dir).unwrap();
            fs::write(witness(&dir), &text).unwrap();
            if !is_reader_first {
                write(&dir, "c");
            }
            let (mut reader, displaced) =
                Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
            assert_eq!(displaced.unwrap().lost_to, None, "{is_reader_first}");
            if is_reader_first {
                assert_eq!(found_by(&mut reader).0, [""; 0]);
                write(&dir, "c");
            }
            let found = found_by(&mut reader).0;
            assert!(found.ends_with(&lines_of("c")), "{found:?}");
            assert!(found.iter().all(|it| !it.starts_with("LOST")), "{found:?}");
        }
    }
}

/// A journal that was read to the end of `a` and goes on, after something that is no damage.
fn goes_on_after(change: fn(&TempDir, &Path) -> PathBuf) {
    let home = tempdir().unwrap();
    let (dir, place, _) = read_to_a(home.path());
    let dir = change(&home, &dir);
    write(&dir, "c");
    write(&dir, "d");
    assert_eq!(read_on(&dir, place), [lines_of("b"), lines_of("c"), lines_of("d")].concat());
    let mut all = Reader::open(&dir, disk()).unwrap();
    assert_eq!(found_by(&mut all).0.len(), 50);
}

#[test]
fn a_journal_that_was_moved_copied_or_is_of_an_older_version_is_in_no_doubt() {
    // It gets another name, and its witness stays behind.
    goes_on_after(|home, dir| {
        let moved = home.path().join("moved");
        fs::rename(dir, &moved).unwrap();
        moved
    });
    // It gets its name back, where the witness is older.
    goes_on_after(|home, dir| {
        let moved = home.path().join("moved");
        fs::rename(dir, &moved).unwrap();
        drop(Journal::open(Options::new(&moved), disk()).unwrap());
        fs::rename(&moved, dir).unwrap();
        dir.to_owned()
    });
    goes_on_after(|home, dir| {
        let copied = home.path().join("copied");
        copy(dir, &copied);
        fs::copy(witness(dir), witness(&copied)).unwrap();
        copied
    });
    // An older version, before there were sessions, or a witness; one that wrote both.
    goes_on_after(|_, dir| {
        fs::remove_file(dir.join("sessions")).unwrap();
        fs::remove_file(witness(dir)).unwrap();
        dir.to_owned()
    });
    goes_on_after(|_, dir| {
        let text = fs::read_to_string(dir.join("sessions")).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("mark"));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(dir.join("sessions"), lines).unwrap();
        for file in [limit(dir), witness(dir)] {
            let text = fs::read(&file).unwrap();
            fs::write(file, &text[..42]).unwrap();
        }
        dir.to_owned()
    });
    // A fresh directory, whose witness is of one that was never written to.
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    fs::write(witness(&dir), nameless(0)).unwrap();
    write(&dir, "a");
    assert_eq!(found_by(&mut Reader::open(&dir, disk()).unwrap()).0, lines_of("a"));
}
