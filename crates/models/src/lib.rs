//! Pure model evaluation: linear models over items that stay resident.
//!
//! A [`Linear`] model and an [`Items`] table are read from files (formats: `linear.rs`,
//! `items.rs`), joined into a [`Ranker`], and asked to rank.
//!
//! Invariant: everything that does not depend on a request is computed when the ranker is built;
//! ranking allocates nothing but what the caller's [`Scratch`] keeps for the next request.
//!
//! Refuses: tokio, HTTP, files of its own (callers hand over bytes), clocks, random numbers.

mod column;
mod error;
mod ids;
mod inputs;
mod items;
mod linear;
mod matrix;
mod plan;
mod rank;
mod top;

pub use error::{Error, Problem};
pub use inputs::{Inputs, RequestError};
pub use items::{Codes, Items, Wanted};
pub use linear::{Cross, Feature, FeatureName, Linear, Link, Source};
pub use rank::{CandidateSet, Candidates, PROPENSITY, RankRequest, Ranker};
pub use top::{Marks, Ranked, Scratch};
