//! `tidegate events verify`: counts the lines that were delivered once more, from the log's first
//! byte, and compares with what the sink holds.
//!
//! Invariant: the sink and the log are only read, while others go on delivering and writing: the
//! sink as it was at one moment, the log up to the checkpoint of that moment. The count shares no
//! reader, window, batch or sink with the delivery: lines are read plainly ([`plain`]) and counted
//! in maps ([`count`]). Shared are the configuration, and the knowledge by which content a log is
//! known again ([`pipeline::Extent`]).

mod compare;
mod count;
mod lines;
mod object;
mod plain;
mod variable;

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use pipeline::{Checkpoint, FileSource, JOURNAL, SinkPlan, Source, SourcePlan, Table};
use stdx::{RealDisk, SystemClock};

use self::count::{Count, Place};
use self::lines::Delivered;
use self::plain::Plain;
use super::copy::Copy;
use super::rollups;
use crate::commands;
use crate::config::Plan;
use crate::hint::Hint;
use crate::progress::Progress;

/// Bytes between two looks at the bar.
const STEP: u64 = 1 << 20;
/// How often a log without a file is looked for, and how long between.
const LOOKS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

const WHY: Hint = Hint(
    "a rollup that came or changed after its source was first read, and log files that were \
     deleted since, make a difference too; `tidegate events inspect` shows what a line becomes",
);

const AGAIN: Hint = Hint("the log was rotated meanwhile: run it again");

/// Compares every rollup of every SQL sink; prints a line for each.
///
/// # Errors
/// When one differs, or its log cannot be counted again.
pub(super) fn command(file: &Path) -> Result<()> {
    let plan = commands::load(file)?;
    let (mut compared, mut different) = (0, 0);
    for sink in &plan.events.sinks {
        if !sinks::runs_queries(&sink.url) {
            println!("sink {}: not compared, its engine knows no SQL", sink.name);
            continue;
        }
        let (all, wrong) = Check::of(&plan, sink)?.compare()?;
        (compared, different) = (compared + all, different + wrong);
    }
    ensure!(compared > 0, "`{}` has no rollup in a SQL sink to compare", file.display());
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
    copy: Copy,
    counts: Vec<Count>,
    /// The names of the files that were read.
    files: Vec<String>,
    /// Other machines that deliver the same sources.
    others: BTreeSet<String>,
}

impl<'p> Check<'p> {
    fn of(plan: &'p Plan, sink: &'p SinkPlan) -> Result<Self> {
        let wanted = plan.events.rollups.iter().filter(|to| to.sink == sink.name);
        let counts: Vec<Count> = wanted.map(|to| Count::new(Arc::clone(&to.rollup))).collect();
        let tables: Vec<Arc<Table>> =
            counts.iter().flat_map(|count| count.rollup.tables()).cloned().collect();
        let copy = Copy::of(plan, sink, &tables, (None, None))?;
        let (files, others) = (Vec::new(), BTreeSet::new());
        Ok(Self { plan, sink, copy, counts, files, others })
    }

    /// How many rollups were compared, and how many of them differ.
    fn compare(mut self) -> Result<(usize, usize)> {
        for source in &self.plan.events.sources {
            if !rollups(self.plan, source, self.sink).is_empty() {
                let name = &source.name;
                self.recount(source).with_context(|| format!("recount `{name}`"))?;
            }
        }
        let Self { plan, counts, copy, files, others, .. } = &mut self;
        let place = |(file, offset): Place| {
            format!("at byte {offset} of `{}`", files.get(file as usize).map_or("?", |file| file))
        };
        let mut wrong = 0;
        for count in counts.iter_mut() {
            let name = count.rollup.table.name.clone();
            let compared = compare::compare(
                count,
                &copy.url(),
                (&plan.events.node, !others.is_empty()),
                &place,
            )?;
            let (rows, different) = (compared.rows, compared.different);
            match compared.first() {
                None if rows == 1 => println!("{name}: 1 row agrees with the log"),
                None => println!("{name}: {rows} rows agree with the log"),
                Some(first) => {
                    wrong += 1;
                    println!("{name}: {different} of {rows} rows differ, first {first}");
                }
            }
            if compared.shared > 0 {
                let others = others.iter().map(String::as_str).collect::<Vec<_>>().join("`, `");
                let shared = compared.shared;
                println!("{name}: {shared} aggregates are not compared, `{others}` adds to them");
            }
            if count.without_key > 0 {
                println!("{name}: {} lines lack a number of its key", count.without_key);
            }
        }
        Ok((counts.len(), wrong))
    }

