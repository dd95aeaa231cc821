//! Links connected rows by their average cosine, by chains of nearest neighbours.
//!
//! The chain goes from a group to its nearest one, until two are each other's nearest. These two
//! are joined (Müllner, "Modern hierarchical, agglomerative clustering algorithms", 2011, §3.1).
//! For average linkage this gives the same groups as joining the closest pair of all, but for ties.
//! Time and memory grow with the square of the rows of one component. A group whose nearest one is
//! below the limit is done: joining others never brings them closer.
//!
//! Invariant: a mean is never above the larger of the two it was made of, rounding included. So a
//! chain cannot come back to itself.
//! Single rows are groups here; `clusters/describe.rs` makes noise of small ones.
//! Refuses: more than [`ROWS_MAX`] connected rows, as an error with a hint. `clusters.rs` picks the
//! default method by this bound, and says where else the number stands.

use multiversion::multiversion;

use super::graph::{NeighbourGraph, RowSet};
use super::panels::{LANES, PanelLane, Panels, Products, multiply};
use crate::pause::pause;

/// Rows that are linked at once: their means take 96 MiB.
pub(super) const ROWS_MAX: usize = 5_000;

/// Returns the groups, single rows included.
pub(super) fn groups(
    panels: &Panels,
    graph: &NeighbourGraph,
    limit: f32,
) -> Result<Vec<Vec<u32>>, String> {
    let mut groups = Vec::new();
    for rows in components(graph) {
        match rows.len() {
            0..=2 => groups.push(rows),
            3..=ROWS_MAX => {
                let linked = Linkage::new(&panels.select(&rows)).groups(limit);
                let named = |group: Vec<u32>| group.iter().map(|at| rows[*at as usize]).collect();
                groups.extend(linked.into_iter().map(named));
            }
            count => {
                return Err(format!(
                    "{count} rows are connected by pairs of `similarity_min` {limit}, \
                     linkage takes {ROWS_MAX}; hint: communities take more, or raise it"
                ));
            }
        }
    }
    Ok(groups)
}

/// Returns the rows that chains of neighbours connect, each in rising order.
fn components(graph: &NeighbourGraph) -> Vec<Vec<u32>> {
    let mut left = RowSet::all(graph.rows());
    let mut components = Vec::new();
    for row in 0..graph.rows() {
        if !left.has(row) {
            continue;
        }
        left.remove(row);
        let mut found = vec![row as u32];
        let mut looked_at = 0;
        while let Some(next) = found.get(looked_at) {
            let known = found.len();
            graph.neighbours(*next as usize, &left, &mut found);
            found[known..].iter().for_each(|row| left.remove(*row as usize));
            looked_at += 1;
        }
        found.sort_unstable();
        components.push(found);
    }
    components
}

/// Groups that are being joined, each under the number of one of its rows.
struct Linkage {
    /// Numbers of a line of `means`: the rows, and zeros to the end of the last lane.
    width: usize,
    /// Mean cosine of the pairs of two groups; of a group with itself, infinitely low.
    means: Vec<f32>,
    /// 0 for a group, infinitely low for what is none, or is done.
    gone: Vec<f32>,
    groups: Vec<Vec<u32>>,
}

impl Linkage {
    fn new(panels: &Panels) -> Self {
        let rows = panels.rows();
        let width = panels.count() * LANES;
        let mut gone = vec![0.0; width];
        gone[rows..].fill(f32::NEG_INFINITY);
        let groups = (0..rows as u32).map(|row| vec![row]).collect();
        Self { width, means: all_products(panels), gone, groups }
    }

