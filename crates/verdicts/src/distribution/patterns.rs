//! Asks what pattern the places have at which calls stand: multiples of a quantum, waits that
//! double, or none.
//!
//! A pattern is held against the rival that the places are anywhere. Given the two outermost ones,
//! the others are then spread evenly between them. The odds are those of Bayes. Each place that the
//! pattern leaves empty is paid for, and so is each that it does not explain. So places anywhere
//! reach odds of n by chance at most once in n samples, over all patterns (Markov's inequality).
//! Invariant: a pattern explains three places or more, each within four and a half errors.
//! `places.rs` finds the places; `quantised.rs` also asks [`odds`] of a comb of the spectrum.
//! After a change count planted causes again (`examples/truth.rs`, docs/lab/trust.md).
//! Refuses: patterns of two places, which any two have.

use super::places::CallPlace;
use super::teeth::TEETH;

/// Laws before the places are seen: linear, else geometric.
pub(super) const LINEAR_PRIOR: f64 = 0.75;
/// A place more of the pattern is empty, before it is seen.
const HOLE_PRIOR: f64 = 0.25;
/// A place is no part of the pattern, before it is seen.
const OTHER_PRIOR: f64 = 0.2;
/// Standard errors within which a place is explained.
const WITHIN: f64 = 3.0;
/// A place whose error is more than this part of the quantum says nothing.
pub(super) const VAGUE: f64 = 0.12;
/// No timer is more exact than this part of its quantum.
const EXACT: f64 = 0.002;
/// Variance of the logarithm of a tooth's width that a timer may have, and fixed places more.
const WIDTH_ERROR: f64 = 0.02;
const ANY_WIDTH: f64 = 0.5;
/// What widths say for a pattern: at least and at most.
const WIDTHS: [f64; 2] = [-2.5, 1.7];
/// Calls that say as much of a tooth's width as the other teeth do.
const SHARED: f64 = 6.0;
/// Quanta between two places that a pattern is tried by, at most.
const APART_MAX: i32 = 12;
/// Places looked at, at most: those that stand out most.
const PLACES_MAX: usize = 40;

/// How the places of a pattern follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    /// At an origin and k quanta.
    Linear,
    /// At an origin and 2ᵏ quanta.
    Doubling,
}

/// A pattern that explains places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacePattern {
    pub spacing: Spacing,
    /// Where the tooth of no wait is; for doubling ones, what is added to each wait.
    pub origin: f64,
    /// The quantum, or the first wait.
    pub quantum: f64,
    /// Standard error of the quantum.
    pub error: f64,
    /// The places explained: which it is, and its number.
    pub teeth: Vec<(usize, i64)>,
    /// ln of the odds against the rival.
    pub ln_odds: f64,
    /// The same, if no other place had been seen.
    pub ln_alone: f64,
    /// What of that the widths of its teeth say. Only linear ones are asked, so it does not choose
    /// between them and doubling ones.
    pub widths: f64,
}

/// The number of a doubling tooth that stands at the origin: of no wait.
pub(super) const NO_WAIT: i64 = -64;

/// Returns patterns that are believed, at most two: the best one and one of the places that it
/// leaves. Two that explain all places together may do so where neither does alone.
pub(super) fn believed(places: &[CallPlace], ln_odds_min: f64) -> Vec<PlacePattern> {
    let all: Vec<usize> = (0..places.len()).collect();
    let rest = |pattern: &PlacePattern| -> Vec<usize> {
        // Undelayed calls may be so of two timers.
        let is_left = |place: &usize| {
            *place == 0 || pattern.teeth.iter().all(|(explained, _)| explained != place)
        };
        all.iter().copied().filter(is_left).collect()
    };
    let Some(first) = best(places, &all, |pattern| pattern.ln_odds - pattern.widths) else {
        return Vec::new();
    };
    if first.ln_odds >= ln_odds_min {
        let second = best(places, &rest(&first), |pattern| pattern.ln_odds - pattern.widths);
        let second = second.filter(|second| second.ln_odds >= ln_odds_min);
        return [first].into_iter().chain(second).collect();
    }
    let Some(first) = best(places, &all, |pattern| pattern.ln_alone - pattern.widths) else {
        return Vec::new();
    };
    let Some(second) = best(places, &rest(&first), |pattern| pattern.ln_odds - pattern.widths)
    else {
        return Vec::new();
    };
    let chosen = ln_choose(places.len(), first.teeth.len());
    let both = first.ln_alone + second.ln_odds - chosen;
    if both < 2.0 * ln_odds_min {
        return Vec::new();
    }
    let each = |pattern| PlacePattern { ln_odds: both / 2.0, ..pattern };
    vec![each(first), each(second)]
}

