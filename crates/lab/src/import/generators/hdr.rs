//! Reads what HdrHistogram and wrk2 write: percentile distributions (`.hgrm`), interval logs
//! (`.hlog`).
//!
//! Neither has calls. Each value stands for a step of the histogram, over which `spread.rs` lays
//! its calls. Distributions are in milliseconds, the default of the tools. The unit of a log
//! follows from its column `Interval_Max`, which is in milliseconds by convention; without it,
//! nanoseconds are taken.
//! Invariant: a row of a distribution that goes back is bad. All intervals of a log are one
//! histogram.
//! Failure: an interval that does not decode is bad. A line that does not parse ends the log there;
//! a log without an interval is an error.
//!
//! Such files are written in `src/hdr.rs`.

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry, LogIteratorError};

use super::super::rows::SeriesBuilder;
use super::spread::{HistogramStep, spread};
use crate::error::LabError;

/// Returns whether a percentile distribution begins within these bytes.
pub(super) fn is_percentiles(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().any(is_header)
}

/// Reads a percentile distribution, whatever stands before it.
pub(super) fn read_percentiles(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let text = String::from_utf8_lossy(bytes);
    let lines = (1..).zip(text.lines()).skip_while(|(_, line)| !is_header(line)).skip(1);
    let mut steps: Vec<HistogramStep> = Vec::new();
    let (mut low_ms, mut before) = (0.0, 0);
    for (number, line) in lines {
        if line.trim_start().starts_with("#[") {
            break;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [value, _, total, ..] = words.as_slice() else {
            if !words.is_empty() {
                rows.bad(number, "", "no row of a distribution", &format!("`{line}`"))?;
            }
            continue;
        };
        let (Ok(high_ms), Ok(total)) = (value.parse::<f64>(), total.parse::<u64>()) else {
            rows.bad(number, "", "no row of a distribution", &format!("`{line}`"))?;
            continue;
        };
        if total < before || high_ms < low_ms {
            rows.bad(number, "", "out of order", &format!("`{line}`"))?;
            continue;
        }
        // The first value is the least call itself.
        let low = if steps.is_empty() { high_ms } else { low_ms };
        steps.push(HistogramStep { low_ms: low, high_ms, count: total - before });
        (low_ms, before) = (high_ms, total);
    }
    rows.note(
        "a percentile distribution has no calls: they are spread evenly between its rows, so \
         shapes finer than those cannot be seen"
            .to_owned(),
    );
    spread(&steps, rows)
}

/// Reads an interval log; its intervals are put together.
pub(super) fn read_log(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let mut whole: Option<Histogram<u64>> = None;
    let mut ratio = None;
    for entry in IntervalLogIterator::new(bytes) {
        let interval = match entry {
            Ok(LogEntry::Interval(interval)) => interval,
            Ok(LogEntry::StartTime(_) | LogEntry::BaseTime(_)) => continue,
            Err(LogIteratorError::ParseError { offset }) => {
                let line = 1 + memchr::memchr_iter(b'\n', &bytes[..offset]).count() as u64;
                rows.bad(line, "", "no interval", "this line")?;
                break;
            }
        };
        let packed = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram());
        let histogram = packed.ok().and_then(|packed| {
            Deserializer::new().deserialize::<u64, _>(&mut packed.as_slice()).ok()
        });
        let Some(histogram) = histogram else {
            let began = interval.start_timestamp().as_secs_f64();
            let found = format!("the interval at {began:.3} s");
            rows.bad(0, "Interval_Compressed_Histogram", "no histogram", &found)?;
            continue;
        };
        if histogram.max() > 0 && interval.max() > 0.0 {
            ratio.get_or_insert(interval.max() / histogram.max() as f64);
        }
        match &mut whole {
            None => whole = Some(histogram),
            Some(whole) => {
                whole.auto(true);
                whole.add(&histogram).map_err(|error| rows.no_file(error.to_string()))?;
            }
        }
    }
    let whole = whole.ok_or_else(|| rows.no_file("the log has no interval".to_owned()))?;
    // A power of ten: 10⁻⁶ for nanoseconds, 10⁻³ for microseconds.
    let ms = 10_f64.powf(ratio.map_or(-6.0, f64::log10).round());
    rows.note(format!(
        "an interval log has no calls: they are spread evenly over the steps of its histograms \
         ({} digits)",
        whole.sigfig()
    ));
    let step = |value: u64, count| HistogramStep {
        low_ms: whole.lowest_equivalent(value) as f64 * ms,
        high_ms: whole.highest_equivalent(value) as f64 * ms,
        count,
    };
    let recorded = whole.iter_recorded();
    let steps = recorded.map(|value| step(value.value_iterated_to(), value.count_at_value()));
    spread(&steps.collect::<Vec<_>>(), rows)
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word == "Value" || word == "Value(ms)")
        && words.next() == Some("Percentile")
}
