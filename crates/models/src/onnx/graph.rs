//! Reads a graph into the order in which it is run, tries it, and runs it.
//!
//! Nodes keep the order of the file, each with its operator, inputs and up to two outputs. A node
//! that only copies becomes another name of its input. One that its input's writer can absorb
//! (`Operator::absorb`), and nobody else reads, becomes part of that.
//! Invariant: a node reads only constants, inputs, and what an earlier node writes. Each value is
//! written once. A node that was read has run once, with the rows of the trial.
//! What a node refuses when it runs ends the run with its name. The budget of a run is in
//! `call.rs`, its buffers are [`OnnxScratch`] here.
//! Refuses: to know any operator but `Constant`, which becomes a constant; the table of
//! `operators.rs` does. Nodes that write three values or more are refused too.

use std::cell::RefCell;
use std::collections::HashMap;

use super::attributes::Attributes;
use super::call::{Budget, Following, Operand, Operator, OperatorCall};
use super::file::{GraphNode, ModelFile, kind, tensor};
use super::operators;
use super::tensor::{Data, Tensor, TextInterner};
use crate::error::Problem;
use crate::pause::pause;
use crate::trees::TreeScratch;

#[derive(Debug)]
pub(super) struct Graph {
    constants: Vec<Tensor>,
    nodes: Vec<PlannedNode>,
    /// Values that a run writes, inputs among them.
    pub(super) slots: usize,
}

/// A node with its operator.
#[derive(Debug)]
struct PlannedNode {
    /// As errors call it.
    place: String,
    operator: Box<dyn Operator>,
    inputs: Vec<Option<Operand>>,
    /// At most two; `None` where nobody reads it.
    outputs: [Option<usize>; 2],
}

/// Buffers of a thread that runs models; any model's, one call at a time.
#[derive(Debug, Default)]
pub struct OnnxScratch {
    pub(super) slots: Vec<Tensor>,
    pub(super) trees: TreeScratch,
}

/// What a graph is tried with while it is read.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) slots: &'a mut Vec<Tensor>,
    texts: &'a mut TextInterner,
    trees: &'a mut TreeScratch,
    budget: Budget,
    /// How often each value is read, as an output of the graph too.
    reads: &'a HashMap<&'a str, usize>,
    /// What the last node writes first.
    last: String,
}

/// Names of values while a graph is read.
pub(super) type ValueNames<'a> = HashMap<&'a str, Operand>;

impl Graph {
    /// Reads the nodes of a file whose inputs stand in the first slots, and tries each with the
    /// rows that stand there.
    pub(super) fn read<'a>(
        file: &ModelFile<'a>,
        inputs: &[&'a str],
        trial: &mut Trial<'_>,
    ) -> Result<(Self, ValueNames<'a>), Problem> {
        let mut names = ValueNames::new();
        let mut graph = Self { constants: Vec::new(), nodes: Vec::new(), slots: 0 };
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
        value: Tensor,
        names: &mut ValueNames<'a>,
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
        node: &GraphNode<'a>,
        opsets: &[(&str, i64)],
        names: &mut ValueNames<'a>,
        trial: &mut Trial<'_>,
    ) -> Result<(), Problem> {
        let problem = |reason: String| Problem::new(node.place(), reason);
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
        let mut attributes = Attributes {
            node,
            opset,
            texts: trial.texts,
            inputs: inputs_of_trial,
            is_constant,
            known: RefCell::default(),
        };
        if (node.domain, node.operator) == ("", "Constant") {
            let value = operators::constant(&mut attributes)?;
            let name = node.outputs.first().ok_or_else(|| problem("writes nothing".to_owned()))?;
            return self.add_constant(name, value, names);
        }
        let operator = operators::of(&mut attributes)?;
        if let (Some(from), Some(name)) = (copied(&attributes, &inputs), node.outputs.first()) {
            return add_name(names, name, from);
        }
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
        trial.slots.resize(self.slots, Tensor::default());
        let mut planned = PlannedNode { place: node.place(), operator, inputs, outputs };
        if !trial.last.is_empty()
            && trial.reads.get(trial.last.as_str()) == Some(&1)
            && let Some(joined) = self.joined(node, &planned, trial)
        {
            planned = joined;
        }
        trial.last = node.outputs.first().copied().unwrap_or_default().to_owned();
        planned.run(&self.constants, trial.slots, trial.trees, &mut trial.budget)?;
        self.nodes.push(planned);
        Ok(())
    }

