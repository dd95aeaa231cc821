//! What stands in the place of a file blocks nobody, and is kept.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{append, make, make_way, open, write_in_place};

pub(crate) fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("coreutils").success());
}

#[test]
fn a_fifo_or_a_directory_is_never_read() {
    let folder = TempDir::new().expect("a folder");
    let fifo = folder.path().join("fifo");
    make_fifo(&fifo);
    assert!(open(&fifo).expect("it is there").is_none());
    assert!(open(folder.path()).expect("it is there").is_none());
}

#[test]
fn what_stands_in_the_way_is_set_aside_and_kept() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for (round, refused) in ["file.refused", "file.refused-2", "file.refused-3"].iter().enumerate()
    {
        make_fifo(&at("file"));
        let opened = if round == 1 { write_in_place(&at("file")) } else { make(&at("file")) };
        opened.expect("room").write_all(b"text").expect("a file");
        assert_eq!(fs::read(at("file")).expect("a file"), b"text");
        assert!(fs::metadata(at(refused)).expect("it is kept").file_type().is_fifo());
        fs::remove_file(at("file")).expect("a file");
    }
    fs::create_dir(at("file")).expect("a directory");
    assert_eq!(make_way(&at("file")).expect("room"), Some(at("file.refused-4")));
    assert_eq!(make_way(&at("file")).expect("room"), None, "nothing is there");
}

#[test]
fn a_fifo_without_a_reader_is_an_error_to_append_to() {
    let folder = TempDir::new().expect("a folder");
    let fifo = folder.path().join("fifo");
    make_fifo(&fifo);
    append(&fifo).expect_err("nobody reads it");
}
