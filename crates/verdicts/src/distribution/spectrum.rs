//! Proposes which spacings are worth a look: the periodogram of a sample, harmonics added up.
//!
//! One Fourier transform of a fine histogram gives S(f) = 2/n |Σ exp(2πi f x)|² at every half cycle
//! per frame. Each fundamental then gets the H statistic, max over m of Z²ₘ − 4m + 4. Here Z²ₘ adds
//! S over the first m harmonics, eight at most (de Jager, Raubenheimer and Swanepoel, 1989). Narrow
//! teeth are seen by many harmonics, wide ones by the first. The offset is free. The same is done
//! under Hann's window, which mutes the edges of a large sample.
//! [`Frame`] also bins values, for `comb.rs` and `null.rs`. Row `lab-verdict` of docs/BENCHMARKS.md
//! shows whether it became slower.
//! Invariant: this ranks, and decides nothing; `teeth.rs` and `phase_lock.rs` judge. At most 15
//! spacings are proposed, each of 1.7 cycles or more. Values outside the frame are in no bin.
//! After a change count combs and clocks again (`examples/calibrate.rs`, docs/lab/trust.md).

use std::sync::Arc;

use realfft::num_complex::Complex64;
use realfft::{RealFftPlanner, RealToComplex};

/// Harmonics added up at most.
const HARMONICS: usize = 8;
/// Frequencies of the transform to a cycle per frame: the histogram is padded to twice its length.
const FREQUENCIES: usize = 2;
/// Fundamentals to a cycle per frame: a quarter of a cycle apart by their last harmonic.
const FUNDAMENTALS: usize = 4 * HARMONICS;
/// Fundamentals up to these many cycles are ranked on their own: there the envelope of the sample,
/// which is no comb, is strong.
const COARSE_CYCLES: f64 = 6.0;
/// Candidates kept of the coarse ones, of the fine ones, and of the fine ones in the tapered
/// sample. There the edges of a large sample do not drown a faint comb.
const KEPT: [usize; 3] = [5, 4, 6];
/// The mean square of Hann's window.
const TAPERED: f64 = 0.375;
/// The least number of spacings in the frame: three teeth, their jitter allowed for.
const CYCLES_MIN: f64 = 1.7;

/// The window and the frequencies of a search; the same for a sample and its nulls.
#[derive(Clone)]
pub(super) struct Frame {
    low: f64,
    width: f64,
    cycles: f64,
    bins: usize,
    forward: Arc<dyn RealToComplex<f64>>,
}

/// What a search may look at.
pub(super) struct SearchRange {
    /// Least value.
    pub low: f64,
    /// From the least to the greatest value.
    pub width: f64,
    /// Spacings looked at, as the greatest number of them in `width`.
    pub cycles: f64,
}

impl Frame {
    /// Returns the frame of a search.
    pub(super) fn new(bounds: &SearchRange) -> Self {
        Self::up_to(bounds, (bounds.cycles * HARMONICS as f64).min(2048.0))
    }

    /// Returns the frame of a search for very many cycles, with two harmonics.
    pub(super) fn wide(bounds: &SearchRange) -> Self {
        Self::up_to(bounds, bounds.cycles * 2.0)
    }

    fn up_to(bounds: &SearchRange, top: f64) -> Self {
        // Four bins to the shortest cycle: there the histogram takes a tenth off its amplitude.
        let bins = (4.0 * top) as usize;
        let bins = bins.next_power_of_two();
        let forward = RealFftPlanner::new().plan_fft_forward(2 * bins);
        Self { low: bounds.low, width: bounds.width, cycles: bounds.cycles, bins, forward }
    }

    /// Returns the greatest number of spacings that the search looks at.
    pub(super) fn cycles(&self) -> f64 {
        self.cycles
    }

    /// Returns the number of bins.
    pub(super) fn bins(&self) -> usize {
        self.bins
    }

    /// Returns the width of a bin.
    pub(super) fn bin_width(&self) -> f64 {
        self.width / self.bins as f64
    }

    /// Returns the value in the middle of `bin`.
    pub(super) fn middle(&self, bin: usize) -> f64 {
        self.low + (bin as f64 + 0.5) * self.width / self.bins as f64
    }

