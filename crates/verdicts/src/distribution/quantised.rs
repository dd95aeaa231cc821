//! Searches a series for combs in all ways, and puts what is found into a verdict.
//!
//! First the places at which calls stand are asked for a pattern (`places.rs`, `patterns.rs`).
//! When one is found, the other places are asked for a second. Without a pattern, a comb of faint
//! teeth is looked for (`faint.rs`). Else the spectrum proposes wide ones (`comb.rs`): linear ones
//! of all calls and of the slow ones. Geometric ones are looked for where none is found, or one
//! with holes. All of them must be likelier than places anywhere. The line through the teeth is
//! then fitted to the calls. Undelayed calls stand at the base, and are on no tooth. That is the
//! lowest place of the comb, or a fuller one below it, or the fast calls where only slow ones were
//! searched.
//! Invariant: patterns are judged at one false alarm in two hundred samples, nominally, and each
//! search behind them at a third of that. What all of them come to is counted, not bounded. The
//! order of the calls counts only where they have times.
//!
//! After a change count combs and planted causes again (`examples/calibrate.rs`,
//! `examples/truth.rs`, docs/lab/trust.md).

use super::comb::{CombSearch, ConfirmedComb};
use super::fit::{self, CombLine};
use super::geometric::{self, Geometric};
use super::patterns::{self, NO_WAIT, PlacePattern, Spacing, Tested, ToothWidth};
use super::places::{self, CallPlace};
use super::shares::Teeth;
use super::teeth::{Points, TEETH, TOOTH_CALLS};
use super::tested::{self, SpectrumTooth, TestedTooth};
use super::{backlog, faint, fixed, null, pace, phase_lock, runs, tail, timers};
use crate::quantiles::Sorted;
use crate::series::Series;
use crate::significance::COMB_FALSE_ALARM_RATE;
use crate::verdict::{CombEvidence, Quantised};

/// Parts of [`COMB_FALSE_ALARM_RATE`], of which each search behind the patterns takes one. They are
/// five: faint, linear of all calls, linear of the slow ones, geometric with and without
/// [`RETRY_MS`].
const SEARCHES: f64 = 3.0;
/// Milliseconds added before looking for SYN retries: 1, 3, 7 s are 2, 4, 8 s less one.
const RETRY_MS: f64 = 1000.0;
/// ln of the odds against places anywhere from which a pattern is believed.
const LN_ODDS_MIN: f64 = 2.0;
/// Chance that smooth calls have a place, below which it speaks against a comb.
const PLACE_P_MAX: f64 = 0.01;
/// The lowest tooth is the base if it is below this part of a quantum,
const BELOW: f64 = 0.6;
/// or if it has so many times the calls of the fullest other one.
const FULLER: f64 = 2.5;
/// Deviations within which a place is on a tooth.
const WITHIN: f64 = 2.0;
/// A place of this deviation, in quanta, is as wide as a quantum: teeth may stand within it.
const HIDING: f64 = 0.29;
/// Part of the calls at fixed places above which a comb of the spectrum is not believed.
const ALL_FIXED: f64 = 0.97;
/// A base may be so much of a quantum below a whole number of quanta.
const SHORT: f64 = 0.1;

/// Nothing waits for less than a microsecond.
const QUANTUM_MIN_MS: f64 = 1e-3;

/// A search for combs in one series.
pub(super) struct CombJudge<'a> {
    /// In order.
    series: &'a Series,
    /// Milliseconds of each call, dithered, in order.
    values: &'a [f64],
    /// The same, the fastest first.
    sorted: Sorted,
    places: Vec<CallPlace>,
    step: f64,
    seed: u64,
}

/// The teeth of a comb with their numbers, of which 0 is no wait.
struct Numbered {
    teeth: Vec<(u64, f64)>,
    /// Where undelayed calls stand, and their deviation.
    base: Option<(f64, f64)>,
}

impl<'a> CombJudge<'a> {
    /// Looks at the calls of `series`, whose `values` were written down in steps of `step`.
    pub(super) fn new(series: &'a Series, values: &'a [f64], step: f64, seed: u64) -> Self {
        let sorted = Sorted::new(values);
        let mut places = places::find(sorted.values(), step);
        // Where a pattern has its next teeth, a few calls are enough to see one.
        for pattern in patterns::believed(&places, LN_ODDS_MIN) {
            let expected = pattern.next(&places, sorted.at(1.0));
            places::add(&mut places, sorted.values(), &expected, step);
        }
        Self { series, values, sorted, places, step, seed }
    }

