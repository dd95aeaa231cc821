//! Defines what an operator is, and what it finds when it runs: inputs, room for outputs, a budget.
//!
//! Invariant: no run writes more than 2^18 elements, or takes more than 2^28 products, for each of
//! its rows. Going beyond is an error. So a small file cannot ask for a large memory or an endless
//! product. Writing is counted by `room`; operators that multiply matrices must call `spend` first.
//! The graph's inputs and steps of trees are not counted.
//! An operator must keep nothing that depends on a run, since threads share it. `room` does not
//! clear: every element must be written.
//! The order of operators is in `graph.rs`. More than two outputs would change `run` here,
//! `graph.rs`, and `WRITES_TWO` of `operators.rs`. The bound of elements also stands in
//! docs/decisions/models.md.

use super::tensor::{Element, Shape, Tensor, by_element};
use crate::trees::TreeScratch;

/// Elements that all steps together may write for a row.
const WRITTEN_MAX: usize = 1 << 18;

/// Products that all steps together may take for a row.
const PRODUCTS_MAX: usize = 1 << 28;

/// Where a step finds an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Constant(usize),
    Slot(usize),
}

/// What a step does; nothing that depends on a run is kept.
pub(super) trait Operator: std::fmt::Debug + Send + Sync {
    /// Writes its outputs.
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String>;

    /// Takes over what the only reader of its output does, where it can.
    fn absorb(&mut self, _: &Following<'_>) -> bool {
        false
    }
}

/// What becomes of an output.
pub(super) enum Following<'a> {
    /// A constant is added, which is repeated to its shape.
    Added(&'a Tensor),
    Rectified,
}

/// What a step finds when it runs.
#[derive(Debug)]
pub(super) struct OperatorCall<'a> {
    pub(super) inputs: &'a [Option<Operand>],
    pub(super) constants: &'a [Tensor],
    pub(super) slots: &'a [Tensor],
    pub(super) trees: &'a mut TreeScratch,
    pub(super) budget: &'a mut Budget,
}

/// What a run may still write and multiply.
#[derive(Debug)]
pub(super) struct Budget {
    written: usize,
    products: usize,
    is_trial: bool,
}

impl Budget {
    pub(super) fn of(rows: usize) -> Self {
        let rows = rows.max(1);
        Self {
            written: WRITTEN_MAX.saturating_mul(rows),
            products: PRODUCTS_MAX.saturating_mul(rows),
            is_trial: false,
        }
    }

    pub(super) fn of_trial(rows: usize) -> Self {
        Self { is_trial: true, ..Self::of(rows) }
    }
}

impl<'a> OperatorCall<'a> {
    pub(super) fn input(&self, index: usize) -> Result<&'a Tensor, String> {
        self.find(index).ok_or_else(|| format!("input {index} is not given"))
    }

    pub(super) fn find(&self, index: usize) -> Option<&'a Tensor> {
        match self.inputs.get(index).copied().flatten()? {
            Operand::Constant(index) => Some(&self.constants[index]),
            Operand::Slot(index) => Some(&self.slots[index]),
        }
    }

    /// Whether nobody asked: the rows are made up, and no value of theirs is an error.
    pub(super) fn is_trial(&self) -> bool {
        self.budget.is_trial
    }

    /// Whether an input is the same for all rows.
    pub(super) fn is_constant(&self, index: usize) -> bool {
        matches!(self.inputs.get(index), Some(Some(Operand::Constant(_))))
    }

    pub(super) fn count(&self) -> usize {
        self.inputs.len()
    }

    /// Makes room for a value, whose elements are whatever was there before.
    pub(super) fn room<'v, T: Element>(
        &mut self,
        value: &'v mut Tensor,
        shape: Shape,
    ) -> Result<&'v mut [T], String> {
        let elements = shape.elements();
        let Some(left) = self.budget.written.checked_sub(elements) else {
            return Err(format!("the graph writes more than {WRITTEN_MAX} elements a row"));
        };
        self.budget.written = left;
        value.shape = shape;
        let room = T::room(&mut value.data);
        room.resize(elements, T::default());
        Ok(room)
    }

    /// Copies a tensor, with another shape of as many elements.
    pub(super) fn copy(
        &mut self,
        from: &Tensor,
        shape: Shape,
        out: &mut Tensor,
    ) -> Result<(), String> {
        if shape.elements() != from.data.len() {
            return Err(format!("{} elements do not make {shape}", from.data.len()));
        }
        by_element!(&from.data, elements => {
            self.room(out, shape)?.copy_from_slice(elements);
        });
        Ok(())
    }

    /// Counts products before they are taken.
    pub(super) fn spend(&mut self, products: usize) -> Result<(), String> {
        let Some(left) = self.budget.products.checked_sub(products) else {
            return Err(format!("the graph takes more than {PRODUCTS_MAX} products a row"));
        };
        self.budget.products = left;
        Ok(())
    }
}
