//! Runs `tidegate events run`, the record process: delivers every source into every sink that wants
//! it.
//!
//! There is one pipeline for each pair of a source and a sink that a rollup joins. Each sink has
//! threads of its own, so one that is down delays no other. All pipelines share the memory for
//! windows. Beside them it builds profiles on schedule, unless `--once`. It also gives its status
//! at the address of `[events] status`. It ends with SIGINT or SIGTERM, under `--once` when
//! everything is delivered, and under `--supervised` with its stdin. Only `--once` gives up, on a
//! pipeline that failed for `--give-up-after`. It also fails where a file was not read, or a loss
//! was found. Under `--supervised`, stdout is for the status alone, which the edge process reads.
//! Invariant: the journal knows a pipeline as `events-SINK`, the sink knows it by node and source,
//! and its quarantine is `SOURCE-SINK.ndjson`. With another source it begins again. With another
//! node it goes on where a source finds that the other one has read this very log. With another
//! consumer the old one holds back segments until its file is deleted. A consumer's name has 64
//! bytes at most, so the name of a sink that reads the journal has 57. The configuration allows 64:
//! a longer name fails only when `journal/src/consumer.rs` refuses it, at each resume. `recount`
//! makes the quarantine's name by itself, so change both. Never here: threads and giving up
//! (`events/running.rs`), and delivery (`pipeline`).

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pipeline::{
    Binlog, BoardEntry, LossBook, Pipeline, PipelineSetup, Rollup, SinkPlan, SourcePlan, Status,
    StatusBoard, StopSignal, WindowBudget,
};
use profiles::BuildScheduler;
use serde_json::{Value, json};
use stdx::RealDisk;

use super::running::{self, RunningPipeline};
use super::{losses, open};
use crate::commands::{self, counted};
use crate::config::Plan;
use crate::holders;
use crate::orphans;
use crate::profile_build;
use crate::progress::Progress;
use crate::service_manager;
use crate::signals::{EndSignals, Hangup};

const LOSSES_HINT: &str = "the rest is delivered; hint: `tidegate events losses` lists them";
/// How long a sink may be down under `--once`.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Delivers until it is to end, or with `once` until everything is delivered. `give_up_after` says
/// how long a pipeline may fail then. With `supervised` it writes its status for the process that
/// started it.
///
/// # Errors
/// When there is nothing to deliver, or a pipeline was given up.
pub(super) fn command(
    file: &Path,
    once: bool,
    give_up_after: Option<Duration>,
    supervised: bool,
) -> Result<()> {
    let once = once.then(|| give_up_after.unwrap_or(GIVE_UP_AFTER));
    let plan = Arc::new(commands::load(file)?);
    if plan.events.rollups.is_empty() {
        bail!("`{}` has no [[rollup]]: there is nothing to deliver", file.display());
    }
    warn_of_absent_files(&plan);
    if !supervised {
        let wider = plan.umask.wider(&holders::of(&plan));
        wider.iter().for_each(|note| tracing::warn!("{note}"));
    }
    let mut signals = EndSignals::install(Hangup::ReadsNothing)?;
    orphans::reap_as_first()?;
    let losses = Arc::new(LossBook::new(&plan.losses()));
    let specs = specs(&plan, &losses, once.is_some());
    // Not waited for at the end: a build that dies leaves nothing behind.
    let builds = if once.is_some() { None } else { profile_build::schedule(&plan)? };
    let last_build = builds.as_ref().map(BuildScheduler::last_build);
    let last_build = move || last_build.as_ref().map_or(Value::Null, |last| json!(last.outcome()));
    let entries = specs.iter().map(PipelineSpec::entry).collect();
    let book = Arc::clone(&losses);
    let open_losses = move || losses::alarms(&book);
    let board = StatusBoard::new(&plan.events.node, entries, last_build, open_losses, losses);
    board.sample_for_ever(supervised).context("start a thread")?;
    if let Some(address) = plan.events.status {
        board.serve(address).context("start a thread")?;
    }
    let reported: Vec<_> = specs.iter().map(PipelineSpec::entry).collect();
    // The process that started this one has a log and a screen that say it.
    let logged: Vec<_> = specs.iter().map(PipelineSpec::entry).filter(|_| !supervised).collect();
    for BoardEntry { source, sink, .. } in &logged {
        tracing::info!(source, sink, "delivering");
    }
    let windows = WindowBudget::new(plan.events.window_bytes_max, specs.len());
    let setups = specs.into_iter().map(|spec| spec.setup(Arc::clone(&windows))).collect();
    let running = running::start(setups)?;
    let stops: Vec<_> = running.iter().map(RunningPipeline::stop).collect();
    let stop_all = stops.clone();
    if !supervised {
        service_manager::ready(&format!("delivering, {}", counted(stops.len() as u64, "pipeline")));
    }
    std::thread::spawn(move || {
        signals.wait();
        if !supervised {
            service_manager::stopping("committing what was counted");
        }
        stop_all.iter().for_each(StopSignal::request);
    });
    if supervised {
        std::thread::spawn(move || {
            await_end_of_stdin();
            stops.iter().for_each(StopSignal::request);
        });
    }
    let progress = once.map(|_| Progress::new("delivering"));
    let ended = running::wait_for_all(running, once, progress.as_ref());
    drop(progress);
    for BoardEntry { source, sink, status } in &logged {
        let done = status.report(0);
        let (lines, rows, quarantined) = (done.lines, done.rows, done.quarantined);
        tracing::info!(source, sink, lines, rows, quarantined, "ended");
    }
    ended?;
    if once.is_some() { all_read(&reported).and_then(|()| nothing_lost(&reported)) } else { Ok(()) }
}

