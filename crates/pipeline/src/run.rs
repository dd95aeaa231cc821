//! Runs one pipeline, the life of an event: tail → decode → window → deliver → checkpoint → retire.
//!
//! It goes in steps, each at most a chunk of lines, and says when the next is due. No step waits:
//! the sink has threads of its own (`delivery`), and wakes the pipeline.
//! It begins with `prepare`, `claim` and `checkpoints` of the sink, then `others` and `resume` of
//! the source, then `resume` of the quarantine. Sinks and sources rely on this order.
//! While a batch is on its way, the next window fills. When that may not grow any more, nothing is
//! read until the batch is there. A caught-up source is read again after 50 ms, after twice as long
//! each time that nothing came, and before each flush. So a quiet source costs little, and its
//! lines are in no later batch for that.
//! Invariant: a position is committed together with all lines before it and none behind it. One
//! batch is under way at a time, and their numbers have no gaps.
//! Bound: rows take what `budget` allows. Without a line there is no batch, so a gap alone moves no
//! checkpoint.
//! An error ends the run, but for one in asking after other nodes, which is asked again. If the
//! source failed, what was read is delivered first. Never here: starting again (`supervise`),
//! trying a sink again (`delivery`).

mod notes;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use self::notes::PipelineNotes;
use crate::batch::{Batch, Checkpoint, Table};
use crate::binlog::Binlog;
use crate::budget::{BudgetUse, WindowBudget};
use crate::counter::LineCounter;
use crate::decode::{Decoder, FieldRule, Format};
use crate::delivery::{Delivery, DeliveryOutcome, DeliveryTask};
use crate::error::{LineError, RunError};
use crate::losses::{LossBook, LossNotes, displacement};
use crate::quarantine::Quarantine;
use crate::rollup::Rollup;
use crate::sink::Sink;
use crate::source::{LineSource, NodePosition, ReadOutcome};
use crate::status::Status;
use crate::stop::StopSignal;
use crate::window::Window;
use crate::worker_threads::NextStep;

/// How long a caught-up source is left alone at first.
const POLL: Duration = Duration::from_millis(50);

/// How long a source is left alone that has been quiet for a while.
const LONGEST_POLL: Duration = Duration::from_millis(400);

/// When to ask again what other nodes have committed.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How often a pipeline that waits for its sink looks whether others cannot reach it.
const OUTAGE_POLL: Duration = Duration::from_secs(1);

