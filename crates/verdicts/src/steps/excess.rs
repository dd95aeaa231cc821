//! Computes what each step adds to slow calls: its mean in slow calls less its mean in typical
//! ones.
//!
//! Also a step's part of the whole, and 95 % intervals of both. They are those of a sum of
//! influences (Hampel, "The influence curve and its role in robust estimation", 1974). Quantiles of
//! the same calls decide which are slow or typical, so one more stall changes what the others are
//! compared with. A bootstrap within the slow calls forgets that: its intervals had the truth 66 to
//! 90 times in a hundred, not 95.
//! Invariant: means are linear, so excesses of columns that add up to the call add up to its
//! excess, but for rounding. Without a slow or a typical call the excess is 0, not absent.
//!
//! `columns.rs` makes the columns, `split.rs` the choice of calls. After a change count steps again
//! (`calibration/handlers.rs`, docs/lab/trust.md).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::split::Split;

/// Milliseconds by which a step is longer in slow calls than in typical ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Excess {
    pub ms: f64,
    pub ci_ms: [f64; 2],
    /// What each call has to do with it: the estimate moves by the mean of these.
    influence: Vec<f64>,
    /// Student's quantile for as many calls as are slow.
    student: f64,
}

/// Which calls are slow and which typical, in the order of their times.
pub(super) struct RankedCalls<'a> {
    split: &'a Split,
    /// All rows, the fastest first.
    rows: Vec<u32>,
    /// The first typical row, the first slower than those, and the first slow one, in that order.
    edges: [usize; 3],
}

impl<'a> RankedCalls<'a> {
    /// Returns the order of a split of calls that take `total_ms`.
    pub(super) fn new(total_ms: &[f64], split: &'a Split) -> Self {
        let mut rows: Vec<u32> = (0..total_ms.len() as u32).collect();
        let total = |row: &u32| total_ms[*row as usize];
        rows.sort_by(|one, other| total(one).total_cmp(&total(other)));
        let least = split.typical.iter().map(total).fold(f64::INFINITY, f64::min);
        let first = rows.partition_point(|row| total(row) < least);
        let edges = [first, first + split.typical.len(), rows.len() - split.slow.len()];
        Self { split, rows, edges }
    }

    /// Returns the excess of a step of which each call took `ms`; zero when there is no slow or no
    /// typical call.
    pub(super) fn excess(&self, ms: &[f64]) -> Excess {
        let (slow, typical) = (&self.split.slow, &self.split.typical);
        if slow.is_empty() || typical.is_empty() {
            return Excess::default();
        }
        let [first, after, from] = self.edges;
        let excess = self.mean(ms, from, self.rows.len()) - self.mean(ms, first, after);
        // Where the user said what is slow, no other call moves that edge.
        let at_slow = match self.split.is_given {
            true => self.mean(ms, from, self.rows.len()),
            false => self.near(ms, from),
        };
        let (at_first, at_after) = (self.near(ms, first), self.near(ms, after));
        let calls = self.rows.len() as f64;
        let (slow, typical) = (slow.len() as f64 / calls, typical.len() as f64 / calls);
        let mut influence = vec![0.0; ms.len()];
        for (place, row) in self.rows.iter().enumerate() {
            let ms = ms[*row as usize];
            let over = if place >= from { (ms - at_slow) / slow } else { 0.0 };
            let under = match place {
                _ if place < first => at_first - at_after,
                _ if place < after => ms - at_after,
                _ => 0.0,
            };
            influence[*row as usize] = over - under / typical;
        }
        let student = StudentsT::new(0.0, 1.0, (slow * calls - 1.0).max(1.0))
            .map_or(f64::INFINITY, |student| student.inverse_cdf(0.975));
        let margin = student * error(&influence);
        Excess { ms: excess, ci_ms: [excess - margin, excess + margin], influence, student }
    }

    fn mean(&self, ms: &[f64], from: usize, end: usize) -> f64 {
        let rows = &self.rows[from..end.max(from)];
        rows.iter().map(|row| ms[*row as usize]).sum::<f64>() / rows.len().max(1) as f64
    }

    /// The mean of the calls that take about as long as the one at a place.
    fn near(&self, ms: &[f64], place: usize) -> f64 {
        let calls = self.rows.len();
        let width = (calls as f64).sqrt().max(5.0).min(calls as f64) as usize;
        let from = place.saturating_sub(width / 2).min(calls - width);
        self.mean(ms, from, from + width)
    }
}

impl Excess {
    /// Returns the part of `whole` that this is, with its 95 % interval.
    pub(super) fn part(&self, whole: &Self) -> (f64, [f64; 2]) {
        let part = self.ms / whole.ms;
        let both = self.influence.iter().zip(&whole.influence);
        let influence: Vec<f64> = both.map(|(step, whole)| step - part * whole).collect();
        let margin = self.student * error(&influence) / whole.ms.abs();
        (part, [part - margin, part + margin])
    }
}

/// The standard error of the mean.
fn error(values: &[f64]) -> f64 {
    let calls = values.len() as f64;
    let mean = values.iter().sum::<f64>() / calls;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (calls * (calls - 1.0).max(1.0))).sqrt()
}
