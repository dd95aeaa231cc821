//! Evaluates a program: blocks of rows against all nodes of a tree, or one row down the trees.
//!
//! A block asks every split of a tree, of 64 rows at once: two comparisons of bytes, no branch. Up
//! to eight rows are walked one by one, each down eight trees at a time, so that their waits
//! overlap. Eight rows of a block do the same down a tree of more than 256 leaves. Figures:
//! docs/decisions/models.md.
//!
//! Invariant: each output adds its trees in the order of the file, whichever way they are
//! evaluated. So sums do not depend on how many rows come together.
//! The shape of rows is the caller's to check: `trees.rs` does, and ONNX's operators. Rows of no
//! numbers panic.
//! Compiling is in `build.rs`. `ABREAST` must divide `LANES` of `block.rs`. The crate `serving`
//! estimates costs by this speed (`TREE_PS` of `predictor.rs`).

use multiversion::multiversion;

use super::block::LANES;
use super::build::{BlockTest, CompiledTree, Program};
use super::forest::{LeafFunction, Merge};
use super::number::{Leaf, Number};
use super::scratch::{Codes, TreeScratch};
use crate::pause::pause;

/// Rows that are cheaper walked one by one than as a block.
const WALKED_MAX: usize = 8;

/// Walks that go on side by side.
const ABREAST: usize = 8;

/// What is wanted of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeOutput {
    Margins,
    Scores,
}

impl<L: Leaf> Program<L> {
    pub(super) fn margins(&self) -> usize {
        self.base.len()
    }

    pub(super) fn outputs(&self, wanted: TreeOutput) -> usize {
        match wanted {
            TreeOutput::Margins => self.margins(),
            TreeOutput::Scores => self.transform.scores(self.margins()),
        }
    }

    /// Scores rows whose shape is right.
    pub(super) fn run<N: Number>(
        &self,
        wanted: TreeOutput,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) {
        let outputs = self.outputs(wanted);
        let mut out = out.chunks_exact_mut(outputs);
        self.each(rows, self.features, scratch, |margins| {
            let out = out.next().expect("room for every row");
            self.finish(wanted, margins, out);
        });
    }

    /// Hands over the sums of each row, in order; `features` numbers are a row.
    pub(crate) fn each<N: Number>(
        &self,
        rows: &[N],
        features: usize,
        scratch: &mut TreeScratch,
        mut done: impl FnMut(&mut [L]),
    ) {
        for rows in rows.chunks(LANES * features) {
            pause();
            if rows.len() / features <= WALKED_MAX {
                let rows = rows.chunks_exact(features);
                rows.for_each(|row| done(self.run_row(row, scratch)));
            } else {
                self.run_block(rows, features, scratch, &mut done);
            }
        }
    }

    /// Writes the only sum of each of the first `out.len()` rows whose codes are in the scratch's
    /// block. For programs without functions of leaves.
    pub(super) fn sum_codes(&self, scratch: &mut TreeScratch, out: &mut [f64]) {
        pause();
        let (codes, sums) = L::parts(scratch);
        if out.len() <= WALKED_MAX {
            for (lane, out) in out.iter_mut().enumerate() {
                self.walk_trees(|column| codes.block[column][lane], &mut sums.row, |_, end| end);
                *out = sums.row[0].wide();
            }
            return;
        }
        sums.block.clear();
        sums.block.extend(self.base.iter().map(|base| [*base; LANES]));
        for plan in &self.trees {
            self.add_tree(plan, codes, &mut sums.block[plan.outputs.clone()]);
        }
        out.iter_mut().zip(&sums.block[0]).for_each(|(out, sum)| *out = sum.wide());
    }

