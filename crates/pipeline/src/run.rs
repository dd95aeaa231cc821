//! Runs one pipeline, the life of an event: tail → decode → window → deliver → checkpoint → retire.
//!
//! It begins with `prepare`, `claim` and `checkpoints` of the sink, then `others` and `resume` of
//! the source, then `resume` of the quarantine. Sinks and sources rely on this order.
//! One thread reads and counts, another commits. While a batch is on its way, the next window
//! fills. When that is full too, reading waits. A pipeline that was fenced off can also watch the
//! checkpoint (`stand_by`).
//! Invariant: a position is committed together with all lines before it and none behind it. One
//! batch is under way at a time, and their numbers have no gaps.
//! Bound: rows take about twice `window_bytes_max`, each window exceeding it by what one chunk
//! adds. Without a line there is no batch, so a gap alone moves no checkpoint.
//! An error ends the run, but for one in asking after other nodes, which is asked again. If the
//! source failed, what was read is delivered first. Never here: starting again (`supervise`),
//! trying a sink again (`delivery`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use journal::{Change, Displaced};

use crate::batch::{Batch, Checkpoint};
use crate::binlog::{Binlog, Note};
use crate::counter::LineCounter;
use crate::decode::{Decoder, FieldRule, Format};
use crate::delivery::{Delivery, DeliveryOutcome, DeliveryTask};
use crate::error::{LineError, RunError};
use crate::losses::{LogLoss, LossBook, LossNotes};
use crate::quarantine::Quarantine;
use crate::rollup::Rollup;
use crate::sink::Sink;
use crate::source::{LineSource, NodePosition, ReadOutcome};
use crate::status::Status;
use crate::window::Window;

/// How long a caught-up source is left alone.
const POLL: Duration = Duration::from_millis(50);

/// How often a process that stands by looks at the checkpoint.
const STAND_BY_POLL: Duration = Duration::from_millis(250);

/// When to ask again what other nodes have committed.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Tells pipelines to end.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Has every pipeline with a clone of this deliver what it has, and end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was requested.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One source on its way to one sink.
pub struct Pipeline {
    /// The machine's name.
    pub node: String,
    /// The source's name, under which the sink keeps the checkpoint.
    pub source_name: String,
    /// The name of the source in rows of single events.
    pub lines_of: String,
    /// Where lines come from.
    pub source: Box<dyn LineSource>,
    /// How they are read.
    pub format: Format,
    /// Fields defined over theirs.
    pub fields: Arc<[FieldRule]>,
    /// Where lines go that are no events.
    pub quarantine: Quarantine,
    /// What is counted.
    pub rollups: Vec<Arc<Rollup>>,
    /// Where it goes.
    pub sink: Box<dyn Sink>,
    /// How often it goes there.
    pub flush: Duration,
    /// Memory for running values; what exceeds it is delivered at once.
    pub window_bytes_max: usize,
    /// Whether to end when the source is caught up and everything is delivered.
    pub until_caught_up: bool,
    /// What an operator is shown of it.
    pub status: Arc<Status>,
    /// Where commits are noted, for people.
    pub binlog: Arc<Binlog>,
    /// Where losses are noted until an operator acknowledges them.
    pub losses: Arc<LossBook>,
    /// The sink's name, for the notes.
    pub sink_name: String,
}

