//! Runs `tidegate events export --training`: writes what was shown, with what was done with it, as
//! a table.
//!
//! It reads a log of our format from the first line that is left into `training::Collector`, which
//! joins. `sinks` writes CSV or Parquet. Sorting takes 64 MiB of memory and, beyond that, a
//! directory beside the output, or among temporary files for stdout.
//! Invariant: a file appears by one rename when all of it is written, and not at all after an
//! error. A link that is there is replaced. The file is not synced, so a power cut may still leave
//! it short. To stdout, rows go as they come.
//! Lines that are torn or too long count as refused; of lost ones, and of files that cannot be
//! read, the log tells. A log without any impression is an error.
//! A new column goes into `training::Example`, `sinks::EXAMPLE_COLUMNS` and its writers, the help
//! in `cli.rs` and docs/operating/training-data.md; nothing changes here.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use exchange::{FieldName, Filter};
use sinks::{CsvExamples, ParquetExamples};
use training::{Example, Join, JoinCounts, JoinError};

use super::scratch::ScratchDir;
use super::tidegate_log::{self, Unread};
use super::time;
use crate::cli::{ExampleFormat, ExportArgs};
use crate::commands;
use crate::hint::Hint;
use crate::output;

/// Memory for sorting.
const SORT_BYTES: usize = 64 << 20;
const BUFFER: usize = 1 << 20;

const NOTHING_SHOWN: Hint = Hint(
    "impressions are recorded by routes to a model, with `record = \"full\"`; `--source` names \
     another log in the format `tidegate`",
);

/// Writes the table.
///
/// # Errors
/// When there is nothing to write, or reading or writing fails.
pub(super) fn command(args: &ExportArgs) -> Result<()> {
    let plan = commands::load(&args.config.config)?;
    let mut source = tidegate_log::open(&plan, args.source.as_deref())?;
    let join = join(args)?;
    args.output.as_deref().map(output::expect_replaceable).transpose()?;
    let beside = args.output.as_deref().map(|file| file.parent().unwrap_or(Path::new("")));
    let dir = match beside {
        Some(parent) if parent.as_os_str().is_empty() => {
            ScratchDir::make_in(Path::new("."), "export")?
        }
        Some(parent) => ScratchDir::make_in(parent, "export")?,
        None => ScratchDir::make("export")?,
    };
    let partial = dir.0.join("partial");
    let mut out = ExampleFile::open(args, &partial)?;
    let mut collector = join.collect(&dir.0, SORT_BYTES);
    let unread = tidegate_log::each_line(&mut *source, |line| match line {
        Some(line) => collector.add(line),
        None => {
            collector.refuse();
            Ok(())
        }
    })?;
    // The summary has its lines.
    let unread = Unread { lines: 0, ..unread };
    if let Some(message) = unread.message() {
        tracing::warn!("{message}");
    }
    let counts = match collector.finish(|example| out.add(example)) {
        // Whoever read has seen enough.
        Err(JoinError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(());
        }
        counts => counts?,
    };
    out.finish().context("write examples")?;
    if counts.impressions == 0 {
        let error = anyhow::anyhow!("{} lines, and no impression among them", counts.lines);
        return Err(error.context(NOTHING_SHOWN));
    }
    match &args.output {
        Some(file) => {
            std::fs::rename(&partial, file)
                .with_context(|| format!("write `{}`", file.display()))?;
            println!("{}", summary(&counts));
        }
        None => tracing::info!("{}", summary(&counts)),
    }
    Ok(())
}

fn summary(counts: &JoinCounts) -> String {
    let JoinCounts { lines, refused, examples, with_feedback, feedback, .. } = counts;
    let (nameless, unmatched) = (counts.nameless, counts.unmatched);
    let unranked = match counts.unranked {
        0 => String::new(),
        some => format!(" ({some} more have no ranking in the log)"),
    };
    let impressions = counts.impressions - counts.unranked;
    format!(
        "{lines} lines ({refused} refused): {impressions} impressions of {examples} \
         items{unranked}, {with_feedback} of them with feedback; {feedback} times feedback, \
         {unmatched} of them for no impression and {nameless} without a request or an item"
    )
}

fn join(args: &ExportArgs) -> Result<Join> {
    ensure!(args.training, "say what to export: `--training`");
    let feedback = Filter::parse(&args.feedback);
    let feedback = feedback.with_context(|| format!("read `--feedback {}`", args.feedback))?;
    let field = |name: &str| name.parse::<FieldName>().with_context(|| format!("read `{name}`"));
    let times = time::between(args.since.as_deref(), args.until.as_deref())?;
    let within_us = u64::try_from(args.within.0.as_micros()).unwrap_or(u64::MAX);
    let (request, item) = (field(&args.request)?, field(&args.item)?);
    Ok(Join { feedback, request, item, within_us, times })
}

/// Where examples go.
enum ExampleFile {
    Csv(CsvExamples<BufWriter<Box<dyn Write + Send>>>),
    Parquet(Box<ParquetExamples<BufWriter<Box<dyn Write + Send>>>>),
}

impl ExampleFile {
    fn open(args: &ExportArgs, partial: &Path) -> Result<Self> {
        let by_name = |file: &PathBuf| match file.extension().and_then(|end| end.to_str()) {
            Some("parquet") => ExampleFormat::Parquet,
            _ => ExampleFormat::Csv,
        };
        let format = args.format.or(args.output.as_ref().map(by_name));
        let file: Box<dyn Write + Send> = match args.output {
            Some(_) => Box::new(
                File::create(partial).with_context(|| format!("write `{}`", partial.display()))?,
            ),
            None => Box::new(io::stdout()),
        };
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(match format {
            Some(ExampleFormat::Parquet) => Self::Parquet(Box::new(ParquetExamples::new(out)?)),
            _ => Self::Csv(CsvExamples::new(out)?),
        })
    }

    fn add(&mut self, example: &Example<'_>) -> io::Result<()> {
        match self {
            Self::Csv(csv) => csv.add(example),
            Self::Parquet(parquet) => parquet.add(example),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(csv) => csv.finish(),
            Self::Parquet(parquet) => parquet.finish(),
        }
    }
}
