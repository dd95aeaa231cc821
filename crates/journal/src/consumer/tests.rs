//! Claims about who is known to read, and how far.

use stdx::{FaultyDisk, Lasting};

use super::*;

fn dir() -> &'static Path {
    Path::new("/journal")
}

fn position(name: &str, offset: u64, keeps: bool) -> ReadPosition {
    ReadPosition { name: name.to_owned(), offset, keeps }
}

#[test]
fn a_name_is_of_letters_digits_and_two_signs_and_has_64_of_them_at_most() {
    let disk = Arc::new(FaultyDisk::new(1));
    let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
    for name in ["a", "events-main", "A_9", longest.as_str()] {
        Consumer::register(dir(), name, 7, disk.clone()).unwrap();
        Bookmark::new(dir(), name, disk.clone()).unwrap();
    }
    for name in ["", too_long.as_str(), "../x", "a/b", "a.tmp", "a b", "é", "."] {
        let error = Consumer::register(dir(), name, 7, disk.clone()).err();
        assert!(matches!(error, Some(JournalError::ConsumerName { .. })), "{name}");
        assert!(Bookmark::new(dir(), name, disk.clone()).is_err(), "{name}");
    }
    assert_eq!(positions(&*disk, dir()).unwrap().len(), 4);
}

#[test]
fn consumers_and_bookmarks_are_known_by_their_files_and_a_file_of_garbage_keeps_everything() {
    let disk = Arc::new(FaultyDisk::new(1));
    assert_eq!(positions(&*disk, dir()).unwrap(), []);
    let main = Consumer::register(dir(), "main", 70, disk.clone()).unwrap();
    let profiles = Bookmark::new(dir(), "profiles", disk.clone()).unwrap();
    assert_eq!(positions(&*disk, dir()).unwrap(), [position("main", 70, true)]);
    profiles.set(50).unwrap();
    main.commit(90).unwrap();
    let both = [position("main", 90, true), position("profiles", 50, false)];
    assert_eq!(positions(&*disk, dir()).unwrap(), both);
    // What a kill leaves between two steps of a commit is nobody.
    disk.create(&dir().join("consumers/other.tmp")).unwrap();
    for garbage in ["garbage", "0000000000000000007x\n", "000000000000000000070", ""] {
        let file = disk.open_write(&dir().join("consumers/main")).unwrap();
        file.truncate(0).unwrap();
        file.write_at(garbage.as_bytes(), 0).unwrap();
        assert_eq!(positions(&*disk, dir()).unwrap()[0], position("main", 0, true), "{garbage}");
    }
    profiles.remove();
    assert_eq!(positions(&*disk, dir()).unwrap(), [position("main", 0, true)]);
}

#[test]
fn consumers_that_cannot_be_listed_are_an_error_and_one_that_cannot_be_read_keeps_everything() {
    let disk = Arc::new(FaultyDisk::new(1));
    Consumer::register(dir(), "main", 70, disk.clone()).unwrap();
    disk.create_dir_all(&dir().join(READERS)).unwrap();
    let mut found = Vec::new();
    for nth in 1..=4 {
        disk.fail_nth(nth, Lasting::Once);
        found.push(positions(&*disk, dir()).map_err(|error| error.raw_os_error()));
    }
    // The list of consumers, the file and its text, and the list of bookmarks.
    let unread = Ok(vec![position("main", 0, true)]);
    assert_eq!(found, [Err(Some(5)), unread.clone(), unread, Err(Some(5))]);
}
