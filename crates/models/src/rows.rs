//! Scores rows of numbers that a caller brings by a linear model, item features included.
//!
//! There is a column for each name that the model reads, in the order of [`Linear::names`].
//! Features come first, then the sides of crosses that are no features. Clients of crates/serving
//! send rows in this order, so it must not change. A one-hot name (`item.category=b`) is a column
//! of 0 and 1. NaN counts as absent, and the model's `missing` is written in its place.
//!
//! Invariant: a row's score does not depend on the rows beside it. It may differ from a
//! [`crate::Ranker`]'s in the last bits, because the sums are grouped otherwise.
//! Refuses: rows that do not fit in number. Infinite numbers are not refused; their sum is infinite
//! or NaN.
//! The terms are those of `joined.rs`, and the logistic function that of `linear.rs`; both are
//! written out here again. Any other link function leaves the sum as it is.

use crate::error::Error;
use crate::linear::{Cross, FeatureName, Linear, LinkFunction};

/// A linear model, ready to score rows.
#[derive(Debug)]
pub struct LinearRows {
    names: Vec<String>,
    missing: Vec<f64>,
    /// By column; 0 for one that occurs in crosses only.
    weights: Vec<f64>,
    crosses: Vec<Product>,
    /// The intercept less all means.
    base: f64,
    link: LinkFunction,
}

/// A weighted product of two columns.
#[derive(Debug)]
struct Product {
    left: usize,
    right: usize,
    weight: f64,
}

impl LinearRows {
    /// Makes a model ready.
    pub fn new(model: &Linear) -> Self {
        let names = model.names();
        let missing = names.iter().map(|name| model.missing(name)).collect();
        let column = |wanted: &FeatureName| {
            let found = names.iter().position(|name| *name == wanted);
            found.expect("the names of a model are all it reads")
        };
        let mut weights = vec![0.0; names.len()];
        let mut base = model.intercept;
        for feature in &model.features {
            weights[column(&feature.name)] += feature.weight / feature.scale;
            base -= feature.weight * feature.mean / feature.scale;
        }
        let product = |cross: &Cross| {
            let weight = cross.weight / cross.scale;
            Product { left: column(&cross.left), right: column(&cross.right), weight }
        };
        base -= model.crosses.iter().map(|c| c.weight * c.mean / c.scale).sum::<f64>();
        let crosses = model.crosses.iter().map(product).collect();
        let names = names.iter().map(ToString::to_string).collect();
        Self { names, missing, weights, crosses, base, link: model.link }
    }

    /// Returns the name of each column.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Writes a score per row: the sum, or with a logistic link its probability. Rows follow each
    /// other in `rows`, which is written to: what is absent is filled in.
    ///
    /// # Errors
    /// [`Error::Rows`] where `rows` and `out` do not fit.
    pub fn score(&self, rows: &mut [f64], out: &mut [f64]) -> Result<(), Error> {
        let columns = self.names.len();
        if rows.len() != out.len() * columns {
            let (numbers, count) = (rows.len(), out.len());
            return Err(Error::Rows(format!("{numbers} numbers are no {count} rows of {columns}")));
        }
        for (row, score) in rows.chunks_exact_mut(columns.max(1)).zip(&mut *out) {
            *score = self.sum(row);
        }
        if columns == 0 {
            out.fill(self.base);
        }
        if self.link == LinkFunction::Logistic {
            out.iter_mut().for_each(|sum| *sum = 1.0 / (1.0 + (-*sum).exp()));
        }
        Ok(())
    }

    fn sum(&self, row: &mut [f64]) -> f64 {
        for (value, missing) in row.iter_mut().zip(&self.missing) {
            *value = if value.is_nan() { *missing } else { *value };
        }
        let mut lanes = [0.0; 8];
        let (eights, rest) = row.as_chunks::<8>();
        let (weights, weights_of_rest) = self.weights.as_chunks::<8>();
        for (values, weights) in eights.iter().zip(weights) {
            for lane in 0..8 {
                lanes[lane] += values[lane] * weights[lane];
            }
        }
        let mut sum = self.base + lanes.iter().sum::<f64>();
        sum += rest.iter().zip(weights_of_rest).map(|(value, weight)| value * weight).sum::<f64>();
        for Product { left, right, weight } in &self.crosses {
            sum += row[*left] * row[*right] * weight;
        }
        sum
    }
}

#[cfg(test)]
mod tests;
