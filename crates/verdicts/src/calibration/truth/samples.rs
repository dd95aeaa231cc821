//! Makes calls whose cause is known, with the figures that a verdict on them should state.
//!
//! Quanta are drawn, log-uniformly from 40 to 1,000 ms unless a row says otherwise. Shares are
//! those of the distribution, not of the sample.
//! Invariant: the order of draws chooses a sample; a changed one makes another table.

use super::super::CombSample;
use crate::random::Draw;
use crate::series::{PhaseColumn, Series};
use crate::verdict::Quantised;

/// Calls on a comb, and what is true of them.
pub(super) struct Planted {
    pub(super) series: Series,
    quantum_ms: f64,
    /// Share of the calls that wait.
    share: f64,
    /// Share of the time above the base that they account for.
    time_share: f64,
}

/// Undelayed calls, and how many others wait.
#[derive(Clone, Copy)]
pub(super) struct Base {
    /// The base in quanta.
    pub(super) quanta: f64,
    /// Share of the calls that wait.
    pub(super) share: f64,
}

/// Calls of a handler, and the step that is slow.
pub(super) struct NamedStep {
    pub(super) series: Series,
    pub(super) step: String,
}

/// A kind of calls without anything in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Smoothness {
    Lognormal,
    Exponential,
    Weibull,
    Pareto,
    ParetoHeavy,
    TwoModes,
    Rounded,
    Uniform,
}

impl Planted {
    /// Calls around a base, of which some wait for one to four quanta.
    pub(super) fn over(base: Base, calls: usize, draw: &mut Draw) -> Self {
        let quantum_ms = quantum(draw);
        let middle = base.quanta * quantum_ms;
        let total_ms = (0..calls)
            .map(|_| {
                let ms = middle * (0.95 + 0.1 * draw.fraction());
                let waits = draw.fraction() < base.share;
                ms + if waits { quantum_ms * (1 + draw.below(4)) as f64 } else { 0.0 }
            })
            .collect();
        let waited = base.share * 2.5 * quantum_ms;
        let above = (1.0 - base.share) * middle * 0.05 / 4.0;
        let time_share = waited / (waited + above);
        Self { series: timeless(total_ms), quantum_ms, share: base.share, time_share }
    }

    /// Calls that poll: all on teeth, every multiple as likely.
    pub(super) fn polls(draw: &mut Draw) -> Self {
        let quantum_ms = 10.0 * 100_f64.powf(draw.fraction());
        let teeth = 5 + draw.below(8);
        let sigma = [0.002, 0.01, 0.03][draw.below(3)];
        let base = 0.3 * draw.fraction() * quantum_ms;
        let value = |draw: &mut Draw| {
            base + quantum_ms * ((1 + draw.below(teeth)) as f64 + sigma * draw.normal())
        };
        Self::all((0..500).map(|_| value(draw)).collect(), quantum_ms)
    }

    /// Waits of a unit that doubles.
    pub(super) fn doubling(draw: &mut Draw) -> Self {
        let quantum_ms = quantum(draw);
        let teeth = 4 + draw.below(2);
        let value = |draw: &mut Draw| {
            quantum_ms * (2_f64.powi(draw.below(teeth) as i32) + 0.05 + 0.01 * draw.normal())
        };
        Self::all((0..300).map(|_| value(draw)).collect(), quantum_ms)
    }

    /// Teeth with a deviation of `sigma` quanta.
    pub(super) fn sharp(teeth: usize, calls: usize, sigma: f64, draw: &mut Draw) -> Self {
        let quantum_ms = quantum(draw);
        let base = 0.4 * draw.fraction() * quantum_ms;
        let value = |draw: &mut Draw| {
            base + quantum_ms * ((1 + draw.below(teeth)) as f64 + sigma * draw.normal())
        };
        Self::all((0..calls).map(|_| value(draw)).collect(), quantum_ms)
    }

    /// Sleeps that are exact, written down in whole milliseconds, above a base of a few.
    pub(super) fn exact(teeth: usize, calls: usize, draw: &mut Draw) -> Self {
        let quantum_ms = quantum(draw).round();
        let value = |draw: &mut Draw| {
            (1.0 + 2.0 * draw.fraction() + quantum_ms * (1 + draw.below(teeth)) as f64).round()
        };
        Self::all((0..calls).map(|_| value(draw)).collect(), quantum_ms)
    }

    /// Calls of 20 ms, of which a share waits for the first, the second or the third of `waits`.
    pub(super) fn retried(
        calls: usize,
        share: f64,
        waits: [f64; 3],
        quantum_ms: f64,
        draw: &mut Draw,
    ) -> Self {
        let value = |draw: &mut Draw| {
            let ms = 20.0 * (0.3 * draw.normal()).exp();
            if draw.fraction() >= share {
                return ms;
            }
            let place = draw.fraction();
            ms + waits[usize::from(place > 0.6) + usize::from(place > 0.88)]
        };
        let total_ms = (0..calls).map(|_| value(draw)).collect();
        let waited = share * (0.6 * waits[0] + 0.28 * waits[1] + 0.12 * waits[2]);
        // By how much undelayed calls are above their mean of 20.92, those above it.
        let above = (1.0 - share) * 2.494;
        let time_share = waited / (waited + above);
        Self { series: timeless(total_ms), quantum_ms, share, time_share }
    }

