//! A journal whose segments go away faster than a reader can look at them.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use stdx::{DiskFile, Metadata};

use super::*;

/// A disk that lists a segment, which is gone before it is opened, each time.
#[derive(Default)]
struct VanishingDisk {
    lists: AtomicUsize,
}

impl Disk for VanishingDisk {
    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        let lists = self.lists.fetch_add(1, Ordering::Relaxed);
        assert!(lists < 10 * LOOKS_MAX, "it looks without end");
        Ok(vec![Segment::plain(0).to_string()])
    }

    fn open_read(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn metadata(&self, _: &Path) -> io::Result<Metadata> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list_dirs(&self, _: &Path) -> io::Result<Vec<String>> {
        unreachable!("a journal has no directories of segments")
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        unreachable!("a reader writes nothing")
    }

    fn create(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("a reader writes nothing")
    }

    fn open_append(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("a reader writes nothing")
    }

    fn open_write(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("a reader writes nothing")
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        unreachable!("a reader writes nothing")
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        unreachable!("a reader writes nothing")
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        unreachable!("a reader writes nothing")
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Send + std::marker::Sync>> {
        unreachable!("a reader locks nothing")
    }
}

#[test]
fn a_place_is_looked_for_a_hundred_times_while_segments_go_away_and_then_it_is_an_error() {
    let disk = Arc::new(VanishingDisk::default());
    let reader = Reader::open(dir(), disk.clone()).unwrap();
    let before = disk.lists.load(Ordering::Relaxed);
    let error = reader.resume(behind(1, 1)).err().expect("its segment is never there");
    assert!(error.is_not_found(), "{error}");
    assert_eq!(disk.lists.load(Ordering::Relaxed) - before, LOOKS_MAX);
}
