//! Pipelines whose sources and sink are in memory, and fail as a test says.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use stdx::RealDisk;
use tempfile::TempDir;

use crate::batch::{Batch, CellValue, Checkpoint, Table};
use crate::binlog::Binlog;
use crate::budget::WindowBudget;
use crate::chunk::LogChunk;
use crate::config::{RollupConfig, SinkConfig};
use crate::decode::{Format, LineFormat};
use crate::error::{SinkError, SourceError};
use crate::losses::LossBook;
use crate::plan::{Sections, plan};
use crate::quarantine::Quarantine;
use crate::rollup::Rollup;
use crate::run::Pipeline;
use crate::sink::Sink;
use crate::source::{LineSource, ReadOutcome};
use crate::status::Status;
use crate::supervise::{PipelineHandle, PipelineSetup};

/// Lines that a source hands out at once.
pub(super) const CHUNK_LINES: u64 = 20;

/// What a source does in place of handing out the line of this number, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Panic,
    Fail,
}

/// A call of the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Prepare,
    Deliver,
}

/// A log, with what happens to whoever reads it.
pub(super) struct Log {
    pub lines: u64,
    pub faults: Mutex<VecDeque<(u64, Fault)>>,
    /// The places where it was taken up.
    pub resumed: Mutex<Vec<Option<String>>>,
}

impl Log {
    pub(super) fn new(lines: u64, faults: impl Into<VecDeque<(u64, Fault)>>) -> Arc<Self> {
        Arc::new(Self { lines, faults: Mutex::new(faults.into()), resumed: Mutex::default() })
    }
}

/// A database.
#[derive(Default)]
pub(super) struct Engine {
    pub checkpoints: Mutex<BTreeMap<String, Checkpoint>>,
    /// How often each line of each source was counted.
    pub counted: Mutex<BTreeMap<(String, String), i64>>,
    pub readers: Mutex<HashSet<ThreadId>>,
    pub deliverers: Mutex<HashSet<ThreadId>>,
    shut: Mutex<Option<Call>>,
    opened: Condvar,
    /// The most that windows and batches took together.
    pub most_used: Mutex<usize>,
}

impl Engine {
    /// Has a call hang until `open`.
    pub(super) fn shut(&self, call: Call) {
        *self.shut.lock() = Some(call);
    }

    pub(super) fn open(&self) {
        *self.shut.lock() = None;
        self.opened.notify_all();
    }

    fn pass(&self, call: Call) {
        self.deliverers.lock().insert(std::thread::current().id());
        let mut shut = self.shut.lock();
        while *shut == Some(call) {
            self.opened.wait(&mut shut);
        }
    }
}

/// What pipelines share.
pub(super) struct World {
    pub engine: Arc<Engine>,
    pub budget: Arc<WindowBudget>,
    rollup: Arc<Rollup>,
    folder: TempDir,
}

impl World {
    pub(super) fn new(bytes_max: usize, pipelines: usize) -> Self {
        let sink = SinkConfig {
            name: Some("main".into()),
            url: Some("sqlite:x".into()),
            ..SinkConfig::default()
        };
        let by = vec!["path".to_owned()];
        let rollup = RollupConfig { name: Some("t".into()), by, ..RollupConfig::default() };
        let sections = Sections { rollups: vec![rollup], sinks: vec![sink], ..Sections::default() };
        let plan =
            plan(&sections, Path::new("."), true, &mut |key, reason| panic!("{key}: {reason}"));
        Self {
            engine: Arc::default(),
            budget: WindowBudget::new(bytes_max, pipelines),
            rollup: Arc::clone(&plan.rollups[0].rollup),
            folder: TempDir::new().unwrap(),
        }
    }

