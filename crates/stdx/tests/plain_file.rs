//! What stands in the place of a file neither blocks nor fills memory, and no link is overwritten.
//!
//! A process apart: the lock of a file is shared by a program that another thread starts meanwhile.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use stdx::plain_file::{append, create, open, overwrite, read, read_text};
use stdx::{Disk, RealDisk};

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("coreutils").success());
}

/// A fifo, a directory, a socket, and a link to a device, at names in a folder.
fn strangers(folder: &TempDir) -> Vec<PathBuf> {
    let at = |name: &str| folder.path().join(name);
    make_fifo(&at("fifo"));
    fs::create_dir(at("directory")).expect("a folder");
    drop(UnixListener::bind(at("socket")).expect("a socket"));
    std::os::unix::fs::symlink("/dev/zero", at("device")).expect("a link");
    ["fifo", "directory", "socket", "device"].map(at).into()
}

#[test]
fn what_is_no_regular_file_is_refused_at_once_however_it_is_opened() {
    let folder = TempDir::new().unwrap();
    for path in strangers(&folder) {
        let outcomes = [
            open(&path).map(drop),
            append(&path).map(drop),
            create(&path).map(drop),
            overwrite(&path).map(drop),
            read(&path, 10).map(drop),
            RealDisk.open_read(&path).map(drop),
            RealDisk.open_append(&path).map(drop),
            RealDisk.open_write(&path).map(drop),
            RealDisk.lock(&path).map(drop),
        ];
        for (nth, outcome) in outcomes.into_iter().enumerate() {
            assert!(outcome.is_err(), "{}, way {nth}", path.display());
        }
    }
    assert_eq!(open(&folder.path().join("fifo")).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_file_of_any_length_is_read_only_up_to_its_bound() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read(&path, 5).unwrap(), b"12345");
    assert_eq!(read(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(read_text(&path, 100).unwrap_err().kind(), ErrorKind::FileTooLarge);
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(read_text(&path, 100).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_link_is_read_and_appended_to_but_what_it_leads_to_is_never_overwritten() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("victim"), "precious").unwrap();
    std::os::unix::fs::symlink(at("victim"), at("link")).unwrap();
    assert_eq!(read(&at("link"), 100).unwrap(), b"precious");
    assert!(overwrite(&at("link")).is_err() && create(&at("link")).is_err());
    assert!(RealDisk.open_write(&at("link")).is_err());
    append(&at("link")).unwrap().write_all(b" still").unwrap();
    assert_eq!(fs::read(at("victim")).unwrap(), b"precious still");
}
