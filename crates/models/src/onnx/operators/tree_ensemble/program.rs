//! From the attributes of a tree ensemble to a program of [`crate::trees`]: nodes by tree and
//! number, and the votes of leaves.
//!
//! Every comparison of the specification is one of two tests: at most a limit, or equal to a value.
//! `x < v` is `x <= v'` with v' the next smaller number, and what remains is the other side.
//! Invariant: features, limits and votes are checked here; that nodes form a tree, in `build.rs`.

use std::collections::HashMap;
use std::ops::Range;

use super::{Sum, Voted};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::trees::build::{self, Program};
use crate::trees::forest::{
    Child, FEATURES_MAX, Forest, Merge, Missing, OUTPUTS_MAX, Side, Split, Test, Tree,
};
use crate::trees::link::Link;

/// Values of leaves for each vote: a leaf that votes for few of its tree's targets is padded.
const PADDING_MAX: usize = 64;

/// Votes in the order of the nodes that give them.
#[derive(Debug)]
pub(super) struct Votes {
    pub(super) list: Vec<Vote>,
    nodes: Nodes,
}

/// What a leaf adds to a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    node: usize,
    target: usize,
    pub(super) value: f64,
}

/// Attributes of the nodes of all trees, by place.
#[derive(Debug)]
struct Nodes {
    trees: Vec<i64>,
    features: Vec<i64>,
    modes: Vec<Mode>,
    values: Vec<f64>,
    yes: Vec<i64>,
    no: Vec<i64>,
    /// Whether NaN counts as a yes; empty where it never does.
    missing: Vec<i64>,
    /// By tree and number in the tree.
    places: HashMap<(i64, i64), usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AtMost,
    Below,
    AtLeast,
    Above,
    Is,
    IsNot,
    Leaf,
}

/// Reads a program that gives so many sums.
pub(super) fn read_program<L: Sum>(
    from: &Attributes<'_, '_>,
    votes: &Votes,
    outputs: usize,
    merge: Merge,
) -> Result<Program<L>, Problem> {
    let problem = |cause: String| Problem::new(from.node.place(), cause);
    let neutral = L::rounded(match merge {
        Merge::Sum => 0.0,
        Merge::Least => f64::INFINITY,
        Merge::Greatest => f64::NEG_INFINITY,
    });
    let nodes = &votes.nodes;
    let mut rest = votes.list.as_slice();
    let mut trees = Vec::new();
    for range in nodes.ranges() {
        let of_tree = rest.partition_point(|vote| vote.node < range.end);
        let own;
        (own, rest) = rest.split_at(of_tree);
        let tree = nodes.tree(range, own, neutral);
        trees.push(tree.map_err(|cause| problem(format!("tree {}: {cause}", trees.len())))?);
    }
    let features = nodes.features.iter().zip(&nodes.modes);
    let features = features.filter(|(_, mode)| **mode != Mode::Leaf).map(|(feature, _)| feature);
    let forest = Forest {
        features: features.max().map_or(0, |feature| *feature as usize + 1),
        base: vec![neutral; outputs],
        trees,
        sets: Vec::new(),
        link: Link::Identity,
        divisor: 1,
        merge,
        zero_max: 0.0,
    };
    let named = |found: Problem| problem(format!("{}: {}", found.at, found.cause));
    build::compile(forest).map_err(named)
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
                |cause: &str| from.problem(&named("weights"), &format!("{index}: {cause}"));
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

    /// Finds for each class whether a row has a vote for it; where that depends on the row, adds
    /// votes of 1 for a sum of their own behind those of the classes.
    pub(super) fn count_voters(
        &mut self,
        from: &Attributes<'_, '_>,
        classes: usize,
    ) -> Result<Vec<Voted>, Problem> {
        let mut voted = vec![Voted::Never; classes];
        self.list.iter().for_each(|vote| voted[vote.target] = Voted::Counted(0));
        let mut rest = self.list.as_slice();
        for range in self.nodes.ranges() {
            let leaves = self.nodes.modes[range.clone()].iter().filter(|mode| **mode == Mode::Leaf);
            let leaves = leaves.count();
            let own;
            (own, rest) = rest.split_at(rest.partition_point(|vote| vote.node < range.end));
            let mut voters: HashMap<usize, usize> = HashMap::new();
            for vote in own.iter().filter(|vote| self.nodes.modes[vote.node] == Mode::Leaf) {
                *voters.entry(vote.target).or_default() += 1;
            }
            for (class, _) in voters.into_iter().filter(|(_, count)| *count >= leaves) {
                voted[class] = Voted::Always;
            }
        }
        let mut sums = classes;
        for class in &mut voted {
            if *class == Voted::Counted(0) {
                *class = Voted::Counted(sums);
                sums += 1;
            }
        }
        if sums > OUTPUTS_MAX {
            return Err(Problem::new(from.node.place(), "has too many classes"));
        }
        let counted = self.list.iter().filter_map(|vote| match voted[vote.target] {
            Voted::Counted(target) => Some(Vote { target, value: 1.0, ..*vote }),
            _ => None,
        });
        let counted: Vec<Vote> = counted.collect();
        self.list.extend(counted);
        self.list.sort_by_key(|vote| vote.node);
        Ok(voted)
    }
}