    /// A pipeline of a log into the engine, which ends when it is caught up.
    pub(super) fn setup(&self, name: &str, log: &Arc<Log>) -> (PipelineSetup, Arc<Status>) {
        let status = Arc::<Status>::default();
        let (engine, budget) = (Arc::clone(&self.engine), Arc::clone(&self.budget));
        let (rollup, folder) = (Arc::clone(&self.rollup), self.folder.path().to_owned());
        let (shared, log, name) = (Arc::clone(&status), Arc::clone(log), name.to_owned());
        let make = move || Pipeline {
            node: "n".to_owned(),
            source_name: name.clone(),
            lines_of: name.clone(),
            source: Box::new(MemorySource {
                log: Arc::clone(&log),
                next: 0,
                engine: Arc::clone(&engine),
                budget: Arc::clone(&budget),
            }),
            format: Format::from(LineFormat::Combined),
            fields: Arc::default(),
            quarantine: Quarantine::new(
                folder.join(&name),
                Arc::new(RealDisk),
                1 << 20,
                Arc::clone(&shared),
            ),
            rollups: vec![Arc::clone(&rollup)],
            sink: Box::new(MemorySink(Arc::clone(&engine))),
            flush: Duration::from_millis(10),
            windows: Arc::clone(&budget),
            until_caught_up: true,
            status: Arc::clone(&shared),
            binlog: Arc::new(Binlog::new(&folder.join("binlog"))),
            losses: Arc::new(LossBook::new(&folder.join("losses"))),
            sink_name: "main".to_owned(),
        };
        let setup = PipelineSetup {
            name: "a pipeline".to_owned(),
            sink_name: "main".to_owned(),
            status: Arc::clone(&status),
            make: Box::new(make),
        };
        (setup, status)
    }

    /// Whether each line of each of these logs was counted once, and nothing else.
    pub(super) fn has_each_line_once(&self, logs: &[(String, Arc<Log>)]) -> bool {
        let counted = self.engine.counted.lock();
        let all: u64 = logs.iter().map(|(_, log)| log.lines).sum();
        let is_once = |(name, log): &(String, Arc<Log>)| {
            (0..log.lines).all(|id| counted.get(&(name.clone(), path(id))) == Some(&1))
        };
        counted.len() as u64 == all && logs.iter().all(is_once)
    }
}

fn path(id: u64) -> String {
    format!("/p{id}")
}

pub(super) fn until_all_ended(handles: &[PipelineHandle]) {
    while !handles.iter().all(PipelineHandle::has_ended) {
        std::thread::yield_now();
    }
    assert!(!handles.iter().any(PipelineHandle::has_panicked));
}

struct MemorySource {
    log: Arc<Log>,
    next: u64,
    engine: Arc<Engine>,
    budget: Arc<WindowBudget>,
}

impl LineSource for MemorySource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.log.resumed.lock().push(position.map(str::to_owned));
        self.next = position.map_or(0, |position| position.parse().unwrap());
        Ok(())
    }

    fn read<'s>(&'s mut self, buffer: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        self.engine.readers.lock().insert(std::thread::current().id());
        let used = self.budget.used();
        let mut most = self.engine.most_used.lock();
        *most = used.max(*most);
        drop(most);
        let mut end = self.log.lines.min(self.next + CHUNK_LINES);
        let mut faults = self.log.faults.lock();
        if let Some((at, fault)) = faults.front().copied().filter(|(at, _)| *at < end) {
            if at == self.next {
                faults.pop_front();
                drop(faults);
                assert!(fault == Fault::Fail, "a source that is to panic");
                let (source_name, reason) = ("s".to_owned(), "it is to fail".to_owned());
                return Err(SourceError::Position { source_name, reason });
            }
            end = at;
        }
        if self.next == end {
            return Ok(ReadOutcome::CaughtUp);
        }
        buffer.clear();
        for id in self.next..end {
            let (time, path) = ("21/Nov/2026:10:00:00 +0000", path(id));
            let line = format!("::1 - - [{time}] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"-\"\n");
            buffer.extend_from_slice(line.as_bytes());
        }
        self.next = end;
        Ok(ReadOutcome::Lines(LogChunk { file: "a.log", bytes: buffer, start: 0 }))
    }

    fn position(&self) -> String {
        self.next.to_string()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        self.log.lines - self.next
    }
}

struct MemorySink(Arc<Engine>);

impl Sink for MemorySink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        self.0.pass(Call::Prepare);
        Ok(())
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        Ok(self.0.checkpoints.lock().get(source).cloned().into_iter().collect())
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.0.pass(Call::Deliver);
        let new = &batch.checkpoint;
        let mut checkpoints = self.0.checkpoints.lock();
        let stored = checkpoints.get(&new.source).map_or(0, |stored| stored.sequence);
        assert_eq!(stored + 1, new.sequence, "numbers have no gaps");
        checkpoints.insert(new.source.clone(), new.clone());
        let mut counted = self.0.counted.lock();
        for rows in &batch.rows {
            for row in 0..rows.len() {
                let cells: Vec<_> = rows.row(row).collect();
                let (CellValue::Text(path), CellValue::Integer(count)) = (cells[0], cells[1])
                else {
                    panic!("{cells:?}")
                };
                let path = String::from_utf8(path.to_vec()).unwrap();
                *counted.entry((new.source.clone(), path)).or_default() += count;
            }
        }
        Ok(())
    }
}
