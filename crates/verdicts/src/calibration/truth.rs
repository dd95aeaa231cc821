//! Counts how often whole verdicts say what was planted: one row for each way of being wrong that
//! was once seen.
//!
//! `samples.rs` makes the calls, and the rows of [`rows`] hold verdicts against what was planted.
//! Invariant: a set is drawn from the seed that the caller gives, its row's place and its number.
//! So a method is chosen on one seed and counted on another; docs/lab/trust.md says on which.
//! New rows go last, because the place of a row chooses its samples.
//!
//! `examples/truth.rs` prints the table. Rows with `judge` see what a user sees, modes and clocks
//! included; [`super::false_alarms`] counts the search for combs alone.
//! Never here: what the verdict should be for real servers, which `cargo xtask soak lab` tests.

mod samples;

use std::ops::Range;

use super::{CombSample, NullFamily};
use crate::distribution::judge;
use crate::random::Draw;
use crate::series::Series;
use crate::split::Split;
use crate::steps::steps;
use crate::verdict::{Quantised, Verdict};

use samples::{Base, NamedStep, Planted, Smoothness};

/// What is counted of one set: each of the row's claims holds, does not, or was not asked.
type Claimed = [Option<bool>; 3];

/// Holds the verdict on one set against what was planted.
type Score = Box<dyn Fn(&mut Draw, u64) -> Claimed + Sync>;

/// Makes calls.
type MakeSeries = fn(&mut Draw) -> Series;

/// A row of the table.
pub struct TruthRow {
    /// What the calls are.
    pub name: String,
    /// What is claimed of them.
    pub claims: &'static [&'static str],
    /// Whether a set has so many calls that a quarter of the sets is enough to count.
    pub is_large: bool,
    score: Score,
}

impl TruthRow {
    fn new(
        name: impl Into<String>,
        claims: &'static [&'static str],
        score: impl Fn(&mut Draw, u64) -> Claimed + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), claims, is_large: false, score: Box::new(score) }
    }

    fn large(self) -> Self {
        Self { is_large: true, ..self }
    }

    /// Counts, over the sets of a range, how often each claim holds, and of how many.
    pub fn count(&self, seed: u64, row: usize, sets: Range<u64>) -> [[u64; 2]; 3] {
        let mut counts = [[0; 2]; 3];
        for set in sets {
            let mut draw = Draw::new(seed, (row as u64) << 32 | set);
            let holding = (self.score)(&mut draw, set);
            for (count, holding) in counts.iter_mut().zip(holding) {
                count[0] += u64::from(holding == Some(true));
                count[1] += u64::from(holding.is_some());
            }
        }
        counts
    }
}

/// Calls of a large set begin here.
const LARGE: usize = 1_000;

const QUANTUM: &[&str] = &["its quantum", "interval holds it"];
const SHARES: &[&str] = &["its quantum", "share held", "time share held"];
const LADDER: &[&str] = &["named a ladder", "its unit", "interval holds it"];

/// Returns all rows.
pub fn rows() -> Vec<TruthRow> {
    let mut rows = Vec::new();
    share_rows(&mut rows);
    place_rows(&mut rows);
    spacing_rows(&mut rows);
    sharp_rows(&mut rows);
    order_rows(&mut rows);
    clock_rows(&mut rows);
    step_rows(&mut rows);
    timer_rows(&mut rows);
    smooth_rows(&mut rows);
    comb_rows(&mut rows);
    large_rows(&mut rows);
    asked_rows(&mut rows);
    rows
}

/// Part A, point 1: undelayed calls around a base, and teeth above them.
fn share_rows(rows: &mut Vec<TruthRow>) {
    for (quanta, name) in [(0.1, "0.1"), (0.8, "0.8"), (1.7, "1.7"), (3.3, "3.3"), (5.0, "5")] {
        for share in [0.056, 0.3] {
            let name = format!(
                "base of {name} quanta ± 5 %, {:.1} % of 2,000 calls wait 1 to 4",
                share * 100.0
            );
            rows.push(TruthRow::new(name, SHARES, move |draw, set| {
                let planted = Planted::over(Base { quanta, share }, 2_000, draw);
                let Some(found) = comb(&planted.series, set) else {
                    return [Some(false), None, None];
                };
                let is_right = planted.is_near(found.quantum_ms);
                [
                    Some(is_right),
                    Some(planted.holds_share(&found)),
                    Some(planted.holds_time(&found)),
                ]
            }));
        }
    }
}

