//! What linkage does at its bound; its groups are checked with those of all (`clusters/tests.rs`).

use super::super::panels::Panels;
use super::{NeighbourGraph, ROWS_MAX, groups};

#[test]
fn refuses_more_connected_rows_than_its_memory_is_for() {
    let mut graph = NeighbourGraph::new(ROWS_MAX + 1);
    (0..ROWS_MAX).for_each(|row| graph.link(row, row + 1));
    let panels = Panels::pack(0, 1, |_| &[]);
    let error = groups(&panels, &graph, 0.5).unwrap_err();
    let wanted = "5001 rows are connected by pairs of `similarity_min` 0.5, linkage takes 5000; \
                  hint: communities take more, or raise it";
    assert_eq!(error, wanted);
}
