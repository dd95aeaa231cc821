//! Rows to be grouped: in any order they give the same groups, and each row is in one of them or
//! noise.

use std::collections::BTreeSet;

use models::{Clustering, Clusters, Error, Method};

use super::settings;

pub(super) const TOKENS: &[&str] = &[
    "l 0.35 2 3\n",
    "c 0.5 2 2\n",
    "l -1 1 1\n",
    "c 1 1 4\n",
    "L 0.99 3 2\n",
    "C NaN 2 2\n",
    "\0\0\0\0",
    "\0\0\u{20}\u{20}",
    "\u{1}\0\0\0",
];

const ROWS_MAX: usize = 600;

pub(super) fn run(input: &[u8]) {
    let (first, numbers) = settings(input);
    let Some((how, dims, wide)) = setting(first) else { return };
    let values: Vec<f32> = match wide {
        true => numbers.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        false => numbers.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
    };
    let values = &values[..values.len().min(ROWS_MAX * dims.max(1))];
    let found = match how.cluster(values, dims) {
        Ok(found) => found,
        Err(Error::Cluster(reason)) => {
            return assert!(!reason.is_empty(), "refused without a word");
        }
        Err(error) => panic!("grouping fails as {error:?}"),
    };
    let rows: Vec<&[f32]> = values.chunks_exact(dims.max(1)).collect();
    check(&found, how, rows.len());
    let turned: Vec<f32> = rows.iter().rev().copied().flatten().copied().collect();
    let other = how.cluster(&turned, dims).expect("the same rows, from the last to the first");
    let other_rows: Vec<&[f32]> = rows.iter().rev().copied().collect();
    assert_eq!(contents(&found, &rows), contents(&other, &other_rows), "their order matters");
}

/// `METHOD SIMILARITY MEMBERS DIMS`; a method in capitals takes numbers of four bytes.
fn setting(line: &[u8]) -> Option<(Clustering, usize, bool)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, wide) = match words.next()? {
        "l" => (Method::Linkage, false),
        "L" => (Method::Linkage, true),
        "c" => (Method::Communities, false),
        "C" => (Method::Communities, true),
        _ => return None,
    };
    let similarity_min = words.next()?.parse().ok()?;
    let members_min = words.next()?.parse().ok()?;
    let dims = words.next()?.parse().ok()?;
    Some((Clustering { method, similarity_min, members_min }, dims, wide))
}

fn check(found: &Clusters, how: Clustering, rows: usize) {
    let mut seen = BTreeSet::new();
    let mut largest = usize::MAX;
    for cluster in &found.clusters {
        let members = cluster.members.len();
        assert!(members >= how.members_min && members <= largest, "{found:?}");
        assert!((-1.0..=1.0).contains(&cluster.cohesion), "{found:?}");
        assert!(cluster.members.iter().all(|row| seen.insert(*row)), "twice: {found:?}");
        largest = members;
    }
    assert!(found.noise.is_sorted(), "{found:?}");
    assert!(found.noise.iter().all(|row| seen.insert(*row)), "twice: {found:?}");
    assert!(seen.len() == rows && seen.last().is_none_or(|last| (*last as usize) < rows));
}

/// The groups by what their rows are, for rows that are alike are the same.
fn contents(found: &Clusters, rows: &[&[f32]]) -> Vec<Vec<Vec<u32>>> {
    let unit = |row: &u32| {
        let row = rows[*row as usize];
        let length = row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let scaled = row.iter().map(|value| (f64::from(*value) / length) as f32 + 0.0);
        scaled.map(f32::to_bits).collect::<Vec<_>>()
    };
    let sorted = |members: &[u32]| {
        let mut units: Vec<_> = members.iter().map(unit).collect();
        units.sort_unstable();
        units
    };
    let mut groups: Vec<_> =
        found.clusters.iter().map(|cluster| sorted(&cluster.members)).collect();
    groups.sort_unstable();
    groups.push(sorted(&found.noise));
    groups
}