/// Point 2: narrow modes at random places.
fn place_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["no comb", "as many places named"];
    for places in 2..=8 {
        let name = format!("{places} fixed latencies anywhere, 60 to 1,000 calls");
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            let series = samples::places(places, draw);
            [Some(comb(&series, set).is_none()), Some(modes(&series, set) == places), None]
        }));
    }
    rows.push(TruthRow::new("46, 66, 98 and 161 ms, 200 calls", CLAIMS, |draw, set| {
        let series = samples::real_looking(draw);
        [Some(comb(&series, set).is_none()), Some(modes(&series, set) == 4), None]
    }));
}

/// Point 3: linear or geometric.
fn spacing_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["named linear", "its quantum", "interval holds it"];
    rows.push(TruthRow::new("polls of 10 to 1,000 ms, 500 calls", CLAIMS, |draw, set| {
        let planted = Planted::polls(draw);
        let Some(found) = comb(&planted.series, set) else { return [Some(false), None, None] };
        let is_right = planted.is_near(found.quantum_ms);
        [Some(found.spacing == "linear"), Some(is_right), is_right.then(|| planted.holds(&found))]
    }));
    rows.push(TruthRow::new("waits that double, 300 calls", LADDER, |draw, set| {
        ladder(&Planted::doubling(draw), set)
    }));
}

/// Point 4: sharp and exact teeth.
fn sharp_rows(rows: &mut Vec<TruthRow>) {
    let cases = [
        (3, 30, 0.0005),
        (3, 30, 0.002),
        (3, 300, 0.0005),
        (3, 3_000, 0.002),
        (3, 30, 0.01),
        (3, 30, 0.05),
        (6, 60, 0.0005),
        (6, 600, 0.0005),
        (6, 600, 0.002),
    ];
    for (teeth, calls, sigma) in cases {
        let percent = sigma * 100.0;
        let name = format!("{teeth} teeth, deviation {percent} % of the quantum, {calls} calls");
        rows.push(TruthRow::new(name, QUANTUM, move |draw, set| {
            quantum(&Planted::sharp(teeth, calls, sigma, draw), set)
        }));
    }
    for (teeth, calls) in [(3, 30), (3, 300), (6, 60), (6, 600)] {
        let name = format!("{teeth} teeth of exact sleeps, whole milliseconds, {calls} calls");
        rows.push(TruthRow::new(name, QUANTUM, move |draw, set| {
            quantum(&Planted::exact(teeth, calls, draw), set)
        }));
    }
}

/// Point 5: rows in any order.
fn order_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["one verdict, whatever the order"];
    let cases: [(&str, MakeSeries); 3] = [
        ("50 calls on three teeth, sorted, reversed, shuffled", samples::three_teeth),
        ("a convoy without times, sorted, reversed, shuffled", |draw| Series {
            began_ms: Vec::new(),
            ..samples::convoy(draw)
        }),
        ("300 smooth calls, sorted, reversed, shuffled", |draw| {
            Smoothness::Lognormal.series(300, draw)
        }),
    ];
    for (name, series) in cases {
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            let orders = samples::orders(&series(draw), draw);
            let first = judge(&orders[0], set);
            [Some(orders[1..].iter().all(|other| judge(other, set) == first)), None, None]
        }));
    }
}

/// Point 6: periods of periodic stalls.
fn clock_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["locked, or in step", "its period", "interval holds it"];
    for seconds in [1.0, 10.0, 60.0] {
        let name = format!("a stall every {seconds} s, 40 of them");
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            let series = samples::stalls(seconds * 1e3, draw);
            let verdicts = judge(&series, set);
            let lock = verdicts.iter().find_map(|verdict| match verdict {
                Verdict::Locked(lock) => Some(lock),
                _ => None,
            });
            let Some(lock) = lock else { return [Some(false), None, None] };
            let period = seconds * 1e3;
            let is_right = (lock.period_ms / period - 1.0).abs() < 0.01;
            let holds = lock.ci_ms[0] <= period && period <= lock.ci_ms[1];
            [Some(true), Some(is_right), is_right.then_some(holds)]
        }));
    }
}

