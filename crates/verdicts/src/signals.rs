//! Says which signals of the host went together with slow calls, and how much of them that
//! explains.
//!
//! A signal is what a counter grew by in each of many equal intervals. Each slow call is held
//! against typical calls near it, in windows as long as its own (a case-crossover; Maclure, 1991).
//! Chance is what the signal shows at other times. Slow calls within some ten seconds are moved
//! together, each such block by a random time of its own, which keeps bursts of both. Then all are
//! moved by one time, which keeps rhythms: what fits at one time in ten fits by rhythm.
//! All lags are looked at in each draw, so choosing the best costs nothing unseen. Draws of signals
//! that chance equals often end early (Besag and Clifford, 1991). Benjamini and Hochberg adjust the
//! p-values over all signals.
//! Invariant: [`SignalVerdict::explained`] is (s − t) / (1 − t), where s and t are the shares of
//! slow and typical windows above a threshold. One half of the slow calls chooses the threshold for
//! the other. Its interval draws whole episodes of slow calls.
//! Bounds: at most [`CASES_MAX`] slow calls are looked at, evenly spread.
//! Failure: with few slow calls or intervals nothing is said, for a reason.
//!
//! It never says that a signal is the reason: whatever drives both goes together with both. Two
//! things of the same rhythm in step cannot be told apart by watching; `lab switch` can.
//! `windows.rs` matches calls, `effect.rs` has the share and its interval.

mod effect;
mod measured;
mod windows;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::count_tests::benjamini_hochberg;
use crate::random::Draw;
use crate::series::Series;
use crate::significance::{SIGNAL_DRAWS, SIGNAL_P_MAX};
use crate::split::Split;
use effect::WindowEffect;
pub use measured::{SignalColumn, SignalKind, Signals};
use windows::{Case, RunningSums};

/// Slow calls that are looked at.
const CASES_MAX: usize = 200;
/// Slow calls below which nothing is said.
const CASES_MIN: usize = 5;
/// Intervals below which nothing is said: there must be other times.
const INTERVALS_MIN: usize = 200;
/// Draws that chance may equal before drawing ends.
const EXCEEDED_MAX: u32 = 20;
/// Intervals by which a signal is looked at earlier (negative) or later than the call.
const LAGS: [i32; 8] = [0, -1, -2, -5, -10, 1, 2, 5];
/// Times by which all slow calls are moved together, and the share of them that may fit as well.
const RHYTHM_DRAWS: u32 = 999;
const RHYTHM_P_MAX: f64 = 0.1;
/// Values above this quantile of those that are not 0 count as it: one burst decides nothing.
const CAP_Q: f64 = 0.995;

/// A signal that went together with slow calls, or did not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SignalVerdict {
    /// Its name.
    pub signal: String,
    /// Part of the slow calls that it explains; negative where it is rather absent then.
    pub explained: f64,
    /// 95 % interval of that.
    pub ci: [f64; 2],
    /// Share of the windows of slow calls in which it is high.
    pub share_slow: f64,
    /// Share of the windows of typical calls near them in which it is as high: chance.
    pub share_typical: f64,
    /// Its mean in slow calls; of a sum, what comes up in a second.
    pub slow: f64,
    /// Its mean beside them.
    pub typical: f64,
    /// The unit of both: `ms`, `bytes`, or nothing for a number.
    pub unit: String,
    /// What both are: `sum`, `level` or `peak`.
    #[serde(rename = "measure")]
    pub kind: SignalKind,
    /// Whether it is of programs of one name, rather than of the host.
    pub is_program: bool,
    /// Milliseconds from the call to the signal where they agree best; above 0 the signal follows.
    pub lag_ms: f64,
    /// p-value, after Benjamini and Hochberg over all signals.
    pub p: f64,
}

/// What was found among the signals.
#[derive(Debug, Clone, Default)]
pub struct SignalLooks {
    /// Every signal that could be looked at. Those that go together come first, and of them those
    /// that do not follow. Of these the earliest of those that explain as much as the best, within
    /// its interval; then those that explain most, the earliest first.
    pub looks: Vec<SignalVerdict>,
    /// Signals that never changed.
    pub constant: Vec<String>,
    /// The reason for which none could be looked at.
    pub reason: Option<String>,
}

impl SignalVerdict {
    fn of(column: &SignalColumn, effect: &WindowEffect, lag: i32, interval_ms: f64) -> Self {
        // Sums are told by the second.
        let scale = if column.kind == SignalKind::Sum { 1000.0 / interval_ms } else { 1.0 };
        Self {
            signal: column.name.clone(),
            is_program: column.is_program,
            explained: effect.explained,
            ci: effect.ci,
            share_slow: effect.share_slow,
            share_typical: effect.share_typical,
            slow: effect.slow * scale,
            typical: effect.typical * scale,
            unit: column.unit.clone(),
            kind: column.kind,
            lag_ms: f64::from(lag) * interval_ms,
            p: 1.0,
        }
    }

    /// Returns whether the signal is said to go together with slow calls.
    pub fn is_significant(&self) -> bool {
        self.p <= SIGNAL_P_MAX && self.ci[0] > 0.0
    }

