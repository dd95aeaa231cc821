//! A writer that opens the journal, or compresses a segment, between any two looks of a reader.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stdx::{Disk, DiskFile, Metadata, RealDisk};
use tempfile::tempdir;

use super::damage::{copy, found_by, lines_of, read_to_a, write};
use crate::Reader;

/// The real disk, for a reader: before its look number `at`, a writer does something in `dir`.
struct DiskWithWriter {
    looks: AtomicUsize,
    at: usize,
    dir: PathBuf,
    act: fn(&Path),
}

impl DiskWithWriter {
    fn look(&self) {
        if self.looks.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            (self.act)(&self.dir);
        }
    }
}

impl Disk for DiskWithWriter {
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.look();
        RealDisk.open_read(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.look();
        RealDisk.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.look();
        RealDisk.metadata(path)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealDisk.list_dirs(dir)
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        panic!("a reader writes nothing")
    }

    fn create(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        panic!("a reader writes nothing")
    }

    fn open_append(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        panic!("a reader writes nothing")
    }

    fn open_write(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        panic!("a reader writes nothing")
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        panic!("a reader writes nothing")
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        panic!("a reader writes nothing")
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        panic!("a reader writes nothing")
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Send + Sync>> {
        panic!("a reader writes nothing")
    }
}

#[test]
fn what_an_older_copy_has_lost_is_named_once_whenever_the_writer_comes() {
    for is_copy in [false, true] {
        for at in 1.. {
            let home = tempdir().unwrap();
            let older = home.path().join("older");
            write(&home.path().join("journal"), "old");
            copy(&home.path().join("journal"), &older);
            let (dir, place, end) = read_to_a(home.path());
            fs::remove_dir_all(&dir).unwrap();
            if is_copy {
                copy(&older, &dir);
            }
            let looks = AtomicUsize::new(0);
            let act = |dir: &Path| write(dir, "c");
            let meanwhile = Arc::new(DiskWithWriter { looks, at, dir: dir.clone(), act });
            let reader = Reader::open(&dir, meanwhile.clone()).unwrap();
            let (mut reader, displaced) = reader.resume(place).unwrap();
            let mut found = found_by(&mut reader).0;
            // From here on no look is the one meant.
            let is_over = meanwhile.looks.fetch_add(at, Ordering::Relaxed) < at;
            if is_over {
                write(&dir, "c");
            }
            found.extend(found_by(&mut reader).0);
            let lost_to = displaced.unwrap().lost_to;
            assert_eq!(lost_to, Some(end), "copy {is_copy}, look {at}: {found:?}");
            assert_eq!(found, lines_of("c"), "copy {is_copy}, look {at}");
            if is_over {
                println!("copy {is_copy}: {} looks", at - 1);
                assert!(at > 5, "the reader looks");
                break;
            }
        }
    }
}

#[test]
fn no_line_is_missed_or_comes_twice_whenever_a_segment_is_compressed() {
    let act = |dir: &Path| {
        let plain = dir.join(format!("{:020}.log", 0));
        let packed = zstd::encode_all(&*fs::read(&plain).unwrap(), 3).unwrap();
        fs::write(plain.with_extension("log.zst"), packed).unwrap();
        fs::remove_file(plain).unwrap();
    };
    for at in 1.. {
        let home = tempdir().unwrap();
        let dir = home.path().to_owned();
        // Two lines in each of two segments.
        fs::write(dir.join(format!("{:020}.log", 0)), "a0 \na1 \n").unwrap();
        fs::write(dir.join(format!("{:020}.log", 8)), "a2 \na3 \n").unwrap();
        let disk = Arc::new(DiskWithWriter { looks: AtomicUsize::new(0), at, dir, act });
        // Behind the first line, as a place of an older version.
        let place = "4".parse().unwrap();
        let (mut reader, displaced) =
            Reader::open(&disk.dir, disk.clone()).unwrap().resume(place).unwrap();
        assert_eq!(displaced, None, "look {at}");
        assert_eq!(found_by(&mut reader).0, ["a1", "a2", "a3"], "look {at}");
        if disk.looks.load(Ordering::Relaxed) < at {
            assert!(at > 5, "the reader looks");
            break;
        }
    }
}