impl Nodes {
    fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let mut modes = Vec::new();
        from.texts("nodes_modes", |name| {
            let mode = Mode::of(name).map_err(|cause| from.problem("nodes_modes", &cause))?;
            modes.push(mode);
            Ok(())
        })?;
        let list = |name| {
            let list = from.integers(name)?;
            match list.len() == modes.len() {
                true => Ok(list),
                false => Err(from.problem(name, "are not one for each node")),
            }
        };
        let (trees, numbers) = (list("nodes_treeids")?, list("nodes_nodeids")?);
        let features = list("nodes_featureids")?;
        let (yes, no) = (list("nodes_truenodeids")?, list("nodes_falsenodeids")?);
        let missing = from.integers("nodes_missing_value_tracks_true")?;
        if ![0, modes.len()].contains(&missing.len()) {
            let cause = "are not one for each node";
            return Err(from.problem("nodes_missing_value_tracks_true", cause));
        }
        let values = from.numbers("nodes_values")?;
        if values.len() != modes.len() {
            return Err(from.problem("nodes_values", "are not one for each node"));
        }
        let mut places = HashMap::with_capacity(modes.len());
        for (place, key) in trees.iter().copied().zip(numbers.iter().copied()).enumerate() {
            if places.insert(key, place).is_some() {
                let cause = format!("has node {} of tree {} twice", key.1, key.0);
                return Err(from.problem("nodes_nodeids", &cause));
            }
        }
        Ok(Self { trees, features, modes, values, yes, no, missing, places })
    }

    /// Returns where the nodes of each tree stand.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.trees.chunk_by(|a, b| a == b).map(move |nodes| {
            start += nodes.len();
            start - nodes.len()..start
        })
    }

    fn tree<L: Sum>(
        &self,
        range: Range<usize>,
        votes: &[Vote],
        neutral: L,
    ) -> Result<Tree<L>, String> {
        let mut children = Vec::with_capacity(range.len());
        let (mut inner, mut leaves) = (0, 0);
        for mode in &self.modes[range.clone()] {
            let count = if *mode == Mode::Leaf { &mut leaves } else { &mut inner };
            children.push(match mode {
                Mode::Leaf => Child::Leaf(*count),
                _ => Child::Split(*count),
            });
            *count += 1;
        }
        let splits = range.clone().filter(|place| self.modes[*place] != Mode::Leaf);
        let splits = splits.map(|place| {
            let child = |number: i64| {
                let place = self.places.get(&(self.trees[place], number));
                let child = place.filter(|place| range.contains(place));
                let child = child.map(|place| children[place - range.start]);
                child.ok_or_else(|| format!("node {number} does not exist"))
            };
            let (yes, no) = (child(self.yes[place])?, child(self.no[place])?);
            self.split::<L>(place, yes, no)
        });
        let splits = splits.collect::<Result<_, _>>()?;
        let first = votes.iter().map(|vote| vote.target).min().unwrap_or(0);
        let last = votes.iter().map(|vote| vote.target).max().unwrap_or(0);
        let outputs = last + 1 - first;
        if leaves as usize * outputs > PADDING_MAX * (votes.len() + 1) {
            return Err(
                "its leaves vote for few of the targets between their first and last".into()
            );
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
        Ok(Tree { output, outputs, root: children[0], splits, leaves: values })
    }

    fn split<L: Sum>(&self, place: usize, yes: Child, no: Child) -> Result<Split, String> {
        let feature = usize::try_from(self.features[place]).ok();
        let feature = feature.filter(|feature| *feature < FEATURES_MAX);
        let feature = feature.ok_or("a feature's number is negative or too large")? as u32;
        let value = L::rounded(self.values[place]);
        let side = |is_yes_left: bool, goes_yes: bool| match is_yes_left == goes_yes {
            true => Side::Left,
            false => Side::Right,
        };
        let is_yes = self.missing.get(place).is_some_and(|flag| *flag != 0);
        let up_to = |limit: L, is_yes_left: bool| {
            let missing = Missing::Nan(side(is_yes_left, is_yes));
            Test::UpTo { limit: limit.double(), missing }
        };
        let (test, is_yes_left) = match self.modes[place] {
            Mode::AtMost => (up_to(value, true), true),
            Mode::Below => (up_to(value.below(), true), true),
            Mode::AtLeast => (up_to(value.below(), false), false),
            Mode::Above => (up_to(value, false), false),
            Mode::Is => (Test::Is { value: value.double(), missing: side(true, is_yes) }, true),
            // NaN is not equal to anything.
            _ => (Test::Is { value: value.double(), missing: Side::Right }, false),
        };
        let limit = value.double();
        let is_limit =
            !limit.is_nan() && (limit != f64::NEG_INFINITY || matches!(test, Test::Is { .. }));
        if !is_limit {
            return Err(format!("`{limit}` is nothing to compare with"));
        }
        let (left, right) = if is_yes_left { (yes, no) } else { (no, yes) };
        Ok(Split { feature, test, left, right })
    }
}

impl Mode {
    fn of(name: &str) -> Result<Self, String> {
        match name {
            "BRANCH_LEQ" => Ok(Self::AtMost),
            "BRANCH_LT" => Ok(Self::Below),
            "BRANCH_GTE" => Ok(Self::AtLeast),
            "BRANCH_GT" => Ok(Self::Above),
            "BRANCH_EQ" => Ok(Self::Is),
            "BRANCH_NEQ" => Ok(Self::IsNot),
            "LEAF" => Ok(Self::Leaf),
            other => Err(format!("`{other}` is not known")),
        }
    }
}
