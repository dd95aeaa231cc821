//! Opens the journal, starts its three threads, hands out lanes, reports counters and alarms, and
//! closes it.
//!
//! Invariant: dropping it takes no more lines, then writes and syncs what the lanes held. If the
//! disk refuses, lines that could not be written are counted as unrecorded and logged. Tickets of
//! lines that are not durable fail. For that the writer ends before the syncer is told to. Opening
//! locks the directory, has `open` repair it, begins a session, sets the limit for readers, then
//! starts the threads, in this order. A new field of `Stats` is shown only where
//! `tidegate/src/admin.rs` names it: in `journal` for `/status`, in `refresh` for `/metrics`
//! (docs/operating/status.md). Never here: writing, syncing and sealing. `writer`, `syncer` and
//! `sealer` do that on threads of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stdx::Disk;

use crate::backlog::{Backlog, Unread};
use crate::bell::Bell;
use crate::dir::JournalDir;
use crate::durable::Durable;
use crate::error::JournalError;
use crate::evidence;
use crate::health::{Alarms, Counters};
use crate::hold::Hold;
use crate::intake::Intake;
use crate::lane::Lane;
use crate::limit::{Limit, Testimony};
use crate::open::{Recovered, recover};
use crate::options::Options;
use crate::retention::Retention;
use crate::sealer::Sealer;
use crate::sessions::{self, Extent};
use crate::syncer::Syncer;
use crate::writer::{Writer, WriterParts};

/// A durable log of lines, written by this process alone.
///
/// Dropping it writes and syncs what the lanes hold; lines that come later are not taken.
pub struct Journal {
    intake: Arc<Intake>,
    durable: Arc<Durable>,
    dir: Arc<JournalDir>,
    bell: Arc<Bell>,
    counters: Arc<Counters>,
    alarms: Arc<Alarms>,
    backlog: Arc<Backlog>,
    /// Bytes of a torn line that were cut off when it was opened.
    repaired_bytes: u64,
    threads: Threads,
    hold: Arc<Hold>,
}

/// The threads of a journal; each ends once it is told to.
#[derive(Default)]
struct Threads {
    writer: Option<JoinHandle<()>>,
    syncer: Option<JoinHandle<()>>,
    sealer: Option<JoinHandle<()>>,
}

/// Counters since the journal was opened, and its present size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The offset of the end of the last line written.
    pub offset: u64,
    /// The offset up to which lines are durable.
    pub synced: u64,
    /// How long the oldest line that is not durable has been waiting.
    pub unsynced_age: Duration,
    /// Lines taken from the lanes.
    pub lines: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Lines that were not recorded.
    pub unrecorded: u64,
    /// Syncs that failed.
    pub sync_failures: u64,
    /// Lines that were taken and are not written yet.
    pub waiting: u64,
    /// Bytes of a torn line that were cut off when the journal was opened.
    pub repaired_bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of the segment files as on disk.
    pub disk_bytes: u64,
}

/// Whether all is well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Lines can be written at present.
    pub recording: bool,
    /// What an operator must know; nothing when all is well.
    pub alarm: Option<String>,
}

