//! Parts a row's sum among features: SHAP values of trees, path-dependent (Lundberg et al., Nature
//! Machine Intelligence 2, 2020).
//!
//! Where only some features are known, a tree gives a mean over the rows it was trained with. At a
//! split on an unknown feature, both sides count by their share of these rows.
//! A leaf is then worth its value times a product, a factor for each feature on its path. The
//! factor is `one` (1 or 0) where the feature is known, and `zero` (its shares) where it is not.
//! The Shapley values of such a product are integrals of its derivative along the diagonal (Owen,
//! Management Science 18, 1972). For a feature that is its own `one - zero`, times an integral over
//! t from 0 to 1. Under it stand the other factors, each `zero + (one - zero) t`. That is a
//! polynomial, so Gauss's rule gives it exactly. The usual algorithm divides, and loses digits.
//!
//! Invariant: the parts of all features and the expected value add up to the row's sum, but for
//! rounding. They are LightGBM's `pred_contrib` and XGBoost's `pred_contribs` within 1e-6.
//! For each leaf, a row costs the square of the features on its path. Half of them are points of
//! the rule, and each factor is taken twice at each point.
//! Refuses: trees without counts of rows, and paths of more than [`PATH_MAX`] features.
//! Never here: which side a row takes, which its codes tell (`columns.rs`).

use super::columns::{CodeColumns, CodeTest, TestIndex};
use super::forest::{Child, Tree};
use super::leaf_path::{PathPart, ShapScratch, Turn};
use super::number::Leaf;

/// Features on a path.
const PATH_MAX: usize = 256;

const LINEAR_LEAVES: &str = "its leaves are linear functions (`linear_tree`), and SHAP values are \
    of plain leaves";

const NO_COUNTS: &str = "its file does not say how many rows of the training came to each node \
    (`internal_count` and `leaf_count` of LightGBM, `sum_hessian` of XGBoost)";

const LONG_PATHS: &str = "a path in one of its trees asks for more than 256 features";

/// What explains the sums of a model.
#[derive(Debug)]
pub(crate) struct ShapForest {
    /// What the sums are on average, without what they begin with.
    expected: f64,
    nodes: Vec<ShapNode>,
    roots: Vec<u32>,
    /// Gauss's rules of 1 point and more.
    rules: Vec<Vec<GaussPoint>>,
}

#[derive(Debug)]
enum ShapNode {
    Leaf(f64),
    Split { feature: u32, place: CodeTest, sides: [ShapSide; 2] },
}

/// A child, and the share of the split's rows that went there.
#[derive(Debug, Clone, Copy)]
struct ShapSide {
    node: u32,
    share: f64,
}

/// A place from 0 to 1 and its weight.
#[derive(Debug, Clone, Copy)]
struct GaussPoint {
    at: f64,
    weight: f64,
}

