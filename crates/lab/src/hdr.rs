//! Makes HdrHistograms of latencies, and writes the two files that their tools read.
//!
//! Those are the percentile distribution (`.hgrm`) and the interval log, version 1.3 (`.hlog`).
//! `import/generators/hdr.rs` reads both. A distribution is known by the words of its first line, a
//! log by `HISTFAAA`, with which a compressed histogram begins.
//! Invariant: a histogram from here counts nanoseconds from 1 to an hour with three digits, so all
//! of them can be added. Percentiles and `Interval_Max` are written in milliseconds, as the tools
//! expect. The histograms of a log stay in nanoseconds; the reader finds that by the ratio of
//! `Interval_Max` to the greatest value. A line of a log is flushed when its interval is over.
//!
//! What is longer than an hour counts as an hour, because `load_test/recorder.rs` records
//! saturating.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

const NANOSECONDS_MAX: u64 = 3_600_000_000_000;
const NS_PER_MS: f64 = 1e6;
/// Rows for each halving of the distance to 100 %, the default of HdrHistogram's tools.
const TICKS_PER_HALF: u32 = 5;
/// Two to the power of this is more than twice what three digits need.
const SUB_BUCKETS: u32 = 2048;

/// Returns an empty histogram of nanoseconds.
pub(crate) fn nanoseconds() -> Histogram<u64> {
    Histogram::new_with_bounds(1, NANOSECONDS_MAX, 3)
        .expect("bounds and precision are constants that the histogram accepts")
}

/// Writes the percentile distribution of `histogram` in milliseconds, as `HistogramLogProcessor`
/// and wrk2 do.
///
/// # Errors
/// Those of `out`.
pub fn write_percentiles(histogram: &Histogram<u64>, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut total = 0;
    for row in histogram.iter_quantiles(TICKS_PER_HALF) {
        total += row.count_since_last_iteration();
        let (value, quantile) =
            (row.value_iterated_to() as f64 / NS_PER_MS, row.quantile_iterated_to());
        write!(out, "{value:12.3} {quantile:2.12} {total:10}")?;
        match quantile < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - quantile))?,
            false => writeln!(out)?,
        }
    }
    let (mean, deviation) = (histogram.mean() / NS_PER_MS, histogram.stdev() / NS_PER_MS);
    let (max, count) = (histogram.max() as f64 / NS_PER_MS, histogram.len());
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(out, "#[Max     = {max:12.3}, Total count    = {count:12}]")?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]", histogram.buckets())
}

/// Writes an interval log, a line as soon as its interval is over.
#[derive(Debug)]
pub struct IntervalLog<W> {
    out: W,
}

impl<W: Write> IntervalLog<W> {
    /// Begins a log whose intervals count from `start`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, start: SystemTime) -> io::Result<Self> {
        let since = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut date = Vec::new();
        exchange::write_rfc3339(since.as_micros() as u64, &mut date);
        let (seconds, date) = (since.as_secs_f64(), String::from_utf8_lossy(&date));
        writeln!(out, "#[Logged by tidegate lab load]")?;
        writeln!(out, "#[Histogram log format version 1.3]")?;
        writeln!(out, "#[StartTime: {seconds:.3} (seconds since epoch), {date}]")?;
        writeln!(out, "#[BaseTime: {seconds:.3} (seconds since epoch)]")?;
        writeln!(
            out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\""
        )?;
        out.flush()?;
        Ok(Self { out })
    }

    /// Adds the histogram of the interval that began so long after the start.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn interval(
        &mut self,
        begins: Duration,
        length: Duration,
        histogram: &Histogram<u64>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
        let (begins, length) = (begins.as_secs_f64(), length.as_secs_f64());
        let max = histogram.max() as f64 / NS_PER_MS;
        writeln!(self.out, "{begins:.3},{length:.3},{max:.3},{text}")?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
