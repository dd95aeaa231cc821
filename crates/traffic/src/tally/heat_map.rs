//! Counts latencies over time in a map of fixed size.
//!
//! A column is a span of the log's time, at first a second. When there would be more than
//! [`COLUMNS_MAX`], each two become one, and the span doubles. A bin is a third of a power of ten,
//! from a microsecond on; the lowest and the highest also have what lies beyond.
//! Invariant: whatever was added is in one cell. A date that is far off widens the span of all.

use std::collections::VecDeque;

pub(crate) const COLUMNS_MAX: usize = 240;
/// Bins of a column: up to 100 s and beyond.
pub(crate) const BINS: usize = 25;
const BINS_A_POWER: f64 = 3.0;
const SECOND_US: u64 = 1_000_000;

type Column = [u64; BINS];

/// Counts by time and latency.
#[derive(Debug, Clone)]
pub(crate) struct HeatMap {
    /// Microseconds of a column.
    span_us: u64,
    /// The place of the first column, in spans since 1970.
    first: u64,
    columns: VecDeque<Column>,
}

impl Default for HeatMap {
    fn default() -> Self {
        Self { span_us: SECOND_US, first: 0, columns: VecDeque::new() }
    }
}

impl HeatMap {
    pub(super) fn add(&mut self, time_us: u64, latency_us: u64) {
        if self.columns.is_empty() {
            self.first = time_us / self.span_us;
            self.columns.push_back([0; BINS]);
        }
        loop {
            let place = time_us / self.span_us;
            let last = self.first + self.columns.len() as u64 - 1;
            if place.max(last) - place.min(self.first) < COLUMNS_MAX as u64 {
                break;
            }
            self.halve();
        }
        let place = time_us / self.span_us;
        while place < self.first {
            self.columns.push_front([0; BINS]);
            self.first -= 1;
        }
        while place - self.first >= self.columns.len() as u64 {
            self.columns.push_back([0; BINS]);
        }
        // Within the columns, as the loops above have made it.
        self.columns[(place - self.first) as usize][bin_of(latency_us)] += 1;
    }

    /// Makes each two columns one.
    fn halve(&mut self) {
        let mut halved: VecDeque<Column> = VecDeque::new();
        for (at, column) in (self.first..).zip(&self.columns) {
            if at.is_multiple_of(2) || halved.is_empty() {
                halved.push_back([0; BINS]);
            }
            let sum = halved.back_mut().expect("one was pushed");
            sum.iter_mut().zip(column).for_each(|(sum, count)| *sum += count);
        }
        self.first /= 2;
        self.span_us *= 2;
        self.columns = halved;
    }

    /// The columns in at most so many, neighbours put together; with how many microseconds each
    /// spans, and when the first begins.
    pub(crate) fn columns(&self, most: usize) -> Columns {
        let each = self.columns.len().div_ceil(most.max(1)).max(1);
        let mut columns = Vec::new();
        for group in 0..self.columns.len().div_ceil(each) {
            let mut sum = [0; BINS];
            for column in self.columns.iter().skip(group * each).take(each) {
                sum.iter_mut().zip(column).for_each(|(sum, count)| *sum += count);
            }
            columns.push(sum);
        }
        let span_us = self.span_us * each as u64;
        Columns { columns, span_us, begin_us: self.first.saturating_mul(self.span_us) }
    }
}

/// Columns to be drawn.
pub(crate) struct Columns {
    pub(crate) columns: Vec<Column>,
    pub(crate) span_us: u64,
    pub(crate) begin_us: u64,
}

fn bin_of(latency_us: u64) -> usize {
    let power = (latency_us.max(1) as f64).log10() * BINS_A_POWER;
    // A latency of 10 µs is in the bin that begins there, whatever the logarithm is rounded to.
    ((power + 1e-9) as usize).min(BINS - 1)
}

/// The lower end of a bin, in microseconds.
pub(crate) fn bin_low_us(bin: usize) -> f64 {
    10_f64.powf(bin as f64 / BINS_A_POWER)
}
