//! Finds communities: the row with the most neighbours, together with those neighbours that are
//! left.
//!
//! The method of sentence-transformers' `util.community_detection`, in its order. Communities are
//! taken by the size that each had at first, those of one size in the order of `units.rs`. A row
//! that is taken already may still gather those of its neighbours that are left.
//!
//! Invariant: no row is in two communities, and each has at least `members_min` rows. Rows in none
//! are left out; `clusters/describe.rs` makes noise of them.

use super::graph::{NeighbourGraph, RowSet};

/// Returns the communities of at least `members_min` rows; no row is in two.
pub(super) fn groups(graph: &NeighbourGraph, members_min: usize) -> Vec<Vec<u32>> {
    let sizes: Vec<usize> = (0..graph.rows()).map(|row| graph.degree(row) + 1).collect();
    let mut centres: Vec<usize> =
        (0..graph.rows()).filter(|row| sizes[*row] >= members_min).collect();
    centres.sort_by_key(|row| std::cmp::Reverse(sizes[*row]));
    let mut left = RowSet::all(graph.rows());
    let mut left_count = graph.rows();
    let mut groups = Vec::new();
    for centre in centres {
        if left_count < members_min {
            break;
        }
        let mut members = Vec::new();
        if left.has(centre) {
            members.push(centre as u32);
        }
        graph.neighbours(centre, &left, &mut members);
        if members.len() >= members_min {
            members.iter().for_each(|row| left.remove(*row as usize));
            left_count -= members.len();
            groups.push(members);
        }
    }
    groups
}
