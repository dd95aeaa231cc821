//! Trees as the readers of both formats hand them over: splits, leaves, and what makes a score of
//! their sum. One form for both, because their tests differ only in which side a value takes.
//!
//! XGBoost's `x < t` is written as `x <= t'` with t' the next smaller float, so that every
//! numerical test is [`Test::UpTo`].
//!
//! Invariant: limits and leaves are finite, features and sets exist. That splits form a tree is
//! held by `build.rs`.

use super::link::Link;
use super::number::Leaf;

/// Features a model may have.
pub(super) const FEATURES_MAX: usize = 1 << 24;

/// Values a model may give per row.
pub(super) const OUTPUTS_MAX: usize = 1 << 14;

#[derive(Debug)]
pub(super) struct Forest<L> {
    pub(super) features: usize,
    /// What the sums begin with, one per output.
    pub(super) base: Vec<L>,
    pub(super) trees: Vec<Tree<L>>,
    pub(super) sets: Vec<Set>,
    pub(super) link: Link,
    /// What sums are divided by before the link; 1 but for LightGBM's random forests.
    pub(super) divisor: usize,
}

#[derive(Debug)]
pub(super) struct Tree<L> {
    /// The output that the tree adds to.
    pub(super) output: u32,
    pub(super) root: Child,
    pub(super) splits: Vec<Split>,
    pub(super) leaves: Vec<L>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Child {
    Split(u32),
    Leaf(u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) feature: u32,
    pub(super) test: Test,
    pub(super) left: Child,
    pub(super) right: Child,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    /// Left where the value is at most `limit`.
    UpTo { limit: f64, missing: Missing },
    /// To the side `inside` where the category is in the set; the other side where it is not.
    In { set: u32, inside: Side, missing: Side },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Side {
    Left,
    Right,
}

/// Which values a numerical test does not compare, and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// None: NaN counts as 0.
    AsZero,
    Nan(Side),
    ZeroOrNan(Side),
}

/// A set of categories, in rising order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Set(pub(super) Box<[u32]>);

impl<L: Leaf> Tree<L> {
    /// A tree of one leaf.
    pub(super) fn of_leaf(output: u32, value: L) -> Self {
        Self { output, root: Child::Leaf(0), splits: Vec::new(), leaves: vec![value] }
    }
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

impl Set {
    /// Returns the set of the bits of `words`, lowest first.
    pub(super) fn of_bits(words: &[u32]) -> Self {
        let bits = (0..32 * words.len()).filter(|bit| words[bit / 32] >> (bit % 32) & 1 == 1);
        Self(bits.map(|bit| bit as u32).collect())
    }

    /// Returns the set of these categories, in any order.
    pub(super) fn of_list(mut categories: Vec<u32>) -> Self {
        categories.sort_unstable();
        categories.dedup();
        Self(categories.into())
    }
}
