//! Counts values into bins, and draws how many values lie where.
//!
//! [`Bins`] counts, [`Histogram`] draws: columns with eighths of a row, the counts above peaks, an
//! axis and marks.
//! Invariants: a finite value is in one bin, or counted as below or above. Values that are not
//! finite are not counted at all. A drawn bin that is not empty shows at least the lowest mark.
//! Bound: bins beyond the width are not drawn; [`Histogram::bins_max`] says how many always fit.
//! [`Bins::ends`] must give the edges by which [`Bins::new`] has counted. Reports store only range
//! and counts (`lab`, `LatencyHistogram`), and their readers ask `ends` again. docs/lab/report.md
//! and docs/lab/example-cache-lock.md show such drawings.
//! Never here: the axis itself (`plot.rs`), and which range or number of bins to choose.

use crate::plot::{Axis, marked, x_axis};
use crate::scale::{Label, Scale};
use crate::style::{Ink, Style};
use crate::text::{padded, width_of};

/// Counts of values between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// The lower end of the first bin.
    pub low: f64,
    /// The upper end of the last bin, which belongs to it.
    pub high: f64,
    /// Whether each bin is as many times wider than the one before, rather than as wide.
    pub is_log: bool,
    /// Values in each bin.
    pub counts: Vec<u64>,
    /// Values under the first bin.
    pub below: u64,
    /// Values over the last bin.
    pub above: u64,
}

impl Bins {
    /// Counts `values` in `count` bins from `low` to `high`. Logarithmic only where both are
    /// positive; values that are not finite are not counted.
    pub fn new(values: &[f64], count: usize, ends: (f64, f64), is_log: bool) -> Self {
        Self::weighted(values.iter().map(|value| (*value, 1)), count, ends, is_log)
    }

    /// Counts values that were met several times, as [`Bins::new`] does.
    pub fn weighted(
        values: impl Iterator<Item = (f64, u64)>,
        count: usize,
        (low, high): (f64, f64),
        is_log: bool,
    ) -> Self {
        let is_log = is_log && low > 0.0;
        let mut bins =
            Self { low, high, is_log, counts: vec![0; count.max(1)], below: 0, above: 0 };
        let scale = Scale::new(low, high, is_log);
        let last = bins.counts.len() - 1;
        for (value, times) in values.filter(|(value, _)| value.is_finite()) {
            match value {
                _ if value < low => bins.below += times,
                _ if value > high => bins.above += times,
                _ => {
                    let at = (scale.position(value) * bins.counts.len() as f64) as usize;
                    bins.counts[at.min(last)] += times;
                }
            }
        }
        bins
    }

    /// Returns the ends of a bin.
    pub fn ends(&self, bin: usize) -> (f64, f64) {
        let (scale, count) = (self.scale(), self.counts.len() as f64);
        (scale.value(bin as f64 / count), scale.value((bin + 1) as f64 / count))
    }

    fn scale(&self) -> Scale {
        Scale::new(self.low, self.high, self.is_log)
    }
}

/// A histogram to draw: bins stand beside each other, as many columns wide as there is room for.
#[derive(Clone)]
pub struct Histogram<'a> {
    /// What is counted.
    pub bins: &'a Bins,
    /// Rows of the drawing, without the axis below it and the counts above peaks.
    pub rows: usize,
    /// Values to mark under the axis: teeth of a comb, the middles of humps.
    pub marks: &'a [f64],
    /// How a value reads.
    pub x: Label<'a>,
}

/// From here on, half a value more or less is not seen on the axis.
const HALF_MIN: f64 = 10.0;