/// Says which files were not read, when everything else is delivered.
///
/// # Errors
/// When there is one.
fn all_read(pipelines: &[BoardEntry]) -> Result<()> {
    let unread = pipelines.iter().flat_map(|entry| entry.status.report(0).unreadable);
    let unread: BTreeMap<String, String> = unread.collect();
    if let Some((file, reason)) = unread.first_key_value() {
        let files = commands::counted(unread.len() as u64, "file");
        bail!("{files} could not be read; the rest is delivered; first `{file}`: {reason}");
    }
    Ok(())
}

/// Says that something was lost, when everything else is delivered.
///
/// # Errors
/// When this run has found a loss, or found one again behind which nothing was delivered since.
fn nothing_lost(pipelines: &[BoardEntry]) -> Result<()> {
    for BoardEntry { source, sink, status } in pipelines {
        match status.report(0).lost.losses {
            0 => {}
            1 => bail!("{source} to {sink}: a loss was found; {LOSSES_HINT}"),
            many => bail!("{source} to {sink}: {many} losses were found; {LOSSES_HINT}"),
        }
    }
    Ok(())
}

/// A pattern that matches nothing may be right, before the first line, and may be mistyped.
fn warn_of_absent_files(plan: &Plan) {
    for source in plan.events.sources.iter().filter(|source| !source.files.is_empty()) {
        if !source.files.iter().any(|files| files.matches_any(&RealDisk)) {
            tracing::warn!(source = source.name, "no file is there that `files` names");
        }
    }
}

/// The edge process holds the other end and never writes to it: the end says that it is gone.
fn await_end_of_stdin() {
    let mut byte = [0];
    while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
}

fn specs(plan: &Arc<Plan>, losses: &Arc<LossBook>, once: bool) -> Vec<PipelineSpec> {
    let binlog = Arc::new(Binlog::new(&plan.binlog()));
    let mut specs = Vec::new();
    for sink in &plan.events.sinks {
        for source in &plan.events.sources {
            let rollups = rollups(plan, source, sink);
            if !rollups.is_empty() {
                specs.push(PipelineSpec {
                    plan: Arc::clone(plan),
                    source: source.clone(),
                    sink: sink.clone(),
                    rollups,
                    once,
                    status: Arc::default(),
                    binlog: Arc::clone(&binlog),
                    losses: Arc::clone(losses),
                });
            }
        }
    }
    specs
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
struct PipelineSpec {
    plan: Arc<Plan>,
    source: SourcePlan,
    sink: SinkPlan,
    rollups: Vec<Arc<Rollup>>,
    once: bool,
    status: Arc<Status>,
    binlog: Arc<Binlog>,
    losses: Arc<LossBook>,
}

impl PipelineSpec {
    fn entry(&self) -> BoardEntry {
        let (source, sink) = (self.source.name.clone(), self.sink.name.clone());
        BoardEntry { source, sink, status: Arc::clone(&self.status) }
    }

    fn setup(self, windows: Arc<WindowBudget>) -> PipelineSetup {
        PipelineSetup {
            name: format!("{} to {}", self.source.name, self.sink.name),
            sink_name: self.sink.name.clone(),
            status: Arc::clone(&self.status),
            make: Box::new(move || self.pipeline(Arc::clone(&windows))),
        }
    }

    fn pipeline(&self, windows: Arc<WindowBudget>) -> Pipeline {
        let consumer = format!("events-{}", self.sink.name);
        let quarantine = open::quarantine_file(&self.plan, &self.source.name, &self.sink.name);
        Pipeline {
            node: self.plan.events.node.clone(),
            source_name: self.source.name.clone(),
            lines_of: self.source.name.clone(),
            source: open::line_source(&self.plan, &self.source, &self.source.name, Some(&consumer)),
            format: self.source.format.clone(),
            quarantine: open::quarantine(&self.plan, quarantine, &self.status),
            fields: self.plan.events.fields_of(&self.source.name),
            rollups: self.rollups.clone(),
            sink: sinks::open(&self.sink.url, &self.plan.root).expect("the address was checked"),
            flush: self.sink.flush,
            windows,
            until_caught_up: self.once,
            status: Arc::clone(&self.status),
            binlog: Arc::clone(&self.binlog),
            losses: Arc::clone(&self.losses),
            sink_name: self.sink.name.clone(),
        }
    }
}
