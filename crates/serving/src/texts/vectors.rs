//! Hands out the vectors of a request as it asked for them, and writes numbers as JSON.
//!
//! Rows are kept as the model gives them, and shared with the cache and with other requests. They
//! are cut to `dims`, then normalised where asked, on the way out.
//! Invariant: a row that is shared is never changed. Numbers are finite: `models::Embedder` refuses
//! others. `write_numbers` relies on that; `tei.rs` writes cosines and `lines.rs` its lines by it.

use std::sync::Arc;

use models::to_length_one;

use super::cache::KnownVector;
use super::embedding_generation::EmbeddingGeneration;

/// What a request asks of its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VectorOptions {
    /// Whether vectors have length 1; `None` for what the model's folder says.
    pub(crate) normalise: Option<bool>,
    /// Whether a text with too many tokens is cut, instead of refused with 413.
    pub(crate) truncate: bool,
    /// How many numbers of each vector, the first ones; `None` for all. Cut before they are
    /// normalised.
    pub(crate) dims: Option<usize>,
}

/// Vectors, one for each text of a request, in its order.
#[derive(Debug)]
pub(crate) struct Vectors {
    /// The generation that made them.
    pub(crate) model: Arc<EmbeddingGeneration>,
    pub(super) rows: Vec<KnownVector>,
    pub(super) options: VectorOptions,
}

impl Vectors {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns how many numbers a row has.
    pub(crate) fn dims(&self) -> usize {
        self.options.dims.unwrap_or(self.model.embedder.about().dims)
    }

    /// Returns the tokens of all texts, marks and repeated texts among them.
    pub(crate) fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens as usize).sum()
    }

    /// Appends the numbers of a row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub(crate) fn push_row(&self, row: usize, numbers: &mut Vec<f32>) {
        let start = numbers.len();
        numbers.extend_from_slice(&self.rows[row].numbers[..self.dims()]);
        if self.options.normalise.unwrap_or(self.model.embedder.about().normalises) {
            to_length_one(&mut numbers[start..]);
        }
    }

    /// Hands each row to `each`, in order.
    pub(crate) fn each(&self, mut each: impl FnMut(usize, &[f32])) {
        let mut numbers = Vec::with_capacity(self.dims());
        for row in 0..self.len() {
            numbers.clear();
            self.push_row(row, &mut numbers);
            each(row, &numbers);
        }
    }
}

/// Appends a JSON array of numbers, each with as few digits as tell it from its neighbours.
pub(crate) fn write_numbers(out: &mut Vec<u8>, numbers: &[f32]) {
    let mut buffer = zmij::Buffer::new();
    out.push(b'[');
    for (index, number) in numbers.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(buffer.format_finite(*number).as_bytes());
    }
    out.push(b']');
}
