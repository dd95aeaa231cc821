//! Trials in alternating rounds, and their summary: the median, with its spread.
//!
//! Invariant: a ratio or a difference is taken within a round; the figure is the median of all
//! rounds. The machine is steadier within a round than over a run.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Arrivals, Plan, Report, Requests, Stop, Target};
use serde::{Deserialize, Serialize};

use crate::machine::Noise;
use crate::process::{Cpu, Server};

/// One trial of one server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial {
    /// CPU time of the server per request.
    pub cpu: Cpu,
    /// Requests per second.
    pub rate: f64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// 99th percentile of how late the load generator itself was, in an open loop.
    pub late_us: f64,
    /// Share of the machine that other programs used meanwhile.
    pub others: f64,
}

impl Trial {
    /// Loads `server` by `plan` and reads its CPU time before and after.
    ///
    /// # Errors
    /// When a reply was not as expected: such a trial measures something else.
    pub(crate) fn run(
        server: &Server,
        plan: &Plan,
        requests: &mut (impl Requests + ?Sized),
    ) -> Result<Self> {
        let (noise, before) = (Noise::start()?, server.cpu()?);
        let report = load::run(plan, requests)?;
        let cpu = server.cpu()?.since(before);
        let others = noise.share(cpu.total_us())?;
        ensure!(report.is_clean(), "server `{}`: {}", server.name, complaint(&report));
        let each = report.requests.max(1) as f64;
        Ok(Self {
            cpu: Cpu { user_us: cpu.user_us / each, system_us: cpu.system_us / each },
            rate: report.rate(),
            p50_us: report.latency.value_at_quantile(0.50) as f64,
            p99_us: report.latency.value_at_quantile(0.99) as f64,
            late_us: report.late.value_at_quantile(0.99) as f64,
            others,
        })
    }

    /// Makes the trial up to three times, until nobody else uses the machine and nothing holds the
    /// load generator up; the quietest counts. Neither depends on the server, so this favours no
    /// one.
    fn quietest(side: &Side<'_>, plan: &Plan) -> Result<Self> {
        let attempt = || Self::run(side.server, plan, &mut *(side.requests)());
        let mut quietest = attempt()?;
        for _ in 1..3 {
            if quietest.disturbance() <= 1.0 {
                break;
            }
            let trial = attempt()?;
            if trial.disturbance() < quietest.disturbance() {
                quietest = trial;
            }
        }
        Ok(quietest)
    }

    /// How far the trial was disturbed; above 1 it is worth another attempt.
    fn disturbance(&self) -> f64 {
        const OTHERS_MAX: f64 = 0.02;
        const LATE_US_MAX: f64 = 500.0;
        (self.others / OTHERS_MAX).max(self.late_us / LATE_US_MAX)
    }
}

/// One side of a comparison: a server, and how its requests are made.
pub(crate) struct Side<'a> {
    /// Name in the tables.
    pub name: String,
    /// The server.
    pub server: &'a Server,
    /// Makes the requests of one trial.
    pub requests: Box<dyn Fn() -> Box<dyn Requests> + 'a>,
}

/// Runs the sides in alternating order, `rounds` times; returns for each side its trials by round.
pub(crate) fn alternate(
    rounds: usize,
    sides: &[Side<'_>],
    plan: &dyn Fn(Target) -> Plan,
) -> Result<Vec<Vec<Trial>>> {
    let mut trials = vec![Vec::new(); sides.len()];
    for side in sides {
        side.server.settle()?;
        let warm =
            Plan { stop: Stop::After(Duration::from_millis(300)), ..plan(side.server.target()) };
        load::run(&warm, &mut *(side.requests)())?;
    }
    for round in 0..rounds {
        for turn in 0..sides.len() {
            let index = (round + turn) % sides.len();
            let side = &sides[index];
            trials[index].push(Trial::quietest(side, &plan(side.server.target()))?);
        }
    }
    Ok(trials)
}

/// The usual plan: a closed loop over 64 keep-alive connections.
pub(crate) fn closed_64(trial: Duration) -> impl Fn(Target) -> Plan + use<> {
    let stop = Stop::After(trial);
    move |target| Plan::closed(target, 64, stop)
}

/// An open loop of random arrivals.
pub(crate) fn poisson(trial: Duration, rate: f64) -> impl Fn(Target) -> Plan + use<> {
    let stop = Stop::After(trial);
    move |target| Plan::open(target, Arrivals::Poisson { rate, seed: 42 }, 64, stop)
}

/// A figure with its spread over the rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// What was measured, such as a server's name or `tidegate / nginx`.
    pub case: String,
    /// The quantity with its unit.
    pub figure: String,
    /// Median over the rounds.
    pub value: f64,
    /// Least of the rounds.
    pub min: f64,
    /// Greatest of the rounds.
    pub max: f64,
    /// The target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<Aim>,
    /// A bar of the row's chart.
    #[serde(skip_serializing_if = "is_false", default)]
    pub is_drawn: bool,
}

/// A target and whether the median reached it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Aim {
    /// In words, such as `at most 1.0`.
    pub text: String,
    /// Reached.
    pub met: bool,
}

impl Measurement {
    /// Returns the median and spread of `values`, one per round.
    pub(crate) fn new(
        case: impl Into<String>,
        figure: &str,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (values.first().copied(), values.last().copied());
        Self {
            case: case.into(),
            figure: figure.to_owned(),
            value: median(&values),
            min: min.unwrap_or(f64::NAN),
            max: max.unwrap_or(f64::NAN),
            target: None,
            is_drawn: false,
        }
    }

    /// Makes it a bar of the row's chart, beside the row's other bars.
    pub(crate) fn drawn(mut self) -> Self {
        self.is_drawn = true;
        self
    }

    /// Names the target that the median must not exceed.
    pub(crate) fn at_most(mut self, limit: f64, text: &str) -> Self {
        self.target = Some(Aim { text: text.to_owned(), met: self.value <= limit });
        self
    }

    /// Names the target that the median must reach.
    pub(crate) fn at_least(mut self, limit: f64, text: &str) -> Self {
        self.target = Some(Aim { text: text.to_owned(), met: self.value >= limit });
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes by reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The usual figures of a side.
pub(crate) fn describe(name: &str, trials: &[Trial]) -> Vec<Measurement> {
    let figure =
        |figure: &str, of: fn(&Trial) -> f64| Measurement::new(name, figure, trials.iter().map(of));
    vec![
        figure("CPU µs per request", |trial| trial.cpu.total_us()),
        figure("of it user µs", |trial| trial.cpu.user_us),
        figure("requests/s", |trial| trial.rate),
        figure("p50 µs", |trial| trial.p50_us),
        figure("p99 µs", |trial| trial.p99_us),
        figure("generator late by, p99 µs", |trial| trial.late_us),
        figure("others on the machine %", |trial| 100.0 * trial.others),
    ]
}

/// What `of` gives for each round of two sides.
pub(crate) fn by_round<'a>(
    left: &'a [Trial],
    right: &'a [Trial],
    of: impl Fn(&Trial, &Trial) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    left.iter().zip(right).map(move |(left, right)| of(left, right))
}

/// Middle of sorted values; the mean of the two middle ones when there is none.
fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

fn complaint(report: &Report) -> String {
    format!(
        "{} replies, {:?}, {} of another status, {} of another length, by status {:?}",
        report.requests,
        report.errors,
        report.status_mismatches,
        report.bytes_mismatches,
        report.statuses().collect::<Vec<_>>()
    )
}

#[cfg(test)]
mod tests;
