//! The life of an event: tail → decode → window → deliver → checkpoint → retire.
//!
//! One thread reads and counts, another commits. While a batch is on its way, the next window
//! fills; when that is full too, reading waits. Memory is bounded by two windows and one chunk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::batch::{Batch, Checkpoint};
use crate::binlog::{Binlog, Note};
use crate::decode::{Decoder, FieldRule, Format};
use crate::delivery::{Delivery, Done, Task};
use crate::error::{LineError, RunError};
use crate::quarantine::Quarantine;
use crate::rollup::Rollup;
use crate::sink::Sink;
use crate::source::{LineSource, LogChunk, ReadOutcome};
use crate::status::Status;
use crate::window::Window;

/// How long a caught-up source is left alone.
const POLL: Duration = Duration::from_millis(50);

/// How often a process that stands by looks at the checkpoint.
const STAND_BY_POLL: Duration = Duration::from_millis(250);

/// When to ask again what other nodes have committed.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Tells a pipeline to end.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Tells every pipeline that has a clone of this to deliver what it has and end.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was told.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One source on its way to one sink.
pub struct Pipeline {
    /// The machine's name.
    pub node: String,
    /// The source's name, under which the sink keeps the checkpoint.
    pub source_name: String,
    /// The name that rows of single events have it by.
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
    /// End when the source is caught up and everything is delivered.
    pub until_caught_up: bool,
    /// What is said of it.
    pub status: Arc<Status>,
    /// Where commits are noted, for people.
    pub binlog: Arc<Binlog>,
    /// The sink's name, for the notes.
    pub sink_name: String,
}

impl Pipeline {
    /// Runs until told to stop, or until it has to be started again from the checkpoint.
    ///
    /// # Errors
    /// When the source cannot be read, or another process delivers it too; nothing is lost, and
    /// a new pipeline goes on from the checkpoint.
    pub fn run(mut self, stop: &StopSignal) -> Result<(), RunError> {
        let tables = self.rollups.iter().flat_map(|rollup| rollup.tables());
        let tables: Vec<_> = tables.map(Arc::clone).collect();
        self.sink.prepare(&tables)?;
        self.sink.claim(&self.node, &self.source_name)?;
        let held = self.sink.checkpoints(&self.source_name)?;
        let (held, others): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|held| held.node == self.node);
        let held = held.into_iter().next();
        self.source.others(&positions(others));
        self.source.resume(held.as_ref().map(|held| held.position.as_str()))?;
        self.quarantine.resume(held.as_ref().map_or(0, |held| held.sequence));
        let delivery = Delivery::start(self.sink, tables, Arc::clone(&self.status));
        let mut life = Life {
            source: self.source,
            decoder: Decoder::new(&self.format, self.fields),
            quarantine: self.quarantine,
            windows: self
                .rollups
                .into_iter()
                .map(|rollup| Window::new(rollup, &self.node, &self.lines_of))
                .collect(),
            node: self.node,
            source_name: self.source_name,
            lines_in_window: 0,
            wants_others: None,
            delivery: delivery.map_err(crate::error::SourceError::disk(
                "start a thread for",
                std::path::Path::new("delivery"),
            ))?,
            sequence: held.map_or(0, |held| held.sequence),
            flush: self.flush,
            next_flush: Instant::now() + self.flush,
            window_bytes_max: self.window_bytes_max,
            status: self.status,
            binlog: self.binlog,
            sink_name: self.sink_name,
        };
        life.run(stop, self.until_caught_up)
    }

    /// Waits while another process moves the checkpoint: until it has stood still for `quiet`, or
    /// `stop` is told. A sink that does not answer says nothing about the other process.
    pub fn stand_by(mut self, quiet: Duration, stop: &StopSignal) {
        let mut seen = None;
        let mut since = Instant::now();
        while since.elapsed() < quiet && !stop.is_told() {
            match self.sink.checkpoints(&self.source_name) {
                Ok(held) => {
                    let held = held.into_iter().find(|held| held.node == self.node);
                    let held = held.map(|held| held.sequence);
                    if seen != Some(held) {
                        (seen, since) = (Some(held), Instant::now());
                    }
                }
                Err(_) => since = Instant::now(),
            }
            std::thread::sleep(STAND_BY_POLL);
        }
    }
}

struct Life {
    node: String,
    source_name: String,
    source: Box<dyn LineSource>,
    decoder: Decoder,
    quarantine: Quarantine,
    windows: Vec<Window>,
    lines_in_window: u64,
    /// When to ask what other nodes have committed, which the source wants to know.
    wants_others: Option<Instant>,
    delivery: Delivery,
    /// Batches committed or under way.
    sequence: u64,
    flush: Duration,
    next_flush: Instant,
    window_bytes_max: usize,
    status: Arc<Status>,
    binlog: Arc<Binlog>,
    sink_name: String,
}

