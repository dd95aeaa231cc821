//! Reads a node's attributes (`AttributeProto`), by name and with the type that the operator wants.
//!
//! An attribute that is absent gives the default, or an empty list. So does one of another type,
//! since only the field of the wanted type is looked at. Of several with one name the last counts.
//! Invariant: an error names the node and the attribute, but for a broken message, whose byte
//! `wire.rs` names.
//! Also here: the inputs of the trial, so that an operator sees their kinds, and which of them are
//! constant.
//! Which values are allowed is the operator's to check.

use super::file::{GraphNode, tensor};
use super::tensor::{Data, Tensor, TextCode, TextInterner};
use super::wire::{Message, Wire};
use crate::error::Problem;

/// A node as its operator reads it.
#[derive(Debug)]
pub(super) struct Attributes<'a, 'b> {
    pub(super) node: &'b GraphNode<'a>,
    /// The version of the operators of its domain.
    pub(super) opset: i64,
    pub(super) texts: &'b mut TextInterner,
    /// Inputs as they are for the rows that a graph is tried with.
    pub(super) inputs: Vec<Option<&'b Tensor>>,
    /// Whether an input is the same for all rows.
    pub(super) is_constant: Vec<bool>,
}

impl<'a> Attributes<'a, '_> {
    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64, Problem> {
        self.last(name, 3).map_or(Ok(default), |wire| wire?.integer())
    }

    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, Problem> {
        self.last(name, 2).map_or(Ok(default), |wire| wire?.float())
    }

    pub(super) fn text(&self, name: &str, default: &'a str) -> Result<&'a str, Problem> {
        self.last(name, 4).map_or(Ok(default), |wire| wire?.text())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns a list; empty where there is none.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<i64>, Problem> {
        let mut list = Vec::new();
        self.each(name, 8, |wire| wire.integers_into(&mut list))?;
        Ok(list)
    }

    /// Returns a list; empty where there is none.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>, Problem> {
        let mut list = Vec::new();
        self.each(name, 7, |wire| wire.floats_into(&mut list))?;
        Ok(list)
    }

    /// Hands over each text of a list.
    pub(super) fn texts(
        &self,
        name: &str,
        mut take: impl FnMut(&'a str) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.each(name, 9, |wire| take(wire.text()?))
    }

    /// Returns a list of floats, or the doubles of the attribute `…_as_tensor`.
    pub(super) fn numbers(&mut self, name: &str) -> Result<Vec<f64>, Problem> {
        let as_tensor = format!("{name}_as_tensor");
        match self.tensor(&as_tensor)?.map(|value| value.data) {
            None => Ok(self.floats(name)?.into_iter().map(f64::from).collect()),
            Some(Data::Doubles(numbers)) => Ok(numbers),
            Some(Data::Floats(numbers)) => Ok(numbers.into_iter().map(f64::from).collect()),
            Some(_) => Err(self.problem(&as_tensor, "holds no numbers")),
        }
    }

    pub(super) fn text_codes(&mut self, name: &str) -> Result<Vec<TextCode>, Problem> {
        let mut found = Vec::new();
        self.texts(name, |text| {
            found.push(text);
            Ok(())
        })?;
        let codes = found.into_iter().map(|text| self.texts.code(text));
        let codes: Result<Vec<TextCode>, String> = codes.collect();
        codes.map_err(|reason| self.problem(name, &reason))
    }

    pub(super) fn tensor(&mut self, name: &str) -> Result<Option<Tensor>, Problem> {
        match self.last(name, 5) {
            Some(wire) => tensor(wire?.message()?, self.texts)
                .map(|(_, value)| Some(value))
                .map_err(|problem| self.problem(name, &problem.reason)),
            None => Ok(None),
        }
    }

    /// Returns integers of an attribute, or of the constant that is the input at `index`.
    pub(super) fn integers_or_input(
        &self,
        name: &str,
        index: usize,
    ) -> Result<Option<Vec<i64>>, Problem> {
        if self.has(name) {
            return self.integers(name).map(Some);
        }
        match self.constant(index) {
            Some(value) => {
                let list = value.elements::<i64>().map_err(|reason| self.problem(name, &reason))?;
                Ok(Some(list.to_vec()))
            }
            None if self.node.inputs.get(index).is_some_and(|input| !input.is_empty()) => {
                Err(self.problem(name, "must be a constant"))
            }
            None => Ok(None),
        }
    }

    /// Returns the value of an input, where it is a constant.
    pub(super) fn constant(&self, index: usize) -> Option<&Tensor> {
        let is_constant = self.is_constant.get(index).copied().unwrap_or(false);
        self.inputs.get(index).copied().flatten().filter(|_| is_constant)
    }

    /// Returns what an input is made of.
    pub(super) fn kind(&self, index: usize) -> Option<&Data> {
        self.inputs.get(index).copied().flatten().map(|value| &value.data)
    }

    pub(super) fn problem(&self, attribute: &str, reason: &str) -> Problem {
        Problem::new(self.node.place(), format!("`{attribute}` {reason}"))
    }

    /// Finds an attribute by its name; the last one where there are several.
    fn find(&self, name: &str) -> Option<Message<'a>> {
        let found = self.node.attributes.iter().rev().find(|(other, _)| *other == name);
        found.map(|(_, message)| *message)
    }

    fn last(&self, name: &str, number: u64) -> Option<Result<Wire<'a>, Problem>> {
        let mut found = None;
        let read = self.each(name, number, |wire| {
            found = Some(wire);
            Ok(())
        });
        match read {
            Ok(()) => found.map(Ok),
            Err(problem) => Some(Err(problem)),
        }
    }

    fn each(
        &self,
        name: &str,
        number: u64,
        mut take: impl FnMut(Wire<'a>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(attribute) = self.find(name) else { return Ok(()) };
        for field in attribute.fields() {
            let read = match field? {
                (at, wire) if at == number => take(wire),
                _ => Ok(()),
            };
            read.map_err(|problem| self.problem(name, &problem.reason))?;
        }
        Ok(())
    }
}
