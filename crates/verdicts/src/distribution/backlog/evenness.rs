//! Decides whether calls fall more evenly over the quanta of a comb than by chance.
//!
//! Each pause under a fixed rate leaves one call in each interval until it is over. So neighbouring
//! intervals have nearly as many calls each, whatever their phases. Calls that wait for a timer
//! choose their tooth by chance, so two neighbouring cells share their calls as coins fall at best.
//! This holds in any order of the calls.
//!
//! Cells start above the fast calls. They are a third of a quantum to 4 quanta wide, for a comb may
//! have found a fraction or a multiple of the interval. There are two ways to compare them:
//! - cells 1 and 2, 3 and 4 and so on, so that no call counts twice. The chance is Chernoff's bound
//!   of the sum of (n₁ − n₂)² / (n₁ + n₂) ("A measure of asymptotic efficiency", 1952), and so is
//!   never too small;
//! - where pauses of many lengths end, counts go down. So ten full cells at a time are held against
//!   a curve through them, a cubic one. What is left of them follows χ².
//!
//! Invariant: teeth that have nearly all calls are not asked. A comb whose calls take their teeth
//! in turn is even, too, but has nothing beside its teeth.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::distribution::fit::CombLine;

/// Chance of such evenness below which it is a backlog's: twelve are looked at.
const CHANCE_MAX: f64 = 1e-3;
/// Widths of a cell, in quanta.
const WIDTHS: [f64; 6] = [1.0 / 3.0, 0.5, 1.0, 2.0, 3.0, 4.0];
/// Calls beside the teeth, of those above the fast ones, from which on this is asked.
const BESIDE_MIN: f64 = 0.02;
/// Two cells with more calls are as even by chance as χ² says.
const COINS_MAX: u64 = 60;
/// Arguments at which Chernoff's bound is computed: the first, how many, and their ratio.
const ARGUMENTS: (f64, i32, f64) = (0.05, 24, 1.5);
/// Calls of a cell that is full: their number is nearly normal.
const FULL: u64 = 10;
/// Full cells that are held against one curve.
const CURVED: usize = 10;
/// Parameters of a cubic curve.
const CUBIC: usize = 4;

/// Calls of the cell of this number.
type Cell = (u64, u64);

/// Whether the calls are more even than a timer's. `sorted` has the fastest first.
pub(super) fn is_even(sorted: &[f64], line: &CombLine) -> bool {
    let Some(lowest) = sorted.first() else { return false };
    let above = &sorted[sorted.partition_point(|value| *value <= lowest + line.quantum)..];
    let reach = (3.0 * line.jitter).min(line.quantum / 4.0);
    let beside = above.iter().filter(|value| line.place(**value).1.abs() > reach).count();
    beside as f64 > BESIDE_MIN * above.len() as f64
        && WIDTHS.iter().any(|quanta| {
            let width = line.quantum * quanta;
            // Between two teeth, those of a smaller interval, too.
            let between = line.origin + width.min(line.quantum) / 2.0;
            let first = ((lowest + width - between) / line.quantum).ceil();
            let cells = cells(above, between + first * line.quantum, width);
            chance_of_pairs(&cells) < CHANCE_MAX || chance_of_curves(&cells) < CHANCE_MAX
        })
}

/// The cells of this width that have calls, from `start` on.
fn cells(sorted: &[f64], start: f64, width: f64) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for value in &sorted[sorted.partition_point(|value| *value < start)..] {
        let number = ((value - start) / width) as u64;
        match cells.last_mut() {
            Some((last, calls)) if *last == number => *calls += 1,
            _ => cells.push((number, 1)),
        }
    }
    cells
}

/// The chance, at most, that coins make pairs of cells as even.
fn chance_of_pairs(cells: &[Cell]) -> f64 {
    let pairs = cells.chunk_by(|one, other| one.0 / 2 == other.0 / 2);
    let pairs: Vec<(u64, f64)> = pairs
        .map(|pair| {
            let [one, other] = [pair[0].1, pair.get(1).map_or(0, |cell| cell.1)];
            (one + other, (one as f64 - other as f64).powi(2) / (one + other) as f64)
        })
        .collect();
    let uneven: f64 = pairs.iter().map(|pair| pair.1).sum();
    let (first, many, ratio) = ARGUMENTS;
    let bounds = (0..many).map(|power| {
        let argument = first * ratio.powi(power);
        let each = pairs.iter().map(|(calls, _)| ln_mean(*calls, argument));
        argument * uneven + each.sum::<f64>()
    });
    bounds.fold(0.0, f64::min).exp()
}

/// The chance that full cells are as near to their curves.
fn chance_of_curves(cells: &[Cell]) -> f64 {
    let (mut uneven, mut freedom) = (0.0, 0);
    let runs = cells
        .chunk_by(|one, other| one.0 + 1 == other.0 && (one.1 < FULL) == (other.1 < FULL))
        .filter(|run| run[0].1 >= FULL);
    for block in runs.flat_map(|run| run.chunks(CURVED)).filter(|block| block.len() > CUBIC) {
        uneven += off_curve(block);
        freedom += block.len() - CUBIC;
    }
    ChiSquared::new(freedom as f64).map_or(1.0, |chi| chi.cdf(uneven))
}

/// The squares that are left of the counts beside a cubic curve, in variances.
fn off_curve(cells: &[Cell]) -> f64 {
    let calls = |at: usize| cells[at].1 as f64;
    let over = |one: &[f64], other: &[f64]| -> f64 {
        (0..cells.len()).map(|at| one[at] * other[at] / calls(at)).sum()
    };
    let less = |from: &mut [f64], part: &[f64]| {
        let share = over(from, part) / over(part, part);
        from.iter_mut().zip(part).for_each(|(value, part)| *value -= share * part);
    };
    let mut left: Vec<f64> = (0..cells.len()).map(calls).collect();
    let mut parts: Vec<Vec<f64>> = Vec::new();
    for power in 0..CUBIC {
        let mut part: Vec<f64> = (0..cells.len())
            .map(|at| (at as f64 / cells.len() as f64).powi(power as i32))
            .collect();
        parts.iter().for_each(|before| less(&mut part, before));
        less(&mut left, &part);
        parts.push(part);
    }
    over(&left, &left)
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