impl Histogram<'_> {
    /// Returns how many bins there is room for in any case; those that do not fit are not drawn.
    pub const fn bins_max(style: &Style) -> usize {
        let width = if style.width > 20 { style.width } else { 20 };
        width - 9
    }

    /// Returns the drawing, line by line.
    pub fn render(&self, style: &Style) -> String {
        let counts = &self.bins.counts;
        let highest = counts.iter().copied().max().unwrap_or(0).max(1);
        let margin = width_of(&highest.to_string()).clamp(3, 6);
        let room = style.columns() - margin - 2;
        let each = (room / counts.len()).clamp(1, 3);
        // Bins that do not fit are the caller's mistake; the drawing stays within its width.
        let shown = counts.len().min(room);
        let (rows, cells) = (self.rows.max(1), shown * each);
        let scale = Scale::new(0.0, highest as f64, false);
        let mut out = self.above(margin, each, style);
        for row in 0..rows {
            let label = self.label(row, rows, &scale);
            let edge =
                if label.is_empty() { style.either('│', '|') } else { style.either('┤', '+') };
            out += &style.paint(Ink::Faint, &format!("{} {edge}", padded(&label, margin, true)));
            let line: String = counts[..shown]
                .iter()
                .flat_map(|count| {
                    let mark = mark(*count, highest, rows - 1 - row, rows, style);
                    std::iter::repeat_n(mark, each)
                })
                .collect();
            out += &style.paint(Ink::First, line.trim_end());
            out.push('\n');
        }
        let across = self.bins.scale();
        out += &x_axis(&across, self.x, Axis { margin: margin + 1, cells }, style);
        out + &marked(&across, self.marks, Axis { margin: margin + 1, cells }, style)
    }

    fn label(&self, row: usize, rows: usize, scale: &Scale) -> String {
        let value = scale.value((rows - row) as f64 / rows as f64);
        // The middle of an odd count of few would read as a count that stands elsewhere.
        let is_half = rows >= 6 && row == rows / 2 && (value.fract() == 0.0 || value > HALF_MIN);
        if row == 0 || is_half { short(value.round() as u64) } else { String::new() }
    }

    /// The counts of the bins that are higher than their neighbours, the highest first, as far as
    /// there is room.
    fn above(&self, margin: usize, each: usize, style: &Style) -> String {
        let counts = &self.bins.counts;
        let mut peaks: Vec<usize> = (0..counts.len()).filter(|at| is_peak(counts, *at)).collect();
        peaks.sort_by_key(|at| std::cmp::Reverse(counts[*at]));
        let mut line = vec![' '; style.columns() - margin - 2];
        for at in peaks {
            let text: Vec<char> = short(counts[at]).chars().collect();
            let start = (at * each + each / 2).saturating_sub(text.len() / 2);
            let end = start + text.len();
            let around = start.saturating_sub(1)..(end + 1).min(line.len());
            if end <= line.len() && line[around].iter().all(|character| *character == ' ') {
                line[start..end].copy_from_slice(&text);
            }
        }
        let line: String = line.into_iter().collect();
        format!("{}{}\n", " ".repeat(margin + 2), style.paint(Ink::Faint, line.trim_end()))
    }
}

fn is_peak(counts: &[u64], at: usize) -> bool {
    let before = if at == 0 { 0 } else { counts[at - 1] };
    let after = counts.get(at + 1).copied().unwrap_or(0);
    counts[at] > 0 && counts[at] > before && counts[at] >= after
}

/// The part of a bar that lies in the row `up` rows above the axis.
fn mark(count: u64, highest: u64, up: usize, rows: usize, style: &Style) -> char {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let full = count as f64 / highest as f64 * rows as f64;
    let here = (full - up as f64).clamp(0.0, 1.0);
    let least = count > 0 && up == 0;
    if style.ascii {
        return match (here, least) {
            (here, _) if here >= 0.5 => '#',
            (_, true) => '.',
            _ => ' ',
        };
    }
    EIGHTHS[((here * 8.0).round() as usize).max(usize::from(least))]
}

/// A count in at most six columns.
fn short(count: u64) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=999_999 => format!("{}k", count / 1000),
        1_000_000..=99_999_999 => format!("{:.1}M", count as f64 / 1e6),
        _ => format!("{:.0e}", count as f64),
    }
}

#[cfg(test)]
mod tests;