    /// Returns whether `value` is in the window.
    pub(super) fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.low + self.width
    }

    /// Returns how many of `values` fall into each bin; those outside fall into none.
    pub(super) fn histogram(&self, values: &[f64]) -> Vec<f64> {
        let mut bins = vec![0.0; self.bins];
        let scale = self.bins as f64 / self.width;
        for value in values {
            let place = (value - self.low) * scale;
            if place >= 0.0 && place <= self.bins as f64 {
                bins[(place as usize).min(self.bins - 1)] += 1.0;
            }
        }
        bins
    }

    /// Returns the spacings at which the histogram is most periodic.
    pub(super) fn candidates(&self, histogram: &[f64]) -> Vec<f64> {
        let spectrum = self.spectrum(histogram);
        let calls = histogram.iter().sum::<f64>().max(1.0);
        let power = |value: Complex64| 2.0 * value.norm_sqr() / calls;
        let plain: Vec<f64> = spectrum.iter().copied().map(power).collect();
        let tapered: Vec<f64> = tapered(&spectrum).map(|value| power(value) / TAPERED).collect();
        let step = (FUNDAMENTALS as f64).recip();
        let [first, coarse, last] =
            [CYCLES_MIN, COARSE_CYCLES, self.cycles].map(|cycles| (cycles / step) as usize);
        let coarse = coarse.min(last);
        let searches =
            [(&plain, first..coarse), (&plain, coarse..last + 1), (&tapered, coarse..last + 1)];
        let best = searches.into_iter().zip(KEPT).flat_map(|((power, places), kept)| {
            let from = places.start;
            let scores: Vec<f64> = places.map(|place| harmonics(power, place)).collect();
            tops(&scores, kept).into_iter().map(move |place| (from + place) as f64 * step)
        });
        best.map(|cycles| self.width / cycles).collect()
    }

    /// The Fourier transform of the histogram at multiples of half a cycle per frame.
    fn spectrum(&self, histogram: &[f64]) -> Vec<Complex64> {
        let mut padded = histogram.to_vec();
        padded.resize(2 * self.bins, 0.0);
        let mut spectrum = self.forward.make_output_vec();
        self.forward.process(&mut padded, &mut spectrum).expect("lengths are the plan's");
        spectrum.truncate(self.bins / 2);
        spectrum
    }
}

/// The transform of the sample under Hann's window, from that of the sample. The window is one
/// cycle of a cosine, so each frequency takes from those a cycle away.
fn tapered(spectrum: &[Complex64]) -> impl Iterator<Item = Complex64> + '_ {
    let at = |place: usize| spectrum.get(place).copied().unwrap_or_default();
    (0..spectrum.len()).map(move |place| {
        let below = match place.checked_sub(FREQUENCIES) {
            Some(below) => at(below),
            None => at(FREQUENCIES - place).conj(),
        };
        at(place) * 0.5 - (below + at(place + FREQUENCIES)) * 0.25
    })
}

/// The H statistic of the fundamental number `place`, of [`FUNDAMENTALS`] to a cycle. Whole numbers
/// find the nearest frequency of each harmonic: this is the innermost loop of every search.
fn harmonics(power: &[f64], place: usize) -> f64 {
    const APART: usize = FUNDAMENTALS / FREQUENCIES;
    let (mut sum, mut best) = (0.0, f64::MIN);
    for m in 1..=HARMONICS {
        let Some(power) = power.get((place * m + APART / 2) / APART) else { break };
        sum += power;
        best = best.max(sum - 4.0 * m as f64 + 4.0);
    }
    best
}

/// The places of the `kept` highest scores, at least half a cycle apart.
fn tops(scores: &[f64], kept: usize) -> Vec<usize> {
    const APART: usize = 2 * HARMONICS;
    let mut tops: Vec<usize> = Vec::with_capacity(kept + 1);
    let mut place = 0;
    while place < scores.len() {
        let end = (place + APART).min(scores.len());
        let top =
            (place..end).fold(place, |top, at| if scores[at] > scores[top] { at } else { top });
        place = end;
        let rank = tops.partition_point(|other| scores[*other] >= scores[top]);
        if rank < kept {
            tops.insert(rank, top);
            tops.truncate(kept);
        }
    }
    tops
}

#[cfg(test)]
mod tests;
