//! Recounts one sink: it counts each log that goes into it, then has every rollup compared.
//!
//! Also here: which parts of a log were delivered, how many bytes are gone, which refused lines are
//! in quarantine, and which other machines deliver.
//! Invariant: a log is counted up to the checkpoint that the sink's contents were handed over with.
//! Files that change names while they are read are an error, [`RecountError::Rotated`], but for the
//! journal's. A file without a name is looked for ten times, 20 ms apart.
//! A quarantine is found by its file's name, `SOURCE-SINK.ndjson`, and its lines by their member
//! `offset`. The name is made in `tidegate/src/events/run.rs`, the member in
//! `pipeline/src/quarantine.rs`. If either changes here or there alone, quarantined lines count as
//! 0.
//! Elsewhere: taking the contents (the binary), finding files (`pipeline::FileSource`), reading
//! lines (`lines.rs`, `plain.rs`).

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{
    Checkpoint, FileOptions, FileSource, JOURNAL, LineSource, Plan, SinkPlan, SourcePlan, Table,
};
use stdx::{RealDisk, SystemClock};

use crate::compare::{Machine, compare};
use crate::count::{LinePlace, Origin, RollupCount};
use crate::error::RecountError;
use crate::lines::{self, DeliveredLog};
use crate::object::member;
use crate::plain::{PlainOutcome, PlainReader};
use crate::scalar::whole;

/// Bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 1 << 20;
/// How often a log without a file is looked for, and how long between.
const LOOKS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// What a sink held at one moment.
#[derive(Debug, Clone)]
pub struct SinkContents {
    /// The address of a SQLite file with its tables.
    pub url: String,
    /// How far each source was delivered at that moment.
    pub checkpoints: Vec<Checkpoint>,
}

/// One sink, and what its sources say.
pub struct SinkRecount<'p> {
    plan: &'p Plan,
    /// Where the journal is, if the process keeps one.
    journal: Option<&'p Path>,
    sink: &'p SinkPlan,
    contents: SinkContents,
    counts: Vec<RollupCount>,
    /// The names of the files that were read.
    files: Vec<String>,
    /// Other machines that deliver the same sources.
    others: BTreeSet<String>,
}

/// What a source holds, counted again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCount {
    /// Lines that were delivered.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines among them that are no events.
    pub refused: u64,
    /// Lines among those that are in quarantine.
    pub quarantined: u64,
    /// Bytes that were delivered and are not there any more.
    pub gone: u64,
}

/// How a rollup in the sink compares with the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollupComparison {
    /// The rollup's table.
    pub name: String,
    /// Rows that the log or the sink has.
    pub rows: u64,
    /// How many of them differ.
    pub different: u64,
    /// The first difference in the order of keys, in words; none when all agree.
    pub first: Option<String>,
    /// Rows that were not compared, since other machines add to them.
    pub shared: u64,
    /// Those machines.
    pub others: Vec<String>,
    /// Lines that lack a number of the key.
    pub without_key: u64,
}

impl<'p> SinkRecount<'p> {
    /// The tables that must be among the contents of a sink.
    pub fn tables(plan: &Plan, sink: &SinkPlan) -> Vec<Arc<Table>> {
        let rollups = plan.rollups.iter().filter(|rollup| rollup.sink == sink.name);
        rollups.flat_map(|rollup| rollup.rollup.tables()).cloned().collect()
    }

    /// Begins with nothing counted; `journal` is the directory of the process's own journal.
    pub fn new(
        plan: &'p Plan,
        journal: Option<&'p Path>,
        sink: &'p SinkPlan,
        contents: SinkContents,
    ) -> Self {
        let rollups = plan.rollups.iter().filter(|rollup| rollup.sink == sink.name);
        let counts = rollups.map(|rollup| RollupCount::new(Arc::clone(&rollup.rollup))).collect();
        let (files, others) = (Vec::new(), BTreeSet::new());
        Self { plan, journal, sink, contents, counts, files, others }
    }