    /// A faint comb of 500 ms under a broad hump.
    pub(super) fn faint(share: f64, draw: &mut Draw) -> Self {
        let value = |draw: &mut Draw| match draw.fraction() < share {
            true => 500.0 * (1 + draw.below(4)) as f64 + 3.0 * draw.normal(),
            false => 1_000.0 * (0.5 * draw.normal()).exp(),
        };
        let total_ms = (0..20_000).map(|_| value(draw)).collect();
        Self { share, ..Self::all(total_ms, 500.0) }
    }

    /// A sample of the power table.
    pub(super) fn combed(sample: CombSample, draw: &mut Draw) -> Self {
        let (quantum_ms, total_ms) = sample.draw(draw);
        Self { share: sample.share, ..Self::all(total_ms, quantum_ms) }
    }

    fn all(total_ms: Vec<f64>, quantum_ms: f64) -> Self {
        Self { series: timeless(total_ms), quantum_ms, share: 1.0, time_share: 1.0 }
    }

    pub(super) fn is_near(&self, quantum_ms: f64) -> bool {
        (quantum_ms / self.quantum_ms - 1.0).abs() < 0.03
    }

    pub(super) fn holds(&self, found: &Quantised) -> bool {
        found.ci_ms[0] <= self.quantum_ms && self.quantum_ms <= found.ci_ms[1]
    }

    pub(super) fn holds_share(&self, found: &Quantised) -> bool {
        found.share_ci[0] <= self.share && self.share <= found.share_ci[1]
    }

    pub(super) fn holds_time(&self, found: &Quantised) -> bool {
        let [low, high] = found.excess_share_ci;
        low <= self.time_share && self.time_share <= high
    }
}

impl Smoothness {
    pub(super) const ALL: [Self; 8] = [
        Self::Lognormal,
        Self::Exponential,
        Self::Weibull,
        Self::Pareto,
        Self::ParetoHeavy,
        Self::TwoModes,
        Self::Rounded,
        Self::Uniform,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal, sigma 0.2 to 1.2",
            Self::Exponential => "5 ms and an exponential wait",
            Self::Weibull => "Weibull, shape 0.6",
            Self::Pareto => "Pareto, exponent 2.5",
            Self::ParetoHeavy => "Pareto, exponent 1.2",
            Self::TwoModes => "two smooth humps",
            Self::Rounded => "lognormal in whole milliseconds",
            Self::Uniform => "uniform",
        }
    }

    pub(super) fn series(self, calls: usize, draw: &mut Draw) -> Series {
        let sigma = 0.2 + draw.fraction();
        let one = |draw: &mut Draw| match self {
            Self::Lognormal => 20.0 * (sigma * draw.normal()).exp(),
            Self::Exponential => 5.0 + 30.0 * draw.exponential(),
            Self::Weibull => 15.0 * draw.exponential().powf(1.0 / 0.6),
            Self::Pareto => 5.0 * (draw.exponential() / 2.5).exp(),
            Self::ParetoHeavy => 5.0 * (draw.exponential() / 1.2).exp(),
            Self::TwoModes if draw.fraction() < 0.8 => 10.0 * (0.3 * draw.normal()).exp(),
            Self::TwoModes => 100.0 * (0.3 * draw.normal()).exp(),
            Self::Rounded => (20.0 * (sigma * draw.normal()).exp()).round(),
            Self::Uniform => 10.0 + 100.0 * draw.fraction(),
        };
        timeless((0..calls).map(|_| one(draw)).collect())
    }
}

fn timeless(total_ms: Vec<f64>) -> Series {
    Series { total_ms, ..Series::default() }
}

fn quantum(draw: &mut Draw) -> f64 {
    40.0 * 25_f64.powf(draw.fraction())
}

/// Narrow modes at places drawn log-uniformly from 10 to 1,000 ms, each apart from the others.
pub(super) fn places(places: usize, draw: &mut Draw) -> Series {
    let width: f64 = [0.001, 0.01, 0.03, 0.05][draw.below(4)];
    let calls = [60, 200, 1_000][draw.below(3)];
    let mut at: Vec<f64> = Vec::new();
    while at.len() < places {
        let place = 10.0 * 100_f64.powf(draw.fraction());
        if at.iter().all(|other| (place / other).ln().abs() > 6.0 * width.max(0.01)) {
            at.push(place);
        }
    }
    let value = |draw: &mut Draw| at[draw.below(places)] * (1.0 + width * draw.normal());
    timeless((0..calls).map(|_| value(draw)).collect())
}

/// Four caches, shards or regions.
pub(super) fn real_looking(draw: &mut Draw) -> Series {
    let value =
        |draw: &mut Draw| [46.0, 66.0, 98.0, 161.0][draw.below(4)] * (1.0 + 0.03 * draw.normal());
    timeless((0..200).map(|_| value(draw)).collect())
}

