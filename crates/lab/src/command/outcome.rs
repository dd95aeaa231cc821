//! Computes the figures of a command's runs: mean, deviation, range, outliers, warnings.
//!
//! [`BenchResult`] is also an element of hyperfine's `results`: its field names are that format,
//! which scripts and `import/generators/hyperfine.rs` read. A new field goes into that JSON unless
//! it is skipped.
//! `series` gives the runs, which `--save` keeps. CPU times are steps there only where no run used
//! more of them than it lasted. The attribute `peak memory` has the same name in
//! `import/generators/hyperfine.rs`.
//! Invariant: every figure is of all runs; an outlier is never left out. A warning counts outliers,
//! or names the first run alone if that is a slow one. Where over half of the runs are equal there
//! are no outliers. A run that failed and was ignored counts like others, and is warned of.
//! Quantiles and words are in `text.rs`, ratios in `export.rs`. `OUTLIER` also stands in
//! docs/lab/bench.md.

use std::collections::BTreeMap;

use serde::Serialize;
use verdicts::{Attribute, AttributeValues, PhaseColumn, Series, Sorted};

use super::program::Trial;
use super::shell::ShellStart;
use super::subject::Subject;

/// A run is an outlier when it lies so many median absolute deviations from the median. That is ten
/// standard deviations of a normal distribution, the threshold of hyperfine (Iglewicz and Hoaglin,
/// "How to Detect and Handle Outliers", 1993).
pub(crate) const OUTLIER: f64 = 14.826;
/// Peaks that differ by no more than this part are the same: the kernel counts pages in batches.
const PEAK_NOISE: f64 = 0.05;
/// Commands faster than this are about as fast as a shell's start varies.
const FAST_SECONDS: f64 = 0.005;

/// The runs of one command. Serialised as an element of hyperfine's `results`.
#[derive(Debug, Clone, Serialize)]
pub struct BenchResult {
    /// The command's name or line.
    pub command: String,
    /// The same with the parameters that do not occur in it.
    #[serde(skip)]
    pub title: String,
    /// Mean seconds of a run.
    pub mean: f64,
    /// Standard deviation; absent for one run.
    pub stddev: Option<f64>,
    /// Median.
    pub median: f64,
    /// Mean CPU seconds in user mode.
    pub user: f64,
    /// Mean CPU seconds in the kernel.
    pub system: f64,
    /// The fastest run.
    pub min: f64,
    /// The slowest run.
    pub max: f64,
    /// All runs.
    pub times: Vec<f64>,
    /// Peak memory of each.
    pub memory_usage_byte: Vec<u64>,
    /// Exit code of each.
    pub exit_codes: Vec<Option<i32>>,
    /// Parameters of the command.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The runs as they were measured.
    #[serde(skip)]
    pub trials: Vec<Trial>,
    /// Peaks up to this cannot be told apart. The kernel books the memory of this program to a
    /// child until the child has become another program.
    #[serde(skip)]
    pub peak_floor_bytes: u64,
    /// What a reader has to know.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// What may be wrong with a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Runs took hardly longer than a shell's start varies; so many were as fast as none at all.
    Fast {
        /// Runs of which nothing was left after the shell's start.
        at_zero: usize,
        /// The start of the shell, in seconds.
        shell: f64,
    },
    /// So many runs failed, which was to be ignored.
    Failed(usize),
    /// The first run was an outlier: caches were cold.
    SlowFirst {
        /// Its seconds.
        seconds: f64,
        /// There was a warm-up already.
        is_warm: bool,
        /// There was a preparation already.
        is_prepared: bool,
    },
    /// So many runs were outliers.
    Outliers(usize),
}