impl Journal {
    /// Opens the journal, repairing what a crash left, and starts its threads.
    ///
    /// # Errors
    /// `Locked` when another process writes it; `Disk` when it cannot be read or repaired.
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let dir = options.dir.clone();
        let hold = Hold::take(disk.clone(), &dir)?;
        let recovered = recover(&*disk, &dir)?;
        let limit = Limit::new(disk.clone(), &dir);
        let witness = Limit::witness(disk.clone(), &dir);
        let named = begin_session(&hold, &disk, &dir, &recovered)?;
        let witness = witness.filter(|witness| {
            let outcome = witness.begin(recovered.end, &named);
            outcome.inspect_err(|error| no_witness(&dir, error)).is_ok()
        });
        let dir = Arc::new(JournalDir::new(disk, dir));
        let counters = Arc::new(Counters::from_offset(recovered.end));
        let backlog = Backlog::new(dir.clone(), counters.clone(), &options);
        let mut journal = Self {
            intake: Arc::new(Intake::new(&options)),
            durable: Arc::new(Durable::new(options.sync, recovered.end)),
            dir,
            bell: Arc::default(),
            counters,
            alarms: Arc::default(),
            backlog: Arc::new(backlog),
            repaired_bytes: recovered.dropped_bytes,
            threads: Threads::default(),
            hold: Arc::new(hold),
        };
        journal.start_threads(&options, (limit, witness), recovered.end)?;
        Ok(journal)
    }

    /// Hands each thread its own handles.
    fn start_threads(
        &mut self,
        options: &Options,
        (limit, witness): (Limit, Option<Limit>),
        end: u64,
    ) -> Result<(), JournalError> {
        let retention = Arc::new(Retention {
            dir: self.dir.clone(),
            durable: self.durable.clone(),
            keep: options.keep,
            clock: options.clock.clone(),
            backlog: self.backlog.clone(),
        });
        let syncer = Syncer {
            durable: self.durable.clone(),
            dir: self.dir.clone(),
            limit,
            witness,
            hold: self.hold.clone(),
            intake: self.intake.clone(),
            counters: self.counters.clone(),
            alarms: self.alarms.clone(),
        };
        let sealer = Sealer {
            dir: self.dir.clone(),
            retention: retention.clone(),
            bell: self.bell.clone(),
            alarms: self.alarms.clone(),
            backlog: self.backlog.clone(),
        };
        let parts = WriterParts {
            intake: self.intake.clone(),
            durable: self.durable.clone(),
            retention,
            bell: self.bell.clone(),
            counters: self.counters.clone(),
            alarms: self.alarms.clone(),
            hold: self.hold.clone(),
        };
        let writer = Writer::new(parts, options, end);
        let failed = |error| JournalError::disk("start threads for", &options.dir)(error);
        let threads = &mut self.threads;
        threads.syncer = Some(spawn("journal-sync", move || syncer.run()).map_err(failed)?);
        threads.sealer = Some(spawn("journal-seal", move || sealer.run()).map_err(failed)?);
        threads.writer = Some(spawn("journal-write", move || writer.run()).map_err(failed)?);
        Ok(())
    }

    /// Returns a new lane; each I/O core takes one of its own.
    pub fn lane(&self) -> Lane {
        Lane::new(self.intake.clone())
    }

    /// Returns counters and sizes; asks the disk for the latter.
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let sizes = self.dir.sizes().unwrap_or_default();
        Stats {
            offset: read(&counters.offset),
            synced: self.durable.synced(),
            unsynced_age: self.durable.waiting(),
            lines: read(&counters.lines),
            bytes: read(&counters.bytes),
            unrecorded: self.intake.unrecorded(),
            sync_failures: read(&counters.sync_failures),
            waiting: self.intake.waiting() + read(&counters.pending),
            repaired_bytes: self.repaired_bytes,
            segments: sizes.len() as u64,
            disk_bytes: sizes.iter().map(|(_, size)| size.len).sum(),
        }
    }

    /// Returns what tells, once the journal is dropped, how many lines could not be written.
    pub fn lost_at_close(&self) -> impl Fn() -> u64 + use<> {
        let counters = Arc::clone(&self.counters);
        move || counters.lost_at_close.load(Ordering::Relaxed)
    }

    /// Returns who has not read how much, by name; nothing while the directory cannot be read.
    pub fn unread(&self) -> Vec<Unread> {
        self.backlog.unread().unwrap_or_default()
    }

    /// Returns whether all is well.
    pub fn health(&self) -> Health {
        let alarms = [&self.alarms.write, &self.alarms.sync, &self.alarms.upkeep];
        let texts = alarms.iter().filter_map(|alarm| alarm.text());
        let texts: Vec<_> = texts.chain(self.alarms.intrusion.text()).collect();
        Health {
            recording: self.intake.is_recording(),
            alarm: (!texts.is_empty()).then(|| texts.join("; ")),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.intake.close();
        join(&mut self.threads.writer);
        self.durable.close();
        self.bell.close();
        join(&mut self.threads.syncer);
        join(&mut self.threads.sealer);
    }
}

/// Begins a session, and sets the limit for readers; returns the ids that a witness is to name.
fn begin_session(
    hold: &Hold,
    disk: &Arc<dyn Disk>,
    dir: &Path,
    recovered: &Recovered,
) -> Result<Vec<u64>, JournalError> {
    let limit = Limit::new(disk.clone(), dir);
    let witness = Limit::witness(disk.clone(), dir);
    let says = witness.as_ref().map_or(Testimony::Missing, Limit::look);
    // That they cannot be read is said where the next one is noted.
    let known = sessions::read(&**disk, dir).unwrap_or_default();
    let evidence = evidence::weigh(&limit.look(), &says, &known, recovered.end > 0);
    let id = Hold::next_id(&known);
    let named = sessions::named(id, &known, &evidence.former);
    let failed = || JournalError::disk("write", Limit::path(dir));
    if !evidence.in_doubt {
        // After a kill between this and the next step both are known to be of this journal.
        let durable = evidence.durable.max(recovered.end);
        limit.write(durable, &named).map_err(failed())?;
        let _ = witness.map(|witness| witness.begin(durable, &named));
    }
    let extent = Extent { first: recovered.first, end: recovered.end, evidence };
    hold.begin(dir, &extent, id);
    limit.write(recovered.end, &named).map_err(failed())?;
    Ok(named)
}

fn no_witness(dir: &Path, error: &std::io::Error) {
    let dir = dir.display();
    let what = "nothing can be written beside the journal: an older copy of it is not noticed";
    tracing::warn!(%error, %dir, "{what}");
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take()
        && thread.join().is_err()
    {
        tracing::error!("a thread of the journal panicked");
    }
}