impl Life {
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
            if let Some(done) = self.delivery.poll() {
                self.retire(done)?;
            }
            if self.wants_others.is_some_and(|at| at <= Instant::now()) && !self.delivery.is_busy()
            {
                self.delivery.hand_over(Task::Others(self.source_name.clone()));
            }
            if self.is_full() && self.delivery.is_busy() {
                self.settle(stop)?;
            }
            if self.is_full() || Instant::now() >= self.next_flush {
                self.deliver();
            }
            let is_through = is_caught_up && self.wants_others.is_none();
            if stop.is_told() || (until_caught_up && is_through) {
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
                let waits = self.wants_others.is_some();
                let behind = if waits { self.source.bytes_behind() } else { 0 };
                self.status.bytes_behind.store(behind, Ordering::Relaxed);
                Ok(false)
            }
            ReadOutcome::Lost { file, from, to } => {
                tracing::error!(file, from, to, "lines were lost before they could be read");
                Status::count(&self.status.lost_bytes, to - from);
                Ok(true)
            }
            ReadOutcome::Receded { file, from, to } => {
                tracing::error!(file, from, to, "a log came back shorter than it was read");
                Ok(true)
            }
            ReadOutcome::Unreadable { file, reason } => {
                tracing::warn!(file, reason, "a file cannot be read, the others go on");
                Ok(true)
            }
            ReadOutcome::Unfamiliar => {
                self.wants_others = Some(Instant::now());
                Ok(true)
            }
            ReadOutcome::Torn(rest) => {
                self.quarantine.add(rest.location(0), &LineError::Torn, rest.bytes);
                let bytes = rest.bytes.len() as u64;
                self.count_one(bytes);
                Ok(true)
            }
            ReadOutcome::Oversized { beginning, length } => {
                let reason = LineError::Oversized { length };
                self.quarantine.add(beginning.location(0), &reason, beginning.bytes);
                self.count_one(length);
                Ok(true)
            }
            ReadOutcome::Lines(piece) => {
                let (windows, quarantine) = (&mut self.windows, &mut self.quarantine);
                let lines = count(windows, quarantine, &mut self.decoder, piece, &self.status);
                self.lines_in_window += lines;
                Status::count(&self.status.lines, lines);
                Status::count(&self.status.bytes, piece.bytes.len() as u64);
                Ok(true)
            }
        }
    }

    fn count_one(&mut self, bytes: u64) {
        self.lines_in_window += 1;
        Status::count(&self.status.lines, 1);
        Status::count(&self.status.bytes, bytes);
    }

    fn is_full(&self) -> bool {
        self.windows.iter().map(Window::bytes).sum::<usize>() > self.window_bytes_max
    }

    /// Hands the window over, unless there is nothing in it or a batch is on its way.
    fn deliver(&mut self) {
        if self.delivery.is_busy() {
            return;
        }
        self.next_flush = Instant::now() + self.flush;
        let behind = self.source.bytes_behind();
        self.status.bytes_behind.store(behind, Ordering::Relaxed);
        if self.lines_in_window == 0 {
            return;
        }
        self.sequence += 1;
        self.lines_in_window = 0;
        let checkpoint = Checkpoint {
            node: self.node.clone(),
            source: self.source_name.clone(),
            sequence: self.sequence,
            position: self.source.position(),
        };
        let mut to_sync = self.source.to_sync();
        let without_key = self.windows.iter_mut().map(Window::take_without_key).sum();
        Status::count(&self.status.without_key, without_key);
        let rows: Vec<_> = self.windows.iter_mut().flat_map(Window::take).collect();
        to_sync.extend(self.quarantine.close_batch());
        self.delivery.hand_over(Task::Deliver(Batch { checkpoint, rows }, to_sync));
    }

    /// Waits for the batch on its way.
    fn settle(&mut self, stop: &StopSignal) -> Result<(), RunError> {
        while self.delivery.is_busy() {
            if let Some(done) = self.delivery.wait(POLL) {
                self.retire(done)?;
            } else if stop.is_told() && self.status.last_error.lock().is_some() {
                // The sink is down: what is under way is read again from the checkpoint.
                break;
            }
        }
        Ok(())
    }

    fn retire(&mut self, done: Done) -> Result<(), RunError> {
        match done {
            Done::Delivered(batch) => {
                let batch = batch?;
                self.source.committed(&batch.checkpoint.position)?;
                self.note(&batch);
                self.recycle(batch);
            }
            Done::Others(Ok(mut held)) => {
                held.retain(|held| held.node != self.node);
                self.wants_others = None;
                *self.status.last_error.lock() = None;
                self.source.others(&positions(held));
            }
            Done::Others(Err(error)) => {
                tracing::warn!(%error, "what other nodes have read is not known");
                *self.status.last_error.lock() = Some(error.to_string());
                self.wants_others = Some(Instant::now() + ASK_AGAIN);
            }
        }
        Ok(())
    }

    /// Gives the windows their memory back.
    fn recycle(&mut self, batch: Batch) {
        for rows in batch.rows {
            let table = Arc::clone(&rows.table);
            if let Some(window) = self.windows.iter_mut().find(|window| window.fills(&table)) {
                window.recycle(rows);
            }
        }
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

fn positions(held: Vec<Checkpoint>) -> Vec<String> {
    held.into_iter().map(|held| held.position).collect()
}

/// Counts the lines of a chunk; returns how many there are.
fn count(
    windows: &mut [Window],
    quarantine: &mut Quarantine,
    decoder: &mut Decoder,
    chunk: LogChunk<'_>,
    status: &Status,
) -> u64 {
    let mut lines = 0;
    let mut last_us = None;
    decoder.each(chunk.bytes, |start, line, outcome| {
        lines += 1;
        match outcome {
            Ok(event) => {
                last_us = Some(event.time_us());
                let time_us = i64::try_from(event.time_us()).unwrap_or(i64::MAX);
                let location = chunk.location(start);
                windows.iter_mut().for_each(|window| window.add(event, time_us, location));
            }
            Err(error) => quarantine.add(chunk.location(start), &error, line),
        }
    });
    if let Some(last_us) = last_us {
        status.last_line_us.store(last_us, Ordering::Relaxed);
    }
    lines
}
