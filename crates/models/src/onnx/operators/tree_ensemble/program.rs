//! Makes a program of [`crate::trees`] from the nodes and votes of a tree ensemble.
//!
//! A leaf gets a value for each target between the first and last of its tree. What it does not
//! vote for is neutral: 0 in sums, an infinity in minima and maxima. By that infinity
//! `regressor.rs` knows a target without a vote.
//! Invariant: children exist within their tree, and a leaf votes once for a target. Votes of nodes
//! that are no leaves are dropped.
//! Base values and averages are the operator's, not the program's.
//! Refuses: leaves that vote for few of the targets between their first and last, which would take
//! more than about 64 values a vote.

use std::ops::Range;

use super::nodes::{NodeMode, Nodes};
use super::precision::TreeFloat;
use super::votes::{Vote, Votes};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::trees::build::{self, Program};
use crate::trees::forest::{Child, Covers, Forest, Merge, Tree};
use crate::trees::transform::OutputTransform;

/// Values of leaves for each vote: a leaf that votes for few of its tree's targets is padded.
const PADDING_MAX: usize = 64;

/// Reads a program that gives so many sums.
pub(super) fn read_program<L: TreeFloat>(
    from: &Attributes<'_, '_>,
    votes: &Votes,
    outputs: usize,
    merge: Merge,
) -> Result<Program<L>, Problem> {
    let problem = |reason: String| Problem::new(from.node.place(), reason);
    let neutral = L::rounded(match merge {
        Merge::Sum => 0.0,
        Merge::Least => f64::INFINITY,
        Merge::Greatest => f64::NEG_INFINITY,
    });
    let nodes = &votes.nodes;
    let mut rest = votes.list.as_slice();
    let mut trees = Vec::new();
    for range in nodes.ranges() {
        let of_tree;
        (of_tree, rest) = rest.split_at(rest.partition_point(|vote| vote.node < range.end));
        let tree = tree(nodes, range, of_tree, neutral);
        trees.push(tree.map_err(|reason| problem(format!("tree {}: {reason}", trees.len())))?);
    }
    let features = nodes.features.iter().zip(&nodes.modes);
    let features =
        features.filter(|(_, mode)| **mode != NodeMode::Leaf).map(|(feature, _)| feature);
    let forest = Forest {
        features: features.max().map_or(0, |feature| *feature as usize + 1),
        base: vec![neutral; outputs],
        trees,
        sets: Vec::new(),
        transform: OutputTransform::Identity,
        divisor: 1,
        merge,
        zero_max: 0.0,
    };
    let named = |found: Problem| problem(format!("{}: {}", found.at, found.reason));
    build::compile(forest).map_err(named)
}

fn tree<L: TreeFloat>(
    nodes: &Nodes,
    range: Range<usize>,
    votes: &[Vote],
    neutral: L,
) -> Result<Tree<L>, String> {
    let mut children = Vec::with_capacity(range.len());
    let (mut inner, mut leaves) = (0, 0);
    for mode in &nodes.modes[range.clone()] {
        let count = if *mode == NodeMode::Leaf { &mut leaves } else { &mut inner };
        children.push(match mode {
            NodeMode::Leaf => Child::Leaf(*count),
            _ => Child::Split(*count),
        });
        *count += 1;
    }
    let splits = range.clone().filter(|place| nodes.modes[*place] != NodeMode::Leaf);
    let splits = splits.map(|place| {
        let child = |number: i64| {
            let place = nodes.places.get(&(nodes.trees[place], number));
            let child = place.filter(|place| range.contains(place));
            let child = child.map(|place| children[place - range.start]);
            child.ok_or_else(|| format!("node {number} does not exist"))
        };
        let (yes, no) = (child(nodes.yes[place])?, child(nodes.no[place])?);
        nodes.split::<L>(place, yes, no)
    });
    let splits = splits.collect::<Result<_, _>>()?;
    let first = votes.iter().map(|vote| vote.target).min().unwrap_or(0);
    let last = votes.iter().map(|vote| vote.target).max().unwrap_or(0);
    let outputs = last + 1 - first;
    if leaves as usize * outputs > PADDING_MAX * (votes.len() + 1) {
        return Err("its leaves vote for few of the targets between their first and last".into());
    }
    let mut values = vec![neutral; leaves as usize * outputs];
    let mut seen = vec![false; values.len()];
    for vote in votes {
        let Child::Leaf(leaf) = children[vote.node - range.start] else { continue };
        let at = leaf as usize * outputs + vote.target - first;
        if std::mem::replace(&mut seen[at], true) {
            return Err("a leaf votes twice for a target".to_owned());
        }
        values[at] = L::rounded(vote.value);
    }
    let (output, outputs) = (first as u32, outputs as u32);
    let (root, functions, covers) = (children[0], Vec::new(), Covers::default());
    Ok(Tree { output, outputs, root, splits, leaves: values, functions, covers })
}
