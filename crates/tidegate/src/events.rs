//! `tidegate events …`: the record process. One pipeline for each source on its way to each sink
//! that wants it, so that a dead sink holds nobody else up.

mod board;
mod copy;
mod export;
mod folder;
mod inspect;
mod query;
mod replay;
mod status;
mod time;
mod verify;
mod watch;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use pipeline::{
    Binlog, FileOptions, FileSource, JOURNAL, JournalSource, LineSource, Pipeline, Quarantine,
    Rollup, SinkPlan, SourcePlan, Status, StopSignal,
};
use stdx::{RealDisk, SystemClock};

use crate::cli::EventsCommand;
use crate::commands;
use crate::config::Plan;
use crate::learn::Learner;
use crate::progress::Progress;
use crate::signals::EndSignals;
use board::{Board, Shown};
pub(crate) use time::micros;
use watch::Running;

/// How long `--once` bears with a sink that is down.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// `tidegate events …`
pub(crate) fn command(command: EventsCommand) -> Result<()> {
    match command {
        EventsCommand::Run { config, once, give_up_after, supervised } => {
            let give_up_after = give_up_after.map_or(GIVE_UP_AFTER, |span| span.0);
            run(&config.config, once.then_some(give_up_after), supervised)
        }
        EventsCommand::Export(args) => export::command(&args),
        EventsCommand::Replay(args) => replay::command(&args),
        EventsCommand::Inspect(args) => inspect::command(&args),
        EventsCommand::Status { config, json } => status::command(&config.config, json),
        EventsCommand::Query(args) => query::query(args),
        EventsCommand::Verify(args) => verify::command(&args.config),
    }
}

/// Where commits are noted.
fn binlog_path(plan: &Plan) -> PathBuf {
    plan.root.join("data/binlog")
}

/// Delivers until told to end, or, once, until everything is delivered; `once` says how long a
/// pipeline may fail then.
fn run(file: &Path, once: Option<Duration>, supervised: bool) -> Result<()> {
    let plan = Arc::new(commands::load(file)?);
    if plan.events.rollups.is_empty() {
        bail!("`{}` has no [[rollup]]: there is nothing to deliver", file.display());
    }
    warn_of_absent_files(&plan);
    let mut signals = EndSignals::install()?;
    let lines = lines(&plan, once.is_some());
    // Not waited for at the end: a build that dies leaves nothing behind.
    let learner = if once.is_some() { None } else { Learner::start(&plan) };
    let learned = learner.as_ref().map(Learner::learned);
    let board = Board::new(&plan.events.node, lines.iter().map(Line::shown).collect(), learned);
    board.keep(supervised)?;
    if let Some(address) = plan.events.status {
        board.serve(address)?;
    }
    // Under `serve` its own log and screen tell.
    let shown: Vec<Shown> = lines.iter().map(Line::shown).filter(|_| !supervised).collect();
    for Shown { source, sink, .. } in &shown {
        tracing::info!(source, sink, "delivering");
    }
    let running = lines.into_iter().map(Line::start).collect::<Result<Vec<_>>>()?;
    let stops: Vec<_> = running.iter().map(Running::stop).collect();
    let stop_all = stops.clone();
    std::thread::spawn(move || {
        signals.wait();
        stop_all.iter().for_each(StopSignal::request);
    });
    if supervised {
        std::thread::spawn(move || {
            await_end_of_stdin();
            stops.iter().for_each(StopSignal::request);
        });
    }
    let progress = once.map(|_| Progress::new("delivering"));
    let ended = watch::until_ended(running, once, progress.as_ref());
    drop(progress);
    for Shown { source, sink, status } in &shown {
        let done = status.report(0);
        let (lines, rows, quarantined) = (done.lines, done.rows, done.quarantined);
        tracing::info!(source, sink, lines, rows, quarantined, "ended");
    }
    ended
}

/// A pattern that nothing matches may be right, before the first line, and may be mistyped.
fn warn_of_absent_files(plan: &Plan) {
    for source in plan.events.sources.iter().filter(|source| !source.files.is_empty()) {
        if !source.files.iter().any(|files| files.matches_any(&RealDisk)) {
            tracing::warn!(source = source.name, "no file is there that `files` names");
        }
    }
}

