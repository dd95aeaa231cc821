//! Decides whether calls fall more evenly over the quanta of a comb than by chance.
//!
//! Each pause under a fixed rate leaves one call in each interval until it is over. So neighbouring
//! intervals have nearly as many calls each, whatever their phases. Calls that wait for a timer
//! choose their tooth by chance, so two neighbouring cells share their calls as coins fall at best.
//! This holds in any order of the calls.
//!
//! Cells start above the fast calls. They are half a quantum to 4 quanta wide, for a comb may have
//! found a fraction of the interval or twice that. Cells 1 and 2, 3 and 4 and so on are compared,
//! so no call counts twice. The chance is Chernoff's bound of the sum of their
//! (n₁ − n₂)² / (n₁ + n₂) ("A measure of asymptotic efficiency", 1952). So it is never too small.
//!
//! Invariant: teeth that have nearly all calls are not asked. A comb whose calls take their teeth
//! in turn is even, too, but has nothing beside its teeth.

use crate::distribution::fit::CombLine;

/// Chance of such evenness below which it is a backlog's.
const CHANCE_MAX: f64 = 1e-3;
/// Widths of a cell, in quanta.
const WIDTHS: [f64; 5] = [0.5, 1.0, 2.0, 3.0, 4.0];
/// Calls beside the teeth, of those above the fast ones, from which on this is asked.
const BESIDE_MIN: f64 = 0.02;
/// Two cells with more calls are as even by chance as χ² says.
const COINS_MAX: u64 = 60;
/// Arguments at which Chernoff's bound is computed: the first, how many, and their ratio.
const ARGUMENTS: (f64, i32, f64) = (0.05, 24, 1.5);

/// Whether the calls are more even than a timer's. `sorted` has the fastest first.
pub(super) fn is_even(sorted: &[f64], line: &CombLine) -> bool {
    let Some(lowest) = sorted.first() else { return false };
    let above = &sorted[sorted.partition_point(|value| *value <= lowest + line.quantum)..];
    let reach = (3.0 * line.jitter).min(line.quantum / 4.0);
    let beside = above.iter().filter(|value| line.place(**value).1.abs() > reach).count();
    beside as f64 > BESIDE_MIN * above.len() as f64
        && WIDTHS.iter().any(|quanta| {
            let width = line.quantum * quanta;
            // Between two teeth.
            let first = ((lowest + width - line.origin) / line.quantum + 0.5).ceil() - 0.5;
            chance(&pairs(above, line.origin + first * line.quantum, width)) < CHANCE_MAX
        })
}

/// The counts of each two neighbouring cells of this width that have calls, from `start` on.
fn pairs(sorted: &[f64], start: f64, width: f64) -> Vec<[u64; 2]> {
    let mut pairs = Vec::new();
    let mut last = -1.0;
    for value in &sorted[sorted.partition_point(|value| *value < start)..] {
        let cell = ((value - start) / width).floor();
        let pair = (cell / 2.0).floor();
        if pair > last {
            pairs.push([0, 0]);
            last = pair;
        }
        if let Some(counts) = pairs.last_mut() {
            counts[usize::from(cell > 2.0 * pair)] += 1;
        }
    }
    pairs
}

/// The chance, at most, that coins fall as evenly.
fn chance(pairs: &[[u64; 2]]) -> f64 {
    let uneven: f64 = pairs
        .iter()
        .map(|[one, other]| (*one as f64 - *other as f64).powi(2) / (one + other) as f64)
        .sum();
    let (first, many, ratio) = ARGUMENTS;
    let bounds = (0..many).map(|power| {
        let argument = first * ratio.powi(power);
        let each = pairs.iter().map(|[one, other]| ln_mean(one + other, argument));
        argument * uneven + each.sum::<f64>()
    });
    bounds.fold(0.0, f64::min).exp()
}

/// ln of the mean of e to the −`argument` times (heads − tails)² / `coins`.
fn ln_mean(coins: u64, argument: f64) -> f64 {
    if coins > COINS_MAX {
        return -0.5 * (1.0 + 2.0 * argument).ln();
    }
    let mut probability = 0.5_f64.powi(coins as i32);
    let mut mean = 0.0;
    for heads in 0..=coins {
        let apart = 2.0 * heads as f64 - coins as f64;
        mean += probability * (-argument * apart * apart / coins as f64).exp();
        probability *= (coins - heads) as f64 / (heads + 1) as f64;
    }
    mean.ln()
}
