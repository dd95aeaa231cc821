//! Counts how far "locked" is to be trusted: false alarms on calls without a clock, and ticks
//! found.
//!
//! Without a clock calls begin at random, one after the other, at a fixed rate, or in a queue; four
//! kinds of lengths take turns. Ticks are put into lognormal calls that begin at random. A tick of
//! 100 ms is found if the period is within 1 %. Intervals of the period and the cost of a tick are
//! not counted.
//! Invariant: as in the tables of combs, sets are drawn from seeds fixed here. The place of a
//! variant and the order of draws choose the samples.
//! `examples/calibrate.rs` prints the table, docs/lab/trust.md keeps it and says what the calls are
//! like: change them together.

use std::ops::Range;

use crate::distribution;
use crate::random::Draw;
use crate::series::Series;

const CLOCK_SEED: u64 = 8_003;
const TICK_SEED: u64 = 8_005;
/// Milliseconds between two calls on average, of those that do not wait for one another.
const GAP_MS: f64 = 60.0;
/// A clock's period, in milliseconds.
const TICK_MS: f64 = 100.0;

/// When calls begin that know no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// At random, 60 ms apart on average.
    Random,
    /// When the last one has ended.
    Closed,
    /// Every 60 ms, up to 0.1 late.
    Fixed,
    /// At random, and then one at a time: a queue, busy up to five sixths of the time.
    Queued,
}

/// How long calls take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Median 20, sigma 0.6.
    Lognormal,
    /// Shape 3, mean 30.
    Gamma,
    /// 50, with a deviation of 0.2.
    Narrow,
    /// 70 % at 10, 30 % at 50.
    TwoModes,
}

impl Starts {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Random, Self::Closed, Self::Fixed, Self::Queued];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "calls at random",
            Self::Closed => "one after the other",
            Self::Fixed => "at a fixed rate",
            Self::Queued => "in a queue",
        }
    }

    fn series(self, lengths: Lengths, calls: usize, draw: &mut Draw) -> Series {
        let mut series = Series::default();
        let (mut now, mut free) = (0.0, 0.0_f64);
        for call in 0..calls {
            let length = lengths.draw(draw);
            now = match self {
                Self::Closed => free,
                Self::Fixed => GAP_MS * call as f64 + 0.1 * draw.fraction(),
                Self::Random | Self::Queued => now + GAP_MS * draw.exponential(),
            };
            let begins = if self == Self::Queued { free.max(now) } else { now };
            free = begins + length;
            series.began_ms.push(now);
            series.total_ms.push(free - now);
        }
        series
    }
}

impl Lengths {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lognormal, Self::Gamma, Self::Narrow, Self::TwoModes];

    fn draw(self, draw: &mut Draw) -> f64 {
        match self {
            Self::Lognormal => 20.0 * (0.6 * draw.normal()).exp(),
            Self::Gamma => 10.0 * (0..3).map(|_| draw.exponential()).sum::<f64>(),
            Self::Narrow => 50.0 + 0.2 * draw.normal(),
            Self::TwoModes if draw.fraction() < 0.7 => 10.0 + draw.normal(),
            Self::TwoModes => 50.0 + 4.0 * draw.normal(),
        }
    }
}

/// Counts the sets of a range, all lengths in turns, that are called locked and know no clock.
pub fn locked_alarms(starts: Starts, calls: usize, sets: Range<u64>) -> u64 {
    let alarms = sets.filter(|set| {
        let lengths = Lengths::ALL[*set as usize % Lengths::ALL.len()];
        let mut draw = Draw::new(CLOCK_SEED, stream(starts as u64, calls, *set));
        distribution::lock_of(&starts.series(lengths, calls, &mut draw)).is_some()
    });
    alarms.count() as u64
}

/// Counts the sets of a range that are called locked to a tick of 100 ms. In each of them a share
/// of the calls ends with that tick.
pub fn ticks_found(share: f64, calls: usize, sets: Range<u64>) -> u64 {
    let found = sets.filter(|set| {
        let mut draw = Draw::new(TICK_SEED, stream((share * 100.0) as u64, calls, *set));
        let mut series = Starts::Random.series(Lengths::Lognormal, calls, &mut draw);
        for (began, ms) in series.began_ms.iter().zip(&mut series.total_ms) {
            if draw.fraction() < share {
                let tick = ((began + *ms) / TICK_MS).ceil() * TICK_MS;
                *ms = tick + draw.fraction() - began;
            }
        }
        distribution::lock_of(&series)
            .is_some_and(|lock| (lock.period_ms / TICK_MS - 1.0).abs() < 0.01)
    });
    found.count() as u64
}

fn stream(kind: u64, calls: usize, set: u64) -> u64 {
    kind << 40 | (calls as u64) << 20 | set
}

#[cfg(test)]
mod tests;