/// The edge process holds the other end, and never writes: the end says that it is gone.
fn await_end_of_stdin() {
    let mut byte = [0];
    while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
}

fn lines(plan: &Arc<Plan>, once: bool) -> Vec<Line> {
    let binlog = Arc::new(Binlog::new(&binlog_path(plan)));
    let mut lines = Vec::new();
    for sink in &plan.events.sinks {
        for source in &plan.events.sources {
            let rollups = rollups(plan, source, sink);
            if !rollups.is_empty() {
                lines.push(Line {
                    plan: Arc::clone(plan),
                    source: source.clone(),
                    sink: sink.clone(),
                    rollups,
                    once,
                    status: Arc::default(),
                    binlog: Arc::clone(&binlog),
                });
            }
        }
    }
    lines
}

fn rollups(plan: &Plan, source: &SourcePlan, sink: &SinkPlan) -> Vec<Arc<Rollup>> {
    let wanted = plan
        .events
        .rollups
        .iter()
        .filter(|rollup| rollup.counts(&source.name) && rollup.sink == sink.name);
    wanted.map(|rollup| Arc::clone(&rollup.rollup)).collect()
}

/// A source on its way to a sink.
struct Line {
    plan: Arc<Plan>,
    source: SourcePlan,
    sink: SinkPlan,
    rollups: Vec<Arc<Rollup>>,
    once: bool,
    status: Arc<Status>,
    binlog: Arc<Binlog>,
}

impl Line {
    fn shown(&self) -> Shown {
        let (source, sink) = (self.source.name.clone(), self.sink.name.clone());
        Shown { source, sink, status: Arc::clone(&self.status) }
    }

    fn start(self) -> Result<Running> {
        let name = format!("{} to {}", self.source.name, self.sink.name);
        Running::start(name, Arc::clone(&self.status), move || self.pipeline())
    }

    fn pipeline(&self) -> Pipeline {
        let root = &self.plan.root;
        Pipeline {
            node: self.plan.events.node.clone(),
            source_name: self.source.name.clone(),
            lines_of: self.source.name.clone(),
            source: self.open_source(),
            format: self.source.format.clone(),
            quarantine: self.quarantine(),
            fields: self.plan.events.fields_of(&self.source.name),
            rollups: self.rollups.clone(),
            sink: sinks::open(&self.sink.url, root).expect("the address was checked"),
            flush: self.sink.flush,
            window_bytes_max: self.plan.events.window_bytes_max,
            until_caught_up: self.once,
            status: Arc::clone(&self.status),
            binlog: Arc::clone(&self.binlog),
            sink_name: self.sink.name.clone(),
        }
    }

    fn quarantine(&self) -> Quarantine {
        let name = format!("{}-{}.ndjson", self.source.name, self.sink.name);
        quarantine(&self.plan, &name, &self.status)
    }

    fn open_source(&self) -> Box<dyn LineSource> {
        let disk = Arc::new(RealDisk);
        match &self.plan.journal {
            Some(journal) if self.source.name == JOURNAL => {
                let consumer = format!("events-{}", self.sink.name);
                Box::new(JournalSource::new(journal.options.dir.clone(), &consumer, disk))
            }
            _ => {
                let options = file_options(&self.source);
                let clock = Arc::new(SystemClock);
                Box::new(FileSource::new(&self.source.name, options, disk, clock))
            }
        }
    }
}

/// The quarantine in the file `name`.
fn quarantine(plan: &Plan, name: &str, status: &Arc<Status>) -> Quarantine {
    let (path, bytes_max) =
        (plan.events.quarantine_dir.join(name), plan.events.quarantine_bytes_max);
    Quarantine::new(path, Arc::new(RealDisk), bytes_max, Arc::clone(status))
}

fn file_options(source: &SourcePlan) -> FileOptions {
    FileOptions {
        files: source.files.clone(),
        strict: source.strict,
        sync: source.sync,
        quiet: source.quiet,
        time_of: Some(pipeline::time_in(&source.format)),
    }
}
