//! Describes groups: the most typical row, how alike the rows are, and what is in no group.
//!
//! The centroid is the sum of a group's rows, which have length 1. So the mean cosine of all pairs
//! follows from the length of that sum, and no pair is looked at.
//!
//! Invariant: the order in which a method found the groups and their members changes nothing. A
//! group under `members_min` becomes noise, as do rows of zeros.
//! Places in the order of `clusters/units.rs` come in, rows of the input go out. The largest group
//! stands first, and the member nearest to the centroid first in its group. `cluster.rs` takes that
//! member for the label; `/cluster` writes groups and members in this order.

use super::cluster::{Cluster, Clusters};
use super::units::Units;

/// Describes groups of rows by their place in the order of `units`; a group of fewer than
/// `members_min` is noise.
pub(super) fn clusters(units: &Units, groups: Vec<Vec<u32>>, members_min: usize) -> Clusters {
    let mut is_noise = vec![true; units.order().len()];
    let mut clusters = Vec::new();
    for group in groups.into_iter().filter(|group| group.len() >= members_min) {
        group.iter().for_each(|place| is_noise[*place as usize] = false);
        clusters.push(describe(units, group));
    }
    clusters.sort_by_cached_key(|cluster: &Cluster| {
        (std::cmp::Reverse(cluster.members.len()), cluster.members.iter().min().copied())
    });
    let left = units.order().iter().zip(is_noise).filter(|(_, is_noise)| *is_noise);
    let mut noise: Vec<u32> = left.map(|(row, _)| *row).collect();
    noise.extend(units.zeros());
    noise.sort_unstable();
    Clusters { clusters, noise }
}

fn describe(units: &Units, mut places: Vec<u32>) -> Cluster {
    // Sums round, so their order must not be one of the method's making.
    places.sort_unstable();
    let rows: Vec<u32> = places.iter().map(|place| units.order()[*place as usize]).collect();
    let mut centroid = vec![0.0_f64; units.dims()];
    for row in &rows {
        centroid.iter_mut().zip(units.row(*row)).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    let cosine = |row: &[f32]| row.iter().zip(&centroid).map(|(a, b)| f64::from(*a) * b).sum();
    let mut members: Vec<(f64, u32)> =
        rows.into_iter().map(|row| (cosine(units.row(row)), row)).collect();
    let count = members.len() as f64;
    // The sum over all ordered pairs, those of a row with itself (1 each) included.
    let pairs: f64 = members.iter().map(|(cosine, _)| cosine).sum();
    let cohesion = match members.len() {
        1 => 1.0,
        _ => ((pairs - count) / (count * (count - 1.0))).clamp(-1.0, 1.0),
    };
    // Stable: of rows as near, the first in order.
    members.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    Cluster { members: members.into_iter().map(|(_, row)| row).collect(), cohesion }
}