impl ShapForest {
    /// Takes in all trees of a model of one sum.
    ///
    /// # Errors
    /// Why one of them cannot be explained, as text.
    pub(super) fn of<L: Leaf>(
        trees: &[Tree<L>],
        (columns, index): (&CodeColumns, &TestIndex),
    ) -> Result<Self, &'static str> {
        let mut forest =
            Self { expected: 0.0, nodes: Vec::new(), roots: Vec::new(), rules: Vec::new() };
        let mut longest = 0;
        for tree in trees {
            if !tree.functions.is_empty() {
                return Err(LINEAR_LEAVES);
            }
            if tree.covers.splits.len() != tree.splits.len() || tree.outputs > 1 {
                return Err(NO_COUNTS);
            }
            let root = forest.add(tree, |split| columns.place(&tree.splits[split], index));
            longest = longest.max(forest.expect(root).ok_or(LONG_PATHS)?);
            forest.roots.push(root);
        }
        forest.rules = (1..=longest.div_ceil(2)).map(gauss).collect();
        Ok(forest)
    }

    /// Returns what all sums are on average, without what they begin with.
    pub(super) fn expected(&self) -> f64 {
        self.expected
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Adds the part of each feature of one row, given what finds its codes.
    pub(super) fn add_parts(
        &self,
        code: impl Fn(usize) -> u8,
        scratch: &mut ShapScratch,
        parts: &mut [f64],
    ) {
        for root in &self.roots {
            self.walk(*root, &code, scratch, |path, value, products| {
                let Some(rule) = path.len().div_ceil(2).checked_sub(1) else { return };
                add_leaf((path, value), &self.rules[rule], products, parts);
            });
        }
    }

    /// Adds the nodes of a tree, and returns its root.
    fn add<L: Leaf>(&mut self, tree: &Tree<L>, place: impl Fn(usize) -> CodeTest) -> u32 {
        let (leaves, first) = (self.nodes.len(), self.nodes.len() + tree.leaves.len());
        self.nodes.extend(tree.leaves.iter().map(|leaf| ShapNode::Leaf(leaf.wide())));
        let covers = &tree.covers;
        let (node, cover) = (
            |child: Child| match child {
                Child::Leaf(leaf) => (leaves + leaf as usize) as u32,
                Child::Split(split) => (first + split as usize) as u32,
            },
            |child: Child| match child {
                Child::Leaf(leaf) => covers.leaves[leaf as usize],
                Child::Split(split) => covers.splits[split as usize],
            },
        );
        for (number, split) in tree.splits.iter().enumerate() {
            let all = covers.splits[number];
            let sides = [split.left, split.right].map(|child| ShapSide {
                node: node(child),
                share: if all > 0.0 { cover(child) / all } else { 0.0 },
            });
            let (feature, place) = (split.feature, place(number));
            self.nodes.push(ShapNode::Split { feature, place, sides });
        }
        node(tree.root)
    }

    /// Adds a tree's mean; returns the most features on a path of it, unless they are too many.
    fn expect(&mut self, root: u32) -> Option<usize> {
        let (mut longest, mut expected) = (0, 0.0);
        let mut scratch = ShapScratch::default();
        let is_whole = self.walk(
            root,
            |_| 0,
            &mut scratch,
            |path, value, _| {
                longest = longest.max(path.len());
                expected += path.iter().fold(value, |product, part| product * part.zero);
            },
        );
        self.expected += expected;
        is_whole.then_some(longest)
    }

    /// Visits each leaf: hands over the path to it, its value, and room for products. Ends where a
    /// path becomes too long, and says whether none was.
    fn walk(
        &self,
        root: u32,
        code: impl Fn(usize) -> u8,
        scratch: &mut ShapScratch,
        mut at_leaf: impl FnMut(&[PathPart], f64, &mut Vec<f64>),
    ) -> bool {
        let ShapScratch { turns, path, products } = scratch;
        turns.clear();
        path.clear();
        turns.push(Turn::Visit(root, None));
        while let Some(turn) = turns.pop() {
            let Turn::Visit(node, step) = turn else {
                path.undo();
                continue;
            };
            let is_inner = step.is_some();
            step.into_iter().for_each(|step| path.take(step));
            if path.parts().len() > PATH_MAX {
                return false;
            }
            if is_inner {
                turns.push(Turn::Undo);
            }
            match &self.nodes[node as usize] {
                ShapNode::Leaf(value) => at_leaf(path.parts(), *value, products),
                ShapNode::Split { feature, place, sides } => {
                    let goes_right = code(place.column as usize) > place.limit;
                    for (side, is_right) in sides.iter().zip([false, true]) {
                        let one = f64::from(u8::from(goes_right == is_right));
                        let step = PathPart { feature: *feature, zero: side.share, one };
                        turns.push(Turn::Visit(side.node, Some(step)));
                    }
                }
            }
        }
        true
    }
}

/// Adds what a leaf gives to each feature on its path.
fn add_leaf(
    (path, value): (&[PathPart], f64),
    rule: &[GaussPoint],
    products: &mut Vec<f64>,
    parts: &mut [f64],
) {
    for GaussPoint { at, weight } in rule {
        let factor = |part: &PathPart| part.zero + (part.one - part.zero) * at;
        products.clear();
        let mut before = value * weight;
        for part in path {
            products.push(before);
            before *= factor(part);
        }
        let mut after = 1.0;
        for (part, before) in path.iter().zip(&*products).rev() {
            parts[part.feature as usize] += before * after * (part.one - part.zero);
            after *= factor(part);
        }
    }
}

/// Gauss's rule of so many points for integrals from 0 to 1: the zeros of a polynomial of Legendre,
/// by Newton's method.
fn gauss(points: usize) -> Vec<GaussPoint> {
    let count = points as f64;
    let point = |number: usize| {
        let mut x = (std::f64::consts::PI * (number as f64 + 0.75) / (count + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut value, mut before) = (1.0, 0.0);
            for degree in 0..points {
                let n = degree as f64;
                (value, before) = (((2.0 * n + 1.0) * x * value - n * before) / (n + 1.0), value);
            }
            slope = count * (x * value - before) / (x * x - 1.0);
            let step = value / slope;
            x -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        GaussPoint { at: (1.0 + x) / 2.0, weight: 1.0 / ((1.0 - x * x) * slope * slope) }
    };
    (0..points).map(point).collect()
}

#[cfg(test)]
mod tests;
