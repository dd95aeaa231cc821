//! Counts latencies in bins of about 3 %, and finds their peaks.
//!
//! A bin is a thirty-second of an octave, from 1 ns on. A peak is a bin that is higher than its
//! neighbours. With these it holds one call in a hundred, and stands three times above what is
//! around.

/// Bins of an octave, as bits.
const SHARE_BITS: u32 = 5;
const PER_OCTAVE: usize = 1 << SHARE_BITS;
/// Bins on each side that belong to a peak.
const NEAR: usize = 2;
/// Bins on each side that it is compared with.
const AROUND: usize = 12;
/// The least calls of a peak.
const CALLS_MIN: u64 = 5;
const PEAKS_MAX: usize = 8;

/// Counts by latency.
#[derive(Debug, Clone, Default)]
pub(super) struct LatencyBins {
    counts: Vec<u64>,
    all: u64,
}

/// Where latencies gather.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LatencyPeak {
    /// The latency in its middle, in milliseconds.
    pub ms: f64,
    /// Calls within 8 % of it.
    pub calls: u64,
}

impl LatencyBins {
    #[inline]
    pub(super) fn add(&mut self, ns: u64) {
        let bin = bin(ns);
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.all += 1;
    }

    /// A quantile in milliseconds; nothing without calls.
    pub(super) fn quantile_ms(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.all as f64).ceil() as u64).clamp(1, self.all.max(1));
        let mut sum = 0;
        let found = self.counts.iter().position(|count| {
            sum += count;
            sum >= rank
        })?;
        (self.all > 0).then(|| middle_ms(found))
    }

    /// Where latencies gather, the most calls first.
    pub(super) fn peaks(&self) -> Vec<LatencyPeak> {
        let at = |bin: usize| self.counts.get(bin).copied().unwrap_or(0);
        let sum = |from: usize, to: usize| (from..to).map(at).sum::<u64>();
        let mut peaks = Vec::new();
        for bin in 0..self.counts.len() {
            let (low, high) = (bin.saturating_sub(NEAR), bin + NEAR + 1);
            // Of equal neighbours the first is the peak.
            let is_highest = (low..bin).all(|it| at(it) < at(bin))
                && (bin + 1..high).all(|it| at(it) <= at(bin));
            let mass = sum(low, high);
            if at(bin) == 0 || !is_highest || mass < CALLS_MIN || mass * 100 < self.all {
                continue;
            }
            let around = sum(bin.saturating_sub(AROUND), low) + sum(high, bin + AROUND + 1);
            let per_bin = around as f64 / (2 * (AROUND - NEAR)) as f64;
            if mass as f64 / (high - low) as f64 >= 3.0 * per_bin {
                let weighted: f64 = (low..high).map(|it| middle_ms(it) * at(it) as f64).sum();
                peaks.push(LatencyPeak { ms: weighted / mass as f64, calls: mass });
            }
        }
        peaks.sort_by(|one, other| other.calls.cmp(&one.calls).then(one.ms.total_cmp(&other.ms)));
        peaks.truncate(PEAKS_MAX);
        peaks
    }

    /// The middles of bins in milliseconds with their counts.
    pub(super) fn values(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bin, count)| (middle_ms(bin), *count))
    }
}

#[inline]
fn bin(ns: u64) -> usize {
    if ns < PER_OCTAVE as u64 {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros();
    let within = (ns >> (octave - SHARE_BITS)) as usize & (PER_OCTAVE - 1);
    (octave - SHARE_BITS + 1) as usize * PER_OCTAVE + within
}

fn middle_ms(bin: usize) -> f64 {
    let (octave, within) = (bin / PER_OCTAVE, bin % PER_OCTAVE);
    let ns = match octave {
        0 => within as f64,
        _ => {
            let width = (1_u64 << (octave - 1)) as f64;
            (PER_OCTAVE + within) as f64 * width + (width - 1.0) / 2.0
        }
    };
    ns / 1e6
}

#[cfg(test)]
mod tests;