    /// Returns the places at which calls stand.
    pub(super) fn places(&self) -> &[CallPlace] {
        &self.places
    }

    /// Returns the combs, the most likely first.
    pub(super) fn combs(&self) -> Vec<Quantised> {
        let patterns = patterns::believed(&self.places, LN_ODDS_MIN);
        let combs = patterns.iter().filter_map(|pattern| self.of_pattern(pattern));
        let combs: Vec<Quantised> = combs.filter(is_of_timer).collect();
        // Fixed places without a pattern describe better what the spectrum would find.
        if combs.is_empty() {
            let other = self.faint().or_else(|| self.by_spectrum());
            return other.into_iter().filter(is_of_timer).collect();
        }
        combs
    }

    /// Returns whether nearly all calls stand at places, of which there are enough for a pattern.
    /// None may be so wide that teeth of this quantum could stand within it.
    fn are_fixed(&self, quantum: f64) -> bool {
        self.places.iter().all(|place| place.deviation < HIDING * quantum)
            && fixed::modality(&self.places, self.values.len())
                .is_some_and(|fixed| fixed.modes.len() >= TEETH && fixed.explained > ALL_FIXED)
            && patterns::believed(&self.places, 0.0).is_empty()
    }

    fn is_ordered(&self) -> bool {
        !self.series.began_ms.is_empty()
    }

    /// The calls in their order, or nothing where that is not known.
    fn in_order(&self) -> &[f64] {
        if self.is_ordered() { self.values } else { &[] }
    }

    /// The verdict of a pattern, unless the calls say otherwise.
    fn of_pattern(&self, pattern: &PlacePattern) -> Option<Quantised> {
        let mut ln_p: Vec<f64> =
            pattern.teeth.iter().map(|(at, _)| self.places[*at].ln_p).collect();
        ln_p.sort_by(f64::total_cmp);
        // Chance makes the third place, and then a pattern of the three.
        let p = (ln_p[TEETH - 1] - pattern.ln_odds).exp();
        if p > COMB_FALSE_ALARM_RATE {
            return None;
        }
        let evidence = CombEvidence {
            p: p.min(1.0),
            p_places: 1.0 / (1.0 + pattern.ln_odds.exp()),
            is_ordered: self.is_ordered(),
            ..CombEvidence::default()
        };
        match pattern.spacing {
            Spacing::Linear => self.linear_pattern(pattern, evidence),
            Spacing::Doubling => Some(self.doubling_pattern(pattern, evidence)),
        }
    }

    fn linear_pattern(&self, pattern: &PlacePattern, evidence: CombEvidence) -> Option<Quantised> {
        let found: Vec<(i64, &CallPlace)> =
            pattern.teeth.iter().map(|(at, k)| (*k, &self.places[*at])).collect();
        let numbered = self.numbered(pattern, &found);
        let is_base_seen = numbered.base.is_some_and(|(at, _)| at == found[0].1.at);
        let fitted = if is_base_seen && found.len() > TEETH { &found[1..] } else { &found[..] };
        let deviation = deviation(fitted.iter().map(|(_, place)| *place));
        let at = |k: i64| pattern.origin + k as f64 * pattern.quantum;
        let half = pattern.quantum / 2.0;
        let ends = [at(fitted[0].0) - half, at(fitted[fitted.len() - 1].0) + half];
        let [from, to] = ends.map(|end| self.sorted.values().partition_point(|value| *value < end));
        let window = (6.0 * deviation / pattern.quantum).clamp(1e-4, 0.4);
        let seen = &self.sorted.values()[from..to];
        let points = Points { at: seen, calls: &[], width: 0.0, tooth: TOOTH_CALLS };
        let comb = points.cut(pattern.quantum, pattern.origin, window);
        let line = fit::line(seen, &comb).unwrap_or(CombLine {
            quantum: pattern.quantum,
            origin: pattern.origin,
            jitter: deviation,
            margin: 2.0 * pattern.error,
            is_straight: true,
        });
        if backlog::is_backlog(self.in_order(), self.sorted.values(), &line, self.step) {
            return None;
        }
        let rounded = deviation < 0.6 * self.step;
        let margin = if rounded { line.margin.max(2.0 * pattern.error) } else { line.margin };
        let line = CombLine { margin, ..line };
        Some(self.linear(&line, &numbered, evidence))
    }