/// Point 7: a step that is slow in many calls.
fn step_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["step convicted", "no other step", "no contradiction"];
    for (share, is_coarse) in
        [(0.02, true), (0.12, true), (0.2, true), (0.3, true), (0.12, false), (0.3, false)]
    {
        let kind = if is_coarse { "70 or 370 ms" } else { "smooth steps, 300 ms more" };
        let name = format!("{kind}, slow in {:.0} % of 300 calls", share * 100.0);
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            step_claims(&samples::slow_step(300, share, is_coarse, draw), set)
        }));
    }
    const OUTSIDE: &[&str] = &["no step blamed"];
    rows.push(TruthRow::new("15 steps, stalls from outside, 300 calls", OUTSIDE, |draw, set| {
        let NamedStep { series, .. } = samples::struck(draw);
        let found = steps(&series, &Split::new(&series.total_ms, None), set);
        let blames = found.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Step(_)));
        [Some(!blames), None, None]
    }));
}

fn step_claims(planted: &NamedStep, set: u64) -> Claimed {
    let series = &planted.series;
    let found = steps(series, &Split::new(&series.total_ms, None), set);
    let (mut is_significant, mut others, mut contradicts) = (false, false, false);
    for verdict in &found.verdicts {
        match verdict {
            Verdict::Step(step) if step.step == planted.step => is_significant = true,
            Verdict::Step(_) | Verdict::Outside(_) => others = true,
            Verdict::Excess(excess) => contradicts |= excess.part > 0.95,
            _ => {}
        }
    }
    [Some(is_significant), Some(!others), Some(!contradicts)]
}

/// Point 8: causes by their shape.
fn timer_rows(rows: &mut Vec<TruthRow>) {
    const BOTH: &[&str] = &["both named", "one of them"];
    rows.push(TruthRow::new("quanta of 40 and 500 ms, 1,000 calls", BOTH, |draw, set| {
        let found = combs(&samples::two_combs(draw), set);
        let has = |ms: f64| found.iter().any(|comb| (comb.quantum_ms / ms - 1.0).abs() < 0.03);
        [Some(has(40.0) && has(500.0)), Some(has(40.0) || has(500.0)), None]
    }));
    for (name, waits) in [
        ("RTO 200, 400, 800 ms in 15 % of 600 calls", [200.0, 400.0, 800.0]),
        ("RTO 200, 600, 1,400 ms in 15 % of 600 calls", [200.0, 600.0, 1_400.0]),
    ] {
        rows.push(TruthRow::new(name, LADDER, move |draw, set| {
            ladder(&Planted::retried(600, 0.15, waits, 200.0, draw), set)
        }));
    }
    rows.push(TruthRow::new("DNS 5, 10, 15 s in 10 % of 500 calls", SHARES, |draw, set| {
        let planted = Planted::retried(500, 0.1, [5e3, 10e3, 15e3], 5e3, draw);
        let Some(found) = comb(&planted.series, set) else { return [Some(false), None, None] };
        let is_right = planted.is_near(found.quantum_ms) && found.spacing == "linear";
        [Some(is_right), Some(planted.holds_share(&found)), Some(planted.holds_time(&found))]
    }));
    for share in [0.005, 0.01, 0.02] {
        let name = format!("500 ms in {} % of 20,000 calls, under a broad hump", share * 100.0);
        let row = TruthRow::new(name, QUANTUM, move |draw, set| {
            quantum(&Planted::faint(share, draw), set)
        });
        rows.push(row.large());
    }
    const PACED: &[&str] = &["its pace named", "as what it is"];
    let cases: [(&str, &str, f64, MakeSeries); 2] = [
        ("a convoy of 50 ms a call, 400 calls", "convoy", 50.0, samples::convoy),
        ("a token bucket of 100 ms, 400 calls", "tokens", 100.0, samples::token_bucket),
    ];
    for (name, kind, ms, series) in cases {
        rows.push(TruthRow::new(name, PACED, move |draw, set| {
            let found = combs(&series(draw), set);
            let near = |comb: &&Quantised| (comb.quantum_ms / ms - 1.0).abs() < 0.03;
            let found = found.iter().find(near);
            [Some(found.is_some()), Some(found.is_some_and(|comb| is_paced(comb, kind))), None]
        }));
    }
}

fn is_paced(comb: &Quantised, kind: &str) -> bool {
    comb.evidence.pace.as_deref() == Some(kind)
}

/// Samples without anything in them.
fn smooth_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["no comb"];
    for kind in Smoothness::ALL {
        let name = format!("{}, 30 to 3,000 calls", kind.name());
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            let calls = (30.0 * 100_f64.powf(draw.fraction())) as usize;
            [Some(comb(&kind.series(calls, draw), set).is_none()), None, None]
        }));
    }
}