    /// Returns the last node with a new one as part of it. None where the new one does not read
    /// what the last writes, by its name, or cannot be absorbed.
    fn joined(
        &mut self,
        node: &GraphNode<'_>,
        new: &PlannedNode,
        trial: &Trial<'_>,
    ) -> Option<PlannedNode> {
        let place = node.inputs.iter().position(|input| *input == trial.last)?;
        if !node.domain.is_empty() {
            return None;
        }
        let last = self.nodes.last_mut()?;
        let following = match (node.operator, &new.inputs[..]) {
            ("Relu", _) => Following::Rectified,
            ("Add", [_, _]) => match new.inputs[1 - place] {
                Some(Operand::Constant(index)) => {
                    let rank = trial.slots[last.outputs[0]?].shape.sizes().len();
                    // A constant of more dimensions would add some.
                    let added = &self.constants[index];
                    (added.shape.sizes().len() <= rank).then_some(Following::Added(added))?
                }
                _ => return None,
            },
            _ => return None,
        };
        if !last.operator.absorb(&following) {
            return None;
        }
        let mut joined = self.nodes.pop()?;
        joined.outputs = new.outputs;
        Some(joined)
    }

    /// Runs all nodes over slots of which the first ones hold the inputs.
    ///
    /// # Errors
    /// The node that cannot go on, and the reason.
    pub(super) fn run(&self, mut budget: Budget, scratch: &mut OnnxScratch) -> Result<(), Problem> {
        let OnnxScratch { slots, trees } = scratch;
        for node in &self.nodes {
            pause();
            node.run(&self.constants, slots, trees, &mut budget)?;
        }
        Ok(())
    }
}

impl<'a> Trial<'a> {
    /// Begins with slots that hold so many rows.
    pub(super) fn new(
        rows: usize,
        scratch: &'a mut OnnxScratch,
        texts: &'a mut TextInterner,
        reads: &'a HashMap<&'a str, usize>,
    ) -> Self {
        let OnnxScratch { slots, trees } = scratch;
        let (budget, last) = (Budget::of_trial(rows), String::new());
        Self { slots, texts, trees, budget, reads, last }
    }
}

impl PlannedNode {
    fn run(
        &self,
        constants: &[Tensor],
        slots: &mut [Tensor],
        trees: &mut TreeScratch,
        budget: &mut Budget,
    ) -> Result<(), Problem> {
        // An output that nobody reads gets memory that does not last.
        let mut out = self.outputs.map(|slot| match slot {
            Some(slot) => std::mem::take(&mut slots[slot]),
            None => Tensor::default(),
        });
        let mut call = OperatorCall { inputs: &self.inputs, constants, slots, trees, budget };
        let done = self.operator.run(&mut call, &mut out);
        done.map_err(|reason| Problem::new(self.place.clone(), reason))?;
        for (slot, value) in self.outputs.into_iter().zip(out) {
            if let Some(slot) = slot {
                slots[slot] = value;
            }
        }
        Ok(())
    }
}

/// The value that a node only copies.
fn copied(node: &Attributes<'_, '_>, inputs: &[Option<Operand>]) -> Option<Operand> {
    let is_same = match (node.node.domain, node.node.operator) {
        ("", "Identity") | ("ai.onnx.ml", "ZipMap") => true,
        ("", "Cast") => {
            let to = node.integer("to", 0).ok()?;
            matches!(
                (node.kind(0)?, to),
                (Data::Floats(_), kind::FLOAT) | (Data::Doubles(_), kind::DOUBLE)
            )
        }
        _ => false,
    };
    inputs.first().copied().flatten().filter(|from| is_same && matches!(from, Operand::Slot(_)))
}

fn add_name<'a>(
    names: &mut ValueNames<'a>,
    name: &'a str,
    operand: Operand,
) -> Result<(), Problem> {
    match names.insert(name, operand) {
        None => Ok(()),
        Some(_) => Err(Problem::new(format!("value `{name}`"), "is written twice")),
    }
}