    /// Which tooth is which, and where the base is.
    fn numbered(&self, pattern: &PlacePattern, found: &[(i64, &CallPlace)]) -> Numbered {
        let (lowest, place) = found[0];
        let others = found[1..].iter().map(|(_, place)| place.calls).fold(0.0, f64::max);
        let below =
            self.places.iter().filter(|other| other.at < place.at - pattern.quantum * SHORT);
        let below = below.max_by(|one, other| one.calls.total_cmp(&other.calls));
        let first = match below {
            Some(base) if base.calls > place.calls => {
                let quanta = ((place.at - base.at) / pattern.quantum).round().max(1.0);
                return Numbered {
                    teeth: teeth(found, quanta as i64 - lowest),
                    base: Some((base.at, base.deviation)),
                };
            }
            _ if place.at < BELOW * pattern.quantum || place.calls > FULLER * others => 0,
            _ => ((place.at / pattern.quantum + SHORT).floor() as i64).max(1),
        };
        let base = (first == 0).then_some((place.at, place.deviation));
        Numbered { teeth: teeth(found, first - lowest), base }
    }

    /// The verdict of a linear comb.
    fn linear(&self, line: &CombLine, numbered: &Numbered, evidence: CombEvidence) -> Quantised {
        let teeth = Teeth {
            at: &numbered.teeth,
            deviation: line.jitter.max(0.3 * self.step),
            reach_max: line.quantum / 2.0,
            base: numbered.base,
        };
        let shares = teeth.count(self.sorted.values());
        let (k, _) = numbered.teeth.first().copied().unwrap_or_default();
        let first = numbered.teeth.first().map_or(line.origin, |tooth| tooth.1);
        // The line's own tooth nearest to the first one.
        let at = first - line.place(first).1;
        let pace = pace::of(self.series, line, numbered.base.map(|base| base.0));
        Quantised {
            spacing: "linear".into(),
            quantum_ms: line.quantum,
            ci_ms: [line.quantum - line.margin, line.quantum + line.margin],
            offset_ms: at - k as f64 * line.quantum,
            teeth: shares.teeth,
            base_ms: numbered.base.map(|base| base.0),
            share: shares.calls,
            share_ci: shares.calls_ci,
            excess_share: shares.time,
            excess_share_ci: shares.time_ci,
            evidence: CombEvidence { explained: shares.explained, pace, ..evidence },
            within: if numbered.base.is_some() { "tail" } else { "all" }.into(),
            phase_locked: phase_lock::in_step(self.series, line.quantum),
            nearest: timers::nearest(line.quantum),
        }
    }

    /// The verdict of waits that double. Waits that add up have their first below the origin: the
    /// unit is halved as long as no wait at all is still a time.
    fn doubling_pattern(&self, pattern: &PlacePattern, evidence: CombEvidence) -> Quantised {
        let (mut unit, mut first) = (pattern.quantum, 0);
        while pattern.origin < -SHORT * unit && pattern.origin + unit / 2.0 >= -SHORT * unit {
            unit /= 2.0;
            first += 1;
        }
        let found: Vec<(i64, &CallPlace)> = pattern
            .teeth
            .iter()
            .filter(|(_, k)| *k != NO_WAIT)
            .map(|(at, k)| (*k + first, &self.places[*at]))
            .collect();
        let adds_up = pattern.origin < -SHORT * unit;
        let lowest = found[0].1;
        let below = self.places.iter().filter(|other| other.at < lowest.at);
        let below = below.max_by(|one, other| one.calls.total_cmp(&other.calls));
        let base = if adds_up && found[0].0 == 0 { Some(lowest) } else { below };
        let base = base.map(|place| (place.at, place.deviation));
        let least = i64::from(adds_up);
        let waits: Vec<(i64, &CallPlace)> =
            found.iter().copied().filter(|(k, _)| *k >= least).collect();
        let numbered = Numbered {
            teeth: waits.iter().map(|(k, place)| (*k as u64, place.at)).collect(),
            base,
        };
        let margin = 2.2 * pattern.error * unit / pattern.quantum;
        let teeth = Teeth {
            at: &numbered.teeth,
            deviation: deviation(waits.iter().map(|(_, place)| *place)),
            reach_max: unit / 2.0,
            base,
        };
        let shares = teeth.count(self.sorted.values());
        Quantised {
            spacing: "geometric".into(),
            quantum_ms: unit,
            ci_ms: [unit - margin, unit + margin],
            offset_ms: pattern.origin,
            teeth: shares.teeth,
            base_ms: base.map(|base| base.0),
            share: shares.calls,
            share_ci: shares.calls_ci,
            excess_share: shares.time,
            excess_share_ci: shares.time_ci,
            evidence: CombEvidence { explained: shares.explained, ..evidence },
            within: if base.is_some() { "tail" } else { "all" }.into(),
            phase_locked: None,
            nearest: timers::nearest(unit),
        }
    }