/// The pattern of the places `among` all that is best by `rank`.
fn best(
    places: &[CallPlace],
    among: &[usize],
    rank: impl Fn(&PlacePattern) -> f64,
) -> Option<PlacePattern> {
    let mut strongest: Vec<usize> = among.to_vec();
    strongest.sort_by(|one, other| places[*one].ln_p.total_cmp(&places[*other].ln_p));
    strongest.truncate(PLACES_MAX);
    strongest.sort_unstable();
    let mut best: Option<PlacePattern> = None;
    let mut offer = |pattern: Option<PlacePattern>| {
        let Some(pattern) = pattern else { return };
        if best.as_ref().is_none_or(|best| rank(&pattern) > rank(best)) {
            best = Some(pattern);
        }
    };
    for (rank, one) in strongest.iter().enumerate() {
        for other in &strongest[rank + 1..] {
            let apart = places[*other].at - places[*one].at;
            for quanta in 1..=APART_MAX {
                let start = PatternGuess { from: *one, quantum: apart / f64::from(quanta) };
                offer(start.pattern(places, &strongest, Spacing::Linear));
            }
            let start = PatternGuess { from: *one, quantum: apart };
            offer(start.pattern(places, &strongest, Spacing::Doubling));
        }
    }
    best
}

impl PlacePattern {
    /// Returns where further teeth may stand, up to `high`: between those of linear patterns and
    /// behind them, and the next ones of doubling patterns. With each the distance to its
    /// neighbours.
    pub(super) fn next(&self, places: &[CallPlace], high: f64) -> Vec<(f64, f64)> {
        let last = self.teeth.last().map_or(0, |tooth| tooth.1);
        let first = self.teeth.iter().map(|tooth| tooth.1).find(|number| *number != NO_WAIT);
        let at = |number: i64| self.origin + self.quantum * steps(self.spacing, number);
        let numbers = first.unwrap_or(0)..=last + 2 + (last - first.unwrap_or(0)).min(20);
        let is_free = |tooth: &(f64, f64)| {
            let is_place = |place: &CallPlace| {
                (place.at - tooth.0).abs() < (place.ends[1] - place.ends[0]).max(0.1 * tooth.1)
            };
            tooth.0 <= high && !places.iter().any(is_place)
        };
        let apart = |number: i64| match self.spacing {
            Spacing::Linear => self.quantum,
            Spacing::Doubling => at(number) - at(number - 1),
        };
        numbers.map(|number| (at(number), apart(number))).filter(is_free).collect()
    }
}

/// A pattern as guessed from two places.
struct PatternGuess {
    from: usize,
    quantum: f64,
}

impl PatternGuess {
    /// The pattern that begins like this, fitted to all places that it explains.
    fn pattern(
        &self,
        places: &[CallPlace],
        among: &[usize],
        spacing: Spacing,
    ) -> Option<PlacePattern> {
        // Doubling waits: the first two places are one first wait apart, at 1 and at 2 of them.
        let origin = match spacing {
            Spacing::Linear => places[self.from].at,
            Spacing::Doubling => places[self.from].at - self.quantum,
        };
        let (mut origin, mut quantum) = (origin, self.quantum);
        let mut pattern = None;
        for _ in 0..2 {
            let teeth = explained(places, among, spacing, origin, quantum);
            if teeth.len() < TEETH {
                return None;
            }
            let fitted = fit(places, &teeth, spacing)?;
            (origin, quantum) = (fitted[0], fitted[1]);
            pattern = Some((teeth, fitted));
        }
        let (teeth, [origin, quantum, error]) = pattern?;
        let alike = Alike::of(places, &teeth);
        let line = |number: i64| origin + quantum * steps(spacing, number);
        // Next to the first wait, for the count of holes.
        let none = teeth[1].1 - 1;
        let tested: Vec<Tested> = teeth
            .iter()
            .map(|(place, number)| {
                let at = places[*place].at;
                let error = alike.error(&places[*place]);
                let off = at - line(*number);
                let number = if *number == NO_WAIT { none } else { *number };
                Tested { number, off, error: error.hypot(EXACT * quantum) }
            })
            .collect();
        let has_none = teeth[0].1 == NO_WAIT;
        let quanta = |number: i64| match has_none && number == none {
            true => 0.0,
            false => steps(spacing, number),
        };
        let prior = match spacing {
            Spacing::Linear => LINEAR_PRIOR,
            Spacing::Doubling => 1.0 - LINEAR_PRIOR,
        };
        let chosen = ln_chosen(teeth.len(), among.len() - teeth.len());
        let span = line(teeth.last()?.1) - line(teeth.first()?.1);
        let wide = |(place, _): &(usize, i64)| {
            let CallPlace { at, deviation, calls, .. } = places[*place];
            ToothWidth { at, deviation, calls }
        };
        let widths = match spacing {
            Spacing::Linear => widths(&teeth.iter().map(wide).collect::<Vec<_>>()),
            Spacing::Doubling => 0.0,
        };
        let ln_alone = odds(&tested, 0, span, &quanta) + prior.ln() + widths;
        let ln_odds = ln_alone - chosen;
        Some(PlacePattern { spacing, origin, quantum, error, teeth, ln_odds, ln_alone, widths })
    }
}

