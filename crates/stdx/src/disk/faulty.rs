//! Implements `Disk` in memory: it fails on demand, and a crash forgets what was not synced.
//!
//! The model, by seed:
//! - Every operation counts but `start_writing`. The Nth can be made to fail with EIO, once or from
//!   then on. The next `sync` can fail too, and syncs can be held back.
//! - With a capacity set, an append takes what fits and then fails with ENOSPC. `write_at` ignores
//!   it.
//! - A failed `sync` loses everything from the first byte that is not durable. Reads still show it
//!   and later syncs succeed, but after a crash zeros stand there. Only cutting the file before
//!   it mends that.
//! - At a crash, a file that was only appended to keeps its synced contents and a drawn part of the
//!   rest. The end of that part may be zeros. A file that was cut or overwritten comes back as it
//!   was or as it became.
//! - At a crash, a drawn prefix of the changes of names since `sync_dir` is kept, as a metadata
//!   journal would. A rename belongs to the directory of its new name.
//! - After a crash or `kill`, old handles and clones fail with EIO, and locks are free. Both also
//!   end made faults, the capacity and held syncs. A `kill` loses nothing.
//!
//! Invariant: with the same seed, the same operations in the same order lose the same bytes. Only
//! tests use it: `journal`, `cache` and `pipeline` prove recovery by it, so a milder model proves
//! less.
//! Refuses: loss of whole directories, which are durable when made. Unlike in `real.rs`, a lock
//! makes no file, and any handle may be written, at any offset.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::{Disk, DiskFile, FileIdentity, Metadata};
use crate::clock::{Clock, ManualClock};
use crate::random::Random;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// How long a made fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// One operation fails.
    Once,
    /// That operation and every later one fails, until the crash.
    Forever,
}

/// A disk in memory that fails on demand; clones share the files.
#[derive(Debug, Clone)]
pub struct FaultyDisk {
    medium: Arc<Medium>,
    /// Which of the processes that use the disk one after the other has this; the others are dead.
    life: u64,
}

#[derive(Debug)]
struct Medium {
    state: Mutex<State>,
    /// Signalled when held syncs may go on.
    released: Condvar,
    clock: ManualClock,
}

#[derive(Debug)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    changes: Vec<DirChange>,
    dirs: BTreeSet<PathBuf>,
    locks: BTreeSet<PathBuf>,
    random: Random,
    operations: u64,
    fault: Option<(u64, Lasting)>,
    next_sync_fails: bool,
    capacity: Option<u64>,
    syncs_stalled: bool,
    lives: u64,
}

#[derive(Debug, Default, Clone)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    lost: Vec<Range<usize>>,
    created_us: u64,
    modified_us: u64,
}

#[derive(Debug, Clone)]
enum DirChange {
    Add(PathBuf, u64),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl FaultyDisk {
    /// An empty disk; `seed` decides what a crash keeps.
    pub fn new(seed: u64) -> Self {
        let state = State {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            changes: Vec::new(),
            dirs: BTreeSet::new(),
            locks: BTreeSet::new(),
            random: Random::new(seed),
            operations: 0,
            fault: None,
            next_sync_fails: false,
            capacity: None,
            syncs_stalled: false,
            lives: 0,
        };
        let clock = ManualClock::at(1_000_000_000_000_000);
        let medium = Medium { state: Mutex::new(state), released: Condvar::new(), clock };
        Self { medium: Arc::new(medium), life: 0 }
    }

    /// Returns the clock that stamps the files.
    pub fn clock(&self) -> ManualClock {
        self.medium.clock.clone()
    }

    /// Makes the `nth` operation from here on fail with EIO; the first is 1.
    pub fn fail_nth(&self, nth: u64, lasting: Lasting) {
        let mut state = self.medium.state();
        state.fault = Some((state.operations + nth, lasting));
    }

    /// Makes the next `DiskFile::sync` fail with EIO.
    pub fn fail_next_sync(&self) {
        self.medium.state().next_sync_fails = true;
    }

    /// Makes operations succeed again.
    pub fn heal(&self) {
        self.medium.state().heal();
    }

    /// Returns how many operations there have been.
    pub fn operations(&self) -> u64 {
        self.medium.state().operations
    }

    /// Lets all files together take `bytes`, or any number of them.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.medium.state().capacity = bytes;
    }

    /// Makes every `DiskFile::sync` wait until [`FaultyDisk::release_syncs`].
    pub fn hold_syncs(&self) {
        self.medium.state().syncs_stalled = true;
    }