    /// The comb that the spectrum proposes, if there is one. A linear one is preferred unless it
    /// has holes and a geometric one explains more calls.
    fn by_spectrum(&self) -> Option<Quantised> {
        let p_max = COMB_FALSE_ALARM_RATE / SEARCHES;
        let search = |values: &[f64], floor: f64| {
            let calls = self.in_order();
            let events = if self.is_ordered() { runs::collapsed(values) } else { values.to_vec() };
            CombSearch { values: &events, calls, floor, step: self.step, seed: self.seed }
                .search(p_max, |line| !self.are_fixed(line.quantum))
        };
        let values = self.values;
        let all = search(values, 0.0);
        let above_tooth = || all.as_ref().and_then(|all| all.line.above_most(values));
        let tail = tail::cut(values).or_else(above_tooth).and_then(|cut| {
            let (slow, fast): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value > cut);
            let tail = search(&slow, cut)?;
            let is_chance = !self.is_ordered() && backlog::can_line_up(&slow, &fast, &tail.line);
            (!is_chance).then_some((tail, slow, fast))
        });
        let linear = match tail {
            Some((tail, slow, fast)) => Some(joined(all, tail, &fast, &slow)),
            None => all.map(|all| (all, None)),
        };
        let linear = linear.and_then(|(found, base)| self.likely(&found, base));
        let geometric = || {
            let syn = geometric::search(values, RETRY_MS, TEETH, p_max, self.seed);
            syn.or_else(|| geometric::search(values, 0.0, TEETH + 1, p_max, self.seed))
        };
        let has_holes = linear.as_ref().is_none_or(|found| found.has_holes);
        let doubling = if has_holes { geometric() } else { None };
        let doubling = doubling.and_then(|found| self.geometric(&found));
        match (linear, doubling) {
            (Some(linear), Some(doubling)) => {
                let explains = |comb: &Quantised| comb.evidence.explained;
                let is_better = explains(&doubling) > explains(&linear.comb);
                Some(if is_better { doubling } else { linear.comb })
            }
            (linear, doubling) => linear.map(|linear| linear.comb).or(doubling),
        }
    }

    /// The comb whose teeth stand out only together, if there is one.
    fn faint(&self) -> Option<Quantised> {
        let p_max = COMB_FALSE_ALARM_RATE / SEARCHES;
        let found = faint::search(&self.sorted, self.in_order(), self.step, p_max)?;
        Some(self.likely(&found, None)?.comb)
    }

    /// The verdict of a comb of the spectrum, if it is likelier than places anywhere.
    fn likely(&self, found: &ConfirmedComb, base: Option<(f64, f64)>) -> Option<LikelyComb> {
        let line = &found.line;
        let counted = found.counted(self.values);
        let occupied: Vec<(i64, f64)> =
            counted.occupied().map(|(k, cell)| (k, cell.on_tooth())).collect();
        let tooth = |k: i64| SpectrumTooth {
            at: line.origin + k as f64 * line.quantum,
            deviation: line.jitter,
            apart: line.quantum,
        };
        // A faint tooth is a tooth where a hole is not proven.
        let ends = [occupied.first()?.0, occupied.last()?.0];
        let numbers = (counted.first..).zip(&counted.cells);
        let filled = numbers.filter(|(k, cell)| {
            (ends[0]..=ends[1]).contains(k) && cell.within > cell.chance * cell.calls
        });
        let mut teeth: Vec<TestedTooth> =
            filled.filter_map(|(k, _)| tested::tested(&self.sorted, &tooth(k), k)).collect();
        let filled = teeth.len();
        teeth.retain(|tooth| tooth.tested.error < patterns::VAGUE * line.quantum);
        let vague = filled - teeth.len();
        let (tested, widths): (Vec<Tested>, Vec<Option<ToothWidth>>) =
            teeth.into_iter().map(|tooth| (tooth.tested, tooth.width)).unzip();
        let widths: Option<Vec<ToothWidth>> = widths.into_iter().collect();
        let widths = widths.map_or(0.0, |widths| patterns::widths(&widths));
        let span = tested.last()?.number - tested.first()?.number;
        let ln_odds =
            patterns::odds(&tested, vague, span as f64 * line.quantum, &|number| number as f64)
                + patterns::LINEAR_PRIOR.ln()
                + widths
                - patterns::ln_chosen(tested.len(), beside(&self.places, line, base));
        if tested.len() < TEETH || ln_odds < LN_ODDS_MIN {
            return None;
        }
        let at = |k: i64| line.origin + k as f64 * line.quantum;
        let (lowest, calls) = *occupied.first()?;
        let others = occupied[1..].iter().map(|(_, calls)| *calls).fold(0.0, f64::max);
        let first = match base {
            Some((base, _)) => ((at(lowest) - base) / line.quantum).round().max(1.0) as i64,
            None if at(lowest) < BELOW * line.quantum || calls > FULLER * others => 0,
            None => ((at(lowest) / line.quantum + SHORT).floor() as i64).max(1),
        };
        let base = base.or((first == 0).then_some((at(lowest), line.jitter)));
        let teeth = occupied.iter().filter_map(|(k, _)| {
            let number = u64::try_from(k - lowest + first).ok()?;
            (number > 0).then_some((number, at(*k)))
        });
        let numbered = Numbered { teeth: teeth.collect(), base };
        let evidence = CombEvidence {
            p: (found.p * SEARCHES).min(1.0),
            p_least: found.p_confirmed.map(|_| null::p_least() * SEARCHES),
            p_confirmed: found.p_confirmed,
            p_places: 1.0 / (1.0 + ln_odds.exp()),
            is_ordered: self.is_ordered(),
            ..CombEvidence::default()
        };
        let comb = self.linear(line, &numbered, evidence);
        Some(LikelyComb { comb, has_holes: found.comb.has_holes() })
    }

    /// A geometric comb of the spectrum as a verdict: its quantum is the unit that doubles.
    fn geometric(&self, found: &Geometric) -> Option<Quantised> {
        let comb = &found.comb;
        let tooth = |k: i64| found.unit_ms * 2_f64.powi(k as i32) - found.added_ms;
        // On a scale of octaves, as the search was.
        let tested = comb.occupied().filter_map(|(k, _)| {
            let octave = (tooth(k) + found.added_ms) * std::f64::consts::LN_2;
            let deviation = (comb.window / 6.0 + 0.01) * octave;
            let Tested { number, off, error } = tested::tested(
                &self.sorted,
                &SpectrumTooth { at: tooth(k), deviation, apart: 0.7 * octave },
                k,
            )?
            .tested;
            Some(Tested { number, off: off / octave, error: error / octave })
        });
        let tested: Vec<Tested> = tested.collect();
        let span = tested.last()?.number - tested.first()?.number;
        let off = off(&self.places, |place| {
            let octaves = ((place.at + found.added_ms).max(1e-9) / found.unit_ms).log2();
            (octaves - octaves.round()).abs() > comb.window / 2.0
        });
        let ln_odds = patterns::odds(&tested, 0, span as f64, &|number| number as f64)
            + (1.0 - patterns::LINEAR_PRIOR).ln()
            - patterns::ln_chosen(tested.len(), off);
        if tested.len() < TEETH || ln_odds < LN_ODDS_MIN {
            return None;
        }
        Some(self.doubling(found, ln_odds))
    }

    /// The verdict of a geometric comb.
    fn doubling(&self, found: &Geometric, ln_odds: f64) -> Quantised {
        let comb = &found.comb;
        let least = comb.occupied().map(|(k, _)| k).min().unwrap_or(0);
        // Of SYN retries the unit is what was added; of a backoff, the first tooth.
        let first = if found.added_ms > 0.0 {
            (found.added_ms / found.unit_ms).log2().round() as i64
        } else {
            least
        };
        let unit = found.unit_ms * 2_f64.powi(first as i32);
        let offset_ms = if found.added_ms > 0.0 { -unit } else { 0.0 };
        let at: Vec<(u64, f64)> = comb
            .occupied()
            .filter_map(|(k, _)| {
                let k = u64::try_from(k - first).ok()?;
                Some((k, offset_ms + unit * 2_f64.powi(k as i32)))
            })
            .collect();
        let deviation = comb.window * unit / 6.0;
        let teeth = Teeth { at: &at, deviation, reach_max: unit / 2.0, base: None };
        let shares = teeth.count(self.sorted.values());
        let factor = found.margin.exp2();
        Quantised {
            spacing: "geometric".into(),
            quantum_ms: unit,
            ci_ms: [unit / factor, unit * factor],
            offset_ms,
            teeth: shares.teeth,
            base_ms: None,
            share: shares.calls,
            share_ci: shares.calls_ci,
            excess_share: shares.time,
            excess_share_ci: shares.time_ci,
            evidence: CombEvidence {
                p: (found.p * SEARCHES).min(1.0),
                p_least: Some(null::p_least() * SEARCHES),
                p_confirmed: Some(found.p_confirmed),
                p_places: 1.0 / (1.0 + ln_odds.exp()),
                explained: shares.explained,
                is_ordered: self.is_ordered(),
                ..CombEvidence::default()
            },
            within: "all".into(),
            phase_locked: None,
            nearest: timers::nearest(unit),
        }
    }
}