/// The width that the teeth of one timer have in common.
struct Alike {
    variance: f64,
}

impl Alike {
    fn of(places: &[CallPlace], teeth: &[(usize, i64)]) -> Self {
        let teeth = if teeth.len() > TEETH { &teeth[1..] } else { teeth };
        let (calls, squares) = teeth.iter().fold((0.0, 0.0), |(calls, squares), (place, _)| {
            let CallPlace { calls: more, deviation, .. } = places[*place];
            (calls + more, squares + more * deviation * deviation)
        });
        Self { variance: squares / f64::max(calls, 1.0) }
    }

    /// The error of a tooth. A few calls may happen to stand close: they are as wide as the others
    /// until many say otherwise.
    fn error(&self, place: &CallPlace) -> f64 {
        let CallPlace { calls, deviation, error, .. } = *place;
        let alone = deviation * deviation;
        let variance = (calls * alone + SHARED * self.variance) / (calls + SHARED);
        (error * error + (variance - alone) / calls).max(0.25 * error * error).sqrt()
    }
}

/// A tooth's width.
pub(super) struct ToothWidth {
    /// Where it is.
    pub at: f64,
    /// Deviation of its calls.
    pub deviation: f64,
    /// How many they are.
    pub calls: f64,
}

/// Returns ln of the odds by the widths of teeth. One timer's teeth are about as wide as each
/// other. Fixed places have widths in proportion to their times, or widths of their own.
/// The lowest tooth may be the base, which has a width of its own; it is asked only where three are
/// all.
pub(super) fn widths(teeth: &[ToothWidth]) -> f64 {
    let teeth = if teeth.len() > TEETH { &teeth[1..] } else { teeth };
    let variance = |tooth: &ToothWidth| WIDTH_ERROR + 0.5 / (tooth.calls - 1.0).max(1.0);
    // Deviations of logarithms from their mean, in variances that are `more`.
    let squares = |ln: &dyn Fn(&ToothWidth) -> f64, more: f64| {
        let weight = |tooth: &ToothWidth| (variance(tooth) + more).recip();
        let weights: f64 = teeth.iter().map(weight).sum();
        let mean = teeth.iter().map(|tooth| ln(tooth) * weight(tooth)).sum::<f64>() / weights;
        teeth.iter().map(|tooth| weight(tooth) * (ln(tooth) - mean).powi(2)).sum::<f64>()
    };
    let absolute = |tooth: &ToothWidth| tooth.deviation.ln();
    let by_time = |tooth: &ToothWidth| (tooth.deviation / tooth.at.max(f64::MIN_POSITIVE)).ln();
    let narrower = |tooth: &ToothWidth| (variance(tooth) / (variance(tooth) + ANY_WIDTH)).ln();
    let narrower = teeth.iter().map(narrower).sum::<f64>() / teeth.len() as f64;
    let ln_any = (narrower * (teeth.len() - 1) as f64 - squares(&absolute, ANY_WIDTH)) / 2.0;
    let fixed = 0.5 * (-squares(&by_time, 0.0) / 2.0).exp() + 0.5 * ln_any.exp();
    (-squares(&absolute, 0.0) / 2.0 - fixed.ln()).clamp(WIDTHS[0], WIDTHS[1])
}

/// How many quanta a number means.
fn steps(spacing: Spacing, number: i64) -> f64 {
    match spacing {
        Spacing::Linear => number as f64,
        Spacing::Doubling if number == NO_WAIT => 0.0,
        Spacing::Doubling => 2_f64.powi(number.min(64) as i32),
    }
}