    /// Returns whether the signal explains less than a tenth of the slow calls, with 97.5 %.
    pub fn is_ruled_out(&self) -> bool {
        !self.is_significant() && self.ci[1] < RULED_OUT_MAX
    }
}

/// What a signal may explain at most that is ruled out.
const RULED_OUT_MAX: f64 = 0.1;

/// Looks at each signal beside the slow calls of a series that has times.
pub fn signals(series: &Series, split: &Split, signals: &Signals, seed: u64) -> SignalLooks {
    let cases = windows::matched(series, split, signals, CASES_MAX);
    if let Some(reason) = too_few(series, signals, &cases) {
        return SignalLooks { reason: Some(reason), ..SignalLooks::default() };
    }
    let mut found = SignalLooks::default();
    let mut p = Vec::new();
    for (number, column) in (0_u64..).zip(&signals.columns) {
        let Some(running) = RunningSums::of(&column.values, CAP_Q) else {
            found.constant.push(column.name.clone());
            continue;
        };
        let (lag, chance) = by_chance(&running, &cases, &mut Draw::new(seed, number));
        let draw = &mut Draw::new(seed ^ 1, number);
        let uncapped = RunningSums::of(&column.values, 1.0).unwrap_or(running);
        let effect = effect::measured(&uncapped, &cases, lag, draw);
        found.looks.push(SignalVerdict::of(column, &effect, lag, signals.interval_ms));
        p.push(chance);
    }
    let adjusted = benjamini_hochberg(&p);
    found.looks.iter_mut().zip(adjusted).for_each(|(look, p)| look.p = p);
    found.looks.sort_by(|one, other| rank(other).cmp(&rank(one)).then(by_part(one, other)));
    // Of those that explain as much as the best, the earliest is the likeliest to be behind it.
    let best = found.looks.first().map_or(0.0, |best| best.ci[0]);
    let alike = |it: &SignalVerdict| rank(it) == (true, true) && it.explained >= best;
    let alike = found.looks.iter().take_while(|it| alike(it)).count();
    found.looks[..alike].sort_by(|one, other| one.lag_ms.total_cmp(&other.lag_ms));
    found
}

/// Whether a signal goes together with slow calls, and does not follow them.
fn rank(look: &SignalVerdict) -> (bool, bool) {
    (look.is_significant(), look.lag_ms <= 0.0)
}

/// Those that explain most first, in whole percent; then the earliest.
fn by_part(one: &SignalVerdict, other: &SignalVerdict) -> Ordering {
    let percent = |it: &SignalVerdict| (it.explained * 100.0).round();
    percent(other).total_cmp(&percent(one)).then(one.lag_ms.total_cmp(&other.lag_ms))
}

fn too_few(series: &Series, signals: &Signals, cases: &[Case]) -> Option<String> {
    let intervals = signals.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
    match () {
        () if series.began_ms.is_empty() => Some("the times of the calls are not known".to_owned()),
        () if intervals < INTERVALS_MIN => Some(format!(
            "the signals have {intervals} intervals; at least {INTERVALS_MIN} are needed"
        )),
        () if cases.len() < CASES_MIN => Some(format!(
            "{} slow calls with typical ones near them; at least {CASES_MIN} are needed",
            cases.len()
        )),
        () => None,
    }
}

/// The lag at which the signal stands out most, and how often it does as much by chance.
fn by_chance(running: &RunningSums, cases: &[Case], draw: &mut Draw) -> (i32, f64) {
    let best = |moved: &[f64]| {
        let at = |lag: i32| (windows::contrast(running, cases, moved, lag), lag);
        LAGS.iter()
            .map(|lag| at(*lag))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
    };
    let blocks = cases.last().map_or(0, |case| case.block + 1);
    let mut moved = vec![0.0; blocks];
    let (observed, lag) = best(&moved).unwrap_or_default();
    let mut chance = |draws: u32, displace: &mut dyn FnMut(&mut [f64])| {
        let (mut exceeded, mut drawn) = (0, 0);
        while drawn < draws && exceeded < EXCEEDED_MAX {
            displace(&mut moved);
            drawn += 1;
            exceeded += u32::from(best(&moved).is_some_and(|(found, _)| found >= observed));
        }
        // Drawing that ended early gives the share as it is; else none of all draws counts as one.
        match exceeded {
            EXCEEDED_MAX => f64::from(exceeded) / f64::from(drawn),
            _ => f64::from(exceeded + 1) / f64::from(drawn + 1),
        }
    };
    let place = |draw: &mut Draw| draw.below(running.len()) as f64;
    let apart =
        chance(SIGNAL_DRAWS, &mut |moved| moved.iter_mut().for_each(|it| *it = place(draw)));
    if apart > SIGNAL_P_MAX {
        return (lag, apart);
    }
    let together = chance(RHYTHM_DRAWS, &mut |moved| moved.fill(place(draw)));
    (lag, if together > RHYTHM_P_MAX { together } else { apart })
}

#[cfg(test)]
mod tests;