/// A comb of the spectrum that is likelier than places anywhere.
struct LikelyComb {
    comb: Quantised,
    has_holes: bool,
}

/// How many places are on no tooth of a line, and not the base.
fn beside(places: &[CallPlace], line: &CombLine, base: Option<(f64, f64)>) -> usize {
    let is_base =
        |place: &CallPlace| base.is_some_and(|(at, _)| place.ends[0] <= at && at <= place.ends[1]);
    off(places, |place| {
        let reach = WITHIN * (place.error + line.jitter.min(SHORT * line.quantum));
        let is_narrow = place.deviation < SHORT * line.quantum;
        is_narrow && !is_base(place) && line.place(place.at).1.abs() > reach
    })
}

/// How many places of which smooth calls have none are off a comb.
fn off(places: &[CallPlace], is_off: impl Fn(&CallPlace) -> bool) -> usize {
    let is_place = |place: &&CallPlace| place.ln_p < PLACE_P_MAX.ln();
    places.iter().filter(is_place).filter(|place| is_off(place)).count()
}

/// Whether a comb is not that of the clock.
fn is_of_timer(comb: &Quantised) -> bool {
    comb.quantum_ms >= QUANTUM_MIN_MS
}

/// The comb of all calls, if there is one, or that of the slow ones, with the base of the fast
/// ones. One hump of fast calls has no say in the line: taken for a tooth that it is not, it would
/// bend it.
fn joined(
    all: Option<ConfirmedComb>,
    tail: ConfirmedComb,
    fast: &[f64],
    slow: &[f64],
) -> (ConfirmedComb, Option<(f64, f64)>) {
    let fast_calls = Sorted::new(fast);
    let base = Some((fast_calls.median(), fast_calls.spread()));
    match all {
        None => (tail, base),
        Some(all) if !all.line.holds(fast) => (all, None),
        Some(all) if all.line.quanta(fast) < 1.0 || !tail.line.meets(fast, slow) => (tail, base),
        Some(all) if all.line.is_one_tooth(fast) => {
            (ConfirmedComb { line: tail.line.numbered_as(&all.line, slow), ..all }, None)
        }
        Some(all) => (all, None),
    }
}

/// The teeth above no wait, with so much added to their numbers.
fn teeth(found: &[(i64, &CallPlace)], more: i64) -> Vec<(u64, f64)> {
    let numbered = found.iter().map(|(k, place)| (k + more, place.at));
    numbered.filter(|(k, _)| *k > 0).map(|(k, at)| (k as u64, at)).collect()
}

/// The deviation that the calls of places have together.
fn deviation<'p>(places: impl Iterator<Item = &'p CallPlace>) -> f64 {
    let (calls, squares) = places.fold((0.0, 0.0), |(calls, squares), place| {
        (calls + place.calls, squares + place.calls * place.deviation.powi(2))
    });
    (squares / f64::max(calls, 1.0)).sqrt()
}
