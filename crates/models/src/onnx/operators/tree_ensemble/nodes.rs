//! Reads the nodes of all trees, by tree and number, and makes tests of their comparisons.
//!
//! Every comparison of the specification is one of two tests: at most a limit, or equal to a value.
//! `x < v` is `x <= v'` with v' the next smaller number, and what remains is the other side.
//!
//! Invariant: there is one of each attribute for each node, but for hit rates and sides of missing
//! values. No node is there twice. `split` refuses features from `FEATURES_MAX` on, and limits that
//! are NaN or that nothing is below. That nodes form a tree is checked by `trees/build.rs`, that
//! children exist by `program.rs`.
//! Nodes of one tree must stand together; a tree that comes again counts as another.

use std::collections::HashMap;
use std::ops::Range;

use super::precision::TreeFloat;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::trees::forest::{Branch, Child, FEATURES_MAX, Missing, Split, Test};

/// Attributes of the nodes of all trees, by place.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) trees: Vec<i64>,
    pub(super) features: Vec<i64>,
    pub(super) modes: Vec<NodeMode>,
    pub(super) values: Vec<f64>,
    pub(super) yes: Vec<i64>,
    pub(super) no: Vec<i64>,
    /// Whether NaN counts as a yes; empty where it never does.
    pub(super) missing: Vec<i64>,
    /// By tree and number in the tree.
    pub(super) places: HashMap<(i64, i64), usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeMode {
    AtMost,
    Below,
    AtLeast,
    Above,
    Is,
    IsNot,
    Leaf,
}

impl Nodes {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let mut modes = Vec::new();
        from.texts("nodes_modes", |name| {
            let mode = NodeMode::of(name).map_err(|reason| from.problem("nodes_modes", &reason))?;
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
            let reason = "are not one for each node";
            return Err(from.problem("nodes_missing_value_tracks_true", reason));
        }
        // How often a node was passed in training.
        from.numbers("nodes_hitrates")?;
        let values = from.numbers("nodes_values")?;
        if values.len() != modes.len() {
            return Err(from.problem("nodes_values", "are not one for each node"));
        }
        let mut places = HashMap::with_capacity(modes.len());
        for (place, key) in trees.iter().copied().zip(numbers.iter().copied()).enumerate() {
            if places.insert(key, place).is_some() {
                let reason = format!("has node {} of tree {} twice", key.1, key.0);
                return Err(from.problem("nodes_nodeids", &reason));
            }
        }
        Ok(Self { trees, features, modes, values, yes, no, missing, places })
    }

    /// Returns where the nodes of each tree stand.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.trees.chunk_by(|a, b| a == b).map(move |nodes| {
            start += nodes.len();
            start - nodes.len()..start
        })
    }

    pub(super) fn split<L: TreeFloat>(
        &self,
        place: usize,
        yes: Child,
        no: Child,
    ) -> Result<Split, String> {
        let feature = usize::try_from(self.features[place]).ok();
        let feature = feature.filter(|feature| *feature < FEATURES_MAX);
        let feature = feature.ok_or("a feature's number is negative or too large")? as u32;
        let value = L::rounded(self.values[place]);
        let side = |is_yes_left: bool, goes_yes: bool| match is_yes_left == goes_yes {
            true => Branch::Left,
            false => Branch::Right,
        };
        let is_yes = self.missing.get(place).is_some_and(|flag| *flag != 0);
        let up_to = |limit: L, is_yes_left: bool| {
            let missing = Missing::Nan(side(is_yes_left, is_yes));
            Test::UpTo { limit: limit.double(), missing }
        };
        let (test, is_yes_left) = match self.modes[place] {
            NodeMode::AtMost => (up_to(value, true), true),
            NodeMode::Below => (up_to(value.below(), true), true),
            NodeMode::AtLeast => (up_to(value.below(), false), false),
            NodeMode::Above => (up_to(value, false), false),
            NodeMode::Is => (Test::Is { value: value.double(), missing: side(true, is_yes) }, true),
            // NaN is not equal to anything.
            _ => (Test::Is { value: value.double(), missing: Branch::Right }, false),
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

impl NodeMode {
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