    fn run_row<'s, N: Number>(&self, row: &[N], scratch: &'s mut TreeScratch) -> &'s mut [L] {
        let (codes, sums) = L::parts(scratch);
        codes.row.resize(self.columns.count().max(1), 0);
        self.columns.fill_row::<L, N>(row, &mut codes.row);
        let of_function = |function, plain| self.value(function, row, plain);
        self.walk_trees(|column| codes.row[column], &mut sums.row, of_function);
        &mut sums.row
    }

    /// Walks one row down all trees, and writes its sums. `of_function` gives what a leaf's
    /// function adds, given its plain value.
    fn walk_trees(
        &self,
        code: impl Fn(usize) -> u8,
        sums: &mut Vec<L>,
        of_function: impl Fn(u32, L) -> L,
    ) {
        sums.clear();
        sums.extend(&self.base);
        for plans in self.trees.chunks(ABREAST) {
            let mut at = [plans[0].root; ABREAST];
            at.iter_mut().zip(plans).for_each(|(at, plan)| *at = plan.root);
            self.walk(&mut at, |column, _| code(column));
            for (plan, end) in plans.iter().zip(at) {
                let step = (end - plan.root) as usize;
                let mut end = plan.ends.start + step;
                if let Some(functions) = &plan.functions {
                    let sum = &mut sums[plan.outputs.start];
                    *sum = sum.plus(of_function(functions[step], self.ends[end]));
                    continue;
                }
                for sum in &mut sums[plan.outputs.clone()] {
                    *sum = self.merged(*sum, self.ends[end]);
                    end += plan.ends.len();
                }
            }
        }
    }

    fn run_block<N: Number>(
        &self,
        rows: &[N],
        features: usize,
        scratch: &mut TreeScratch,
        done: &mut impl FnMut(&mut [L]),
    ) {
        let (codes, sums) = L::parts(scratch);
        codes.block.resize(self.columns.count().max(1), [0; LANES]);
        self.columns.fill_block::<L, N>(rows, features, &mut codes.block);
        sums.block.clear();
        sums.block.extend(self.base.iter().map(|base| [*base; LANES]));
        for plan in &self.trees {
            let sums = &mut sums.block[plan.outputs.clone()];
            match &plan.functions {
                None => self.add_tree(plan, codes, sums),
                Some(functions) => {
                    let rows = rows.chunks_exact(features);
                    self.add_function_values((plan, functions), codes, rows, &mut sums[0]);
                }
            }
        }
        for lane in 0..rows.len() / features {
            sums.row.clear();
            sums.row.extend(sums.block.iter().map(|lanes| lanes[lane]));
            done(&mut sums.row);
        }
    }

    /// Adds a tree's leaf to each sum of a block, for each of its outputs.
    fn add_tree(&self, plan: &CompiledTree, codes: &Codes, sums: &mut [[L; LANES]]) {
        let Some(tests) = &plan.tests else { return self.add_walked(plan, codes, sums) };
        let found = find_leaves(&self.tests[tests.clone()], &codes.block);
        let mut first = plan.leaves.start;
        for sums in sums {
            let leaves = self.leaves[first..].first_chunk::<256>();
            let leaves = leaves.expect("padding after the last leaf");
            let pairs = sums.iter_mut().zip(found);
            match self.merge {
                // A loop without a choice: it takes a tenth of the time of all.
                Merge::Sum => pairs.for_each(|(sum, leaf)| {
                    *sum = sum.plus(leaves[usize::from(leaf)]);
                }),
                _ => pairs.for_each(|(sum, leaf)| {
                    *sum = self.merged(*sum, leaves[usize::from(leaf)]);
                }),
            }
            first += plan.leaves.len();
        }
    }

    fn add_walked(&self, plan: &CompiledTree, codes: &Codes, sums: &mut [[L; LANES]]) {
        for part in 0..LANES / ABREAST {
            let lanes = part * ABREAST..(part + 1) * ABREAST;
            let mut at = [plan.root; ABREAST];
            self.walk(&mut at, |column, lane| codes.block[column][lanes.start + lane]);
            let mut first = plan.ends.start;
            for sums in sums.iter_mut() {
                for (sum, end) in sums[lanes.clone()].iter_mut().zip(at) {
                    *sum = self.merged(*sum, self.ends[first + (end - plan.root) as usize]);
                }
                first += plan.ends.len();
            }
        }
    }

    /// Adds what the leaves' functions give for each row.
    fn add_function_values<'r, N: Number + 'r>(
        &self,
        (plan, functions): (&CompiledTree, &[u32]),
        codes: &Codes,
        rows: impl Iterator<Item = &'r [N]>,
        sums: &mut [L; LANES],
    ) {
        let mut ends = [plan.root; LANES];
        for (part, at) in ends.as_chunks_mut::<ABREAST>().0.iter_mut().enumerate() {
            self.walk(at, |column, lane| codes.block[column][part * ABREAST + lane]);
        }
        for ((row, end), sum) in rows.zip(ends).zip(sums) {
            let step = (end - plan.root) as usize;
            let plain = self.ends[plan.ends.start + step];
            *sum = sum.plus(self.value(functions[step], row, plain));
        }
    }

    /// Returns what a leaf's function gives for a row; `plain` where a value is missing.
    fn value<N: Number>(&self, function: u32, row: &[N], plain: L) -> L {
        let LeafFunction { constant, terms } = &self.functions[function as usize];
        let mut sum = *constant;
        for (feature, coefficient) in terms {
            let value = L::value(row[*feature as usize]);
            if value.is_nan() {
                return plain;
            }
            sum += coefficient * if value.abs() <= self.zero_max { 0.0 } else { value };
        }
        L::of(sum)
    }

    fn merged(&self, sum: L, end: L) -> L {
        match self.merge {
            Merge::Sum => sum.plus(end),
            Merge::Least => sum.least(end),
            Merge::Greatest => sum.greatest(end),
        }
    }

    /// Goes down until all stand at a leaf.
    #[inline]
    fn walk(&self, at: &mut [u32; ABREAST], code: impl Fn(usize, usize) -> u8) {
        loop {
            let mut moved = 0;
            for (lane, at) in at.iter_mut().enumerate() {
                let next = self.steps[*at as usize].next(|column| code(column, lane));
                moved |= next ^ *at;
                *at = next;
            }
            if moved == 0 {
                return;
            }
        }
    }

    pub(super) fn finish(&self, wanted: TreeOutput, margins: &mut [L], out: &mut [f64]) {
        match wanted {
            TreeOutput::Margins => {
                out.iter_mut().zip(margins).for_each(|(out, margin)| *out = margin.wide());
            }
            TreeOutput::Scores => {
                if self.divisor > 1 {
                    margins.iter_mut().for_each(|margin| *margin = margin.divided(self.divisor));
                }
                self.transform.apply(margins, out);
            }
        }
    }
}

/// Returns the number of the leaf that each row of a block ends in.
#[multiversion(targets("x86_64+avx2"))]
fn find_leaves(tests: &[BlockTest], codes: &[[u8; LANES]]) -> [u8; LANES] {
    let mut at = [0; LANES];
    for test in tests {
        let BlockTest { column, limit, first, then } = *test;
        let codes = &codes[column as usize];
        let mut next = [0; LANES];
        for lane in 0..LANES {
            // All ones where the row goes right here: arithmetic that compilers keep free of
            // branches, so that they compare as many bytes at once as the CPU can.
            let right = u8::from(at[lane] == first).wrapping_neg()
                & u8::from(codes[lane] > limit).wrapping_neg();
            next[lane] = at[lane] ^ ((at[lane] ^ then) & right);
        }
        at = next;
    }
    at
}
