//! The thread that opens the store, writes what waits, and starts anew after a failure.
//!
//! Invariant: a store that failed once is removed before another one is opened, for it may lack
//! what was forgotten since. A store that another process holds is left alone.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use stdx::{Backoff, Chain};

use super::file::File;
use super::queue::Work;
use super::record::Stored;
use super::store::{Change, Store, StoreError};
use super::{Shared, hash, record};

/// The longest that a change waits, and what a crash may lose.
const FLUSH: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
/// Time after which the clock is written down, though nothing else is to be.
const CLOCK_NOTED: Duration = Duration::from_secs(60);
/// Bytes of one transaction.
const TRANSACTION_BYTES: usize = 1 << 20;
/// Share of the bytes given that records may fill; the rest is the engine's, to write beside them.
pub(super) const FILL: f64 = 0.85;
/// A wall clock this far behind what it once showed was wrong then: no age can be told any more.
const LAG_HOPELESS: u64 = 3_600_000_000;
/// Time before the first new try after a failure, and the longest.
const RETRY: (Duration, Duration) = (
    Duration::from_millis(if cfg!(test) { 20 } else { 1000 }),
    Duration::from_secs(if cfg!(test) { 1 } else { 60 }),
);

/// A store in use, with the lock on its folder, which is given back after it.
pub(super) struct Opened {
    /// The store.
    pub store: Store,
    _lock: Box<dyn Send + Sync>,
}