pub(super) fn three_teeth(draw: &mut Draw) -> Series {
    let quantum = quantum(draw);
    let value = |draw: &mut Draw| quantum * ((1 + draw.below(3)) as f64 + 0.02 * draw.normal());
    timeless((0..50).map(|_| value(draw)).collect())
}

/// A series without times in four orders.
pub(super) fn orders(series: &Series, draw: &mut Draw) -> [Series; 4] {
    let as_is = series.total_ms.clone();
    let mut sorted = as_is.clone();
    sorted.sort_by(f64::total_cmp);
    let reversed: Vec<f64> = sorted.iter().rev().copied().collect();
    let mut shuffled = as_is.clone();
    for place in (1..shuffled.len()).rev() {
        shuffled.swap(place, draw.below(place + 1));
    }
    [as_is, sorted, reversed, shuffled].map(timeless)
}

/// Calls at random to a server that stalls with a fixed period, for 2 to 5 % of it.
pub(super) fn stalls(period_ms: f64, draw: &mut Draw) -> Series {
    let (phase, lasts) = (draw.fraction() * period_ms, (0.02 + 0.03 * draw.fraction()) * period_ms);
    let mut series = Series::default();
    let mut now = 0.0;
    while now < 40.0 * period_ms {
        now += period_ms / 100.0 * draw.exponential();
        let since = (now + phase).rem_euclid(period_ms);
        let wait = (lasts - since).max(0.0);
        series.began_ms.push(now);
        series.total_ms.push(wait + 0.0005 * period_ms * (0.4 * draw.normal()).exp());
    }
    series
}

/// Bursts of calls at random, served one at a time for 50 ms each.
pub(super) fn convoy(draw: &mut Draw) -> Series {
    bursts(draw, |place, draw| 50.0 * (place + 1) as f64 + 0.5 * draw.normal())
}

/// Bursts of calls at random, of which three have a token and each further one waits 100 ms more.
pub(super) fn token_bucket(draw: &mut Draw) -> Series {
    bursts(draw, |place, draw| {
        let waits = 100.0 * place.saturating_sub(2) as f64;
        waits + 4.0 * (0.2 * draw.normal()).exp()
    })
}

fn bursts(draw: &mut Draw, ms: impl Fn(usize, &mut Draw) -> f64) -> Series {
    let mut series = Series::default();
    let mut now = 0.0;
    while series.len() < 400 {
        now += 4_000.0 * (0.5 + draw.exponential());
        for place in 0..4 + draw.below(9) {
            series.began_ms.push(now + 0.05 * place as f64);
            series.total_ms.push(ms(place, draw));
        }
    }
    series
}

/// Two timers: some calls wait for quanta of 40 ms, others for quanta of 500.
pub(super) fn two_combs(draw: &mut Draw) -> Series {
    let value = |draw: &mut Draw| {
        let ms = 5.0 * (0.1 * draw.normal()).exp();
        match draw.fraction() {
            place if place < 0.15 => ms + 40.0 * (1 + draw.below(4)) as f64,
            place if place < 0.3 => ms + 500.0 * (1 + draw.below(3)) as f64,
            _ => ms,
        }
    };
    timeless((0..1_000).map(|_| value(draw)).collect())
}

/// A handler of four steps, of which the second takes 300 ms longer in a share of the calls.
pub(super) fn slow_step(calls: u64, share: f64, is_coarse: bool, draw: &mut Draw) -> NamedStep {
    let usual = [8.0, 70.0, 3.0, 15.0];
    let mut columns = usual.map(|_| Vec::new());
    for _ in 0..calls {
        for (at, column) in columns.iter_mut().enumerate() {
            let jitter = if is_coarse && at == 1 { 1.0 } else { (0.2 * draw.normal()).exp() };
            let ms = usual[at] * jitter;
            let stalls = at == 1 && draw.fraction() < share;
            let ms = if stalls { ms + 300.0 } else { ms };
            column.push(if is_coarse { ms.round() } else { ms });
        }
    }
    handler(columns.into(), "step 2")
}

/// A handler of fifteen steps that something outside stops for 200 ms now and then.
pub(super) fn struck(draw: &mut Draw) -> NamedStep {
    let mut columns = vec![Vec::new(); 15];
    for _ in 0..300 {
        for (at, column) in columns.iter_mut().enumerate() {
            let ms = [1.0, 4.0, 2.0, 8.0, 3.0][at % 5] * (0.4 * draw.normal()).exp();
            let is_struck = draw.fraction() < 1.0 - (-2.0 * ms / 1000.0).exp();
            column.push(if is_struck { ms + 200.0 } else { ms });
        }
    }
    handler(columns, "")
}

fn handler(columns: Vec<Vec<f64>>, step: &str) -> NamedStep {
    let total = |row: usize| columns.iter().map(|column| column[row]).sum();
    let total_ms = (0..columns[0].len()).map(total).collect();
    let named = columns.into_iter().enumerate();
    let phases =
        named.map(|(at, ms)| PhaseColumn { name: format!("step {}", at + 1), ms }).collect();
    NamedStep { series: Series { total_ms, phases, ..Series::default() }, step: step.to_owned() }
}
