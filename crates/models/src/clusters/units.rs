//! Scales rows to length 1, and puts them in an order that depends on nothing but their numbers.
//!
//! Invariant: each row has length 1 but for the rounding to f32, and no zero is negative. Equal
//! rows stay in the order of their input.
//! Two numberings meet here: `row` and `zeros` count as the input does, `order` and `panels` by the
//! order made here. Both methods and the label (`describe.rs`) break ties by that order, so another
//! one gives other groups.
//! Refuses: numbers that are not finite, by row and column. Rows of zeros have no direction, and
//! are only listed.

use super::panels::Panels;

/// The rows that have a direction.
#[derive(Debug)]
pub(super) struct Units {
    dims: usize,
    /// Row after row in the order of the input; rows without direction are zeros.
    values: Vec<f32>,
    /// Rows in the order of their numbers.
    order: Vec<u32>,
    /// Rows of nothing but zeros.
    zeros: Vec<u32>,
}

impl Units {
    /// Scales rows of `dims` numbers; the first number that is not finite is named.
    pub(super) fn of(values: &[f32], dims: usize) -> Result<Self, String> {
        let unscaled = vec![0.0; values.len()];
        let mut units = Self { dims, values: unscaled, order: Vec::new(), zeros: Vec::new() };
        let rows = values.chunks_exact(dims.max(1)).zip(units.values.chunks_exact_mut(dims.max(1)));
        for (index, (row, unit)) in rows.enumerate() {
            if let Some(column) = row.iter().position(|value| !value.is_finite()) {
                return Err(format!("row {index} has {} at {column}", row[column]));
            }
            // Squares of f32 neither overflow in f64 nor vanish.
            let length = row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            if length == 0.0 {
                units.zeros.push(index as u32);
                continue;
            }
            for (unit, value) in unit.iter_mut().zip(row) {
                *unit = (f64::from(*value) / length) as f32 + 0.0;
            }
            units.order.push(index as u32);
        }
        units.sort();
        Ok(units)
    }

    fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable_by(|a, b| {
            let both = self.row(*a).iter().zip(self.row(*b));
            let first = both.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
            first.unwrap_or_else(|| a.cmp(b))
        });
        self.order = order;
    }

    /// Returns a row by its number in the input.
    pub(super) fn row(&self, row: u32) -> &[f32] {
        &self.values[row as usize * self.dims..][..self.dims]
    }

    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// Returns the rows that have a direction, in order: where the others here count rows, they
    /// count these.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(super) fn zeros(&self) -> &[u32] {
        &self.zeros
    }

    /// Packs the rows, in order.
    pub(super) fn panels(&self) -> Panels {
        Panels::pack(self.order.len(), self.dims, |row| self.row(self.order[row]))
    }
}
