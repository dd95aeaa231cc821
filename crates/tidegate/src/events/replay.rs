//! Runs `tidegate events replay`: delivers a part of a source once more, into other tables.
//!
//! The part is bytes, times and rollups, which are read from the command line here. `--dry-run`
//! counts its lines instead.
//! Invariant: a line counts once in those tables, however often the command is interrupted, since
//! the sink commits rows and checkpoint together. The checkpoint's name has a dot, which no
//! source's has. Its position holds the part in words, and another part under the same name is
//! refused.
//! Name and words are stored in sinks. After a change of the name a replay counts its lines twice;
//! after a change of the words it does not go on. The name and the printed lines are in
//! docs/operating/verify-and-replay.md.
//! Refuses: tables that a rollup of the configuration fills in the same address, where lines would
//! count twice. Without `--prefix` it also refuses a sink with a checkpoint of the source, by any
//! address.
//! Never here: the delivery (`pipeline::Pipeline`), and cutting bytes (`pipeline::RangedSource`).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use exchange::Filter;
use pipeline::{
    Binlog, Decoder, FileRange, JOURNAL, LineSource, LossBook, Pipeline, PipelineSetup, Quarantine,
    RangedSource, ReadOutcome, Rollup, RollupPlan, SourcePlan, Status, WindowBudget,
};

use super::running::{self, RunningPipeline};
use super::{inspect, open, time};
use crate::cli::ReplayArgs;
use crate::commands;
use crate::config::Plan;
use crate::hint::Hint;
use crate::progress::Progress;
use crate::signals::{EndSignals, Hangup};

const FLUSH: Duration = Duration::from_secs(1);
const OTHER_TABLES: Hint =
    Hint("`--prefix again_` delivers into tables whose names begin with it, `--to` elsewhere");
const ONLY: Hint =
    Hint("`--only` takes FILE, FILE:FROM-TO or FROM-TO of the journal; `--rollup` takes a rollup");
const OTHER_NAME: Hint = Hint(
    "the same part goes on where it stopped; another one needs `--prefix` for tables of its own, \
     or `--name` to add it to the same ones",
);

/// Delivers, or counts what would be delivered.
///
/// # Errors
/// When the part or the sink is not clear, or it was not delivered to its end.
pub(super) fn command(args: &ReplayArgs) -> Result<()> {
    let plan = Arc::new(commands::load(&args.config.config)?);
    let replay = Replay::of(&plan, args)?;
    match &args.to {
        Some(to) if !args.dry_run => replay.deliver(to, args.give_up_after.0),
        _ => replay.count(),
    }
}

/// What is delivered again.
struct Replay {
    plan: Arc<Plan>,
    source: SourcePlan,
    ranges: Vec<FileRange>,
    /// The ranges as they were written.
    only: Vec<String>,
    rollups: Vec<Arc<Rollup>>,
    prefix: String,
    /// Under which name its checkpoint stands.
    name: String,
    /// What it is, in words.
    part: String,
}

impl Replay {
    fn of(plan: &Arc<Plan>, args: &ReplayArgs) -> Result<Self> {
        let source = inspect::source(plan, args.source.as_deref())?.clone();
        let is_word = |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        ensure!(is_word(&args.prefix), "`--prefix {}`: letters, digits and `_`", args.prefix);
        ensure!(is_word(&args.name), "`--name {}`: letters, digits and `_`", args.name);
        let ranges = args.only.iter().map(|text| range(text, source.name == JOURNAL));
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let (lines, times) = lines(args.since.as_deref(), args.until.as_deref())?;
        let chosen = chosen(plan, &source, &args.rollup)?;
        let part = |rollup: &&RollupPlan| rollup.rollup.part(&args.prefix, lines.as_ref());
        let rollups = chosen.iter().map(part).map(Arc::new).collect();
        let names: Vec<&str> = chosen.iter().map(|one| one.rollup.table.name.as_str()).collect();
        let mut words = format!("{} in {}{times}", source.name, names.join(", "));
        if !args.only.is_empty() {
            words += &format!(", only {}", args.only.join(", "));
        }
        let mut name = format!("{}.replay", source.name);
        for more in [&args.prefix, &args.name] {
            name = format!("{name}.{more}");
        }
        let name = name.trim_end_matches('.').to_owned();
        let (plan, prefix) = (Arc::clone(plan), args.prefix.clone());
        let only = args.only.clone();
        Ok(Self { plan, source, ranges, only, rollups, prefix, name, part: words })
    }

