//! Packs rows sixteen by sixteen, and multiplies two such panels.
//!
//! A panel holds the first numbers of sixteen rows, then their second numbers, and so on. A product
//! of two panels multiplies a number of one row with a vector of the other panel. Nothing is summed
//! across a register. This is safe Rust that the compiler turns into whole registers
//! (docs/decisions/models.md).
//!
//! Invariant: the product of two rows is summed in the order of their numbers, without fused
//! multiply-add. So it is the same to the bit on every CPU, whatever stands beside the rows. A
//! product that is given up is negative infinity. Its exact value is below the floor given, but for
//! rounding, which `error_max` bounds.
//! The floor is the caller's: `pairs.rs` lowers it by that rounding. That rows have length 1 is
//! kept by `units.rs`.

use multiversion::multiversion;

/// Rows of a panel: a cache line of numbers, one register of AVX-512.
pub(super) const LANES: usize = 16;

/// Rows of a panel that are multiplied at a time: their sums stay in registers. With eight, the
/// compiler gives up on vectors altogether.
const ABREAST: usize = 4;

/// Numbers of a row between two looks at whether to go on.
const STEP: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct PanelLane(pub(super) [f32; LANES]);

/// Products of each row of one panel with each of another.
pub(super) type Products = [PanelLane; LANES];

/// Rows in panels of sixteen; the last is filled up with zeros.
#[derive(Debug)]
pub(super) struct Panels {
    rows: usize,
    /// Numbers of a row, whole steps: zeros behind `dims` add nothing.
    depth: usize,
    lanes: Vec<PanelLane>,
    /// Per panel and step the lengths of what its rows have left behind that step.
    rests: Vec<PanelLane>,
}

/// One panel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel<'a> {
    lanes: &'a [PanelLane],
    rests: &'a [PanelLane],
}

impl Panels {
    /// Packs rows of `dims` numbers.
    pub(super) fn pack<'a>(rows: usize, dims: usize, row: impl Fn(usize) -> &'a [f32]) -> Self {
        let depth = dims.next_multiple_of(STEP);
        let count = rows.div_ceil(LANES);
        let mut panels = Self {
            rows,
            depth,
            lanes: vec![PanelLane::default(); count * depth],
            rests: vec![PanelLane::default(); count * depth / STEP],
        };
        for index in 0..rows {
            let (panel, lane) = (index / LANES, index % LANES);
            let row = row(index);
            for (into, value) in panels.lanes[panel * depth..].iter_mut().zip(row) {
                into.0[lane] = *value;
            }
            let mut left = 0.0;
            for (step, part) in row.chunks(STEP).enumerate().rev() {
                // A little more than it is, so that it stays a bound when rounded.
                let rest = &mut panels.rests[panel * depth / STEP + step];
                rest.0[lane] = (f64::sqrt(left) * (1.0 + 1e-6)) as f32;
                left += part.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
            }
        }
        panels
    }

    /// Packs some of these rows.
    pub(super) fn select(&self, rows: &[u32]) -> Self {
        let row = |row: u32| {
            let lanes = &self.panel(row as usize / LANES).lanes;
            lanes.iter().map(move |lane| lane.0[row as usize % LANES])
        };
        let values: Vec<f32> = rows.iter().flat_map(|index| row(*index)).collect();
        Self::pack(rows.len(), self.depth, |index| &values[index * self.depth..][..self.depth])
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn count(&self) -> usize {
        self.rows.div_ceil(LANES)
    }

    /// Returns how far rounding may move the sum of a product. Each of its numbers is rounded at
    /// most twice, and the rows have length 1.
    pub(super) fn error_max(&self) -> f32 {
        (self.depth + LANES) as f32 * f32::EPSILON
    }

    pub(super) fn panel(&self, index: usize) -> Panel<'_> {
        let steps = self.depth / STEP;
        Panel {
            lanes: &self.lanes[index * self.depth..][..self.depth],
            rests: &self.rests[index * steps..][..steps],
        }
    }
}

/// Multiplies the rows of two panels; returns whether any product was finished. `ABREAST` rows of
/// `a` are given up once none of their products can reach `floor`: those are infinitely low.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
pub(super) fn multiply(a: Panel<'_>, b: Panel<'_>, floor: f32, products: &mut Products) -> bool {
    products.fill(PanelLane::default());
    let mut reaching = [true; LANES / ABREAST];
    let steps = a.lanes.chunks_exact(STEP).zip(b.lanes.chunks_exact(STEP));
    for ((a, b), rests) in steps.zip(a.rests.iter().zip(b.rests)) {
        let groups = products.chunks_exact_mut(ABREAST).zip(&mut reaching).enumerate();
        for (group, (products, reaching)) in groups.filter(|(_, (_, reaching))| **reaching) {
            let sums = add(a, b, group, products);
            *reaching = can_reach(floor, &sums, rests, group);
            let never = [f32::NEG_INFINITY; LANES];
            for (product, sum) in products.iter_mut().zip(sums) {
                product.0 = if *reaching { sum } else { never };
            }
        }
        if !reaching.contains(&true) {
            return false;
        }
    }
    true
}

type PanelSums = [[f32; LANES]; ABREAST];

/// Returns `products` and a step more of them, for a group of the rows of `a`.
#[inline(always)]
fn add(a: &[PanelLane], b: &[PanelLane], group: usize, products: &[PanelLane]) -> PanelSums {
    let mut sums: PanelSums = std::array::from_fn(|row| products[row].0);
    for (a, b) in a.iter().zip(b) {
        for (sums, value) in sums.iter_mut().zip(a.group(group)) {
            sums.iter_mut().zip(b.0).for_each(|(sum, other)| *sum += value * other);
        }
    }
    sums
}

/// Returns whether a product can reach `floor`. What is left of a product is at most the product
/// of the lengths that are left of its rows (Cauchy and Schwarz).
#[inline(always)]
fn can_reach(floor: f32, sums: &PanelSums, (a, b): (&PanelLane, &PanelLane), group: usize) -> bool {
    let rests = a.group(group);
    // Row by row within a lane: the other way round compilers make pieces of it.
    let reached = (0..LANES).map(|lane| {
        let bounds = sums.iter().zip(rests).map(|(sums, rest)| sums[lane] + rest * b.0[lane]);
        u32::from(bounds.fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a }) >= floor)
    });
    reached.fold(0, |a, b| a | b) > 0
}

impl PanelLane {
    /// Returns the numbers of the rows that are multiplied at a time.
    #[inline(always)]
    fn group(&self, group: usize) -> &[f32; ABREAST] {
        &self.0.as_chunks().0[group]
    }
}
