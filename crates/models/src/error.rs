//! Defines what can be wrong with a model file, an items file, rows or texts.
//!
//! Each variant is what the caller would do: keep the last generation, or refuse a request. A
//! [`Problem`] has a place in a file and a reason.
//! How many problems an error holds is the reader's choice. `linear.rs` reports all that it finds,
//! `items.rs` about a thousand. Trees, ONNX graphs and embeddings stop at the first. Printing shows
//! 20 and counts the rest.
//! Plain data. The words reach clients: crates/serving answers with those of rows, texts and
//! clusters. Where a text cannot be cut into tokens, it answers 413, and the reason goes on after
//! `text 3` (`too_long` of `texts.rs`). What a single feature of a request does wrong is
//! `RequestError` of `inputs.rs`. Fuzz targets match the variants.

use std::fmt;

/// Problems printed before the rest is only counted.
const PRINTED_MAX: usize = 20;

/// What can be done with a graph that is not evaluated in this process.
pub(crate) const IN_A_WORKER: &str = "hint: ONNX Runtime runs it in a worker pool, \
    `python = \"tidegate.onnx:app\"` (docs/MODELS.md)";

/// Why a model or its items cannot be used; the last good generation should keep serving.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model file is none of the formats read here, or not a valid one.
    #[error("read model: {}", Listed(.0))]
    Model(Vec<Problem>),
    /// The items file is not valid JSON lines of items.
    #[error("read items: {}", Listed(.0))]
    Items(Vec<Problem>),
    /// Model and items are valid alone but give no usable scores together.
    #[error("join model and items: {0}")]
    Join(String),
    /// Rows do not fit the model.
    #[error("score rows: {0}")]
    Rows(String),
    /// A text cannot be embedded, the one at `index` of those given.
    #[error("embed text {index}: {reason}")]
    Text { index: usize, reason: String },
    /// Rows or settings that no groups can be made of.
    #[error("cluster rows: {0}")]
    Cluster(String),
}

/// One thing wrong, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A key path (`features[3].scale`) or a line (`line 17`).
    pub at: String,
    /// What is wrong there.
    pub reason: String,
}

impl Problem {
    /// Returns a problem at a place.
    pub fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.reason)
    }
}

struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(PRINTED_MAX).enumerate() {
            let gap = if index == 0 { "" } else { "; " };
            write!(f, "{gap}{problem}")?;
        }
        match self.0.len().saturating_sub(PRINTED_MAX) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
