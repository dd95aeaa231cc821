//! Defines trees as the readers of all formats hand them over: splits, leaves, and the transform of
//! sums.
//!
//! There is one form for all formats, because their tests differ only in which side a value takes.
//! XGBoost's `x < t` is written as `x <= t'` with t' the next smaller float. So every test of order
//! is [`Test::UpTo`]; equality ([`Test::Is`]) is ONNX's alone.
//!
//! Plain data. Its readers are `lightgbm.rs`, `xgboost.rs` and ONNX's `tree_ensemble/program.rs`.
//! They see to it that no limit is NaN, that features, sets and outputs exist, and that children
//! are within their lists. Leaves are finite, but for the infinities that pad ONNX's minima and
//! maxima, and ONNX's doubles beyond the range of floats. That splits form a tree is checked by
//! `build.rs`.
//! All three readers fill a new field. A new [`Test`] or [`Missing`] also goes into `columns.rs`. A
//! new [`Merge`] goes into `score.rs` and ONNX's `program.rs`, and into its `regressor.rs`, which
//! takes all but sums for minima or maxima. `FEATURES_MAX` and `OUTPUTS_MAX` also bound ONNX's
//! operators.

use super::number::Leaf;
use super::transform::OutputTransform;

/// Features a model may have.
pub(crate) const FEATURES_MAX: usize = 1 << 24;

/// Values a model may give per row.
pub(crate) const OUTPUTS_MAX: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct Forest<L> {
    pub(crate) features: usize,
    /// What the sums begin with, one per output.
    pub(crate) base: Vec<L>,
    pub(crate) trees: Vec<Tree<L>>,
    pub(crate) sets: Vec<Set>,
    pub(crate) transform: OutputTransform,
    /// What sums are divided by before the transform; 1 but for LightGBM's random forests.
    pub(crate) divisor: usize,
    pub(crate) merge: Merge,
    /// What is at most so far from 0 is 0, also where it is compared.
    pub(crate) zero_max: f64,
}

/// What becomes of the leaves that a row ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    Sum,
    Least,
    Greatest,
}

#[derive(Debug)]
pub(crate) struct Tree<L> {
    /// The first output that the tree adds to.
    pub(crate) output: u32,
    /// Outputs that it adds to, side by side.
    pub(crate) outputs: u32,
    pub(crate) root: Child,
    pub(crate) splits: Vec<Split>,
    /// `outputs` values per leaf.
    pub(crate) leaves: Vec<L>,
    /// One for each leaf, of a tree with one output; none where leaves are plain values.
    pub(crate) functions: Vec<LeafFunction>,
    pub(crate) covers: Covers,
}

/// How many rows of the training came to each split and leaf, or the sum of their weights. None
/// where nobody asked, or the file does not say.
#[derive(Debug, Default)]
pub(crate) struct Covers {
    pub(crate) splits: Vec<f64>,
    pub(crate) leaves: Vec<f64>,
}

/// The linear function of a row that a leaf of LightGBM's `linear_tree` adds. Where a value that it
/// needs is missing, the leaf's plain value is added.
#[derive(Debug)]
pub(crate) struct LeafFunction {
    pub(crate) constant: f64,
    /// Features and their coefficients.
    pub(crate) terms: Vec<(u32, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Split(u32),
    Leaf(u32),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Split {
    pub(crate) feature: u32,
    pub(crate) test: Test,
    pub(crate) left: Child,
    pub(crate) right: Child,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// Left where the value is at most `limit`.
    UpTo { limit: f64, missing: Missing },
    /// Left where the value is this one; NaN to the side `missing`.
    Is { value: f64, missing: Branch },
    /// To the side `inside` where the category is in the set; the other side where it is not.
    In { set: u32, inside: Branch, missing: Branch },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Branch {
    Left,
    Right,
}

/// Which values a numerical test does not compare, and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// None: NaN counts as 0.
    AsZero,
    Nan(Branch),
    ZeroOrNan(Branch),
}

/// A set of categories, in rising order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Set(pub(crate) Box<[u32]>);

impl<L: Leaf> Tree<L> {
    /// A tree of one leaf.
    pub(crate) fn of_leaf(output: u32, value: L) -> Self {
        let leaves = vec![value];
        let (root, splits, functions) = (Child::Leaf(0), Vec::new(), Vec::new());
        Self { output, outputs: 1, root, splits, leaves, functions, covers: Covers::default() }
    }
}

impl Branch {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

impl Set {
    /// Returns the set of the bits of `words`, lowest first.
    pub(crate) fn of_bits(words: &[u32]) -> Self {
        let bits = (0..32 * words.len()).filter(|bit| words[bit / 32] >> (bit % 32) & 1 == 1);
        Self(bits.map(|bit| bit as u32).collect())
    }

    /// Returns the set of these categories, in any order.
    pub(crate) fn of_list(mut categories: Vec<u32>) -> Self {
        categories.sort_unstable();
        categories.dedup();
        Self(categories.into())
    }
}
