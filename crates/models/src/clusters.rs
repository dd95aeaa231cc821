//! Groups rows that point in the same direction, such as vectors of sentences that mean the same.
//!
//! [`Method::Linkage`] joins the two groups whose rows are most alike on average, again and again.
//! This is UPGMA over cosine distance, as scikit-learn's `AgglomerativeClustering` does it.
//! [`Method::Communities`] takes the row with the most neighbours, and its neighbours with it, and
//! goes on with the rest. This is sentence-transformers' `util.community_detection`. Both begin
//! with the pairs of rows that reach `similarity_min` (`pairs.rs`).
//!
//! Invariant: the groups depend on the numbers of the rows alone, to the bit, not on the CPU. The
//! order given decides only which of equal rows, and which of groups of equal size, stands first.
//! Refuses, as [`Error::Cluster`]: numbers that are not finite, settings out of range, over 32,768
//! rows, over 16,384 numbers in one. Linkage also refuses over 5000 connected rows. A
//! `similarity_min` above 0.99999 counts as 0.99999, because rounding moves the cosine of equal
//! rows.
//! Defaults and bounds also stand in words in `config.rs` and `clusters.rs` of crates/serving,
//! `crates/tidegate/src/cli.rs`, `bench/src/rows/models/clusters.rs` and docs/MODELS.md. A new
//! method also goes into `Grouping` of crates/serving, `GroupingArg` of the command line, and
//! `openapi.json`. New defaults are measured by `golden/stories.py`.

mod cluster;
mod community;
mod describe;
mod graph;
mod linkage;
mod pairs;
mod panels;
mod units;

pub use cluster::{Cluster, Clusters};

use units::Units;

use crate::embed::EmbedderKind;
use crate::error::Error;

/// Numbers of a row.
const DIMS_MAX: usize = 1 << 14;

/// Above this, the cosine of a row with itself is a matter of rounding.
const SAME: f32 = 1.0 - 1e-5;

/// Rows up to which linkage is the default: it finds better groups, and its memory grows with the
/// square of the rows that are connected.
const LINKED_MAX: usize = linkage::ROWS_MAX;

/// How to group rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clustering {
    pub method: Method,
    /// From -1 to 1. Linkage: two groups are joined where the mean cosine of their pairs is at
    /// least this. Communities: two rows are neighbours where their cosine is at least this.
    pub similarity_min: f32,
    /// Rows of the smallest group, from 1; rows of smaller ones are noise.
    pub members_min: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Linkage,
    Communities,
}

impl Clustering {
    /// Rows at once: the bits of their pairs take 128 MiB.
    pub const ROWS_MAX: usize = 1 << 15;

    /// Returns what suits that many vectors of sentences (docs/DECISIONS.md).
    pub fn for_rows(rows: usize, kind: EmbedderKind) -> Self {
        let method = match rows {
            0..=LINKED_MAX => Method::Linkage,
            _ => Method::Communities,
        };
        Self { method, similarity_min: method.similarity_min(kind), members_min: 2 }
    }

    /// Groups rows of `dims` numbers, one after the other in `values`; their lengths are nothing.
    ///
    /// Takes at most twice the bytes of `values`, and an eighth of the rows' square. Linkage takes
    /// four times the square of the connected rows on top.
    ///
    /// # Errors
    /// [`Error::Cluster`] where the numbers are not finite or no rows, where there are too many of
    /// them, or a setting is out of its range.
    pub fn cluster(&self, values: &[f32], dims: usize) -> Result<Clusters, Error> {
        self.check(values.len(), dims).map_err(Error::Cluster)?;
        let units = Units::of(values, dims).map_err(Error::Cluster)?;
        let panels = units.panels();
        let limit = self.similarity_min.min(SAME);
        let graph = pairs::similar(&panels, limit);
        let groups = match self.method {
            Method::Communities => community::groups(&graph, self.members_min),
            Method::Linkage => linkage::groups(&panels, &graph, limit).map_err(Error::Cluster)?,
        };
        Ok(describe::clusters(&units, groups, self.members_min))
    }

    fn check(&self, values: usize, dims: usize) -> Result<(), String> {
        let Self { similarity_min, members_min, .. } = *self;
        if !(-1.0..=1.0).contains(&similarity_min) {
            return Err(format!("`similarity_min` is {similarity_min}, not from -1 to 1"));
        }
        if members_min == 0 {
            return Err("`members_min` is 0, not at least 1".to_owned());
        }
        if values > 0 && !(1..=DIMS_MAX).contains(&dims) {
            return Err(format!("rows of {dims} numbers, not of 1 to {DIMS_MAX}"));
        }
        if values > 0 && !values.is_multiple_of(dims) {
            return Err(format!("{values} numbers are no rows of {dims}"));
        }
        match values / dims.max(1) {
            rows if rows > Self::ROWS_MAX => {
                Err(format!("{rows} rows, more than {}", Self::ROWS_MAX))
            }
            _ => Ok(()),
        }
    }
}

impl Method {
    /// Returns the similarity that finds the stories of news headlines best: in vectors of MiniLM,
    /// or in the static vectors of the news example (docs/DECISIONS.md). Shorter and more uniform
    /// texts want up to 0.2 more.
    pub fn similarity_min(self, kind: EmbedderKind) -> f32 {
        match (self, kind) {
            (Self::Linkage, _) => 0.35,
            (Self::Communities, EmbedderKind::Encoder { .. }) => 0.5,
            (Self::Communities, EmbedderKind::Static) => 0.55,
        }
    }
}

#[cfg(test)]
mod tests;