    fn count(&self) -> Result<()> {
        let mut decoder =
            Decoder::new(&self.source.format, self.plan.events.fields_of(&self.source.name));
        let (mut lines, mut bytes, mut refused, mut done) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut counts = vec![0_u64; self.rollups.len()];
        let progress = Progress::new("counting");
        let (mut source, mut buffer) = (self.opened(), Vec::new());
        source.others(&[]);
        source.resume(None)?;
        loop {
            match source.read(&mut buffer)? {
                ReadOutcome::CaughtUp => break,
                ReadOutcome::Unfamiliar => source.others(&[]),
                ReadOutcome::Lines(piece) => {
                    bytes += piece.bytes.len() as u64;
                    decoder.enter(&piece);
                    decoder.each(piece.bytes, |_, _, outcome| {
                        lines += 1;
                        let Ok(event) = outcome else { return refused += 1 };
                        for (count, rollup) in counts.iter_mut().zip(&self.rollups) {
                            let filter = rollup.filter.as_ref();
                            *count += u64::from(filter.is_none_or(|filter| filter.matches(event)));
                        }
                    });
                }
                ReadOutcome::Torn(piece) | ReadOutcome::Oversized { beginning: piece, .. } => {
                    refused += 1;
                    lines += 1;
                    bytes += piece.bytes.len() as u64;
                }
                _ => {}
            }
            let behind = source.bytes_behind();
            done = done.max(behind);
            progress.set(done - behind, done);
        }
        drop(progress);
        self.ensure_lines(lines)?;
        println!("{}: {lines} lines, {bytes} bytes, {refused} lines refused", self.source.name);
        for (count, rollup) in counts.iter().zip(&self.rollups) {
            println!("{}: {count} lines", rollup.table.name);
        }
        Ok(())
    }

    fn deliver(self, to: &str, give_up_after: Duration) -> Result<()> {
        let (url, flush) = self.sink(to)?;
        let goes_on = self.check(&url)?;
        let mut signals = EndSignals::install(Hangup::Ends)?;
        let status = Arc::<Status>::default();
        let (counted, source) = (Arc::clone(&status), self.source.name.clone());
        let name = format!("{} to {to}", self.name);
        let label = shown(to);
        let replay = Arc::new(self);
        let delivered = Arc::clone(&replay);
        let setup = PipelineSetup {
            name,
            sink_name: label.clone(),
            status: Arc::clone(&status),
            make: Box::new(move || delivered.pipeline(&url, flush, &label, &counted)),
        };
        let running = running::start(vec![setup])?;
        let stop = running.first().map(RunningPipeline::stop).unwrap_or_default();
        let stop_on_signal = stop.clone();
        std::thread::spawn(move || {
            signals.wait();
            stop_on_signal.request();
        });
        let progress = Progress::new("replaying");
        running::wait_for_all(running, Some(give_up_after), Some(&progress))?;
        drop(progress);
        let report = status.report(0);
        let (lines, rows, batches) = (report.lines, report.rows, report.batches);
        // What was interrupted at the very end has no line left.
        if !goes_on && !stop.is_requested() {
            replay.ensure_lines(lines)?;
        }
        println!(
            "{source}: {} delivered again, {} in {}, {} refused",
            commands::counted(lines, "line"),
            commands::counted(rows, "row"),
            commands::counted(batches, "batch"),
            commands::counted(report.quarantined, "line")
        );
        if stop.is_requested() {
            bail!("interrupted; the same command goes on where it stopped");
        }
        Ok(())
    }

    /// The address of the sink, and how often rows go there.
    fn sink(&self, to: &str) -> Result<(String, Duration)> {
        let sinks = &self.plan.events.sinks;
        if let Some(sink) = sinks.iter().find(|sink| sink.name == to) {
            return Ok((sink.url.clone(), sink.flush));
        }
        if to.contains(':') {
            return Ok((to.to_owned(), FLUSH));
        }
        let known: Vec<&str> = sinks.iter().map(|sink| sink.name.as_str()).collect();
        bail!(
            "no sink `{to}`; there are: {}; or write an address such as sqlite:FILE",
            known.join(", ")
        )
    }

    /// Refuses a part that names something and holds nothing: most often a name is misspelt.
    fn ensure_lines(&self, lines: u64) -> Result<()> {
        if lines > 0 || self.only.is_empty() {
            return Ok(());
        }
        let (only, source) = (self.only.join(", "), &self.source.name);
        let rollups = self.plan.events.rollups.iter().filter(|rollup| rollup.counts(source));
        let rollups: Vec<_> = rollups.map(|rollup| rollup.rollup.table.name.as_str()).collect();
        let rollups = rollups.join(", ");
        let error =
            anyhow!("`--only {only}` chooses no line of source `{source}`, counted by: {rollups}");
        Err(error.context(ONLY))
    }