    /// Lets held syncs go on.
    pub fn release_syncs(&self) {
        self.medium.state().syncs_stalled = false;
        self.medium.released.notify_all();
    }

    /// Cuts the power: what was not synced is lost in part or in whole, and faults are over.
    ///
    /// Returns the disk as the next process finds it; this one and its clones are dead.
    #[must_use = "the disk that crashed is dead"]
    pub fn crash(&self) -> Self {
        let mut state = self.medium.state();
        let State { changes, durable_names, inodes, random, .. } = &mut *state;
        let kept = random.up_to(changes.len() as u64) as usize;
        for change in changes.drain(..).take(kept) {
            change.apply(durable_names);
        }
        for inode in inodes.values_mut() {
            inode.crash(random);
        }
        state.names = state.durable_names.clone();
        self.medium.next_life(state)
    }

    /// Kills the process that uses the disk: nothing is lost, and faults are over.
    ///
    /// Returns the disk as the next process finds it; this one and its clones are dead.
    #[must_use = "the disk of the killed process is dead"]
    pub fn kill(&self) -> Self {
        self.medium.next_life(self.medium.state())
    }
}

impl Disk for FaultyDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        // Directories survive a crash without being synced: the model is about files.
        state.dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.operation()?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.add(path, self.medium.clock.unix_micros())?;
        Ok(self.handle(&state, path))
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.operation()?;
        state.find(path)?;
        Ok(self.handle(&state, path))
    }

    fn open_write(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.operation()?;
        if !state.names.contains_key(path) {
            state.add(path, self.medium.clock.unix_micros())?;
        }
        Ok(self.handle(&state, path))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.open_append(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        let changes = std::mem::take(&mut state.changes);
        let (here, elsewhere) =
            changes.into_iter().partition::<Vec<_>, _>(|change| change.dir() == Some(dir));
        for change in here {
            change.apply(&mut state.durable_names);
        }
        state.changes = elsewhere;
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        state.find(from)?;
        let change = DirChange::Rename(from.to_owned(), to.to_owned());
        change.clone().apply(&mut state.names);
        state.changes.push(change);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation()?;
        state.find(path)?;
        state.names.remove(path);
        state.changes.push(DirChange::Remove(path.to_owned()));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.operation()?;
        if !state.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let here = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(here.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.operation()?;
        if !state.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let here = state.dirs.iter().filter(|path| path.parent() == Some(dir));
        Ok(here.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let state = self.operation()?;
        Ok(state.describe(state.find(path)?))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut state = self.operation()?;
        if !state.locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let life = state.lives;
        Ok(Box::new(Lock { medium: self.medium.clone(), path: path.to_owned(), life }))
    }
}

impl FaultyDisk {
    fn operation(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.medium.operation()?;
        state.alive(self.life)?;
        Ok(state)
    }

    fn handle(&self, state: &State, path: &Path) -> Arc<dyn DiskFile> {
        let inode = state.names[path];
        Arc::new(Handle { medium: self.medium.clone(), inode, life: state.lives })
    }
}

impl Medium {
    fn next_life(self: &Arc<Self>, mut state: MutexGuard<'_, State>) -> FaultyDisk {
        state.locks.clear();
        state.heal();
        state.capacity = None;
        state.syncs_stalled = false;
        state.lives += 1;
        let next = FaultyDisk { medium: self.clone(), life: state.lives };
        drop(state);
        self.released.notify_all();
        next
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no operation panics while it holds the state")
    }

    /// Counts an operation and fails it if a fault is due.
    fn operation(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.count()?;
        Ok(state)
    }
}

impl State {
    fn heal(&mut self) {
        self.fault = None;
        self.next_sync_fails = false;
    }

    fn count(&mut self) -> io::Result<()> {
        self.operations += 1;
        let due = self.fault.is_some_and(|(nth, lasting)| match lasting {
            Lasting::Once => self.operations == nth,
            Lasting::Forever => self.operations >= nth,
        });
        if due { Err(io::Error::from_raw_os_error(EIO)) } else { Ok(()) }
    }

    /// Fails what belongs to a process that is no more.
    fn alive(&self, life: u64) -> io::Result<()> {
        if self.lives == life { Ok(()) } else { Err(io::Error::from_raw_os_error(EIO)) }
    }

    fn find(&self, path: &Path) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn describe(&self, number: u64) -> Metadata {
        let inode = &self.inodes[&number];
        let identity = FileIdentity { device: 1, inode: number, created_us: inode.created_us };
        Metadata { len: inode.live.len() as u64, identity, modified_us: inode.modified_us }
    }

    fn add(&mut self, path: &Path, now_us: u64) -> io::Result<()> {
        if !path.parent().is_some_and(|dir| self.dirs.contains(dir)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let number = self.inodes.len() as u64 + 1;
        let inode = Inode { created_us: now_us, modified_us: now_us, ..Inode::default() };
        self.inodes.insert(number, inode);
        self.names.insert(path.to_owned(), number);
        self.changes.push(DirChange::Add(path.to_owned(), number));
        Ok(())
    }

    fn used(&self) -> u64 {
        let named: BTreeSet<_> = self.names.values().collect();
        named.into_iter().map(|number| self.inodes[number].live.len() as u64).sum()
    }
}

impl DirChange {
    fn dir(&self) -> Option<&Path> {
        match self {
            Self::Add(path, _) | Self::Remove(path) | Self::Rename(_, path) => path.parent(),
        }
    }

    fn apply(self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Add(path, inode) => drop(names.insert(path, inode)),
            Self::Remove(path) => drop(names.remove(&path)),
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(&from) {
                    names.insert(to, inode);
                }
            }
        }
    }
}

impl Inode {
    fn sync(&mut self) {
        self.durable = self.live.clone();
        for range in &self.lost {
            let end = range.end.min(self.durable.len());
            self.durable[range.start.min(end)..end].fill(0);
        }
    }

    /// Remembers as lost what differs from the durable contents.
    fn fail_sync(&mut self) {
        let same = self.live.iter().zip(&self.durable).take_while(|(a, b)| a == b).count();
        self.lost.push(same..self.live.len());
    }

    fn crash(&mut self, random: &mut Random) {
        let mut after = self.clone();
        after.sync();
        if after.durable.starts_with(&self.durable) {
            let unsynced = after.durable.len() - self.durable.len();
            let kept = self.durable.len() + random.up_to(unsynced as u64) as usize;
            let written = random.up_to((kept - self.durable.len()) as u64) as usize;
            let sound = if random.bits() & 1 == 0 { kept } else { self.durable.len() + written };
            after.durable.truncate(kept);
            after.durable[sound..].fill(0);
            self.durable = after.durable;
        } else if random.bits() & 1 == 0 {
            // A cut or overwritten file comes back as it was or as it became.
            self.durable = after.durable;
        }
        self.live = self.durable.clone();
        self.lost.clear();
    }
}

struct Handle {
    medium: Arc<Medium>,
    inode: u64,
    life: u64,
}

impl Handle {
    fn operation(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.medium.operation()?;
        state.alive(self.life)?;
        Ok(state)
    }

    fn touch<'a>(&self, state: &'a mut State) -> &'a mut Inode {
        let inode = state.inodes.get_mut(&self.inode).expect("inodes are never removed");
        inode.modified_us = self.medium.clock.unix_micros();
        inode
    }
}

