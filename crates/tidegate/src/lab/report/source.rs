//! Reads the measurements that an argument names: a file, `-`, an HTTP address, a journal, or the
//! file of a watch.
//!
//! `journal` is the configuration's, unless a file of that name is there; any directory is taken
//! for a journal. It unpacks gzip and zstd, which it knows by their first bytes, not by the name.
//! Several become one series; one of two targets cannot be joined with others. Filter and times are
//! read here, times by `moment` of `events/time.rs`.
//! `lab::import` reads the formats and the journal's lines.
//! Invariant: a file, `-` or an address with more than [`BYTES_MAX`], packed or unpacked, is an
//! error. A journal is read to its end, line by line, without that bound.
//! A new kind of source also goes into the help in `cli/lab/report.rs` and
//! docs/lab/report-inputs.md.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use exchange::Filter;
use lab::import::{self, ReadOptions};
use lab::session_file::SeriesSet;
use lab::{Recording, ReportOptions};
use stdx::RealDisk;
use verdicts::Series;

use crate::cli::SourceArgs;
use crate::commands;
use crate::events::time::moment;
use crate::hint::Hint;

/// The most that is read of one file.
const BYTES_MAX: u64 = 4 << 30;
/// The most that is fetched: a server decides how long its answer is.
const FETCHED_BYTES_MAX: u64 = 512 << 20;
/// How long an address may take in all.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);

/// Several files of calls to one thing as one series; a file of two targets stands alone.
///
/// # Errors
/// When one cannot be read, or holds two targets beside others.
pub(in crate::lab) fn together(args: &SourceArgs, reading: &ReadOptions) -> Result<SeriesSet> {
    let mut all = Vec::new();
    for from in &args.from {
        all.push(read(from, args, reading)?);
    }
    if let [one] = &mut all[..] {
        return Ok(std::mem::take(one));
    }
    let mut whole = Series { name: args.from.join(", "), ..Series::default() };
    whole.notes.extend(put_together(&args.from, &all));
    for (from, found) in args.from.iter().zip(all) {
        let mut series = found.series.into_iter();
        match (series.next(), series.next()) {
            (Some(series), None) => whole.append(series),
            _ => {
                bail!("read `{from}`: it holds several targets, which cannot be joined with others")
            }
        }
    }
    Ok(SeriesSet { series: vec![whole], ..SeriesSet::default() })
}

/// Says what is lost where files are read as one.
fn put_together(from: &[String], all: &[SeriesSet]) -> Vec<String> {
    let named = from.iter().zip(all).flat_map(|(from, found)| {
        let names = found.series.iter().map(|series| series.name.as_str());
        names.filter(move |name| *name != from)
    });
    let names: BTreeSet<&str> = named.collect();
    let mut notes = Vec::new();
    if names.len() > 1 {
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        notes.push(format!("calls to different targets are put together: {}", names.join(", ")));
    }
    if all.iter().any(|found| found.signals.is_some()) {
        notes.push("signals are looked at in one file of a watch alone".to_owned());
    }
    notes
}

/// What is taken of a source, and how strictly.
///
/// # Errors
/// When a filter or a time cannot be read.
pub(in crate::lab) fn reading(args: &SourceArgs) -> Result<ReadOptions> {
    let moment = |text: &String| moment(text).map(|micros| micros as f64 / 1000.0);
    Ok(ReadOptions {
        is_strict: args.strict,
        filter: args.filter.as_deref().map(filter).transpose().context("--where")?,
        since_unix_ms: args.since.as_ref().map(moment).transpose().context("--since")?,
        until_unix_ms: args.until.as_ref().map(moment).transpose().context("--until")?,
    })
}

fn filter(text: &str) -> Result<Filter> {
    let hint = Hint("it is for logs and the journal; a further field of a log is `var.NAME`");
    Filter::parse(text).map_err(|error| anyhow::Error::from(error).context(hint))
}

/// What a report depends on besides the series.
pub(in crate::lab) fn options(args: &SourceArgs) -> ReportOptions {
    let slow_over_ms = args.slow.map(|slow| slow.0.as_secs_f64() * 1000.0);
    ReportOptions { seed: args.seed, slow_over_ms }
}

/// Reads what `from` names.
pub(in crate::lab) fn read(
    from: &str,
    args: &SourceArgs,
    options: &ReadOptions,
) -> Result<SeriesSet> {
    let (config, target) = (&args.config, args.target.as_deref());
    let path = Path::new(from);
    if from == "journal" && !path.exists() {
        let plan = commands::load(config)?;
        let Some(journal) = &plan.journal else {
            bail!("`{}` has no [journal]", config.display());
        };
        return exchanges(&journal.options.dir, options);
    }
    if path.is_dir() {
        return exchanges(path, options);
    }
    if lab::is_recording(path) {
        let Recording { series, signals } = lab::read_recording(path, target, options)?;
        return Ok(SeriesSet { series: vec![series], signals: Some(signals), is_paired: false });
    }
    let bytes = bytes(from)?;
    Ok(import::read(from, &bytes, options)?)
}

fn exchanges(dir: &Path, options: &ReadOptions) -> Result<SeriesSet> {
    let series = import::journal(dir, Arc::new(RealDisk), options)?;
    Ok(SeriesSet { series: vec![series], ..SeriesSet::default() })
}

fn bytes(from: &str) -> Result<Vec<u8>> {
    let what = || format!("read `{from}`");
    let packed = match from {
        "-" => bounded(io::stdin().lock(), from)?,
        _ if from.starts_with("http://") || from.starts_with("https://") => fetched(from)?,
        _ => {
            let file = File::open(from).with_context(what);
            let hint = Hint("a file, a journal's directory, `journal`, `-` or an address is read");
            bounded(file.map_err(|error| error.context(hint))?, from)?
        }
    };
    match packed.as_slice() {
        [0x1f, 0x8b, ..] => bounded(flate2::read::MultiGzDecoder::new(packed.as_slice()), from),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            bounded(zstd::Decoder::new(packed.as_slice()).with_context(what)?, from)
        }
        _ => Ok(packed),
    }
}

fn fetched(address: &str) -> Result<Vec<u8>> {
    let config = ureq::Agent::config_builder().timeout_global(Some(FETCH_TIMEOUT)).build();
    let answer = ureq::Agent::from(config).get(address).call();
    let mut answer = answer.with_context(|| format!("fetch `{address}`"))?;
    bounded_to(FETCHED_BYTES_MAX, answer.body_mut().as_reader(), address)
}

fn bounded(source: impl Read, from: &str) -> Result<Vec<u8>> {
    bounded_to(BYTES_MAX, source, from)
}

fn bounded_to(max: u64, source: impl Read, from: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes).with_context(|| format!("read `{from}`"))?;
    if bytes.len() as u64 > max {
        let max = max >> 20;
        bail!("read `{from}`: it is larger than {max} MiB; choose a part with `grep` or `tail`");
    }
    Ok(bytes)
}