impl BenchResult {
    pub(crate) fn new(
        subject: &Subject,
        trials: Vec<Trial>,
        (shell, is_warm, is_prepared): (Option<ShellStart>, bool, bool),
    ) -> Self {
        let times: Vec<f64> = trials.iter().map(|trial| trial.real).collect();
        let mean =
            |of: fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / trials.len().max(1) as f64;
        let sorted = Sorted::new(&times);
        let mut benched = Self {
            command: subject.name.clone(),
            title: title(subject),
            mean: sorted.mean(),
            stddev: (times.len() > 1).then(|| sorted.deviation()),
            median: sorted.median(),
            user: mean(|trial| trial.user),
            system: mean(|trial| trial.system),
            min: sorted.at(0.0),
            max: sorted.at(1.0),
            memory_usage_byte: trials.iter().map(|trial| trial.peak_bytes).collect(),
            exit_codes: trials.iter().map(|trial| trial.exit_code).collect(),
            parameters: subject.parameters.iter().cloned().collect(),
            times,
            trials,
            peak_floor_bytes: super::usage::self_peak_bytes(),
            warnings: Vec::new(),
        };
        benched.warnings = benched.warn(shell, is_warm, is_prepared);
        benched
    }

    /// Returns the runs as a series of milliseconds, with CPU time in user mode and in the kernel
    /// as its steps. The rest of the time was waited.
    pub fn series(&self) -> Series {
        let column = |of: fn(&Trial) -> f64| self.trials.iter().map(|t| 1e3 * of(t)).collect();
        // Of a command that keeps several cores busy, CPU time is no part of the time.
        let is_part = self.trials.iter().all(|trial| trial.user + trial.system <= trial.real);
        let phase = |name: &str, of: fn(&Trial) -> f64| PhaseColumn {
            name: name.to_owned(),
            ms: column(of),
        };
        Series {
            name: self.title.clone(),
            total_ms: column(|trial| trial.real),
            phases: match is_part {
                true => {
                    vec![phase("user", |trial| trial.user), phase("system", |trial| trial.system)]
                }
                false => Vec::new(),
            },
            attributes: self.peaks().into_iter().collect(),
            ..Series::default()
        }
    }

    /// The peaks of memory, if runs can be told apart by them: beyond what this program hides, and
    /// beyond what the kernel counts late.
    fn peaks(&self) -> Option<Attribute> {
        let seen = |trial: &Trial| trial.peak_bytes.max(self.peak_floor_bytes) as f64;
        let peaks: Vec<f64> = self.trials.iter().map(seen).collect();
        let sorted = Sorted::new(&peaks);
        let differs = sorted.at(1.0) - sorted.at(0.0) > PEAK_NOISE * sorted.at(1.0);
        let values = AttributeValues::Numbers(peaks);
        differs.then(|| Attribute { name: "peak memory".to_owned(), values })
    }

    /// Returns how many runs failed, which was to be ignored.
    pub fn failures(&self) -> usize {
        self.exit_codes.iter().filter(|code| **code != Some(0)).count()
    }

    /// Returns the runs that are outliers.
    pub fn outliers(&self) -> Vec<usize> {
        let spread = Sorted::of(self.times.iter().map(|time| (time - self.median).abs())).median();
        let is_far = |time: &f64| spread > 0.0 && (time - self.median).abs() > OUTLIER * spread;
        (0..self.times.len()).filter(|at| is_far(&self.times[*at])).collect()
    }

    fn warn(&self, shell: Option<ShellStart>, is_warm: bool, is_prepared: bool) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(shell) = shell.filter(|_| self.times.iter().any(|time| *time < FAST_SECONDS)) {
            let at_zero = self.times.iter().filter(|time| **time == 0.0).count();
            warnings.push(Warning::Fast { at_zero, shell: shell.real });
        }
        let failed = self.failures();
        if failed > 0 {
            warnings.push(Warning::Failed(failed));
        }
        let outliers = self.outliers();
        if outliers.first() == Some(&0) && self.times[0] > self.median {
            warnings.push(Warning::SlowFirst { seconds: self.times[0], is_warm, is_prepared });
        } else if !outliers.is_empty() {
            warnings.push(Warning::Outliers(outliers.len()));
        }
        warnings
    }
}

/// The name, with the parameters that do not show in it.
fn title(subject: &Subject) -> String {
    let line = subject.program.line();
    let unseen: Vec<String> = subject
        .parameters
        .iter()
        .filter(|(_, value)| !subject.name.contains(value) && !line.contains(value))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    match unseen.is_empty() {
        true => subject.name.clone(),
        false => format!("{} ({})", subject.name, unseen.join(", ")),
    }
}

#[cfg(test)]
mod tests;