    /// The sources that go into the sink.
    pub fn sources(&self) -> impl Iterator<Item = &'p SourcePlan> {
        let Self { plan, sink, .. } = *self;
        plan.sources.iter().filter(|source| {
            plan.rollups.iter().any(|to| to.sink == sink.name && to.counts(&source.name))
        })
    }

    /// Counts the delivered lines of a source; `progress` is told bytes done of bytes in all.
    ///
    /// # Errors
    /// When its log cannot be read, or was rotated meanwhile.
    pub fn count(
        &mut self,
        source: &SourcePlan,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<SourceCount, RecountError> {
        let node = &self.plan.node;
        let checkpoints = self.contents.checkpoints.iter().filter(|one| one.source == source.name);
        let (ours, others): (Vec<_>, Vec<_>) = checkpoints.partition(|one| one.node == *node);
        self.others.extend(others.iter().map(|other| other.node.clone()));
        let position = ours.first().map(|ours| ours.position.clone());
        let (delivered, gone) = self.delivered(source, position.as_deref())?;
        let all: u64 = delivered.iter().map(|part| part.end - part.start).sum();
        let mut total = SourceCount { gone, ..SourceCount::default() };
        let mut pass = Pass::new(self.plan, self.sink, source);
        for part in &delivered {
            let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
            self.files.push(part.path.display().to_string());
            let before = total.bytes;
            pass.plain.begin();
            let (counts, mut shown) = (&mut self.counts, 0);
            let read = part.each(|line| {
                let done = line.offset - part.start;
                if done >= shown {
                    shown = done + PROGRESS_BYTES;
                    progress(before + done, all);
                }
                pass.line(&line, file, counts, &mut total);
            });
            let path = || part.path.clone();
            let read = read.map_err(|error| RecountError::Read { path: path(), source: error })?;
            total.bytes += read;
            total.gone += part.end - part.start - read;
        }
        if source.name != JOURNAL && self.delivered(source, position.as_deref())?.0 != delivered {
            return Err(RecountError::Rotated);
        }
        Ok(total)
    }

    /// Compares every rollup of the sink with what was counted.
    ///
    /// # Errors
    /// When the contents cannot be read.
    pub fn compare(&mut self) -> Result<Vec<RollupComparison>, RecountError> {
        let Self { plan, counts, contents, files, others, .. } = self;
        let place = |at: LinePlace| {
            let file = files.get(at.file as usize).map_or("?", |file| file);
            format!("at byte {} of `{file}`", at.offset)
        };
        let mut comparisons = Vec::with_capacity(counts.len());
        for count in counts {
            let machine = Machine { node: &plan.node, is_shared: !others.is_empty() };
            let compared = compare(count, &contents.url, machine, &place)?;
            comparisons.push(RollupComparison {
                name: count.rollup.table.name.clone(),
                rows: compared.rows,
                different: compared.different,
                first: compared.first().map(str::to_owned),
                shared: compared.shared,
                others: others.iter().cloned().collect(),
                without_key: count.without_key,
            });
        }
        Ok(comparisons)
    }

    /// The parts of the log that were delivered, and how many bytes of it are gone.
    fn delivered(
        &self,
        source: &SourcePlan,
        position: Option<&str>,
    ) -> Result<(Vec<DeliveredLog>, u64), RecountError> {
        if let Some(dir) = self.journal
            && source.name == JOURNAL
        {
            // The text of a place begins with its offset.
            let end = position.map(|text| text.split('-').next().unwrap_or(text));
            let end = end.map_or(Ok(0), str::parse).map_err(RecountError::Checkpoint)?;
            let parts = lines::of_journal(dir, end).map_err(|error| {
                let path = dir.to_owned();
                RecountError::Read { path, source: error }
            })?;
            let there: u64 = parts.iter().map(|part| part.end - part.start).sum();
            return Ok((parts, end - there));
        }
        // A log has no name for a moment while it gets another one.
        let mut looked = look(source, position)?;
        for _ in 1..LOOKS {
            if looked.1 == 0 {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            looked = look(source, position)?;
        }
        Ok(looked)
    }
}

/// The delivered parts of a source's files, as they are called at present, and the bytes gone.
fn look(
    source: &SourcePlan,
    position: Option<&str>,
) -> Result<(Vec<DeliveredLog>, u64), RecountError> {
    let options = FileOptions {
        files: source.files.clone(),
        strict: source.strict,
        sync: source.sync,
        // A rotated file's last line has been given up where the position is behind it.
        idle_timeout: Duration::ZERO,
        moved_from: Vec::new(),
        time_of: None,
    };
    let (disk, clock) = (Arc::new(RealDisk), Arc::new(SystemClock));
    let mut files = FileSource::new(&source.name, options, disk, clock);
    files.resume(position)?;
    let (mut parts, mut gone) = (Vec::new(), 0);
    for extent in files.extents()?.into_iter().filter(|extent| extent.end > 0) {
        match extent.file {
            None => gone += extent.end,
            Some(path) => parts.push(DeliveredLog { path, start: 0, end: extent.end }),
        }
    }
    parts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((parts, gone))
}

/// How the lines of one source are counted.
struct Pass<'p> {
    plain: PlainReader,
    origin: Origin<'p>,
    /// Which of the sink's rollups count the source.
    is_counted: Vec<bool>,
    /// The offsets of lines in quarantine.
    quarantined: HashSet<u64>,
}

impl<'p> Pass<'p> {
    fn new(plan: &'p Plan, sink: &SinkPlan, source: &'p SourcePlan) -> Self {
        let rollups = plan.rollups.iter().filter(|to| to.sink == sink.name);
        let name = format!("{}-{}.ndjson", source.name, sink.name);
        Self {
            plain: PlainReader::new(&source.format, plan.fields_of(&source.name)),
            origin: Origin { node: &plan.node, source: &source.name },
            is_counted: rollups.map(|to| to.counts(&source.name)).collect(),
            quarantined: quarantined(&plan.quarantine_dir.join(name)),
        }
    }

    fn line(
        &mut self,
        found: &lines::LogLine<'_>,
        file: u32,
        counts: &mut [RollupCount],
        total: &mut SourceCount,
    ) {
        total.lines += 1;
        let read = match found.is_whole {
            true => self.plain.next(found.bytes),
            false => PlainOutcome::Refused,
        };
        let line = match read {
            PlainOutcome::Event(line) => line,
            PlainOutcome::Refused => {
                total.refused += 1;
                total.quarantined += u64::from(self.quarantined.contains(&found.offset));
                return;
            }
            PlainOutcome::Passed => {
                total.lines -= 1;
                return;
            }
        };
        let place = LinePlace { file, offset: found.offset };
        for (count, _) in counts.iter_mut().zip(&self.is_counted).filter(|(_, is)| **is) {
            count.add(&line, place, self.origin);
        }
    }
}

/// The offsets of lines in a quarantine; none when it is not there.
fn quarantined(file: &Path) -> HashSet<u64> {
    let file = stdx::plain_file::open(file);
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n').flatten());
    // Lone surrogates stand for bytes that are no UTF-8 there; other readers of JSON refuse them.
    lines.filter_map(|line| whole(member(&line, "offset")?.value)).collect()
}

#[cfg(test)]
mod tests;
