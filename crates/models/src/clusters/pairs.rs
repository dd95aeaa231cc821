//! Finds all pairs of rows whose cosine reaches a limit.
//!
//! Panels are taken in blocks that stay in the second-level cache while all others pass by. Each
//! pair of panels is multiplied once.
//!
//! Invariant: stopping early does not change which pairs are found, because the floor lies below
//! the limit by twice the rounding. No row is paired with itself.
//! The products are in `clusters/panels.rs`, the bits in `clusters/graph.rs`.

use super::graph::NeighbourGraph;
use super::panels::{LANES, PanelLane, Panels, Products, multiply};
use crate::pause::pause;

/// Panels that stay in the second cache: 384 KiB of rows of 384 numbers.
const BLOCK: usize = 16;

/// Returns which pairs of rows have a cosine of `limit` or more.
pub(super) fn similar(panels: &Panels, limit: f32) -> NeighbourGraph {
    // Both the bound and the product that it bounds are rounded.
    let floor = limit - 2.0 * panels.error_max();
    let mut graph = NeighbourGraph::new(panels.rows());
    let mut products: Products = [PanelLane::default(); LANES];
    for block in (0..panels.count()).step_by(BLOCK) {
        let block_end = (block + BLOCK).min(panels.count());
        for a in 0..block_end {
            pause();
            for b in block.max(a)..block_end {
                if multiply(panels.panel(a), panels.panel(b), floor, &mut products) {
                    link(&mut graph, &products, limit, [a, b]);
                }
            }
        }
    }
    graph
}

fn link(graph: &mut NeighbourGraph, products: &Products, limit: f32, [a, b]: [usize; 2]) {
    for (a, products) in (a * LANES..graph.rows()).zip(products) {
        let reached = products.0.iter().map(|product| u32::from(*product >= limit)).sum::<u32>();
        if reached == 0 {
            continue;
        }
        for (b, product) in (b * LANES..graph.rows()).zip(products.0) {
            if product >= limit && a < b {
                graph.link(a, b);
            }
        }
    }
}
