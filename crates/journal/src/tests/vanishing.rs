//! What several files of tests need: a journal whose segments go away faster than anybody can look
//! at them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stdx::{Disk, DiskFile, Metadata};

use crate::segment::Segment;

/// A disk that lists a segment, which is gone before it is opened, each time.
#[derive(Default)]
pub(crate) struct VanishingDisk {
    lists: AtomicUsize,
}

impl VanishingDisk {
    /// How often it was asked for the segments.
    pub(crate) fn lists(&self) -> usize {
        self.lists.load(Ordering::Relaxed)
    }
}

impl Disk for VanishingDisk {
    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        let lists = self.lists.fetch_add(1, Ordering::Relaxed);
        assert!(lists < 1000, "it looks without end");
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
        unreachable!("nothing is written")
    }

    fn create(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("nothing is written")
    }

    fn open_append(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("nothing is written")
    }

    fn open_write(&self, _: &Path) -> io::Result<Arc<dyn DiskFile>> {
        unreachable!("nothing is written")
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        unreachable!("nothing is written")
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        unreachable!("nothing is written")
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        unreachable!("nothing is written")
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Send + Sync>> {
        unreachable!("nothing is locked")
    }
}
