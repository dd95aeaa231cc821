//! Claims about `follow`.

use std::fs;
use std::io::{Read, Write};

use super::{FollowedFile, Start};

/// Reads until `is_over` says that nothing more has come for so many looks.
fn read(source: &mut FollowedFile) -> String {
    let mut out = [0; 64];
    let length = source.read(&mut out).expect("the file can be read");
    String::from_utf8(out[..length].to_vec()).expect("it is text")
}

/// Is over at the second look.
fn at_second_look() -> Box<dyn FnMut() -> bool + Send> {
    let mut looks = 0;
    Box::new(move || {
        looks += 1;
        looks % 2 == 0
    })
}

#[test]
fn a_file_that_was_renamed_is_read_to_its_end_and_then_the_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    fs::write(&path, "one").expect("a file");
    let mut source = FollowedFile::open(&path, Start::First, at_second_look()).expect("opened");
    let mut old = fs::OpenOptions::new().append(true).open(&path).expect("the old one");
    fs::rename(&path, folder.path().join("log.1")).expect("renamed");
    old.write_all(b" two").expect("written");
    assert_eq!(read(&mut source), "one two");
    fs::write(&path, "three").expect("the new one");
    assert_eq!(read(&mut source), "three");
    assert_eq!(read(&mut source), "");
}

#[test]
fn what_comes_between_the_last_read_and_the_rotation_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    fs::write(&path, "one").expect("a file");
    let mut old = fs::OpenOptions::new().append(true).open(&path).expect("the old one");
    let mut looks = 0;
    let rotated = path.clone();
    // Asked when nothing more came, and before the file's name is looked up.
    let is_over = Box::new(move || {
        looks += 1;
        if looks == 1 {
            old.write_all(b" late").expect("written");
            fs::rename(&rotated, rotated.with_extension("1")).expect("renamed");
            fs::write(&rotated, "new").expect("the new one");
        }
        looks > 1
    });
    let mut source = FollowedFile::open(&path, Start::First, is_over).expect("opened");
    assert_eq!([read(&mut source), read(&mut source), read(&mut source)], ["one", " late", "new"]);
}

#[test]
fn a_file_that_was_cut_is_read_from_its_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    fs::write(&path, "one two three").expect("a file");
    let mut source = FollowedFile::open(&path, Start::Now, at_second_look()).expect("opened");
    fs::write(&path, "four").expect("cut and written");
    assert_eq!(read(&mut source), "four");
}
