//! `tidegate events verify`: counts the lines that were delivered once more, from the beginning of
//! the log into an empty database, and compares.
//!
//! Invariant: the sink and the log are only read, while others go on delivering and writing: the
//! sink as a copy of one moment, the log up to the checkpoint in that copy. What the check shares
//! with delivery are the decoders and windows; what it holds against each other are checkpoints,
//! batches, restarts and merging on one side, and one count without any of them on the other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use pipeline::{
    Binlog, Checkpoint, FileSource, JOURNAL, JournalSource, Pipeline, Quarantine, Rollup, Sink,
    SinkPlan, Source, SourcePlan, Status, Stop, Until,
};
use serde_json::Value;
use sinks::{Answer, Query, SqliteSink, ask, ask_sql};
use stdx::{RealDisk, SystemClock};

use super::folder::Folder;
use super::{query, rollups};
use crate::commands;
use crate::config::Plan;
use crate::hint::Hint;

/// Real numbers that differ by less, of their size, are added up in another order.
const TOLERANCE: f64 = 1e-9;
/// The column of single events that a rotation changes.
const FILE: &str = "file";
const FLUSH: Duration = Duration::from_secs(1);

const WHY: Hint = Hint(
    "a rollup that came or changed after its source was first read, and log files that were \
     deleted since, make a difference too; `tidegate events inspect` shows what a line becomes",
);

/// Compares every rollup of every SQLite sink; prints a line for each.
///
/// # Errors
/// When one differs, or its log cannot be counted again.
pub fn command(file: &Path) -> Result<()> {
    let plan = commands::load(file)?;
    let (mut compared, mut different) = (0, 0);
    for sink in &plan.events.sinks {
        let Ok(database) = query::database(&plan, sink) else {
            println!("sink {}: not compared, only SQLite files are read back", sink.name);
            continue;
        };
        let database = query::delivered(database)?;
        let (all, wrong) = Check::of(&plan, sink, &database)?.compare()?;
        (compared, different) = (compared + all, different + wrong);
    }
    ensure!(compared > 0, "`{}` has no rollup in a SQLite sink to compare", file.display());
    if different > 0 {
        let error = anyhow!("{different} of {compared} rollups differ from what the log holds");
        return Err(error.context(WHY));
    }
    Ok(())
}

/// One sink, as it was at one moment, and what its sources say.
struct Check<'p> {
    plan: &'p Plan,
    sink: &'p SinkPlan,
    folder: Folder,
}

impl<'p> Check<'p> {
    fn of(plan: &'p Plan, sink: &'p SinkPlan, database: &Path) -> Result<Self> {
        let folder = Folder::make("verify")?;
        let copy = held(&folder).display().to_string().replace('\'', "''");
        ask_sql(database, &format!("VACUUM INTO '{copy}'")).context("copy the sink")?;
        Ok(Self { plan, sink, folder })
    }

    /// How many rollups were compared, and how many of them differ.
    fn compare(&self) -> Result<(usize, usize)> {
        for source in &self.plan.events.sources {
            let rollups = rollups(self.plan, source, self.sink);
            if !rollups.is_empty() {
                let name = &source.name;
                self.recount(source, rollups).with_context(|| format!("recount `{name}`"))?;
            }
        }
        let wanted = self.plan.events.rollups.iter().filter(|to| to.sink == self.sink.name);
        let (mut all, mut wrong) = (0, 0);
        for rollup in wanted.map(|rollup| &rollup.rollup) {
            let [held, again] = [held(&self.folder), again(&self.folder)]
                .map(|file| ask(&file, rollup, &Query::default()));
            all += 1;
            match difference(rollup, held?, again?) {
                Ok(1) => println!("{}: 1 row agrees with the log", rollup.table.name),
                Ok(rows) => println!("{}: {rows} rows agree with the log", rollup.table.name),
                Err(first) => {
                    println!("{}: {first}", rollup.table.name);
                    wrong += 1;
                }
            }
        }
        Ok((all, wrong))
    }

    fn recount(&self, source: &SourcePlan, rollups: Vec<Arc<Rollup>>) -> Result<()> {
        let mut held = SqliteSink::new(&held(&self.folder)).checkpoints(&source.name)?;
        let node = &self.plan.events.node;
        if let Some(other) = held.iter().find(|held| held.node != *node) {
            bail!("node `{}` delivers it too, and its log is not here", other.node);
        }
        let (ends, opened) = self.ends(source, held.pop().as_ref())?;
        let bytes: u64 = ends.values().sum();
        let status = Arc::<Status>::default();
        let pipeline = Pipeline {
            node: node.clone(),
            source_name: source.name.clone(),
            lines_of: source.name.clone(),
            source: Box::new(Until::new(opened, ends)),
            format: source.format.clone(),
            fields: self.plan.events.fields_of(&source.name),
            quarantine: self.quarantine(&status),
            rollups,
            sink: Box::new(SqliteSink::new(&again(&self.folder))),
            flush: FLUSH,
            window_bytes_max: self.plan.events.window_bytes_max,
            until_caught_up: true,
            status: Arc::clone(&status),
            binlog: Arc::new(Binlog::new(&self.folder.0.join("binlog"))),
            sink_name: self.sink.name.clone(),
        };
        // What the lines are was said when they were delivered.
        let silent = tracing::subscriber::NoSubscriber::new();
        tracing::subscriber::with_default(silent, || pipeline.run(&Stop::default()))?;
        let counted = status.report(0);
        let (name, sink, lines) = (&source.name, &self.sink.name, counted.lines);
        println!("{name} to {sink}: {lines} lines, {} bytes counted again", counted.bytes);
        if counted.bytes < bytes {
            println!("{name}: {} bytes that were counted are gone", bytes - counted.bytes);
        }
        Ok(())
    }