/// The samples of the power table, on any seed.
fn comb_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["its quantum", "interval holds it", "no other quantum"];
    for sample in CombSample::ALL {
        let CombSample { calls, share, teeth, beside } = sample;
        let percent = share * 100.0;
        let name = format!("{calls} calls, {percent} % on {teeth} teeth, {}", beside.name());
        let row = TruthRow::new(name, CLAIMS, move |draw, set| {
            let planted = Planted::combed(sample, draw);
            let Some(found) = comb(&planted.series, set) else {
                return [Some(false), None, Some(true)];
            };
            let is_right = planted.is_near(found.quantum_ms);
            [Some(is_right), is_right.then(|| planted.holds(&found)), Some(is_right)]
        });
        rows.push(TruthRow { is_large: calls > LARGE, ..row });
    }
}

/// Many calls without a comb, where little things are beyond chance.
fn large_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["no comb"];
    for kind in Smoothness::ALL {
        let name = format!("{}, 20,000 calls", kind.name());
        let row = TruthRow::new(name, CLAIMS, move |draw, set| {
            [Some(comb(&kind.series(20_000, draw), set).is_none()), None, None]
        });
        rows.push(row.large());
    }
    for family in NullFamily::ALL {
        let name = format!("{}, 50 to 20,000 calls", family.name());
        rows.push(TruthRow::new(name, CLAIMS, move |draw, set| {
            let calls = (50.0 * 400_f64.powf(draw.fraction())) as usize;
            let total_ms = family.draw(calls, draw);
            let series = Series { total_ms, ..Series::default() };
            [Some(comb(&series, set).is_none()), None, None]
        }));
    }
}

/// A step that is slow too rarely, in 300 calls and in as many as the verdict then asks for.
fn asked_rows(rows: &mut Vec<TruthRow>) {
    const CLAIMS: &[&str] = &["says how many calls decide", "so many convict", "no other step"];
    rows.push(TruthRow::new("70 or 370 ms, slow in 2 % of the calls", CLAIMS, |draw, set| {
        let asked = |calls: u64, draw: &mut Draw| {
            let NamedStep { series, step } = samples::slow_step(calls, 0.02, true, draw);
            (steps(&series, &Split::new(&series.total_ms, None), set), step)
        };
        let (few, _) = asked(300, draw);
        let needed = few.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Excess(excess) => excess.calls_needed,
            _ => None,
        });
        let Some(needed) = needed else { return [Some(false), None, None] };
        let (found, planted) = asked(needed, draw);
        let blamed: Vec<&str> = found
            .verdicts
            .iter()
            .filter_map(|verdict| match verdict {
                Verdict::Step(step) => Some(step.step.as_str()),
                _ => None,
            })
            .collect();
        let is_planted = |step: &&str| **step == planted;
        [Some(true), Some(blamed.iter().any(is_planted)), Some(blamed.iter().all(is_planted))]
    }));
}

fn quantum(planted: &Planted, set: u64) -> Claimed {
    let found = comb(&planted.series, set);
    let right = found.filter(|comb| planted.is_near(comb.quantum_ms) && comb.spacing == "linear");
    [Some(right.is_some()), right.map(|comb| planted.holds(&comb)), None]
}

fn ladder(planted: &Planted, set: u64) -> Claimed {
    let found = comb(&planted.series, set).filter(|comb| comb.spacing == "geometric");
    let Some(found) = found else { return [Some(false), None, None] };
    let is_right = planted.is_near(found.quantum_ms);
    [Some(true), Some(is_right), is_right.then(|| planted.holds(&found))]
}

fn comb(series: &Series, set: u64) -> Option<Quantised> {
    combs(series, set).into_iter().next()
}

fn combs(series: &Series, set: u64) -> Vec<Quantised> {
    let combs = judge(series, set).into_iter().filter_map(|verdict| match verdict {
        Verdict::Quantised(comb) => Some(comb),
        _ => None,
    });
    combs.collect()
}

/// How many places or modes a verdict names.
fn modes(series: &Series, set: u64) -> usize {
    let modes = judge(series, set).into_iter().find_map(|verdict| match verdict {
        Verdict::Multimodal(found) | Verdict::Unimodal(found) => Some(found.modes.len()),
        _ => None,
    });
    modes.unwrap_or(0)
}

#[cfg(test)]
mod tests;