/// Why the store is out of use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("another process uses the folder `{}`", .0.display())]
    Locked(PathBuf),
    #[error("use the folder `{}`", .0.display())]
    Disk(PathBuf, #[source] io::Error),
    #[error("use the file `{}`", .0.display())]
    Store(PathBuf, #[source] StoreError),
    #[error("use the file `{}`: the engine panicked", .0.display())]
    Panicked(PathBuf),
    #[error("read from the file `{}`", .0.display())]
    Read(PathBuf),
    #[error("keep up with what is forgotten")]
    Behind,
    #[error("tell ages: the wall clock went back by more than an hour")]
    Clock,
}

/// Runs until the queue is stopped; says when it has tried to open the store.
pub(super) fn run(shared: &Shared, ready: &Sender<()>) {
    let mut backoff = Backoff::new(RETRY.0, RETRY.1, std::process::id().into());
    loop {
        let outcome = open(shared).and_then(|opened| {
            backoff.reset();
            shared.take_into_use(opened);
            // Nobody waits any more when this took too long.
            let _ = ready.send(());
            let outcome = write_all(shared);
            if outcome.is_err() {
                // Tried again before the next store is opened.
                let _ = shared.remove();
            }
            shared.take_out_of_use();
            outcome
        });
        let Err(fault) = outcome else { return };
        shared.failed(&fault);
        let _ = ready.send(());
        if shared.queue.pause(backoff.delay()) {
            return;
        }
    }
}

impl Shared {
    fn path(&self) -> PathBuf {
        self.plan.dir.join("cache.redb")
    }

    fn take_into_use(&self, opened: Opened) {
        *self.fault.lock() = None;
        self.metrics.up.set(1);
        self.measure(&opened.store);
        *self.opened.write() = Some(Arc::new(opened));
    }

    fn take_out_of_use(&self) {
        self.metrics.up.set(0);
        let opened = self.opened.write().take();
        // A read under way holds it for a moment longer. What closing may panic at was told.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(opened)));
    }

    fn failed(&self, fault: &Fault) {
        let text = Chain(fault).to_string();
        self.metrics.errors.add(1);
        let before = self.fault.lock().replace(text.clone());
        if before.as_ref() != Some(&text) {
            tracing::error!(fault = %text, "the cache on disk is out of use");
        }
    }

    fn measure(&self, store: &Store) {
        self.metrics.bytes.set(i64::try_from(store.used()).unwrap_or(i64::MAX));
        self.metrics.entries.set(i64::try_from(store.entries()).unwrap_or(i64::MAX));
    }

    /// Removes the store's file; what waits is all that is on disk then.
    fn remove(&self) -> Result<(), Fault> {
        match self.disk.remove(&self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Fault::Disk(self.plan.dir.clone(), error))
            }
            _ => {
                // A power cut must not bring it back.
                let synced = self.disk.sync_dir(&self.plan.dir);
                synced.map_err(|error| Fault::Disk(self.plan.dir.clone(), error))?;
                self.queue.clear();
                self.log.lock().clear();
                self.latest_us.store(0, Ordering::Relaxed);
                self.broken.store(false, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

fn open(shared: &Shared) -> Result<Opened, Fault> {
    let dir = &shared.plan.dir;
    let failed = |error| Fault::Disk(dir.clone(), error);
    shared.disk.create_dir_all(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => failed(io::ErrorKind::NotADirectory.into()),
        _ => failed(error),
    })?;
    let lock = shared.disk.lock(&dir.join("lock")).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Fault::Locked(dir.clone()),
        _ => failed(error),
    })?;
    if shared.broken.load(Ordering::Relaxed) || shared.queue.lost_count() {
        shared.remove()?;
    }
    let store = match open_store(shared) {
        Ok(store) => store,
        Err(fault) => {
            tracing::warn!(fault = %Chain(&fault), "the cache on disk is begun anew");
            shared.remove()?;
            open_store(shared)?
        }
    };
    Ok(Opened { store, _lock: lock })
}

/// Opens the store, unless its clock or its log says that nothing in it can be trusted.
fn open_store(shared: &Shared) -> Result<Store, Fault> {
    let path = shared.path();
    let file = shared.disk.open_write(&path);
    let failed = |error| Fault::Disk(shared.plan.dir.clone(), error);
    let file = file.map_err(failed)?;
    shared.disk.sync_dir(&shared.plan.dir).map_err(failed)?;
    let bytes = (shared.plan.bytes as f64 * FILL) as u64;
    let store = guarded(shared, || Store::open(File(file), bytes))?;
    let clock = guarded(shared, || store.clock())?;
    let logged = guarded(shared, || store.logged())?;
    let wall = shared.clock.unix_micros();
    if !shared.log.lock().resume(&logged) || wall + LAG_HOPELESS < clock {
        drop(store);
        shared.remove()?;
        return open_store(shared);
    }
    shared.latest_us.fetch_max(clock.max(wall), Ordering::Relaxed);
    make_durable(shared, &store)?;
    Ok(store)
}

/// Writes until the queue is stopped.
fn write_all(shared: &Shared) -> Result<(), Fault> {
    let mut durable_at = Instant::now();
    let mut noted_at = Instant::now();
    let mut is_dirty = false;
    loop {
        let work = shared.queue.take(durable_at + FLUSH);
        let opened = shared.opened.read().clone();
        let store = &opened.as_ref().expect("only this thread takes it out of use").store;
        is_dirty |= !work.changes.is_empty() || shared.log.lock().has_unwritten();
        is_dirty |= work.stopping || noted_at.elapsed() >= CLOCK_NOTED;
        let is_due = work.stopping || durable_at.elapsed() >= FLUSH;
        let written = write(shared, store, &work).and_then(|()| match is_dirty && is_due {
            true => make_durable(shared, store),
            false => Ok(()),
        });
        if let Err(fault) = written {
            shared.broken.store(true, Ordering::Relaxed);
            return Err(fault);
        }
        if is_due {
            durable_at = Instant::now();
            if std::mem::take(&mut is_dirty) {
                noted_at = durable_at;
            }
        }
        shared.queue.written();
        shared.measure(store);
        if work.stopping {
            return Ok(());
        }
    }
}

fn make_durable(shared: &Shared, store: &Store) -> Result<(), Fault> {
    let wall = shared.clock.unix_micros();
    let latest = shared.latest_us.fetch_max(wall, Ordering::Relaxed).max(wall);
    if wall + LAG_HOPELESS < latest {
        return Err(Fault::Clock);
    }
    log_purges(shared, store)?;
    guarded(shared, || store.write(&[], latest, true))
}

/// Writes the purges that are not written yet.
pub(super) fn log_purges(shared: &Shared, store: &Store) -> Result<(), Fault> {
    if !shared.log.lock().has_unwritten() {
        return Ok(());
    }
    let purges = shared.log.lock().take_unwritten();
    guarded(shared, || store.log(&purges))
}

fn write(shared: &Shared, store: &Store, work: &Work) -> Result<(), Fault> {
    if shared.broken.load(Ordering::Relaxed) {
        return Err(Fault::Read(shared.path()));
    }
    if work.lost_count {
        return Err(Fault::Behind);
    }
    let clock = shared.latest_us.load(Ordering::Relaxed);
    let mut some = Vec::new();
    let mut bytes = 0;
    for (key, stored) in work.changes.iter() {
        let record = stored.as_ref().map(|stored| record::encode(key, stored));
        if let Some(record) = &record {
            bytes += record.len();
            shared.metrics.written.add(1);
            shared.metrics.written_bytes.add(record.len() as u64);
        }
        let stamp = match stored {
            Some(Stored::Entry(kept)) => kept.stamp,
            _ => 0,
        };
        some.push(Change { hash: hash(key), record, stamp });
        if bytes >= TRANSACTION_BYTES {
            guarded(shared, || store.write(&some, clock, false))?;
            some.clear();
            bytes = 0;
        }
    }
    if some.is_empty() { Ok(()) } else { guarded(shared, || store.write(&some, clock, false)) }
}

/// Runs what may fail, or panic where the file's contents make no sense.
fn guarded<T>(shared: &Shared, job: impl FnOnce() -> Result<T, StoreError>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(job)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Fault::Store(shared.path(), error)),
        Err(_) => Err(Fault::Panicked(shared.path())),
    }
}
