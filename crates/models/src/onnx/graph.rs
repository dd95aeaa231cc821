//! A graph as it is run: steps in the order of the file, each with where its inputs stand and the
//! value that it writes.
//!
//! Invariant: a step reads only constants, inputs, and what an earlier step writes; each value is
//! written once.
//! Bounds: what a run may write and multiply is counted for each row, so that a small file cannot
//! ask for a large memory or an endless product.

use std::collections::HashMap;

use super::attributes::Attributes;
use super::file::{File, Node, tensor};
use super::operators;
use super::value::{Data, Element, Shape, Texts, Value};
use crate::error::Problem;
use crate::trees::TreeScratch;

/// Elements that all steps together may write for a row.
const WRITTEN_MAX: usize = 1 << 18;

/// Products that all steps together may take for a row.
const PRODUCTS_MAX: usize = 1 << 28;

#[derive(Debug)]
pub(super) struct Graph {
    constants: Vec<Value>,
    steps: Vec<Step>,
    /// Values that a run writes, inputs among them.
    pub(super) slots: usize,
}

#[derive(Debug)]
struct Step {
    /// As errors call it.
    place: String,
    operator: Box<dyn Operator>,
    inputs: Vec<Option<Operand>>,
    /// At most two; `None` where nobody reads it.
    outputs: [Option<usize>; 2],
}

/// Where a step finds an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Constant(usize),
    Slot(usize),
}

/// What a step does; nothing that depends on a run is kept.
pub(super) trait Operator: std::fmt::Debug + Send + Sync {
    /// Writes its outputs.
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String>;
}

/// What a step finds when it runs.
#[derive(Debug)]
pub(super) struct Call<'a> {
    inputs: &'a [Option<Operand>],
    constants: &'a [Value],
    slots: &'a [Value],
    pub(super) trees: &'a mut TreeScratch,
    bounds: &'a mut Bounds,
}

/// What a graph is tried with while it is read.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) slots: &'a mut Vec<Value>,
    texts: &'a mut Texts,
    trees: &'a mut TreeScratch,
    bounds: Bounds,
}

/// What is left of a run's bounds.
#[derive(Debug)]
struct Bounds {
    written: usize,
    products: usize,
}

/// Names of values while a graph is read.
pub(super) type Names<'a> = HashMap<&'a str, Operand>;

impl Graph {
    /// Reads the steps of a file whose inputs stand in the first slots, and tries each with the
    /// rows that stand there.
    pub(super) fn read<'a>(
        file: &File<'a>,
        inputs: &[&'a str],
        trial: &mut Trial<'_>,
    ) -> Result<(Self, Names<'a>), Problem> {
        let mut names = Names::new();
        let mut graph = Self { constants: Vec::new(), steps: Vec::new(), slots: 0 };
        for message in &file.constants {
            let (name, value) = tensor(*message, trial.texts)?;
            graph.add_constant(name, value, &mut names)?;
        }
        for name in inputs {
            let slot = graph.add_slot();
            add_name(&mut names, name, Operand::Slot(slot))?;
        }
        for node in &file.nodes {
            graph.add_node(node, &file.opsets, &mut names, trial)?;
        }
        Ok((graph, names))
    }

    fn add_constant<'a>(
        &mut self,
        name: &'a str,
        value: Value,
        names: &mut Names<'a>,
    ) -> Result<(), Problem> {
        self.constants.push(value);
        add_name(names, name, Operand::Constant(self.constants.len() - 1))
    }

    fn add_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn add_node<'a>(
        &mut self,
        node: &Node<'a>,
        opsets: &[(&str, i64)],
        names: &mut Names<'a>,
        trial: &mut Trial<'_>,
    ) -> Result<(), Problem> {
        let problem = |cause: String| Problem::new(node.place(), cause);
        let inputs = node.inputs.iter().map(|name| match *name {
            "" => Ok(None),
            name => match names.get(name) {
                Some(operand) => Ok(Some(*operand)),
                None => Err(problem(format!("reads `{name}`, which nothing before it writes"))),
            },
        });
        let inputs: Vec<Option<Operand>> = inputs.collect::<Result<_, _>>()?;
        let opset = opsets.iter().find(|(domain, _)| *domain == node.domain);
        let opset = opset.map_or(0, |(_, version)| *version);
        let values = inputs.iter().map(|input| match (*input)? {
            Operand::Constant(index) => Some(&self.constants[index]),
            Operand::Slot(index) => Some(&trial.slots[index]),
        });
        let is_constant = |input: &Option<Operand>| matches!(input, Some(Operand::Constant(_)));
        let is_constant = inputs.iter().map(is_constant).collect();
        let inputs_of_trial = values.collect();
        let mut attributes =
            Attributes { node, opset, texts: trial.texts, inputs: inputs_of_trial, is_constant };
        if (node.domain, node.operator) == ("", "Constant") {
            let value = operators::constant(&mut attributes)?;
            let name = node.outputs.first().ok_or_else(|| problem("writes nothing".to_owned()))?;
            return self.add_constant(name, value, names);
        }
        let operator = operators::of(&mut attributes)?;
        let mut outputs = [None; 2];
        if node.outputs.len() > outputs.len() {
            return Err(problem(format!("writes {} values", node.outputs.len())));
        }
        for (output, name) in outputs.iter_mut().zip(&node.outputs) {
            if !name.is_empty() {
                let slot = self.add_slot();
                add_name(names, name, Operand::Slot(slot))?;
                *output = Some(slot);
            }
        }
        trial.slots.resize(self.slots, Value::default());
        let step = Step { place: node.place(), operator, inputs, outputs };
        step.run(&self.constants, trial.slots, trial.trees, &mut trial.bounds)?;
        self.steps.push(step);
        Ok(())
    }

    /// Runs all steps over slots of which the first ones hold the inputs, of so many rows.
    ///
    /// # Errors
    /// The step that cannot go on, and why.
    pub(super) fn run(
        &self,
        rows: usize,
        slots: &mut [Value],
        trees: &mut TreeScratch,
    ) -> Result<(), Problem> {
        let mut bounds = Bounds::of(rows);
        for step in &self.steps {
            step.run(&self.constants, slots, trees, &mut bounds)?;
        }
        Ok(())
    }
}

