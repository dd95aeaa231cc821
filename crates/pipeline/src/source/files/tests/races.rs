//! Claims about directories that change while they are looked through.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use stdx::{Disk, DiskFile, Metadata, RealDisk};

use super::FilePattern;
use super::world::{IDLE_TIMEOUT, World, gzip, lines};

/// What happens just after a directory was listed; it may also take names out of the listing, as a
/// rename does that the listing overtakes.
type Meanwhile = Box<dyn FnOnce(&mut Vec<String>) + Send>;

/// A real disk on which others work.
#[derive(Default)]
struct BusyDisk {
    meanwhile: Mutex<VecDeque<Meanwhile>>,
    /// A file that nobody may open.
    denied: Mutex<Option<PathBuf>>,
}

impl BusyDisk {
    fn meets(meanwhile: impl FnOnce(&mut Vec<String>) + Send + 'static) -> Self {
        let meanwhile: Meanwhile = Box::new(meanwhile);
        Self { meanwhile: Mutex::new([meanwhile].into()), ..Self::default() }
    }
}

impl Disk for BusyDisk {
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = RealDisk.list(dir)?;
        let meanwhile = self.meanwhile.lock().pop_front();
        if let Some(meanwhile) = meanwhile {
            meanwhile(&mut names);
        }
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        RealDisk.create_dir_all(dir)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.create(path)
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.open_append(path)
    }

    fn open_write(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.open_write(path)
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.denied.lock().as_deref() == Some(path) {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => RealDisk.open_read(path),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealDisk.list_dirs(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        RealDisk.metadata(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        RealDisk.lock(path)
    }
}

/// Two lines were delivered, a third was written, and the log was renamed; then a reader starts
/// that meets `meanwhile` at its first look.
fn reader_meets(prepare: impl FnOnce(&World), meanwhile: Meanwhile, world: &mut World) {
    world.write("access.log", "a1 a2");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1", "a2"]);
    world.write("access.log", "a3");
    world.rename("access.log", "access.log.1");
    world.write("access.log", "b1");
    prepare(world);
    world.disk = Arc::new(BusyDisk::meets(meanwhile));
    let mut again = world.resume(&tail);
    let mut ids = again.drain().ids;
    let mut third = world.resume(&again);
    ids.extend(third.drain().ids);
    ids.sort();
    assert_eq!(ids, ["a3", "b1"]);
}

#[test]
fn a_log_whose_packing_ends_during_the_look_is_not_forgotten() {
    let mut world = World::new(&["access.log*"]);
    let (plain, packed) = (world.path("access.log.1"), world.path("access.log.1.gz"));
    let begun = packed.clone();
    let meanwhile = Box::new(move |_: &mut Vec<String>| {
        fs::write(packed, gzip(lines("a1 a2 a3").as_bytes())).unwrap();
        fs::remove_file(plain).unwrap();
    });
    let prepare = move |_: &World| fs::write(begun, "").unwrap();
    reader_meets(prepare, meanwhile, &mut world);
}

#[test]
fn a_log_that_is_renamed_after_its_folder_was_listed_is_not_forgotten() {
    let mut world = World::new(&["access.log*"]);
    let (log, old) = (world.path("access.log"), world.path("access.log.1"));
    let (given, taken) = (old.clone(), log.clone());
    // The name is that of another file by the time it is looked up.
    let meanwhile = Box::new(move |_: &mut Vec<String>| {
        fs::rename(&log, &old).unwrap();
        fs::write(&log, lines("b1")).unwrap();
    });
    let prepare = move |_: &World| fs::rename(given, taken).unwrap();
    reader_meets(prepare, meanwhile, &mut world);
}

#[test]
fn a_log_that_a_listing_misses_is_not_forgotten() {
    let mut world = World::new(&["access.log*"]);
    let meanwhile = Box::new(|names: &mut Vec<String>| names.retain(|name| name != "access.log.1"));
    reader_meets(|_| {}, meanwhile, &mut world);
}

#[test]
fn a_log_that_is_emptied_just_after_its_copy_was_listed_is_not_forgotten() {
    let mut world = World::new(&["access.log*"]);
    let (log, copy) = (world.path("access.log.1"), world.path("access.log.1.copy"));
    let begun = copy.clone();
    let meanwhile = Box::new(move |_: &mut Vec<String>| {
        fs::copy(&log, copy).unwrap();
        fs::write(log, "").unwrap();
    });
    let prepare = move |_: &World| fs::write(begun, "").unwrap();
    reader_meets(prepare, meanwhile, &mut world);
}

#[test]
fn a_file_that_is_named_in_full_is_found_where_nobody_may_list_its_folder() {
    let world = World::new(&[]);
    world.write("access.log", "a1");
    let disk = BusyDisk::meets(|_| panic!("the folder is listed"));
    assert!(FilePattern::new(&world.path("access.log")).unwrap().matches_any(&disk));
    assert!(!FilePattern::new(&world.path("other.log")).unwrap().matches_any(&disk));
}

#[test]
fn a_file_that_nobody_may_open_is_named_and_its_log_is_not_forgotten() {
    let mut world = World::new(&["*.log"]);
    for name in ["a.log", "b.log"] {
        world.write(name, &format!("{name}1"));
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 2);
    let disk = Arc::new(BusyDisk::default());
    *disk.denied.lock() = Some(world.path("a.log"));
    world.disk = disk.clone();
    let mut again = world.resume(&tail);
    let seen = again.drain();
    assert_eq!(seen.unreadable, [world.path("a.log").display().to_string()]);
    assert!(seen.lost.is_empty() && again.drain().is_empty(), "it is said once");
    assert_eq!((again.known(), again.unreadable().len()), (2, 1));
    *disk.denied.lock() = None;
    world.write("a.log", "a2");
    assert_eq!(again.drain().ids, ["a2"]);
    assert!(again.unreadable().is_empty());
}

#[test]
fn what_came_up_while_a_log_was_given_up_is_read_before_it_says_that_there_is_no_more() {
    let mut world = World::new(&["*.log"]);
    world.write("a.log", "a1");
    let disk = Arc::new(BusyDisk::default());
    world.disk = disk.clone();
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    world.remove("a.log");
    world.write("b.log", "b1");
    assert_eq!(tail.drain().ids, ["b1"]);
    world.clock.advance(IDLE_TIMEOUT * 2);
    let late = world.path("c.log");
    disk.meanwhile.lock().push_back(Box::new(move |_| fs::write(late, lines("c1")).unwrap()));
    assert_eq!(tail.drain().ids, ["c1"]);
}
