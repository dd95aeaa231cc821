//! Gauss's rules, and parts beside the definition of Shapley values.

use super::*;
use crate::trees::{Iterations, TreeScratch, Trees};

#[test]
fn a_rule_integrates_every_power_that_it_should() {
    for points in [1, 2, 3, 8, 33, PATH_MAX / 2] {
        let rule = gauss(points);
        for power in 0..2 * points {
            let found: f64 = rule.iter().map(|p| p.weight * p.at.powi(power as i32)).sum();
            let wanted = 1.0 / (power + 1) as f64;
            assert!((found - wanted).abs() < 1e-13, "{points} points, power {power}: {found}");
        }
    }
}

/// A tree over four features, one of them twice on a path. `f0 <= 0` goes left, and so on.
const TREE: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=3\n\
    objective=regression\nfeature_names=item.a item.b item.c item.d\n\nTree=0\nnum_leaves=6\n\
    num_cat=0\nsplit_feature=0 1 2 3 0\nthreshold=0 0 0 0 2\ndecision_type=0 0 0 0 0\n\
    left_child=1 -1 3 -3 -4\nright_child=2 -2 4 -5 -6\nleaf_value=1 2 4 8 16 -32\n\
    leaf_count=10 20 5 15 40 10\ninternal_count=100 30 70 45 25\n\nend of trees\n";

/// What the tree gives where only the features in `known` are known: the mean by counts.
fn value(row: &[f64; 4], known: u32, node: i64) -> f64 {
    const SPLITS: [(usize, f64, i64, i64); 5] =
        [(0, 0.0, 1, 2), (1, 0.0, -1, -2), (2, 0.0, 3, 4), (3, 0.0, -3, -5), (0, 2.0, -4, -6)];
    const LEAVES: [(f64, f64); 6] =
        [(1.0, 10.0), (2.0, 20.0), (4.0, 5.0), (8.0, 15.0), (16.0, 40.0), (-32.0, 10.0)];
    const COUNTS: [f64; 5] = [100.0, 30.0, 70.0, 45.0, 25.0];
    if node < 0 {
        return LEAVES[(-1 - node) as usize].0;
    }
    let (feature, limit, left, right) = SPLITS[node as usize];
    if known >> feature & 1 == 1 {
        return value(row, known, if row[feature] <= limit { left } else { right });
    }
    let count = |node: i64| match node {
        leaf if leaf < 0 => LEAVES[(-1 - leaf) as usize].1,
        split => COUNTS[split as usize],
    };
    let side = |child| count(child) / COUNTS[node as usize] * value(row, known, child);
    side(left) + side(right)
}

#[test]
fn parts_are_shapley_values_of_the_mean_over_rows_of_the_training() {
    let trees = Trees::read_explained(TREE.as_bytes(), Iterations::Best).unwrap();
    let (mut scratch, mut parts) = (TreeScratch::default(), Vec::new());
    for case in 0..81 {
        let row = [0, 1, 2, 3].map(|place| [-1.0, 1.0, 3.0][case / 3_usize.pow(place) % 3]);
        trees.begin_codes(&mut scratch, row.iter().copied().enumerate());
        trees.explain_codes(0, &mut scratch, &mut parts);
        assert!((trees.expected().unwrap() - value(&row, 0, 0)).abs() < 1e-12);
        for (feature, part) in parts.iter().enumerate() {
            let mut wanted = 0.0;
            for known in (0..16_u32).filter(|known| known >> feature & 1 == 0) {
                // |S|! (3 - |S|)! / 4! of the sets S without the feature.
                let weight = [6.0, 2.0, 2.0, 6.0][known.count_ones() as usize] / 24.0;
                wanted += weight * (value(&row, known | 1 << feature, 0) - value(&row, known, 0));
            }
            assert!((part - wanted).abs() < 1e-12, "{row:?}, {feature}: {part} not {wanted}");
        }
    }
}

#[test]
fn what_cannot_be_explained_says_why() {
    let without = TREE.replace("leaf_count", "count");
    let trees = Trees::read_explained(without.as_bytes(), Iterations::Best).unwrap();
    assert!(trees.expected().unwrap_err().contains("`leaf_count` of LightGBM"));
    // A chain of splits on 257 features.
    let numbers = |count: usize, of: &dyn Fn(usize) -> i64| -> String {
        (0..count).map(|n| format!("{} ", of(n))).collect()
    };
    let chain = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=256\n\
         objective=regression\nfeature_names={}\n\nTree=0\nnum_leaves=258\nnum_cat=0\n\
         split_feature={}\nthreshold={}\nleft_child={}\nright_child={}\nleaf_value={}\n\
         leaf_count={}\ninternal_count={}\n\nend of trees\n",
        numbers(257, &|n| n as i64).trim_end(),
        numbers(257, &|n| n as i64),
        numbers(257, &|_| 0),
        numbers(257, &|n| -1 - n as i64),
        numbers(257, &|n| if n == 256 { -258 } else { n as i64 + 1 }),
        numbers(258, &|n| n as i64),
        numbers(258, &|_| 1),
        numbers(257, &|n| 258 - n as i64),
    );
    let trees = Trees::read_explained(chain.as_bytes(), Iterations::Best).unwrap();
    assert_eq!(trees.expected(), Err(LONG_PATHS));
    let trees = Trees::read(TREE.as_bytes()).unwrap();
    assert!(trees.expected().is_err(), "counts are read only where somebody asks");
}