impl DiskFile for Handle {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.operation()?;
        let room =
            state.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(state.used()));
        let taken = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if taken == 0 && !bytes.is_empty() {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        self.touch(&mut state).live.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.operation()?;
        let live = &mut self.touch(&mut state).live;
        let end = offset as usize + bytes.len();
        live.resize(live.len().max(end), 0);
        live[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.operation()?;
        let live = &state.inodes[&self.inode].live;
        let rest = live.get(offset as usize..).unwrap_or_default();
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        Ok(taken)
    }

    fn start_writing(&self, _offset: u64, _length: u64) {}

    fn sync(&self) -> io::Result<()> {
        let state = self.medium.state();
        let wait = self.medium.released.wait_while(state, |state| state.syncs_stalled);
        let mut state = wait.expect("no operation panics while it holds the state");
        state.alive(self.life)?;
        let mut counted = state.count();
        if std::mem::take(&mut state.next_sync_fails) {
            counted = Err(io::Error::from_raw_os_error(EIO));
        }
        let inode = state.inodes.get_mut(&self.inode).expect("inodes are never removed");
        match counted {
            Ok(()) => inode.sync(),
            Err(_) => inode.fail_sync(),
        }
        counted
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.operation()?.inodes[&self.inode].live.len() as u64)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(self.operation()?.describe(self.inode))
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut state = self.operation()?;
        let inode = self.touch(&mut state);
        inode.live.resize(length as usize, 0);
        // What is appended after the cut is new data, no longer the lost one.
        inode.lost.retain(|range| (range.start as u64) < length);
        Ok(())
    }
}

struct Lock {
    medium: Arc<Medium>,
    path: PathBuf,
    life: u64,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.medium.state();
        if state.lives == self.life {
            state.locks.remove(&self.path);
        }
    }
}