impl Pipeline {
    /// Runs until it is stopped, or until it has to be started again from the checkpoint.
    ///
    /// # Errors
    /// When the source cannot be read, or another process delivers it too. Nothing is lost: a new
    /// pipeline goes on from the checkpoint.
    pub fn run(mut self, stop: &StopSignal) -> Result<(), RunError> {
        let tables = self.rollups.iter().flat_map(|rollup| rollup.tables());
        let tables: Vec<_> = tables.map(Arc::clone).collect();
        self.sink.prepare(&tables)?;
        self.sink.claim(&self.node, &self.source_name)?;
        let checkpoints = self.sink.checkpoints(&self.source_name)?;
        let (ours, others): (Vec<_>, Vec<_>) =
            checkpoints.into_iter().partition(|checkpoint| checkpoint.node == self.node);
        let last = ours.into_iter().next();
        self.source.others(&positions(others));
        self.source.resume(last.as_ref().map(|last| last.position.as_str()))?;
        let sequence = last.map_or(0, |last| last.sequence);
        self.quarantine.resume(sequence);
        let delivery = Delivery::start(self.sink, tables, Arc::clone(&self.status));
        let delivery = delivery.map_err(RunError::Thread)?;
        let windows = self.rollups.into_iter();
        let windows = windows.map(|rollup| Window::new(rollup, &self.node, &self.lines_of));
        let mut run = Run {
            source: self.source,
            counter: LineCounter {
                decoder: Decoder::new(&self.format, self.fields),
                windows: windows.collect(),
                quarantine: self.quarantine,
                status: Arc::clone(&self.status),
                lines: 0,
            },
            delivery,
            node: self.node,
            source_name: self.source_name,
            sink_name: self.sink_name,
            ask_others: None,
            sequence,
            flush: self.flush,
            next_flush: Instant::now() + self.flush,
            window_bytes_max: self.window_bytes_max,
            status: self.status,
            binlog: self.binlog,
            losses: LossNotes { book: self.losses, resumed: sequence },
            uncommitted: Uncommitted::default(),
        };
        run.show_behind(0);
        run.run(stop, self.until_caught_up)
    }

    /// Waits while another process moves the checkpoint, until it has stood still for `quiet` or a
    /// stop is requested. A sink that does not answer says nothing about the other process.
    pub fn stand_by(mut self, quiet: Duration, stop: &StopSignal) {
        let mut seen = None;
        let mut since = Instant::now();
        while since.elapsed() < quiet && !stop.is_requested() {
            match self.sink.checkpoints(&self.source_name) {
                Ok(checkpoints) => {
                    let ours = checkpoints.iter().find(|checkpoint| checkpoint.node == self.node);
                    let sequence = ours.map(|checkpoint| checkpoint.sequence);
                    if seen != Some(sequence) {
                        (seen, since) = (Some(sequence), Instant::now());
                    }
                }
                Err(_) => since = Instant::now(),
            }
            std::thread::sleep(STAND_BY_POLL);
        }
    }
}

/// A pipeline that runs.
struct Run {
    source: Box<dyn LineSource>,
    counter: LineCounter,
    delivery: Delivery,
    node: String,
    source_name: String,
    sink_name: String,
    /// When to ask what other nodes have committed, which the source wants to know.
    ask_others: Option<Instant>,
    /// Batches committed or under way.
    sequence: u64,
    flush: Duration,
    next_flush: Instant,
    window_bytes_max: usize,
    status: Arc<Status>,
    binlog: Arc<Binlog>,
    losses: LossNotes,
    uncommitted: Uncommitted,
}

/// What was read and is not known to be in the sink.
#[derive(Debug, Default, Clone, Copy)]
struct Uncommitted {
    /// In the window.
    window: ReadBytes,
    /// In the batch on its way.
    batch: ReadBytes,
}

/// Bytes that were read, and the time of the first line among them.
#[derive(Debug, Default, Clone, Copy)]
struct ReadBytes {
    bytes: u64,
    since_us: u64,
}

impl Run {
    fn run(&mut self, stop: &StopSignal, until_caught_up: bool) -> Result<(), RunError> {
        loop {
            let is_caught_up = match self.tail() {
                Ok(has_more) => !has_more,
                Err(error) => {
                    // What was read before stays good, and may not be there the next time.
                    self.finish(stop)?;
                    return Err(error);
                }
            };
            if let Some(outcome) = self.delivery.poll() {
                self.retire(outcome)?;
            }
            if self.ask_others.is_some_and(|at| at <= Instant::now()) && !self.delivery.is_busy() {
                self.delivery.hand_over(DeliveryTask::Others(self.source_name.clone()));
            }
            if self.is_full() && self.delivery.is_busy() {
                self.settle(stop)?;
            }
            if self.is_full() || Instant::now() >= self.next_flush {
                self.deliver();
            }
            let is_through = is_caught_up && self.ask_others.is_none();
            if stop.is_requested() || (until_caught_up && is_through) {
                return self.finish(stop);
            }
            if is_caught_up {
                std::thread::sleep(POLL.min(self.flush));
            }
        }
    }

