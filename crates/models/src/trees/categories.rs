//! Turns sets of categories into columns: for each category, the sets of a feature that hold it.
//!
//! All columns of a feature are filled with the code of a category outside. Then only those whose
//! set holds the row's category are turned over, instead of asking all sets. A code is 0 for left
//! and 255 for right.
//!
//! Invariant: a feature's sets have columns side by side, in the order in which they were added.
//! `add` comes before `finish`, and `finish` before filling; `columns.rs` calls them so. A missing
//! value takes its own code in each column, a category in no set that of outside.
//! What number is a category is in `number.rs`; LightGBM's missing values are in no set.

use std::ops::Range;

use super::block::{LANES, LEFT, RIGHT};
use super::forest::{Branch, Set};
use super::number::{MISSING_CATEGORY, NO_CATEGORY};

/// All sets of a feature.
#[derive(Debug)]
pub(super) struct CategorySets {
    pub(super) feature: usize,
    first_column: usize,
    /// By set: the code of a category that it does not hold.
    outside: Vec<u8>,
    /// By set: the code of a missing value.
    missing: Vec<u8>,
    /// Categories and sets that hold them; in order once the group is finished.
    holders: Vec<(u32, u32)>,
    /// The categories, each once, with where its holders begin.
    known: Vec<(u32, u32)>,
}

impl CategorySets {
    pub(super) fn new(feature: usize, first_column: usize) -> Self {
        Self {
            feature,
            first_column,
            outside: Vec::new(),
            missing: Vec::new(),
            holders: Vec::new(),
            known: Vec::new(),
        }
    }

    /// Returns the columns it takes.
    pub(super) fn columns(&self) -> Range<usize> {
        self.first_column..self.first_column + self.count()
    }

    /// Returns how many columns it takes.
    pub(super) fn count(&self) -> usize {
        self.outside.len()
    }

    /// Adds a set whose categories go to the side `inside`, and returns its column.
    pub(super) fn add(&mut self, set: &Set, inside: Branch, missing: Branch) -> u32 {
        let number = self.outside.len() as u32;
        self.outside.push(code(inside.other()));
        self.missing.push(code(missing));
        self.holders.extend(set.0.iter().map(|category| (*category, number)));
        self.first_column as u32 + number
    }

    pub(super) fn finish(mut self) -> Self {
        self.holders.sort_unstable();
        let categories = self.holders.chunk_by(|a, b| a.0 == b.0);
        self.known = categories
            .scan(0, |start, holders| {
                let first = *start;
                *start += holders.len() as u32;
                Some((holders[0].0, first))
            })
            .collect();
        self
    }

    /// Writes the codes of a block of rows.
    pub(super) fn fill_block(&self, categories: [u32; LANES], codes: &mut [[u8; LANES]]) {
        let codes = &mut codes[self.first_column..][..self.count()];
        for (codes, outside) in codes.iter_mut().zip(&self.outside) {
            *codes = [*outside; LANES];
        }
        for (lane, category) in categories.into_iter().enumerate() {
            if category == MISSING_CATEGORY {
                for (codes, missing) in codes.iter_mut().zip(&self.missing) {
                    codes[lane] = *missing;
                }
            }
            for (_, set) in self.holders(category) {
                codes[*set as usize][lane] ^= LEFT ^ RIGHT;
            }
        }
    }

    /// Writes the codes of one row.
    pub(super) fn fill_row(&self, category: u32, codes: &mut [u8]) {
        let codes = &mut codes[self.first_column..][..self.count()];
        let is_missing = category == MISSING_CATEGORY;
        codes.copy_from_slice(if is_missing { &self.missing } else { &self.outside });
        for (_, set) in self.holders(category) {
            codes[*set as usize] ^= LEFT ^ RIGHT;
        }
    }

    /// Returns the sets that hold a category.
    fn holders(&self, category: u32) -> &[(u32, u32)] {
        if [MISSING_CATEGORY, NO_CATEGORY].contains(&category) {
            return &[];
        }
        let Ok(at) = self.known.binary_search_by_key(&category, |(known, _)| *known) else {
            return &[];
        };
        let end = self.known.get(at + 1).map_or(self.holders.len(), |(_, next)| *next as usize);
        &self.holders[self.known[at].1 as usize..end]
    }
}

fn code(side: Branch) -> u8 {
    if side == Branch::Left { LEFT } else { RIGHT }
}
