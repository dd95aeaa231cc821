//! Reads what leaves add to targets, and finds which classes a row can be without a vote for.
//!
//! Invariant: votes stand in the order of the nodes that give them, each is finite, and its node
//! and target exist. Where it depends on the row whether a class has a vote, votes of 1 are added
//! for a sum of its own. These sums stand behind those of the classes.
//! That a leaf votes once for a target is checked by `program.rs`. What a class without a vote
//! scores is decided in `classifier.rs`.
//! Refuses: more sums than `OUTPUTS_MAX`.

use std::collections::HashMap;

use super::nodes::{NodeMode, Nodes};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::trees::forest::OUTPUTS_MAX;

/// Votes in the order of the nodes that give them.
#[derive(Debug)]
pub(super) struct Votes {
    pub(super) list: Vec<Vote>,
    pub(super) nodes: Nodes,
}

/// What a leaf adds to a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    pub(super) node: usize,
    pub(super) target: usize,
    pub(super) value: f64,
}

/// Whether a row has a vote for a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasVote {
    Never,
    Always,
    /// Where this sum is not 0.
    Counted(usize),
}

impl Votes {
    /// Reads nodes, and the votes of the attributes that begin with `prefix`.
    pub(super) fn read(
        from: &mut Attributes<'_, '_>,
        prefix: &str,
        targets: usize,
    ) -> Result<Self, Problem> {
        let nodes = Nodes::read(from)?;
        let named = |name: &str| format!("{prefix}_{name}");
        let trees = from.integers(&named("treeids"))?;
        let numbers = from.integers(&named("nodeids"))?;
        let ids = from.integers(&named("ids"))?;
        let values = from.numbers(&named("weights"))?;
        if [trees.len(), numbers.len(), ids.len()] != [values.len(); 3] {
            return Err(from.problem(&named("weights"), "and what they belong to differ in number"));
        }
        let mut list = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let problem =
                |reason: &str| from.problem(&named("weights"), &format!("{index}: {reason}"));
            let node = nodes.places.get(&(trees[index], numbers[index])).copied();
            let node = node.ok_or_else(|| problem("is of a node that does not exist"))?;
            let target = usize::try_from(ids[index]).ok().filter(|target| *target < targets);
            let target = target.ok_or_else(|| problem("is for nothing that exists"))?;
            if !value.is_finite() {
                return Err(problem("is not finite"));
            }
            list.push(Vote { node, target, value });
        }
        list.sort_by_key(|vote| vote.node);
        Ok(Self { list, nodes })
    }

    /// Whether all votes are for one target.
    pub(super) fn has_one_target(&self) -> bool {
        let target = self.list.first().map(|vote| vote.target);
        target.is_some() && self.list.iter().all(|vote| Some(vote.target) == target)
    }

    /// Finds for each class whether a row has a vote for it. Where that depends on the row, it is
    /// counted: votes of 1 are added for a sum behind those of the classes.
    pub(super) fn count_voters(
        &mut self,
        from: &Attributes<'_, '_>,
        classes: usize,
    ) -> Result<Vec<HasVote>, Problem> {
        let mut voted = vec![HasVote::Never; classes];
        self.list.iter().for_each(|vote| voted[vote.target] = HasVote::Counted(0));
        let mut rest = self.list.as_slice();
        for range in self.nodes.ranges() {
            let leaves =
                self.nodes.modes[range.clone()].iter().filter(|mode| **mode == NodeMode::Leaf);
            let leaves = leaves.count();
            let of_tree;
            (of_tree, rest) = rest.split_at(rest.partition_point(|vote| vote.node < range.end));
            let mut voters: HashMap<usize, usize> = HashMap::new();
            for vote in of_tree.iter().filter(|vote| self.nodes.modes[vote.node] == NodeMode::Leaf)
            {
                *voters.entry(vote.target).or_default() += 1;
            }
            for (class, _) in voters.into_iter().filter(|(_, count)| *count >= leaves) {
                voted[class] = HasVote::Always;
            }
        }
        let mut sums = classes;
        for class in &mut voted {
            if *class == HasVote::Counted(0) {
                *class = HasVote::Counted(sums);
                sums += 1;
            }
        }
        if sums > OUTPUTS_MAX {
            return Err(Problem::new(from.node.place(), "has too many classes"));
        }
        let counted = self.list.iter().filter_map(|vote| match voted[vote.target] {
            HasVote::Counted(target) => Some(Vote { target, value: 1.0, ..*vote }),
            _ => None,
        });
        let counted: Vec<Vote> = counted.collect();
        self.list.extend(counted);
        self.list.sort_by_key(|vote| vote.node);
        Ok(voted)
    }
}