    /// Reads what comes next and counts it; false when there is nothing at present.
    fn tail(&mut self) -> Result<bool, RunError> {
        match self.source.read()? {
            ReadOutcome::CaughtUp => {
                // Where a log is unfamiliar, the sink has to say first where to begin in it.
                let waits = self.ask_others.is_some();
                let unread = if waits { self.source.bytes_behind() } else { 0 };
                self.show_behind(unread);
                return Ok(false);
            }
            ReadOutcome::Lines(chunk) => {
                self.counter.count(chunk);
                let bytes = chunk.bytes.len() as u64;
                self.uncommitted.read(bytes, &self.status);
            }
            ReadOutcome::Torn(rest) => {
                let bytes = rest.bytes.len() as u64;
                self.counter.refuse(rest, &LineError::Torn, bytes);
                self.uncommitted.read(bytes, &self.status);
            }
            ReadOutcome::Oversized { beginning, length } => {
                self.counter.refuse(beginning, &LineError::Oversized { length }, length);
                self.uncommitted.read(length, &self.status);
            }
            ReadOutcome::Unfamiliar => self.ask_others = Some(Instant::now()),
            ReadOutcome::Lost { file, from, to } => {
                let what = format!("lines of `{file}` from {from} to {to} were lost unread");
                self.lose(what, Some(to - from));
            }
            ReadOutcome::Receded { file, from, to } => {
                let what = format!(
                    "`{file}` came back shorter than it was read: from {to} to {from} bytes; \
                     what was read stays counted"
                );
                self.lose(what, Some(0));
            }
            ReadOutcome::Displaced { file, displaced } => {
                let (what, bytes) = message(file, displaced);
                self.lose(what, bytes);
            }
            ReadOutcome::Unreadable { file, reason } => {
                tracing::warn!(file, reason, "a file cannot be read, the others go on");
            }
        }
        Ok(true)
    }

    /// Has an operator know what was lost, and how many bytes of it were not read.
    fn lose(&mut self, what: String, bytes: Option<u64>) {
        tracing::error!(source = self.source_name, sink = self.sink_name, bytes, "{what}");
        let loss = LogLoss {
            id: String::new(),
            time_us: stdx::unix_micros(),
            node: self.node.clone(),
            source: self.source_name.clone(),
            sink: self.sink_name.clone(),
            what,
            bytes,
            batch: Some(self.sequence),
        };
        let is_noted = self.losses.note(loss);
        self.status.lost.lock().add(bytes.unwrap_or(0), is_noted);
    }

    /// Shows how far the sink is behind the log: what is unread, and what is read and not
    /// committed.
    fn show_behind(&self, unread: u64) {
        let Uncommitted { window, batch } = self.uncommitted;
        let since_us = if batch.bytes > 0 { batch.since_us } else { window.since_us };
        self.status.behind(unread + window.bytes + batch.bytes, since_us);
    }

    fn is_full(&self) -> bool {
        self.counter.bytes() > self.window_bytes_max
    }

    /// Hands the window over, unless there is nothing in it or a batch is on its way.
    fn deliver(&mut self) {
        if self.delivery.is_busy() {
            return;
        }
        self.next_flush = Instant::now() + self.flush;
        let unread = self.source.bytes_behind();
        self.show_behind(unread);
        *self.status.notices.lock() = self.source.notices();
        if self.counter.lines == 0 {
            return;
        }
        self.sequence += 1;
        let checkpoint = Checkpoint {
            node: self.node.clone(),
            source: self.source_name.clone(),
            sequence: self.sequence,
            position: self.source.position(),
        };
        let mut to_sync = self.source.to_sync();
        let (rows, quarantine) = self.counter.take();
        to_sync.extend(quarantine);
        self.uncommitted.batch = std::mem::take(&mut self.uncommitted.window);
        self.delivery.hand_over(DeliveryTask::Deliver(Batch { checkpoint, rows }, to_sync));
    }

