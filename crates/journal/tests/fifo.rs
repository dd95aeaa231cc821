//! A fifo stands where a journal has a small file: neither writer nor reader waits for it.
//!
//! A process apart: the lock of a journal is shared by a program that another thread starts
//! meanwhile.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use journal::{Journal, Options, Place, Reader};
use stdx::{Disk, RealDisk};
use tempfile::tempdir;

#[test]
fn a_fifo_in_the_place_of_a_small_file_blocks_neither_writer_nor_reader() {
    for name in ["lock", "synced", "sessions", "sessions.tmp", "../journal.synced"] {
        let home = tempdir().unwrap();
        let dir = home.path().join("journal");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let open = || Journal::open(Options::new(&dir), Arc::clone(&disk));
        let journal = open().unwrap();
        journal.lane().append(|out| out.extend_from_slice(b"line")).unwrap();
        drop(journal);
        let fifo = dir.join(name);
        let _ = fs::remove_file(&fifo);
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        drop(open());
        drop(Reader::open(&dir, Arc::clone(&disk)).unwrap().resume(Place::default()));
    }
}