    fn groups(mut self, limit: f32) -> Vec<Vec<u32>> {
        let mut chain: Vec<usize> = Vec::new();
        let mut start = 0;
        loop {
            pause();
            let Some(tip) = chain.last().copied() else {
                match self.gone[start..].iter().position(|gone| *gone == 0.0) {
                    Some(next) => start += next,
                    None => return self.groups.into_iter().filter(|g| !g.is_empty()).collect(),
                }
                chain.push(start);
                continue;
            };
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            let (nearest, mean) = nearest(self.line(tip), &self.gone);
            if mean < limit {
                debug_assert!(before.is_none(), "the one before is near enough");
                self.gone[tip] = f32::NEG_INFINITY;
                chain.pop();
            } else if let Some(before) = before.filter(|at| self.line(tip)[*at] >= mean) {
                chain.truncate(chain.len() - 2);
                self.join(tip.min(before), tip.max(before));
            } else {
                chain.push(nearest);
            }
        }
    }

    fn line(&self, group: usize) -> &[f32] {
        &self.means[group * self.width..][..self.width]
    }

    /// Joins two groups under the number of the first, which is the lower.
    fn join(&mut self, into: usize, from: usize) {
        let members = std::mem::take(&mut self.groups[from]);
        let sizes = [self.groups[into].len(), members.len()];
        self.groups[into].extend(members);
        self.gone[from] = f32::NEG_INFINITY;
        let (before, after) = self.means.split_at_mut(from * self.width);
        let line = &mut before[into * self.width..][..self.width];
        average(line, &after[..self.width], sizes.map(|size| size as f64));
        for row in 0..self.width.min(self.groups.len()) {
            if self.gone[row] == 0.0 {
                self.means[row * self.width + into] = self.means[into * self.width + row];
            }
        }
    }
}

/// Returns the cosines of all pairs, infinitely low where a row meets itself.
fn all_products(panels: &Panels) -> Vec<f32> {
    let (rows, width) = (panels.rows(), panels.count() * LANES);
    let mut means = vec![0.0; rows * width];
    let mut products: Products = [PanelLane::default(); LANES];
    for a in 0..panels.count() {
        pause();
        for b in a..panels.count() {
            multiply(panels.panel(a), panels.panel(b), f32::NEG_INFINITY, &mut products);
            for (row, products) in (a * LANES..rows).zip(&products) {
                means[row * width + b * LANES..][..LANES].copy_from_slice(&products.0);
            }
            for (lane, row) in (b * LANES..rows).take(LANES).enumerate() {
                let turned = std::array::from_fn::<f32, LANES, _>(|at| products[at].0[lane]);
                means[row * width + a * LANES..][..LANES].copy_from_slice(&turned);
            }
        }
    }
    (0..rows).for_each(|row| means[row * width + row] = f32::NEG_INFINITY);
    means
}

/// Returns the first of the highest means among the groups that are left.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn nearest(means: &[f32], gone: &[f32]) -> (usize, f32) {
    let (means, _) = means.as_chunks::<LANES>();
    let (gone, _) = gone.as_chunks::<LANES>();
    let mut highest = [f32::NEG_INFINITY; LANES];
    for (means, gone) in means.iter().zip(gone) {
        for lane in 0..LANES {
            let mean = means[lane] + gone[lane];
            highest[lane] = if mean > highest[lane] { mean } else { highest[lane] };
        }
    }
    let highest = highest.into_iter().fold(f32::NEG_INFINITY, f32::max);
    for (index, (means, gone)) in means.iter().zip(gone).enumerate() {
        let mut found = 0_u32;
        for lane in 0..LANES {
            found += u32::from(means[lane] + gone[lane] == highest);
        }
        if found > 0 {
            let lane = (0..LANES).find(|lane| means[*lane] + gone[*lane] == highest);
            return (index * LANES + lane.unwrap_or(0), highest);
        }
    }
    (0, f32::NEG_INFINITY)
}

/// Makes `into` the mean of two lines, weighted.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn average(into: &mut [f32], from: &[f32], [into_size, from_size]: [f64; 2]) {
    let all = into_size + from_size;
    for (into, from) in into.iter_mut().zip(from) {
        *into = ((f64::from(*into) * into_size + f64::from(*from) * from_size) / all) as f32;
    }
}

#[cfg(test)]
mod tests;
