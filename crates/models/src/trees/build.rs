//! Compiles trees as read into what is evaluated: columns, tests for blocks of rows, steps for
//! walks.
//!
//! Invariant: each split and leaf is reached at most once from its root, so evaluation ends. What
//! is not reached gets no test and no step: XGBoost keeps pruned nodes. A test stands before those
//! below it, and leaves stand from left to right, which `score.rs` relies on.
//! `score.rs` reads 256 leaves at once, so `PADDING` values stand behind the last. A tree of more
//! than 256 leaves, or whose leaves are functions, gets steps only.
//! A [`Problem`] names the tree where a node is reached twice, or where there are 2^32 steps or
//! more. It names the model where there are 2^24 columns of tests or more.
//! Codes of values are in `columns.rs`. Limits, leaves, features, and that children exist, are
//! checked by the readers.
//! Refuses: recursion, whatever the depth of a tree.

use std::ops::Range;

use super::columns::{COLUMNS_MAX, CodeColumns, CodeTest, TestIndex};
use super::forest::{Child, Forest, LeafFunction, Merge, Tree};
use super::number::Leaf;
use super::shap::ShapForest;
use super::transform::OutputTransform;
use crate::error::Problem;

/// Leaves of a tree that is evaluated for a block of rows at once: numbers of leaves are bytes.
const BLOCK_LEAVES_MAX: usize = 256;

/// Values behind those of the last leaf, so that any byte finds one.
const PADDING: usize = 255;

/// A model ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Program<L> {
    pub(crate) features: usize,
    pub(crate) base: Vec<L>,
    pub(crate) transform: OutputTransform,
    pub(crate) divisor: usize,
    pub(crate) merge: Merge,
    /// As in [`Forest`], for the functions of leaves.
    pub(crate) zero_max: f64,
    pub(crate) columns: CodeColumns,
    pub(crate) trees: Vec<CompiledTree>,
    /// Tests of all trees that are evaluated by blocks.
    pub(crate) tests: Vec<BlockTest>,
    /// Leaves of all trees from left to right, once for each output of a tree, then [`PADDING`].
    pub(crate) leaves: Vec<L>,
    pub(crate) steps: Vec<WalkStep>,
    /// The value that a walk ends with, for each step of a tree, once for each of its outputs.
    pub(crate) ends: Vec<L>,
    /// Functions of leaves, of all trees that have them.
    pub(crate) functions: Vec<LeafFunction>,
    /// What explains sums, or why nothing does.
    pub(crate) shap: Result<Box<ShapForest>, &'static str>,
}

/// The function of a step that is no leaf.
const NO_FUNCTION: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct CompiledTree {
    /// The outputs that the tree adds to.
    pub(crate) outputs: Range<usize>,
    /// Its leaves, those of its first output.
    pub(crate) leaves: Range<usize>,
    /// Its tests; `None` for a tree too large for them.
    pub(crate) tests: Option<Range<usize>>,
    /// Where a walk begins.
    pub(crate) root: u32,
    /// Ends of walks, those of its first output, one for each step from the root on.
    pub(crate) ends: Range<usize>,
    /// By step, the function that its leaf adds; `None` where leaves are plain values.
    pub(crate) functions: Option<Vec<u32>>,
}

/// A split of a tree whose leaves are numbered from left to right.
///
/// A row stands at this split where its leftmost reachable leaf is `first` when the test's turn
/// comes. Where its code is above `limit` it goes right: then that leaf is `then`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockTest {
    pub(crate) column: u32,
    pub(crate) limit: u8,
    pub(crate) first: u8,
    pub(crate) then: u8,
}

/// A split or a leaf: 32 bits for the left child (the right one stands beside it), 24 for the
/// column, 8 for the limit. A leaf is its own child, and no code is above its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkStep(u64);

impl WalkStep {
    fn split(left: u32, place: CodeTest) -> Self {
        Self(u64::from(left) << 32 | u64::from(place.column) << 8 | u64::from(place.limit))
    }

    fn leaf(number: u32) -> Self {
        Self(u64::from(number) << 32 | 255)
    }

    /// Returns the step after this one, given what finds the code of a column.
    #[inline]
    pub(crate) fn next(self, code: impl Fn(usize) -> u8) -> u32 {
        let code = code((self.0 >> 8) as usize & (COLUMNS_MAX - 1));
        (self.0 >> 32) as u32 + u32::from(code > self.0 as u8)
    }
}

