//! A run whose source says what a test has it say, and whose sink hangs or fails when it should.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use parking_lot::{Condvar, Mutex};
use stdx::RealDisk;
use tempfile::TempDir;

use crate::batch::CellValue;
use crate::chunk::LogChunk;
use crate::config::{RollupConfig, SinkConfig};
use crate::decode::LineFormat;
use crate::delivery::SinkThreads;
use crate::error::{SinkError, SourceError};
use crate::plan::{Sections, plan};
use crate::run::*;
use crate::worker_threads::{Task, TaskWaker, WorkerThreads};

/// Longer than any test.
pub(super) const A_DAY: Duration = Duration::from_secs(86_400);
/// Has the source say that it is caught up until it was told of other nodes again.
pub(super) const WAIT: ReadOutcome<'static> = ReadOutcome::Unfinished;

/// What source and sink were told, and what they do.
#[derive(Default)]
pub(super) struct Outside {
    pub resumed: Mutex<Vec<Option<String>>>,
    pub others: Mutex<Vec<Vec<(String, String)>>>,
    pub committed: Mutex<Vec<String>>,
    /// What the source says that is unread.
    pub unread: AtomicU64,
    pub held: Mutex<Vec<Checkpoint>>,
    /// What was delivered: number, position, and lines counted.
    pub delivered: Mutex<Vec<(u64, String, i64)>>,
    /// How often checkpoints were asked for.
    pub asked: AtomicUsize,
    /// Whether asking for them fails.
    pub is_down: AtomicBool,
    is_shut: Mutex<bool>,
    opened: Condvar,
}

impl Outside {
    /// Has calls of the sink hang until `open`.
    pub(super) fn shut(&self) {
        *self.is_shut.lock() = true;
    }

    pub(super) fn open(&self) {
        *self.is_shut.lock() = false;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut is_shut = self.is_shut.lock();
        while *is_shut {
            self.opened.wait(&mut is_shut);
        }
    }
}

struct ScriptedSource {
    outside: Arc<Outside>,
    outcomes: VecDeque<ReadOutcome<'static>>,
    told: usize,
    read: usize,
}

impl LineSource for ScriptedSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.outside.resumed.lock().push(position.map(str::to_owned));
        Ok(())
    }

    fn others(&mut self, positions: &[NodePosition]) {
        let pairs = positions.iter().map(|other| (other.node.clone(), other.position.clone()));
        self.outside.others.lock().push(pairs.collect());
        self.told += 1;
    }

    fn read<'s>(&'s mut self, _: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        let is_to_wait = matches!(self.outcomes.front(), Some(ReadOutcome::Unfinished));
        if is_to_wait && self.told < 2 {
            return Ok(ReadOutcome::CaughtUp);
        }
        self.read += usize::from(!self.outcomes.is_empty());
        Ok(self.outcomes.pop_front().unwrap_or(ReadOutcome::CaughtUp))
    }

    fn position(&self) -> String {
        format!("after {}", self.read)
    }

    fn committed(&mut self, position: &str) -> Result<(), SourceError> {
        self.outside.committed.lock().push(position.to_owned());
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        self.outside.unread.load(Ordering::Relaxed)
    }
}

struct HangingSink(Arc<Outside>);

impl Sink for HangingSink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        self.0.pass();
        Ok(())
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.0.pass();
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        if self.0.is_down.load(Ordering::Relaxed) {
            let (engine, place, reason) = ("test", "place".to_owned(), "it is down".to_owned());
            return Err(SinkError::Unreachable { engine, place, reason });
        }
        Ok(self.0.held.lock().clone())
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.0.pass();
        let counted = batch.rows.iter().flat_map(|rows| (0..rows.len()).map(|row| rows.row(row)));
        let counted = counted.map(|mut cells| match cells.nth(1) {
            Some(CellValue::Integer(count)) => count,
            other => panic!("{other:?}"),
        });
        let Checkpoint { sequence, position, .. } = batch.checkpoint.clone();
        self.0.delivered.lock().push((sequence, position, counted.sum()));
        Ok(())
    }
}

/// The pipeline is stepped by the test, whoever wakes it.
struct Stepped;

impl Task for Stepped {
    fn step(&mut self) -> NextStep {
        NextStep::OnWake
    }
}

/// A run, and all around it.
pub(super) struct World {
    pub run: Run,
    pub stop: StopSignal,
    pub status: Arc<Status>,
    pub outside: Arc<Outside>,
    pub losses: Arc<LossBook>,
    pub folder: TempDir,
    pub waker: TaskWaker,
    pub sinks: SinkThreads,
    _line: WorkerThreads,
}

/// How a run is made.
pub(super) struct Made {
    pub outcomes: Vec<ReadOutcome<'static>>,
    pub window_bytes_max: usize,
    pub until_caught_up: bool,
    pub outside: Arc<Outside>,
    /// The batch that the sink was last known to have.
    pub committed: u64,
}

impl Made {
    pub(super) fn of(outcomes: Vec<ReadOutcome<'static>>) -> Self {
        let outside = Arc::default();
        let (window_bytes_max, until_caught_up, committed) = (1 << 30, false, 0);
        Self { outcomes, window_bytes_max, until_caught_up, outside, committed }
    }