    fn recount(&mut self, source: &SourcePlan) -> Result<()> {
        let node = &self.plan.events.node;
        let held = self.copy.checkpoints.iter().filter(|held| held.source == source.name);
        let (own, others): (Vec<_>, Vec<_>) = held.partition(|held| held.node == *node);
        self.others.extend(others.iter().map(|other| other.node.clone()));
        let (delivered, mut gone) = self.delivered(source, own.first().copied())?;
        let all: u64 = delivered.iter().map(|part| part.end - part.start).sum();
        let quarantined = self.quarantined(source);
        let plain = Plain::new(&source.format, self.plan.events.fields_of(&source.name));
        let progress = Progress::new("recounting");
        let (mut lines, mut refused, mut kept) = (0u64, 0u64, 0u64);
        let (mut bytes, mut shown) = (0, 0);
        for part in &delivered {
            let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
            self.files.push(part.path.display().to_string());
            let counts = &mut self.counts;
            let of = self.plan.events.rollups.iter().filter(|to| to.sink == self.sink.name);
            let is_counted: Vec<bool> = of.map(|to| to.counts(&source.name)).collect();
            let read = part.each(|found| {
                lines += 1;
                if bytes + found.offset - part.start >= shown {
                    shown = bytes + found.offset - part.start + STEP;
                    progress.set(shown - STEP, all);
                }
                let Some(line) = found.is_whole.then(|| plain.read(found.bytes)).flatten() else {
                    refused += 1;
                    kept += u64::from(quarantined.contains(&found.offset));
                    return;
                };
                let place = (file, found.offset);
                for (count, _) in counts.iter_mut().zip(&is_counted).filter(|(_, is)| **is) {
                    count.add(&line, place, (node, &source.name));
                }
            });
            let read = read.with_context(|| format!("read `{}`", part.path.display()))?;
            bytes += read;
            gone += part.end - part.start - read;
        }
        drop(progress);
        if source.name != JOURNAL {
            let (again, _) = self.delivered(source, own.first().copied())?;
            if again != delivered {
                return Err(anyhow!("its files changed names while they were read").context(AGAIN));
            }
        }
        let (name, sink) = (&source.name, &self.sink.name);
        println!("{name} to {sink}: {lines} lines, {bytes} bytes counted again");
        if refused > 0 {
            println!("{name}: {refused} of them are refused, {kept} of those are in quarantine");
        }
        if gone > 0 {
            println!("{name}: {gone} bytes that were counted are gone");
        }
        Ok(())
    }

    /// The parts of the log that were delivered, and how many bytes of it are gone.
    fn delivered(
        &self,
        source: &SourcePlan,
        held: Option<&Checkpoint>,
    ) -> Result<(Vec<Delivered>, u64)> {
        let position = held.map(|held| held.position.as_str());
        if let Some(journal) = &self.plan.journal
            && source.name == JOURNAL
        {
            let end = position.map_or(Ok(0), str::parse).context("read the checkpoint")?;
            let parts = lines::of_journal(&journal.options.dir, end)?;
            let there: u64 = parts.iter().map(|part| part.end - part.start).sum();
            return Ok((parts, end - there));
        }
        // A log has no name for a moment while it gets another one.
        let mut looked = self.look(source, position)?;
        for _ in 1..LOOKS {
            if looked.1 == 0 {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            looked = self.look(source, position)?;
        }
        Ok(looked)
    }

    /// The same of files, as they have their names at present.
    fn look(&self, source: &SourcePlan, position: Option<&str>) -> Result<(Vec<Delivered>, u64)> {
        // A rotated file's last line has been given up where the position is behind it.
        let options = super::file_options(&SourcePlan { quiet: Duration::ZERO, ..source.clone() });
        let (disk, clock) = (Arc::new(RealDisk), Arc::new(SystemClock));
        let mut files = FileSource::new(&source.name, options, disk, clock);
        files.resume(position)?;
        let (mut parts, mut gone) = (Vec::new(), 0);
        for extent in files.extents()?.into_iter().filter(|extent| extent.end > 0) {
            match extent.file {
                None => gone += extent.end,
                Some(path) => parts.push(Delivered { path, start: 0, end: extent.end }),
            }
        }
        parts.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((parts, gone))
    }

    /// The offsets of lines in quarantine.
    fn quarantined(&self, source: &SourcePlan) -> HashSet<u64> {
        let name = format!("{}-{}.ndjson", source.name, self.sink.name);
        let file = std::fs::File::open(self.plan.events.quarantine_dir.join(name));
        let lines = file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n').flatten());
        let entries = lines.filter_map(|line| serde_json::from_slice(&line).ok());
        entries.filter_map(|entry: serde_json::Value| entry["offset"].as_u64()).collect()
    }
}
