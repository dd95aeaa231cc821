//! Tells who wrote a result of load generators or benchmarks, and has it read.
//!
//! vegeta, k6, oha, hey, wrk2, HdrHistogram and hyperfine each have a module below, or share one. A
//! new one adds a variant, a mark in `generator_of`, a reader, and a row in
//! docs/lab/report-inputs.md.
//! Invariant: marks are asked in order, before those of other formats (`import.rs`), and summaries
//! last. So a mark must fit no access log, CSV, exchange or export of spans. Session files are
//! excepted in `import.rs`.
//! A call is a row where the file has calls, or a failure where its status or error says so. A
//! failed run of hyperfine is a row. Where a file has only a histogram, `spread.rs` lays calls
//! evenly over each step, so that wide steps are no comb. A note says so.
//! Failure: summaries for people are refused with what to run instead (`summary.rs`).
//! Refuses: vegeta's binary results, which its own `encode` turns into JSON or CSV.

mod hdr;
mod hey;
mod hyperfine;
mod k6;
mod lines;
mod oha;
mod spread;
mod summary;
mod vegeta;

use verdicts::Series;

use crate::error::LabError;

use super::options::ReadOptions;
use super::rows::SeriesBuilder;

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generator {
    VegetaJson,
    VegetaCsv,
    VegetaGob,
    K6Json,
    K6Csv,
    OhaJson,
    OhaCsv,
    Hey,
    Hyperfine,
    Percentiles,
    IntervalLog,
    /// Figures without calls, and what the generator writes them with.
    Summary(&'static str),
}

/// Tells from the first bytes who wrote a file, if it is one of these.
pub(super) fn generator_of(head: &[u8]) -> Option<Generator> {
    let has = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let first = String::from_utf8_lossy(first);
    let first = first.trim();
    if first.starts_with('{') {
        return match () {
            () if first.contains("\"attack\"") && first.contains("\"latency\"") => {
                Some(Generator::VegetaJson)
            }
            () if is_k6(first) => Some(Generator::K6Json),
            () if has("\"responseTimeHistogram\"") => Some(Generator::OhaJson),
            () if has("\"results\"") && has("\"command\"") && has("\"mean\"") => {
                Some(Generator::Hyperfine)
            }
            () => summary::of(head).map(Generator::Summary),
        };
    }
    match () {
        () if head.contains(&0) && has("Result") && has("Timestamp") => Some(Generator::VegetaGob),
        () if first.starts_with("metric_name,timestamp,") => Some(Generator::K6Csv),
        () if first.starts_with("request-start,DNS,") => Some(Generator::OhaCsv),
        () if first.starts_with("response-time,DNS+dialup,") => Some(Generator::Hey),
        () if has("HISTFAAA") => Some(Generator::IntervalLog),
        () if hdr::is_percentiles(head) => Some(Generator::Percentiles),
        () if vegeta::is_csv(first) => Some(Generator::VegetaCsv),
        () => summary::of(head).map(Generator::Summary),
    }
}

/// Reads what a generator wrote: one series, or two that hyperfine compared.
pub(super) fn read(
    generator: Generator,
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Vec<Series>, LabError> {
    if generator == Generator::Hyperfine {
        return hyperfine::read(name, bytes, options);
    }
    let mut rows = SeriesBuilder::new(name, options);
    match generator {
        Generator::VegetaJson => vegeta::read_json(bytes, &mut rows)?,
        Generator::VegetaCsv => vegeta::read_csv(bytes, &mut rows)?,
        Generator::K6Json => k6::read_json(bytes, &mut rows)?,
        Generator::K6Csv => k6::read_csv(bytes, &mut rows)?,
        Generator::OhaJson => oha::read_json(bytes, &mut rows)?,
        Generator::OhaCsv => oha::read_csv(bytes, &mut rows)?,
        Generator::Hey => hey::read(bytes, &mut rows)?,
        Generator::Percentiles => hdr::read_percentiles(bytes, &mut rows)?,
        Generator::IntervalLog => hdr::read_log(bytes, &mut rows)?,
        Generator::VegetaGob => {
            let reason =
                "these are vegeta's binary results, which `vegeta encode --to csv` makes readable";
            return Err(rows.no_file(reason.to_owned()));
        }
        Generator::Summary(reason) => return Err(rows.no_file(reason.to_owned())),
        Generator::Hyperfine => unreachable!("returned above"),
    }
    Ok(vec![rows.into_series()?])
}

fn is_k6(line: &str) -> bool {
    line.contains("\"metric\"")
        && (line.contains("\"type\":\"Metric\"") || line.contains("\"type\":\"Point\""))
}

#[cfg(test)]
mod tests;