impl<'a> Trial<'a> {
    /// Begins with slots that hold so many rows.
    pub(super) fn new(
        rows: usize,
        scratch: &'a mut super::OnnxScratch,
        texts: &'a mut Texts,
    ) -> Self {
        let super::OnnxScratch { slots, trees } = scratch;
        Self { slots, texts, trees, bounds: Bounds::of(rows) }
    }
}

impl Bounds {
    fn of(rows: usize) -> Self {
        let rows = rows.max(1);
        Self {
            written: WRITTEN_MAX.saturating_mul(rows),
            products: PRODUCTS_MAX.saturating_mul(rows),
        }
    }
}

impl Step {
    fn run(
        &self,
        constants: &[Value],
        slots: &mut [Value],
        trees: &mut TreeScratch,
        bounds: &mut Bounds,
    ) -> Result<(), Problem> {
        // An output that nobody reads gets memory that does not last.
        let mut out = self.outputs.map(|slot| match slot {
            Some(slot) => std::mem::take(&mut slots[slot]),
            None => Value::default(),
        });
        let mut call = Call { inputs: &self.inputs, constants, slots, trees, bounds };
        let done = self.operator.run(&mut call, &mut out);
        done.map_err(|cause| Problem::new(self.place.clone(), cause))?;
        for (slot, value) in self.outputs.into_iter().zip(out) {
            if let Some(slot) = slot {
                slots[slot] = value;
            }
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    pub(super) fn input(&self, index: usize) -> Result<&'a Value, String> {
        self.find(index).ok_or_else(|| format!("input {index} is not given"))
    }

    pub(super) fn find(&self, index: usize) -> Option<&'a Value> {
        match self.inputs.get(index).copied().flatten()? {
            Operand::Constant(index) => Some(&self.constants[index]),
            Operand::Slot(index) => Some(&self.slots[index]),
        }
    }

    pub(super) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Makes room for a value, whose elements are whatever was there before.
    pub(super) fn room<'v, T: Element>(
        &mut self,
        value: &'v mut Value,
        shape: Shape,
    ) -> Result<&'v mut [T], String> {
        let elements = shape.elements();
        let Some(left) = self.bounds.written.checked_sub(elements) else {
            return Err(format!("the graph writes more than {WRITTEN_MAX} elements a row"));
        };
        self.bounds.written = left;
        value.shape = shape;
        let room = T::room(&mut value.data);
        room.resize(elements, T::default());
        Ok(room)
    }

    /// Counts products before they are taken.
    pub(super) fn spend(&mut self, products: usize) -> Result<(), String> {
        let Some(left) = self.bounds.products.checked_sub(products) else {
            return Err(format!("the graph takes more than {PRODUCTS_MAX} products a row"));
        };
        self.bounds.products = left;
        Ok(())
    }
}

fn add_name<'a>(names: &mut Names<'a>, name: &'a str, operand: Operand) -> Result<(), Problem> {
    match names.insert(name, operand) {
        None => Ok(()),
        Some(_) => Err(Problem::new(format!("value `{name}`"), "is written twice")),
    }
}

impl Data {
    /// Returns what a value of this data is called in the API.
    pub(super) fn kind(&self) -> super::OnnxKind {
        use super::OnnxKind;
        match self {
            Self::Floats(_) => OnnxKind::Float,
            Self::Doubles(_) => OnnxKind::Double,
            Self::Integers(_) => OnnxKind::Integer,
            Self::Flags(_) => OnnxKind::Bool,
            Self::Texts(_) => OnnxKind::Text,
        }
    }
}