    /// Begins the run, whose windows are due after a day.
    pub(super) fn begin(self) -> World {
        let (line, sinks) =
            (WorkerThreads::start("line", 1).unwrap(), SinkThreads::start(1).unwrap());
        let waker = line.add(|_| Stepped);
        let (status, folder) = (Arc::<Status>::default(), TempDir::new().unwrap());
        status.committed.lock().sequence = self.committed;
        let losses = Arc::new(LossBook::new(&folder.path().join("losses")));
        let pipeline = self.pipeline(&status, &losses, &folder);
        let run = Run::begin(pipeline, |sink, tables| {
            Delivery::start(&sinks, sink, tables, Arc::clone(&status), waker.clone())
        });
        let (stop, outside) = (StopSignal::default(), self.outside);
        World { run, stop, status, outside, losses, folder, waker, sinks, _line: line }
    }

    fn pipeline(&self, status: &Arc<Status>, losses: &Arc<LossBook>, dir: &TempDir) -> Pipeline {
        let outside = Arc::clone(&self.outside);
        let outcomes = self.outcomes.iter().map(again).collect();
        let disk = Arc::new(RealDisk);
        let quarantine = dir.path().join("quarantine");
        Pipeline {
            node: "n".to_owned(),
            source_name: "s".to_owned(),
            lines_of: "s".to_owned(),
            source: Box::new(ScriptedSource { outside, outcomes, told: 0, read: 0 }),
            format: Format::from(LineFormat::Combined),
            fields: Arc::default(),
            quarantine: Quarantine::new(quarantine, disk, 1 << 20, Arc::clone(status)),
            rollups: vec![rollup()],
            sink: Box::new(HangingSink(Arc::clone(&self.outside))),
            flush: A_DAY,
            windows: WindowBudget::new(self.window_bytes_max, 1),
            until_caught_up: self.until_caught_up,
            status: Arc::clone(status),
            binlog: Arc::new(Binlog::new(&dir.path().join("binlog"))),
            losses: Arc::clone(losses),
            sink_name: "main".to_owned(),
        }
    }
}

/// The same outcome, of those that tests use.
fn again(outcome: &ReadOutcome<'static>) -> ReadOutcome<'static> {
    match *outcome {
        ReadOutcome::Lines(chunk) => ReadOutcome::Lines(chunk),
        ReadOutcome::Torn(chunk) => ReadOutcome::Torn(chunk),
        ReadOutcome::Oversized { beginning, length } => {
            ReadOutcome::Oversized { beginning, length }
        }
        ReadOutcome::Lost { file, from, to } => ReadOutcome::Lost { file, from, to },
        ReadOutcome::Receded { file, from, to } => ReadOutcome::Receded { file, from, to },
        ReadOutcome::Changed { file, from, to } => ReadOutcome::Changed { file, from, to },
        ReadOutcome::Displaced { file, displaced } => ReadOutcome::Displaced { file, displaced },
        ReadOutcome::Unreadable { file, reason } => ReadOutcome::Unreadable { file, reason },
        ReadOutcome::Unfamiliar => ReadOutcome::Unfamiliar,
        ReadOutcome::Unfinished => ReadOutcome::Unfinished,
        ReadOutcome::CaughtUp => ReadOutcome::CaughtUp,
    }
}

fn rollup() -> Arc<Rollup> {
    let (name, url) = (Some("main".into()), Some("sqlite:x".into()));
    let sink = SinkConfig { name, url, ..SinkConfig::default() };
    let by = vec!["path".to_owned()];
    let rollup = RollupConfig { name: Some("t".into()), by, ..RollupConfig::default() };
    let sections = Sections { rollups: vec![rollup], sinks: vec![sink], ..Sections::default() };
    let root = std::path::Path::new(".");
    let plan = plan(&sections, root, true, &mut |key, reason| panic!("{key}: {reason}"));
    Arc::clone(&plan.rollups[0].rollup)
}

/// A line of the second `second` of a minute, of 68 bytes.
pub(super) fn lines(second: u8) -> ReadOutcome<'static> {
    lines_at(second, 1)
}

/// So many of them.
pub(super) fn lines_at(second: u8, count: usize) -> ReadOutcome<'static> {
    let line = format!(
        "::1 - - [21/Nov/2026:10:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n"
    );
    let bytes = line.repeat(count).leak().as_bytes();
    ReadOutcome::Lines(LogChunk { file: "a.log", bytes, start: 0 })
}

impl World {
    /// Does the next step, which is no end.
    pub(super) fn step(&mut self) -> NextStep {
        self.run.step(&self.stop).unwrap()
    }

    /// Does steps until something is so.
    pub(super) fn until(&mut self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            assert_ne!(self.step(), NextStep::Ended);
            std::thread::yield_now();
        }
    }

    /// Does steps until it has said where to go on.
    pub(super) fn until_reading(&mut self) {
        self.until(|world| matches!(world.run.stage, RunStage::Reading));
    }

    pub(super) fn until_ended(&mut self) {
        while self.step() != NextStep::Ended {
            std::thread::yield_now();
        }
    }

    /// Bytes that the sink does not have.
    pub(super) fn behind(&self) -> Option<u64> {
        self.status.report(0).bytes_behind
    }

    /// Seconds since the first line that the sink does not have, ten seconds past the minute.
    pub(super) fn seconds_behind(&self) -> f64 {
        self.status.report(1_795_255_210_000_000).seconds_behind
    }

    /// Open losses: words and bytes.
    pub(super) fn lost(&self) -> Vec<(String, Option<u64>)> {
        self.losses.open().losses.into_iter().map(|loss| (loss.what, loss.bytes)).collect()
    }
}