    /// Where each file's part ends that was delivered, and a source to read it again.
    fn ends(
        &self,
        source: &SourcePlan,
        held: Option<&Checkpoint>,
    ) -> Result<(HashMap<String, u64>, Box<dyn Source>)> {
        let position = held.map(|held| held.position.as_str());
        let disk = Arc::new(RealDisk);
        if let Some(journal) = &self.plan.journal
            && source.name == JOURNAL
        {
            let end = position.map_or(Ok(0), str::parse).context("read the checkpoint")?;
            let opened = JournalSource::onlooker(journal.options.dir.clone(), disk);
            return Ok((HashMap::from([(JOURNAL.to_owned(), end)]), Box::new(opened)));
        }
        // A rotated file's last line has been given up where the position is behind it.
        let options =
            || super::file_options(&SourcePlan { quiet: Duration::ZERO, ..source.clone() });
        let clock = Arc::new(SystemClock);
        let mut delivered =
            FileSource::new(&source.name, options(), disk.clone(), Arc::clone(&clock) as _);
        delivered.resume(position)?;
        let ends = delivered.extents()?.into_iter().collect();
        Ok((ends, Box::new(FileSource::new(&source.name, options(), disk, clock))))
    }

    fn quarantine(&self, status: &Arc<Status>) -> Quarantine {
        let path = self.folder.0.join("quarantine");
        let bytes_max = self.plan.events.quarantine_bytes_max;
        Quarantine::new(path, Arc::new(RealDisk), bytes_max, Arc::clone(status))
    }
}

/// The copy of the sink.
fn held(folder: &Folder) -> PathBuf {
    folder.0.join("held.db")
}

/// What is counted again.
fn again(folder: &Folder) -> PathBuf {
    folder.0.join("again.db")
}

/// The number of rows, or where the first one differs.
fn difference(rollup: &Rollup, held: Answer, again: Answer) -> Result<usize, String> {
    let keys = rollup.table.keys();
    let columns = held.columns.clone();
    let (held, again) = (sorted(held, keys), sorted(again, keys));
    let mut pairs = held.iter().zip(&again);
    let differs = |(held, again): &(&Vec<Value>, &Vec<Value>)| {
        let mut cells = columns.iter().zip(held.iter().zip(again.iter()));
        cells.any(|(name, (held, again))| name != FILE && !is_same(held, again))
    };
    let Some((of_sink, of_log)) = pairs.find(differs) else {
        return match held.len().cmp(&again.len()) {
            std::cmp::Ordering::Equal => Ok(held.len()),
            std::cmp::Ordering::Greater => {
                Err(format!("the log has no {}", shown(&columns, &held[again.len()])))
            }
            std::cmp::Ordering::Less => {
                Err(format!("the sink has no {}", shown(&columns, &again[held.len()])))
            }
        };
    };
    let (of_sink, of_log) = (shown(&columns, of_sink), shown(&columns, of_log));
    Err(format!("first difference: the sink has {of_sink}; the log has {of_log}"))
}

/// Rows in an order that both sides have, single events too.
fn sorted(answer: Answer, keys: usize) -> Vec<Vec<Value>> {
    let mut rows = answer.rows;
    if keys == 0 {
        let place = answer.columns.iter().position(|name| name == FILE);
        rows.sort_by_cached_key(|row| {
            let cells = row.iter().enumerate().filter(|(at, _)| Some(*at) != place);
            cells.map(|(_, cell)| cell.to_string()).collect::<Vec<_>>()
        });
    }
    rows
}

fn is_same(held: &Value, again: &Value) -> bool {
    match (held.as_f64(), again.as_f64()) {
        (Some(held), Some(again)) if held != again => {
            let is_real = held.fract() != 0.0 || again.fract() != 0.0;
            is_real && (held - again).abs() <= TOLERANCE * held.abs().max(again.abs())
        }
        _ => held == again,
    }
}

fn shown(columns: &[String], row: &[Value]) -> String {
    let cells = columns.iter().zip(row).map(|(name, cell)| format!("{name} {cell}"));
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}
