//! Keeps what a comb's cells hold: how many of their calls are on the tooth, and how the others
//! lie.
//!
//! `CellCounts` adds up assigned calls; `Mixture` makes shares and densities of them. A cell with
//! few calls is drawn towards the share of all, by as much as 20 calls say, and towards an even
//! density. A cell that the sample covers in part has an even density.
//! Invariant: a share is never 0 or 1, and a density nowhere below 5 % of its mean. At either end
//! one call could not be told from another.
//!
//! The line and its steps are in `fit.rs`. docs/decisions/lab.md says why `TERMS` is 3. After a
//! change count combs and clocks again (`examples/calibrate.rs`, docs/lab/trust.md).

use crate::distribution::teeth::{self, Comb};

/// So many calls of a cell say as much of its share as all others together.
const EQUAL_FROM: f64 = 20.0;
/// A share is at least this, and as much less than 1.
const SHARE_MIN: f64 = 1e-4;
/// The density beside a tooth is nowhere less than this part of its mean.
const DENSITY_MIN: f64 = 0.05;
/// Legendre polynomials that say how the calls beside a tooth lie. With the first alone, a hump
/// that bends would be taken for a tooth.
const TERMS: usize = 3;

/// A call with the tooth that it is nearest to.
pub(super) struct Assignment {
    /// The number of the tooth.
    pub k: f64,
    /// How far off it the call is.
    pub off: f64,
    /// The chance that it is on its tooth.
    pub chance: f64,
    /// The curvature of its likelihood, in 1 / jitter².
    pub stiff: f64,
}

/// What stands in the cells.
pub(super) struct Mixture {
    /// The number of the first cell.
    first: f64,
    cells: Vec<CellMixture>,
    /// The share of all calls that are on teeth.
    pub share: f64,
}

/// What stands in one cell.
#[derive(Clone, Copy)]
pub(super) struct CellMixture {
    /// The share of its calls that are on the tooth.
    pub share: f64,
    /// How much the others' density has of each polynomial, as part of its mean.
    uneven: [f64; TERMS],
    /// The part of the cell that the sample covers.
    pub covered: f64,
}

/// What is counted of one cell.
#[derive(Clone, Copy, Default)]
pub(super) struct CellCounts {
    calls: f64,
    /// Calls on the tooth.
    pub on_tooth: f64,
    /// How strongly they pull the tooth from where the line says: their distances, added up.
    pub pull: f64,
    /// What holds against it: the curvature of the likelihood.
    pub stiff: f64,
    /// The squares of the calls' distances, and of their pulls.
    pub squares: f64,
    pub noise: f64,
    /// The polynomials at the places of the calls beside the tooth, added up.
    beside: [f64; TERMS],
}

impl Mixture {
    /// What stands in the windows of a comb beyond what is beside them.
    pub(super) fn of(comb: &Comb) -> Self {
        let counted = |cell: &teeth::CombCell| CellCounts {
            calls: cell.calls,
            on_tooth: cell.on_tooth(),
            ..CellCounts::default()
        };
        let cells: Vec<CellCounts> = comb.cells.iter().map(counted).collect();
        Self::counted(comb.first as f64, &cells, |_| 1.0)
    }

    /// What the cells from number `first` on hold, of which the sample covers a part each.
    pub(super) fn counted(first: f64, cells: &[CellCounts], covered: impl Fn(f64) -> f64) -> Self {
        let (calls, on_teeth) = cells
            .iter()
            .fold((0.0, 0.0), |(calls, on), cell| (calls + cell.calls, on + cell.on_tooth));
        let share = f64::clamp(on_teeth / calls, SHARE_MIN, 1.0 - SHARE_MIN);
        let numbered = cells.iter().enumerate();
        let cells = numbered.map(|(at, cell)| cell.shrunk(share, covered(first + at as f64)));
        let cells = cells.collect();
        Self { first, cells, share }
    }

    /// What cell `k` holds.
    pub(super) fn at(&self, k: f64) -> CellMixture {
        let place = k - self.first;
        let cell = if place < 0.0 { None } else { self.cells.get(place as usize) };
        cell.copied().unwrap_or(CellMixture {
            share: self.share,
            uneven: [0.0; TERMS],
            covered: 1.0,
        })
    }
}

impl CellMixture {
    /// The density of the calls beside the tooth at a place from the middle, in quanta, as part of
    /// their mean density.
    pub(super) fn density(&self, place: f64) -> f64 {
        let parts = self.uneven.iter().zip(legendre(2.0 * place));
        parts.fold(1.0, |sum, (part, value)| part.mul_add(value, sum)).max(DENSITY_MIN)
    }
}

impl CellCounts {
    /// Adds a call whose place from the middle is given in quanta, too.
    pub(super) fn add(&mut self, call: &Assignment, place: f64) {
        self.calls += 1.0;
        self.on_tooth += call.chance;
        let pull = call.chance * call.off;
        self.pull += pull;
        self.stiff += call.stiff;
        self.squares += pull * call.off;
        self.noise += pull * pull;
        for (sum, value) in self.beside.iter_mut().zip(legendre(2.0 * place)) {
            *sum += (1.0 - call.chance) * value;
        }
    }

    /// What the cell is taken for where all have `share` of their calls on teeth, and the sample
    /// covers a part of it.
    fn shrunk(&self, share: f64, covered: f64) -> CellMixture {
        let share = (self.on_tooth + EQUAL_FROM * share) / (self.calls + EQUAL_FROM);
        let beside = self.calls - self.on_tooth + EQUAL_FROM;
        let mut uneven = [0.0; TERMS];
        if covered >= 1.0 {
            for (at, (part, sum)) in uneven.iter_mut().zip(self.beside).enumerate() {
                // The mean square of the polynomial is the inverse of this.
                let scale = (2 * at + 3) as f64;
                let counted = scale * sum / beside;
                // Drawn towards none as far as chance alone would make it so large.
                let square = counted * counted;
                *part = counted * square / (square + scale / beside);
            }
        }
        CellMixture { share, uneven, covered }
    }
}

/// The Legendre polynomials from the first on.
fn legendre(x: f64) -> [f64; TERMS] {
    let square = x * x;
    [x, 1.5_f64.mul_add(square, -0.5), x * 2.5_f64.mul_add(square, -1.5)]
}
