//! Claims about what the engine's file reads, writes and cuts.

use std::io;
use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;
use stdx::{Disk, DiskFile, FaultyDisk, Metadata};

use super::LogFile;

/// A file that brings at most three bytes at a time.
struct Slow(Arc<dyn DiskFile>);

impl DiskFile for Slow {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = buffer.len().min(3);
        self.0.read_at(&mut buffer[..length], offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn start_writing(&self, offset: u64, length: u64) {
        self.0.start_writing(offset, length);
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }
}

#[test]
fn a_read_is_whole_or_an_error_however_few_bytes_come_at_once() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/")).unwrap();
    let file = LogFile(Arc::new(Slow(disk.open_write(Path::new("/f")).unwrap())));
    file.write(0, b"0123456789").unwrap();
    assert_eq!(file.len().unwrap(), 10);
    let mut out = [0; 7];
    file.read(3, &mut out).unwrap();
    assert_eq!(&out, b"3456789");
    let error = file.read(4, &mut out).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    file.read(99, &mut []).unwrap();
    file.write(2, b"ab").unwrap();
    file.set_len(4).unwrap();
    let mut rest = [0; 4];
    file.read(0, &mut rest).unwrap();
    assert_eq!((&rest, file.len().unwrap()), (b"01ab", 4));
}

#[test]
fn what_was_synced_survives_a_power_cut_and_a_failed_sync_is_told() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/")).unwrap();
    let file = LogFile(disk.open_write(Path::new("/f")).unwrap());
    disk.sync_dir(Path::new("/")).unwrap();
    file.write(0, b"kept").unwrap();
    file.sync_data().unwrap();
    disk.fail_next_sync();
    assert!(file.sync_data().is_err());
    let file = LogFile(disk.crash().open_write(Path::new("/f")).unwrap());
    let mut out = [0; 4];
    file.read(0, &mut out).unwrap();
    assert_eq!(&out, b"kept");
}