thread_local! {
    /// The memory that each thread lends to the source that it reads.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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
    /// Memory for running values, of all pipelines; what exceeds it is delivered at once.
    pub windows: Arc<WindowBudget>,
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

/// A pipeline that runs.
pub(crate) struct Run {
    stage: RunStage,
    source: Box<dyn LineSource>,
    counter: LineCounter,
    delivery: Delivery,
    budget: BudgetUse,
    notes: PipelineNotes,
    /// When to ask what other nodes have committed, which the source wants to know.
    ask_others: Option<Instant>,
    /// Batches committed or under way.
    sequence: u64,
    flush: Duration,
    next_flush: Instant,
    /// How long the source is left alone when it is caught up.
    poll: Duration,
    until_caught_up: bool,
    status: Arc<Status>,
    uncommitted: Uncommitted,
    /// What is shown of others that cannot reach the sink.
    shown_outage: Option<String>,
}

/// How far a run is.
enum RunStage {
    /// The sink is to say where to go on.
    Starting,
    /// Lines are read.
    Reading,
    /// What was read is delivered; then it ends, with an error if there is one.
    Finishing { error: Option<RunError>, is_last_under_way: bool },
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
    /// Begins a run of a pipeline, with `deliver` giving its sink to threads.
    pub(crate) fn begin(
        pipeline: Pipeline,
        deliver: impl FnOnce(Box<dyn Sink>, Vec<Arc<Table>>) -> Delivery,
    ) -> Self {
        let tables = pipeline.rollups.iter().flat_map(|rollup| rollup.tables());
        let mut delivery = deliver(pipeline.sink, tables.map(Arc::clone).collect());
        let (node, source) = (pipeline.node.clone(), pipeline.source_name.clone());
        delivery.hand_over(DeliveryTask::Claim { node, source });
        let budget = BudgetUse::new(pipeline.windows);
        let windows = pipeline.rollups.into_iter();
        let windows = windows.map(|rollup| Window::new(rollup, &pipeline.node, &pipeline.lines_of));
        Self {
            stage: RunStage::Starting,
            source: pipeline.source,
            counter: LineCounter {
                decoder: Decoder::new(&pipeline.format, pipeline.fields),
                windows: windows.collect(),
                quarantine: pipeline.quarantine,
                status: Arc::clone(&pipeline.status),
                lines: 0,
            },
            delivery,
            budget,
            notes: PipelineNotes {
                node: pipeline.node,
                source_name: pipeline.source_name,
                sink_name: pipeline.sink_name,
                status: Arc::clone(&pipeline.status),
                binlog: pipeline.binlog,
                losses: LossNotes { book: pipeline.losses, resumed: 0 },
            },
            ask_others: None,
            sequence: 0,
            flush: pipeline.flush,
            next_flush: Instant::now() + pipeline.flush,
            poll: POLL,
            until_caught_up: pipeline.until_caught_up,
            status: pipeline.status,
            uncommitted: Uncommitted::default(),
            shown_outage: None,
        }
    }

    /// Does the next step; [`NextStep::Ended`] when it has ended in order.
    ///
    /// # Errors
    /// When the source cannot be read, or another process delivers it too. Nothing is lost: a new
    /// run goes on from the checkpoint.
    pub(crate) fn step(&mut self, stop: &StopSignal) -> Result<NextStep, RunError> {
        match &self.stage {
            RunStage::Starting => self.start(stop),
            RunStage::Reading => self.read_and_deliver(stop),
            RunStage::Finishing { .. } => self.finish(stop),
        }
    }

    /// Its sink, to be closed.
    pub(crate) fn into_delivery(self) -> Delivery {
        self.delivery
    }

    /// Takes up the reading where the sink says.
    fn start(&mut self, stop: &StopSignal) -> Result<NextStep, RunError> {
        let Some(DeliveryOutcome::Checkpoints(checkpoints)) = self.delivery.poll()? else {
            return Ok(self.await_sink(stop));
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            checkpoints?.into_iter().partition(|checkpoint| checkpoint.node == self.notes.node);
        let last = ours.into_iter().next();
        self.source.others(&positions(others));
        self.source.resume(last.as_ref().map(|last| last.position.as_str()))?;
        self.sequence = last.map_or(0, |last| last.sequence);
        self.notes.resumed(self.sequence);
        self.counter.quarantine.resume(self.sequence);
        self.next_flush = Instant::now() + self.flush;
        self.hide_outage();
        self.show_behind(0);
        self.stage = RunStage::Reading;
        Ok(NextStep::Ready)
    }

    /// Reads and counts a chunk, and hands the window over when that is due.
    fn read_and_deliver(&mut self, stop: &StopSignal) -> Result<NextStep, RunError> {
        if let Some(outcome) = self.delivery.poll()? {
            self.retire(outcome)?;
        }
        if self.budget.is_full() && self.delivery.is_busy() {
            return match stop.is_requested() {
                true => self.finish_with(None, stop),
                false => Ok(self.await_sink(stop)),
            };
        }
        let is_caught_up = match self.tail() {
            Ok(has_more) => !has_more,
            // What was read before stays good, and may not be there the next time.
            Err(error) => return self.finish_with(Some(error), stop),
        };
        self.budget.window(self.counter.bytes());
        if self.ask_others.is_some_and(|at| at <= Instant::now()) && !self.delivery.is_busy() {
            self.delivery.hand_over(DeliveryTask::Checkpoints(self.notes.source_name.clone()));
        }
        if self.budget.is_full() || Instant::now() >= self.next_flush {
            self.deliver();
        }
        let is_through = is_caught_up && self.ask_others.is_none();
        if stop.is_requested() || (self.until_caught_up && is_through) {
            return self.finish_with(None, stop);
        }
        if is_caught_up {
            return Ok(self.rest());
        }
        self.poll = POLL;
        Ok(NextStep::Ready)
    }

    /// Says when a source is read again that has nothing at present.
    fn rest(&mut self) -> NextStep {
        let mut due = Instant::now() + self.poll.min(self.flush);
        self.poll = LONGEST_POLL.min(self.poll * 2);
        if self.delivery.is_busy() {
            self.show_outage();
        } else {
            due = due.min(self.next_flush).min(self.ask_others.unwrap_or(due));
        }
        NextStep::At(due)
    }

    /// Waits for the sink, which wakes it. When that is down, a stop ends the run: what is under
    /// way is read again from the checkpoint.
    fn await_sink(&mut self, stop: &StopSignal) -> NextStep {
        self.show_outage();
        if stop.is_requested() && self.status.last_error.lock().is_some() {
            return NextStep::Ended;
        }
        NextStep::At(Instant::now() + OUTAGE_POLL)
    }

    /// Says why the sink cannot be reached, while this pipeline waits behind others that tried.
    fn show_outage(&mut self) {
        match self.delivery.outage() {
            None => self.hide_outage(),
            outage => {
                self.shown_outage.clone_from(&outage);
                *self.status.last_error.lock() = outage;
            }
        }
    }

    fn hide_outage(&mut self) {
        let shown = self.shown_outage.take();
        let mut last_error = self.status.last_error.lock();
        if shown.is_some() && *last_error == shown {
            *last_error = None;
        }
    }

    fn finish_with(
        &mut self,
        error: Option<RunError>,
        stop: &StopSignal,
    ) -> Result<NextStep, RunError> {
        self.stage = RunStage::Finishing { error, is_last_under_way: false };
        self.finish(stop)
    }

    /// Delivers the batch on its way, then the rest.
    fn finish(&mut self, stop: &StopSignal) -> Result<NextStep, RunError> {
        if let Some(outcome) = self.delivery.poll()? {
            self.retire(outcome)?;
        }
        if let RunStage::Finishing { is_last_under_way, .. } = &mut self.stage
            && !*is_last_under_way
            && !self.delivery.is_busy()
        {
            *is_last_under_way = true;
            self.deliver();
        }
        if self.delivery.is_busy() {
            return Ok(self.await_sink(stop));
        }
        match &mut self.stage {
            RunStage::Finishing { error, .. } => error.take().map_or(Ok(NextStep::Ended), Err),
            _ => Ok(NextStep::Ended),
        }
    }

    /// Reads what comes next and counts it; false when there is nothing at present.
    fn tail(&mut self) -> Result<bool, RunError> {
        BUFFER.with_borrow_mut(|buffer| self.read(buffer))
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool, RunError> {
        match self.source.read(buffer)? {
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
            ReadOutcome::Unfinished => {}
            ReadOutcome::Unfamiliar => self.ask_others = Some(Instant::now()),
            ReadOutcome::Lost { file, from, to } => {
                let what = format!("lines of `{file}` from {from} to {to} were lost unread");
                self.notes.lost(what, Some(to - from), self.sequence);
            }
            ReadOutcome::Receded { file, from, to } => {
                let what = format!(
                    "`{file}` came back shorter than it was read: from {to} to {from} bytes, where \
                     reading goes on. What was read stays counted; what was written since it was \
                     cut, if anything, is not read"
                );
                self.notes.lost(what, None, self.sequence);
            }
            ReadOutcome::Changed { file, from, to } => {
                let what = format!(
                    "`{file}` does not hold what was read of it, from {from} on or somewhat \
                     later; reading goes on at {to}. What was read stays counted; what stands \
                     there now is not read"
                );
                self.notes.lost(what, None, self.sequence);
            }
            ReadOutcome::Displaced { file, displaced } => {
                let (what, bytes) = displacement(file, displaced);
                self.notes.lost(what, bytes, self.sequence);
            }
            ReadOutcome::Unreadable { file, reason } => {
                tracing::warn!(file, reason, "a file cannot be read, the others go on");
            }
        }
        Ok(true)
    }

    /// Shows how far the sink is behind the log: what is unread, and what is read and not
    /// committed.
    fn show_behind(&self, unread: u64) {
        let Uncommitted { window, batch } = self.uncommitted;
        let since_us = if batch.bytes > 0 { batch.since_us } else { window.since_us };
        self.status.behind(unread + window.bytes + batch.bytes, since_us);
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
            return self.counter.release();
        }
        self.sequence += 1;
        let checkpoint = Checkpoint {
            node: self.notes.node.clone(),
            source: self.notes.source_name.clone(),
            sequence: self.sequence,
            position: self.source.position(),
        };
        let mut to_sync = self.source.to_sync();
        let (rows, quarantine) = self.counter.take(self.budget.kept_bytes_max());
        to_sync.extend(quarantine);
        self.budget.hand_over();
        self.uncommitted.batch = std::mem::take(&mut self.uncommitted.window);
        self.delivery.hand_over(DeliveryTask::Deliver(Batch { checkpoint, rows }, to_sync));
    }

    fn retire(&mut self, outcome: DeliveryOutcome) -> Result<(), RunError> {
        match outcome {
            DeliveryOutcome::Delivered(batch) => {
                let batch = batch?;
                self.budget.retire();
                self.uncommitted.batch = ReadBytes::default();
                let unread = self.source.bytes_behind();
                self.show_behind(unread);
                self.source.committed(&batch.checkpoint.position)?;
                self.notes.committed(&batch);
                self.counter.recycle(batch.rows, self.budget.kept_bytes_max());
            }
            DeliveryOutcome::Checkpoints(Ok(mut checkpoints)) => {
                checkpoints.retain(|checkpoint| checkpoint.node != self.notes.node);
                self.ask_others = None;
                *self.status.last_error.lock() = None;
                self.source.others(&positions(checkpoints));
            }
            DeliveryOutcome::Checkpoints(Err(error)) => {
                tracing::warn!(%error, "what other nodes have read is not known");
                *self.status.last_error.lock() = Some(error.to_string());
                self.ask_others = Some(Instant::now() + ASK_AGAIN);
            }
        }
        Ok(())
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

fn positions(checkpoints: Vec<Checkpoint>) -> Vec<NodePosition> {
    let positions = checkpoints.into_iter();
    positions.map(|Checkpoint { node, position, .. }| NodePosition { node, position }).collect()
}

#[cfg(test)]
mod tests;
