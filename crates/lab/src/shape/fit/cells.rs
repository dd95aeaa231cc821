//! What a comb's cells hold: how many of their calls are on the tooth, and how the others lie.
//!
//! Invariant: shares and slopes of cells with few calls are near those of all, and never at the
//! ends of their range, where a call could not be told from another.

use crate::shape::teeth::{self, Comb};

/// So many calls of a cell say as much of its share as all others together.
const OWN_FROM: f64 = 20.0;
/// A share is at least this, and as much less than 1.
const SHARE_MIN: f64 = 1e-4;
/// The density beside a tooth is nowhere zero.
const SLOPE_MAX: f64 = 1.9;

/// What stands in the cells.
pub struct Cells {
    /// The number of the first cell.
    pub first: f64,
    cells: Vec<Cell>,
    /// The share of all calls that are on teeth.
    pub share: f64,
}

/// What stands in one cell.
#[derive(Clone, Copy)]
pub struct Cell {
    /// The share of its calls that are on the tooth.
    pub share: f64,
    /// By what part of their density the others grow more from its middle to a quantum later.
    pub slope: f64,
    /// The part of the cell that the sample covers.
    pub covered: f64,
}

/// What is counted of one cell.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    calls: f64,
    on_tooth: f64,
    /// The places of those beside it, from the middle, added up.
    beside: f64,
}

impl Cells {
    /// What stands in the windows of a comb beyond what is beside them.
    pub fn of(comb: &Comb) -> Self {
        let counted = |cell: &teeth::Cell| Counted {
            calls: cell.calls,
            on_tooth: cell.on_tooth(),
            ..Counted::default()
        };
        let cells: Vec<Counted> = comb.cells.iter().map(counted).collect();
        Self::counted(comb.first as f64, &cells, |_| 1.0)
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// What the cells from number `first` on hold, of which the sample covers a part each.
    pub fn counted(first: f64, cells: &[Counted], covered: impl Fn(f64) -> f64) -> Self {
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
    pub fn at(&self, k: f64) -> Cell {
        let place = k - self.first;
        let cell = if place < 0.0 { None } else { self.cells.get(place as usize) };
        cell.copied().unwrap_or(Cell { share: self.share, slope: 0.0, covered: 1.0 })
    }
}

impl Counted {
    /// Adds a call with its chance of being on the tooth, and its place from the middle, in quanta.
    pub fn add(&mut self, chance: f64, place: f64) {
        self.calls += 1.0;
        self.on_tooth += chance;
        self.beside += (1.0 - chance) * place;
    }

    /// What the cell is taken for where all have `share` of their calls on teeth, and the sample
    /// covers a part of it.
    fn shrunk(&self, share: f64, covered: f64) -> Cell {
        let share = (self.on_tooth + OWN_FROM * share) / (self.calls + OWN_FROM);
        let beside = self.calls - self.on_tooth + OWN_FROM;
        // Where the density grows by s a quantum, the mean place is s / 12.
        let slope = (12.0 * self.beside / beside).clamp(-SLOPE_MAX, SLOPE_MAX);
        Cell { share, slope: if covered < 1.0 { 0.0 } else { slope }, covered }
    }
}
