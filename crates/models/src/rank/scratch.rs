//! Holds the memory that a ranking uses, which the caller keeps from one request to the next.
//!
//! Plain memory that only grows. What a request left in it changes no later one. One scratch serves
//! one request at a time, of any ranker.

use super::best::BestScratch;
use super::rows::RowScratch;
use crate::joined::LinearScratch;

/// Memory that rankings reuse, one per thread.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) linear: LinearScratch,
    pub(super) rows: RowScratch,
    pub(super) best: BestScratch,
}