/// Compiles a model.
///
/// # Errors
/// The tree that is none, or the limit that the model goes beyond.
pub(crate) fn compile<L: Leaf>(forest: Forest<L>) -> Result<Program<L>, Problem> {
    let splits = forest.trees.iter().flat_map(|tree| &tree.splits);
    let (columns, index) = CodeColumns::of(splits, &forest.sets, forest.zero_max);
    if columns.count() >= COLUMNS_MAX {
        let reason = format!("has {} distinct tests, at most {COLUMNS_MAX}", columns.count());
        return Err(Problem::new("model", reason));
    }
    let mut program = Program {
        features: forest.features,
        base: forest.base,
        transform: forest.transform,
        divisor: forest.divisor,
        merge: forest.merge,
        zero_max: forest.zero_max,
        columns,
        trees: Vec::with_capacity(forest.trees.len()),
        tests: Vec::new(),
        leaves: Vec::new(),
        steps: Vec::new(),
        ends: Vec::new(),
        functions: Vec::new(),
        shap: Err(""),
    };
    let checked = forest.trees.iter().enumerate().try_for_each(|(number, tree)| {
        check_tree(tree).map_err(|reason| Problem::new(format!("tree {number}"), reason))
    });
    checked?;
    program.shap = ShapForest::of(&forest.trees, (&program.columns, &index)).map(Box::new);
    for (number, tree) in forest.trees.into_iter().enumerate() {
        let at = || format!("tree {number}");
        let first_test = program.tests.len();
        let leaves = program.add_tests(&tree, &index);
        let (root, order) = program.add_steps(&tree, &index);
        let ends = program.add_ends(&tree, &order);
        let tests = first_test..program.tests.len();
        let by_blocks = leaves.len() <= BLOCK_LEAVES_MAX && tree.functions.is_empty();
        if !by_blocks {
            program.tests.truncate(first_test);
            program.leaves.truncate(leaves.start);
        }
        let tests = by_blocks.then_some(tests);
        let outputs = tree.output as usize..(tree.output + tree.outputs) as usize;
        let functions = program.add_functions(tree.functions, &order);
        program.trees.push(CompiledTree { outputs, leaves, tests, root, ends, functions });
        if u32::try_from(program.steps.len()).is_err() {
            return Err(Problem::new(at(), "is one too many: more than 4 billion nodes"));
        }
    }
    let padding = program.leaves.len() + PADDING;
    program.leaves.resize(padding, L::default());
    Ok(program)
}

/// Whether every split and leaf is reached at most once.
fn check_tree<L>(tree: &Tree<L>) -> Result<(), String> {
    let mut splits = vec![false; tree.splits.len()];
    let mut leaves = vec![false; tree.leaves.len() / tree.outputs as usize];
    let mut rest = vec![tree.root];
    while let Some(child) = rest.pop() {
        let seen = match child {
            Child::Split(split) => &mut splits[split as usize],
            Child::Leaf(leaf) => &mut leaves[leaf as usize],
        };
        if std::mem::replace(seen, true) {
            return Err(format!("is no tree: {child} is reached twice"));
        }
        if let Child::Split(split) = child {
            let split = &tree.splits[split as usize];
            rest.extend([split.right, split.left]);
        }
    }
    Ok(())
}

impl<L: Leaf> Program<L> {
    /// Adds the leaves from left to right, and the tests, each before those below it; returns where
    /// the leaves of the first output stand.
    fn add_tests(&mut self, tree: &Tree<L>, index: &TestIndex) -> Range<usize> {
        enum Traversal {
            Visit(Child),
            /// The left side of this test is done, so its right side begins here.
            Then(usize),
        }
        let mut order = Vec::new();
        let mut turns = vec![Traversal::Visit(tree.root)];
        while let Some(turn) = turns.pop() {
            // A tree with more leaves than a byte counts is walked, and these tests dropped.
            let leaf = order.len() as u8;
            match turn {
                Traversal::Visit(Child::Leaf(leaf)) => order.push(leaf as usize),
                Traversal::Visit(Child::Split(split)) => {
                    let split = &tree.splits[split as usize];
                    let CodeTest { column, limit } = self.columns.place(split, index);
                    let test = self.tests.len();
                    self.tests.push(BlockTest { column, limit, first: leaf, then: 0 });
                    turns.extend([
                        Traversal::Visit(split.right),
                        Traversal::Then(test),
                        Traversal::Visit(split.left),
                    ]);
                }
                Traversal::Then(test) => self.tests[test].then = leaf,
            }
        }
        let (start, outputs) = (self.leaves.len(), tree.outputs as usize);
        for output in 0..outputs {
            let values = order.iter().map(|leaf| tree.leaves[leaf * outputs + output]);
            self.leaves.extend(values);
        }
        start..start + order.len()
    }

    /// Adds the steps of walks, level by level; returns the first, and what each stands for.
    fn add_steps(&mut self, tree: &Tree<L>, index: &TestIndex) -> (u32, Vec<Child>) {
        let root = self.steps.len();
        let mut order = vec![tree.root];
        let mut next = 0;
        while let Some(child) = order.get(next).copied() {
            match child {
                Child::Leaf(_) => self.steps.push(WalkStep::leaf((root + next) as u32)),
                Child::Split(split) => {
                    let split = &tree.splits[split as usize];
                    let left = (root + order.len()) as u32;
                    self.steps.push(WalkStep::split(left, self.columns.place(split, index)));
                    order.extend([split.left, split.right]);
                }
            }
            next += 1;
        }
        (root as u32, order)
    }

    /// Adds the values that walks end with; returns where those of the first output stand.
    fn add_ends(&mut self, tree: &Tree<L>, order: &[Child]) -> Range<usize> {
        let (start, outputs) = (self.ends.len(), tree.outputs as usize);
        for output in 0..outputs {
            self.ends.extend(order.iter().map(|child| match child {
                Child::Leaf(leaf) => tree.leaves[*leaf as usize * outputs + output],
                Child::Split(_) => L::default(),
            }));
        }
        start..start + order.len()
    }

    /// Adds the functions of leaves; returns which one each step has.
    fn add_functions(&mut self, functions: Vec<LeafFunction>, order: &[Child]) -> Option<Vec<u32>> {
        let first = self.functions.len() as u32;
        let by_step = (!functions.is_empty()).then(|| {
            let function = |child: &Child| match child {
                Child::Leaf(leaf) => first + leaf,
                Child::Split(_) => NO_FUNCTION,
            };
            order.iter().map(function).collect()
        });
        self.functions.extend(functions);
        by_step
    }
}

impl std::fmt::Display for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Split(split) => write!(f, "split {split}"),
            Self::Leaf(leaf) => write!(f, "leaf {leaf}"),
        }
    }
}
