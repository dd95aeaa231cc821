//! Bins values on a grid, and smooths them at any bandwidth by one Fourier transform.
//!
//! Also counts the modes of a density, finds the critical bandwidth for k modes, and finds `peaks`
//! of any curve. `null.rs`, `silverman.rs`, `modes.rs` and `tail.rs` use it. `critical` is for
//! `null.rs`; `silverman.rs` has one that counts only humps with enough calls.
//! Source: Silverman, "Kernel density estimation using the fast Fourier transform", 1982.
//! Invariant: once binned, smoothing costs the same for a million values as for a hundred. The grid
//! has three widths of padding, so a kernel as wide as the data wraps round by about 1 % of its
//! height. Values beyond the grid count at its ends.
//!
//! `BINS` and `NOISE` move combs and humps alike: count both again after a change
//! (`examples/calibrate.rs`, docs/lab/trust.md). Never here: which bandwidth is right.

use std::f64::consts::TAU;
use std::sync::Arc;

use realfft::num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// Bins from the least value to the greatest.
pub(super) const BINS: usize = 1024;
const PADDED: usize = 4 * BINS;
/// Differences below this part of the highest point are rounding of the transform.
const NOISE: f64 = 1e-11;

/// The grid on which densities of one sample and of its bootstraps stand.
#[derive(Clone)]
pub(super) struct Grid {
    low: f64,
    step: f64,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

/// What a Gaussian kernel leaves of each frequency. It is made once for many densities of one
/// bandwidth.
pub(super) struct Kernel {
    damping: Vec<f64>,
}

/// Binned values, ready to be smoothed.
#[derive(Clone)]
pub(super) struct Density {
    grid: Grid,
    spectrum: Vec<Complex64>,
}

impl Grid {
    /// Returns a grid over `low..=high`; of a single point when they are equal.
    pub(super) fn new(low: f64, high: f64) -> Self {
        let mut planner = RealFftPlanner::new();
        Self {
            low,
            step: ((high - low) / (BINS - 1) as f64).max(f64::MIN_POSITIVE),
            forward: planner.plan_fft_forward(PADDED),
            inverse: planner.plan_fft_inverse(PADDED),
        }
    }

    /// Returns the value at the middle of a bin.
    pub(super) fn at(&self, bin: usize) -> f64 {
        self.low + bin as f64 * self.step
    }

    /// Returns the bin nearest to `value`.
    pub(super) fn bin(&self, value: f64) -> usize {
        (((value - self.low) / self.step).round().max(0.0) as usize).min(BINS - 1)
    }

    /// Returns the distance from bin to bin.
    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// Returns the Gaussian kernel of bandwidth `h`.
    pub(super) fn kernel(&self, h: f64) -> Kernel {
        let width = h / self.step / PADDED as f64 * TAU;
        let damping = |bin: usize| (-0.5 * (bin as f64 * width).powi(2)).exp() / PADDED as f64;
        Kernel { damping: (0..=PADDED / 2).map(damping).collect() }
    }

    /// Bins `values`, each shared by its two nearest bins.
    pub(super) fn density(&self, values: impl IntoIterator<Item = f64>) -> Density {
        let mut bins = vec![0.0; PADDED];
        for value in values {
            let place = ((value - self.low) / self.step).clamp(0.0, (BINS - 1) as f64);
            let below = place as usize;
            let part = place - below as f64;
            bins[below] += 1.0 - part;
            bins[below + 1] += part;
        }
        self.transformed(bins)
    }

    /// Takes over the contents of [`BINS`] bins.
    pub(super) fn binned(&self, mut bins: Vec<f64>) -> Density {
        bins.resize(PADDED, 0.0);
        self.transformed(bins)
    }

    fn transformed(&self, mut bins: Vec<f64>) -> Density {
        let mut spectrum = self.forward.make_output_vec();
        self.forward.process(&mut bins, &mut spectrum).expect("lengths are the plan's");
        Density { grid: self.clone(), spectrum }
    }
}

impl Density {
    /// Returns the grid that the bins stand on.
    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the number of values per bin, smoothed by a Gaussian kernel of bandwidth `h`.
    pub(super) fn smooth(&self, h: f64) -> Vec<f64> {
        self.smoothed(&self.grid.kernel(h))
    }

    /// Returns the number of values per bin, smoothed by a kernel of this grid.
    pub(super) fn smoothed(&self, kernel: &Kernel) -> Vec<f64> {
        let pairs = self.spectrum.iter().zip(&kernel.damping);
        let mut spectrum: Vec<Complex64> = pairs.map(|(value, damping)| value * damping).collect();
        let mut smooth = self.grid.inverse.make_output_vec();
        spectrum[0].im = 0.0;
        spectrum[PADDED / 2].im = 0.0;
        self.grid.inverse.process(&mut spectrum, &mut smooth).expect("lengths are the plan's");
        smooth.truncate(BINS);
        smooth
    }

    /// Returns how many modes the density has at bandwidth `h`.
    pub(super) fn modes(&self, h: f64) -> usize {
        peaks(&self.smooth(h)).len()
    }

    /// Returns the least bandwidth at which there are at most `k` modes, to a thousandth of itself.
    /// (Silverman, "Using kernel density estimates to investigate multimodality", 1981.)
    pub(super) fn critical(&self, k: usize) -> f64 {
        let (mut low, mut high) = (self.grid.step / 4.0, self.grid.step * BINS as f64);
        if self.modes(low) <= k {
            return low;
        }
        while high / low > 1.001 {
            let middle = (low * high).sqrt();
            if self.modes(middle) <= k { high = middle } else { low = middle }
        }
        high
    }
}

/// The bins of the highest points of a curve; a plateau counts once.
pub(super) fn peaks(curve: &[f64]) -> Vec<usize> {
    let noise = NOISE * curve.iter().copied().fold(0.0, f64::max);
    let mut peaks = Vec::new();
    let (mut rising, mut turn) = (true, 0);
    for bin in 0..curve.len() {
        if rising {
            if curve[bin] > curve[turn] {
                turn = bin;
            } else if curve[bin] < curve[turn] - noise {
                peaks.push(turn);
                (rising, turn) = (false, bin);
            }
        } else if curve[bin] < curve[turn] {
            turn = bin;
        } else if curve[bin] > curve[turn] + noise {
            (rising, turn) = (true, bin);
        }
    }
    if rising && curve.get(turn).is_some_and(|top| *top > noise) {
        peaks.push(turn);
    }
    peaks
}