/// The places that a pattern explains, each number once.
fn explained(
    places: &[CallPlace],
    among: &[usize],
    spacing: Spacing,
    origin: f64,
    quantum: f64,
) -> Vec<(usize, i64)> {
    let mut teeth: Vec<(usize, i64)> = Vec::new();
    for place in among {
        let CallPlace { at, error, .. } = places[*place];
        let quanta = (at - origin) / quantum;
        let number = match spacing {
            Spacing::Linear => quanta.round(),
            Spacing::Doubling if quanta > 0.7 => quanta.log2().round(),
            Spacing::Doubling => NO_WAIT as f64,
        };
        let expected = origin + quantum * steps(spacing, number as i64);
        let error = error.hypot(EXACT * quantum);
        // The line itself is uncertain too, by about as much as a place.
        let is_near = (at - expected).abs() <= WITHIN * 1.5 * error;
        if is_near
            && error < VAGUE * quantum
            && teeth.last().is_none_or(|last| last.1 < number as i64)
        {
            teeth.push((*place, number as i64));
        }
    }
    teeth
}

/// Weighted least squares: origin, quantum, and the standard error of the quantum.
fn fit(places: &[CallPlace], teeth: &[(usize, i64)], spacing: Spacing) -> Option<[f64; 3]> {
    let alike = Alike::of(places, teeth);
    let [mut w, mut k1, mut k2, mut x, mut kx] = [0.0; 5];
    for (place, number) in teeth {
        let (at, error) = (places[*place].at, alike.error(&places[*place]));
        let (weight, k) = (error.max(1e-9 * at.abs()).powi(-2), steps(spacing, *number));
        w += weight;
        k1 += weight * k;
        k2 += weight * k * k;
        x += weight * at;
        kx += weight * at * k;
    }
    let spread = w * k2 - k1 * k1;
    let quantum = (w * kx - k1 * x) / spread;
    (spread > 0.0 && quantum > 0.0).then(|| [(x - quantum * k1) / w, quantum, (w / spread).sqrt()])
}

/// A tooth of a pattern that is tested.
pub(super) struct Tested {
    /// Its number.
    pub number: i64,
    /// How far it is off.
    pub off: f64,
    /// Standard error of that.
    pub error: f64,
}

/// Returns ln of the odds of ascending teeth against places anywhere in their `span`: the two
/// outermost are given, and holes are paid for. `vague` ones are neither holes nor teeth: some
/// calls stand there, which do not say where.
pub(super) fn odds(teeth: &[Tested], vague: usize, span: f64, quanta: &dyn Fn(i64) -> f64) -> f64 {
    let (Some(first), Some(last)) = (teeth.first(), teeth.last()) else { return 0.0 };
    let inner = teeth.len().saturating_sub(2);
    let all = ((last.number - first.number - 1).max(0) as usize).saturating_sub(vague).max(inner);
    let [from, to] = [first.number, last.number].map(quanta);
    let each = teeth[1..=inner].iter().map(|tooth| {
        let part = (quanta(tooth.number) - from) / (to - from);
        let error = (tooth.error.powi(2)
            + ((1.0 - part) * first.error).powi(2)
            + (part * last.error).powi(2))
        .sqrt();
        (span / (2.506_628 * error)).ln()
    });
    let squares: f64 = teeth.iter().map(|tooth| (tooth.off / tooth.error).powi(2)).sum();
    let holes = all - inner;
    let factorial: f64 = (2..=inner).map(|number| (number as f64).ln()).sum();
    each.sum::<f64>() - squares / 2.0 - factorial - ln_choose(all, holes)
        + holes as f64 * HOLE_PRIOR.ln()
        + (1.0 - HOLE_PRIOR).ln()
}

/// Returns what it costs that a pattern explains so many places, and so many others it does not.
pub(super) fn ln_chosen(explained: usize, others: usize) -> f64 {
    ln_choose(explained + others, others)
        - others as f64 * OTHER_PRIOR.ln()
        - explained as f64 * (1.0 - OTHER_PRIOR).ln()
}

/// ln of the number of ways to choose `some` of `all`.
fn ln_choose(all: usize, some: usize) -> f64 {
    (0..some.min(all)).map(|at| ((all - at) as f64 / (some - at) as f64).ln()).sum()
}

#[cfg(test)]
mod tests;