    /// Looks whether the lines may go there. Returns whether some of them did.
    fn check(&self, url: &str) -> Result<bool> {
        let is_there = |sink: &str| {
            self.plan.events.sinks.iter().any(|known| known.name == sink && known.url == url)
        };
        let tables: Vec<&str> =
            self.rollups.iter().flat_map(|rollup| rollup.tables()).map(|t| &*t.name).collect();
        let mut kept = self.plan.events.rollups.iter().filter(|rollup| is_there(&rollup.sink));
        if let Some(rollup) = kept.find(|rollup| {
            rollup.rollup.tables().any(|table| tables.contains(&table.name.as_str()))
        }) {
            let error = anyhow!(
                "`{}` is what `events run` fills: lines would count twice there",
                rollup.rollup.table.name
            );
            return Err(error.context(OTHER_TABLES));
        }
        let mut sink = sinks::open(url, &self.plan.root).with_context(|| shown(url))?;
        sink.prepare(&[])?;
        if self.prefix.is_empty() && !sink.checkpoints(&self.source.name)?.is_empty() {
            let error = anyhow!(
                "`{}` gets the lines of `{}` already: they would count twice there",
                shown(url),
                self.source.name
            );
            return Err(error.context(OTHER_TABLES));
        }
        let checkpoints = sink.checkpoints(&self.name)?;
        if let Some(ours) = checkpoints.iter().find(|one| one.node == self.plan.events.node) {
            self.opened().inner(&ours.position).context(OTHER_NAME)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn pipeline(&self, url: &str, flush: Duration, to: &str, status: &Arc<Status>) -> Pipeline {
        let events = &self.plan.events;
        Pipeline {
            node: events.node.clone(),
            source_name: self.name.clone(),
            lines_of: self.source.name.clone(),
            source: Box::new(self.opened()),
            format: self.source.format.clone(),
            fields: events.fields_of(&self.source.name),
            quarantine: self.quarantine(to, status),
            rollups: self.rollups.clone(),
            sink: sinks::open(url, &self.plan.root).expect("it was opened before"),
            flush,
            windows: WindowBudget::new(events.window_bytes_max, 1),
            until_caught_up: true,
            status: Arc::clone(status),
            binlog: Arc::new(Binlog::new(&self.plan.binlog())),
            losses: Arc::new(LossBook::new(&self.plan.losses())),
            sink_name: to.to_owned(),
        }
    }

    fn quarantine(&self, to: &str, status: &Arc<Status>) -> Quarantine {
        let to = to.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_");
        open::quarantine(&self.plan, open::quarantine_file(&self.plan, &self.name, &to), status)
    }

    fn opened(&self) -> RangedSource {
        let source = open::line_source(&self.plan, &self.source, &self.name, None);
        RangedSource::new((&self.name, source), self.ranges.clone(), self.part.clone())
    }
}

/// An address without what may be a password.
fn shown(to: &str) -> String {
    match (to.split_once("://"), to.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{place}"),
        _ => to.to_owned(),
    }
}

fn chosen<'p>(
    plan: &'p Plan,
    source: &SourcePlan,
    names: &[String],
) -> Result<Vec<&'p RollupPlan>> {
    let all: Vec<&RollupPlan> =
        plan.events.rollups.iter().filter(|rollup| rollup.counts(&source.name)).collect();
    let known = || {
        let known = all.iter().map(|rollup| rollup.rollup.table.name.as_str());
        known.collect::<Vec<_>>().join(", ")
    };
    ensure!(!all.is_empty(), "no [[rollup]] counts source `{}`", source.name);
    for name in names {
        let is_there = all.iter().any(|rollup| rollup.rollup.table.name == *name);
        ensure!(is_there, "no rollup `{name}` of `{}`; there are: {}", source.name, known());
    }
    let is_chosen =
        |rollup: &&RollupPlan| names.is_empty() || names.contains(&rollup.rollup.table.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// The lines of these times, and the times in words.
fn lines(since: Option<&str>, until: Option<&str>) -> Result<(Option<Filter>, String)> {
    time::between(since, until)?;
    let bounds = [(since, ">=", "since"), (until, "<", "until")];
    let (mut conditions, mut words) = (Vec::new(), String::new());
    for (text, sign, word) in bounds {
        let Some(text) = text else { continue };
        let mut time = Vec::new();
        exchange::write_rfc3339(time::micros(text)?, &mut time);
        let time = String::from_utf8_lossy(&time);
        conditions.push(format!("time {sign} '{time}'"));
        words += &format!(", {word} {time}");
    }
    if conditions.is_empty() {
        return Ok((None, words));
    }
    let filter = Filter::parse(&conditions.join(" and ")).expect("the condition is well-formed");
    Ok((Some(filter), words))
}

/// Reads `FILE`, `FILE:FROM-TO` or, of the journal, `FROM-TO`.
fn range(text: &str, is_journal: bool) -> Result<FileRange> {
    let whole = 0..u64::MAX;
    let bytes = |text: &str| {
        let (from, to) = text.split_once('-')?;
        let number = |text: &str, or| if text.is_empty() { Some(or) } else { text.parse().ok() };
        Some(number(from, 0)?..number(to, u64::MAX)?)
    };
    let found = match (is_journal, text.rsplit_once(':')) {
        (true, _) => bytes(text).map(|bytes| FileRange { file: None, bytes }),
        (false, Some((file, range))) if bytes(range).is_some() => {
            bytes(range).map(|bytes| FileRange { file: Some(file.to_owned()), bytes })
        }
        (false, _) => Some(FileRange { file: Some(text.to_owned()), bytes: whole }),
    };
    let wanted = if is_journal { "FROM-TO, such as 0-4096" } else { "FILE or FILE:FROM-TO" };
    found
        .filter(|found| found.bytes.start < found.bytes.end)
        .with_context(|| format!("`--only {text}` names no bytes; write {wanted}"))
}

#[cfg(test)]
mod tests;