    /// Waits for the batch on its way.
    fn settle(&mut self, stop: &StopSignal) -> Result<(), RunError> {
        while self.delivery.is_busy() {
            if let Some(outcome) = self.delivery.wait(POLL) {
                self.retire(outcome)?;
            } else if stop.is_requested() && self.status.last_error.lock().is_some() {
                // The sink is down: what is under way is read again from the checkpoint.
                break;
            }
        }
        Ok(())
    }

    fn retire(&mut self, outcome: DeliveryOutcome) -> Result<(), RunError> {
        match outcome {
            DeliveryOutcome::Delivered(batch) => {
                let batch = batch?;
                self.uncommitted.batch = ReadBytes::default();
                let unread = self.source.bytes_behind();
                self.show_behind(unread);
                self.source.committed(&batch.checkpoint.position)?;
                self.note(&batch);
                self.counter.recycle(batch.rows);
            }
            DeliveryOutcome::Others(Ok(mut checkpoints)) => {
                checkpoints.retain(|checkpoint| checkpoint.node != self.node);
                self.ask_others = None;
                *self.status.last_error.lock() = None;
                self.source.others(&positions(checkpoints));
            }
            DeliveryOutcome::Others(Err(error)) => {
                tracing::warn!(%error, "what other nodes have read is not known");
                *self.status.last_error.lock() = Some(error.to_string());
                self.ask_others = Some(Instant::now() + ASK_AGAIN);
            }
        }
        Ok(())
    }

    fn note(&self, batch: &Batch) {
        let time_us = stdx::unix_micros();
        let rows = batch.rows.iter().map(crate::batch::TableRows::len).sum::<usize>() as u64;
        Status::count(&self.status.batches, 1);
        Status::count(&self.status.rows, rows);
        *self.status.committed.lock() = Some(Instant::now());
        let Checkpoint { node, source, sequence, position } = batch.checkpoint.clone();
        let sink = self.sink_name.clone();
        self.binlog.note(&Note { time_us, node, source, sink, sequence, rows, position });
    }

    fn finish(&mut self, stop: &StopSignal) -> Result<(), RunError> {
        self.settle(stop)?;
        self.deliver();
        self.settle(stop)
    }
}

impl Uncommitted {
    /// Counts what was read, after its last line was.
    fn read(&mut self, bytes: u64, status: &Status) {
        if self.window.bytes == 0 {
            self.window.since_us = status.last_line_us.load(Ordering::Relaxed);
        }
        self.window.bytes += bytes;
    }
}

/// Says what became of a log, and how many bytes of it are lost unread, if that is known.
fn message(file: &str, displaced: Displaced) -> (String, Option<u64>) {
    let Displaced { read_to, goes_on, lost_to, change } = displaced;
    let what = match change {
        Change::Damaged => format!(
            "`{file}` is damaged at {read_to}, up to where it was read; reading goes on at \
             {goes_on}, behind the rest of a line"
        ),
        Change::Shorter => format!(
            "`{file}` came back shorter than it was read: from {read_to} to {goes_on}, where \
             reading goes on; what was read stays counted"
        ),
        Change::Replaced => format!(
            "`{file}` is not the log that was read to {read_to}: it was removed, or replaced by an \
             older copy. Reading goes on at {goes_on}, with what was written since. What had not \
             been read of the other one is lost"
        ),
    };
    (what, lost_to.map(|lost_to| lost_to.saturating_sub(read_to)))
}

fn positions(checkpoints: Vec<Checkpoint>) -> Vec<NodePosition> {
    let positions = checkpoints.into_iter();
    positions.map(|Checkpoint { node, position, .. }| NodePosition { node, position }).collect()
}
