//! Reads a node's attributes (`AttributeProto`), by name and with the type that the operator wants.
//!
//! An attribute that is absent gives the default, or an empty list. One that states its type but no
//! value holds 0 or the empty text, as files of proto3 leave these out.
//! Invariant: an error names the node and the attribute, but for a broken message, whose byte
//! `wire.rs` names. What an operator reads counts as known, so `finish` finds the rest; `has` reads
//! nothing.
//! An operator asks for all that the version of its domain has, also for what changes nothing, and
//! for nothing else.
//! Also here: the inputs of the trial, so that an operator sees their kinds, and which of them are
//! constant. `columns_of` of `onnx.rs` makes an [`Attributes`] of its own, for `ZipMap`.
//! Refuses: another type than the operator wants, what it did not ask for, and a name given twice.
//! Which values are allowed is the operator's to check.

use std::cell::RefCell;
use std::collections::HashSet;

use super::file::{GraphNode, ModelFile, tensor};
use super::tensor::{Data, EXACT_END, Tensor, TextCode, TextInterner};
use super::wire::{Message, Wire};
use crate::error::{IN_A_WORKER, Problem};

/// Numbers of the fields of `AttributeProto`; a type's number is one less.
mod field {
    pub(super) const FLOAT: u64 = 2;
    pub(super) const INTEGER: u64 = 3;
    pub(super) const TEXT: u64 = 4;
    pub(super) const TENSOR: u64 = 5;
    pub(super) const GRAPH: u64 = 6;
    pub(super) const FLOATS: u64 = 7;
    pub(super) const INTEGERS: u64 = 8;
    pub(super) const TEXTS: u64 = 9;
    pub(super) const TYPE: u64 = 20;
    pub(super) const REFERENCE: u64 = 21;
}

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
    /// Names of the attributes that were asked for.
    pub(super) known: RefCell<HashSet<&'a str>>,
}

impl<'a> Attributes<'a, '_> {
    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64, Problem> {
        Ok(self.integer_given(name)?.unwrap_or(default))
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        Ok(self.integer_given(name)?.map_or(default, |number| number != 0))
    }

    pub(super) fn integer_given(&self, name: &str) -> Result<Option<i64>, Problem> {
        self.last(name, field::INTEGER, |wire| wire.map_or(Ok(0), Wire::integer))
    }

    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, Problem> {
        let given = self.last(name, field::FLOAT, |wire| wire.map_or(Ok(0.0), Wire::float))?;
        Ok(given.unwrap_or(default))
    }

    pub(super) fn text(&self, name: &str, default: &'a str) -> Result<&'a str, Problem> {
        let given = self.last(name, field::TEXT, |wire| wire.map_or(Ok(""), Wire::text))?;
        Ok(given.unwrap_or(default))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.node.attributes.iter().any(|(other, _)| *other == name)
    }

    /// Returns a list; empty where there is none.
    pub(super) fn integers(&self, name: &str) -> Result<Vec<i64>, Problem> {
        let mut list = Vec::new();
        self.each(name, field::INTEGERS, |wire| wire.integers_into(&mut list))?;
        Ok(list)
    }

    /// Returns a list of classes, keys or the like, which rows bring or answers give as doubles.
    ///
    /// # Errors
    /// Also for one that would be rounded.
    pub(super) fn exact_integers(&self, name: &str) -> Result<Vec<i64>, Problem> {
        let list = self.integers(name)?;
        self.expect_exact(name, &list).map(|()| list)
    }

    pub(super) fn expect_exact(&self, name: &str, list: &[i64]) -> Result<(), Problem> {
        match list.iter().find(|number| number.unsigned_abs() >= EXACT_END) {
            None => Ok(()),
            Some(number) => {
                let reason = format!("holds {number}, which would be rounded; {IN_A_WORKER}");
                Err(self.problem(name, &reason))
            }
        }
    }

    /// Returns a list; empty where there is none.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>, Problem> {
        let mut list = Vec::new();
        self.each(name, field::FLOATS, |wire| wire.floats_into(&mut list))?;
        Ok(list)
    }

    /// Hands over each text of a list.
    pub(super) fn texts(
        &self,
        name: &str,
        mut take: impl FnMut(&'a str) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.each(name, field::TEXTS, |wire| take(wire.text()?)).map(|_| ())
    }

    /// Returns a list of floats, or from version 3 on the doubles of the attribute `…_as_tensor`.
    pub(super) fn numbers(&mut self, name: &str) -> Result<Vec<f64>, Problem> {
        let as_tensor = format!("{name}_as_tensor");
        let value = if self.opset >= 3 { self.tensor(&as_tensor)? } else { None };
        match value.map(|value| value.data) {
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
        let message = self.last(name, field::TENSOR, |wire| wire.map(Wire::message).transpose())?;
        let Some(message) = message else { return Ok(None) };
        let message = message.ok_or_else(|| self.problem(name, "holds no tensor"))?;
        tensor(message, self.texts)
            .map(|(_, value)| Some(value))
            .map_err(|problem| self.problem(name, &problem.reason))
    }

    /// Returns the graph of an attribute.
    pub(super) fn graph(&self, name: &str) -> Result<Option<ModelFile<'a>>, Problem> {
        let message = self.last(name, field::GRAPH, |wire| wire.map(Wire::message).transpose())?;
        message.flatten().map(ModelFile::of_graph).transpose()
    }

    /// Returns integers of an attribute. From version `since` on they are the constant that is the
    /// input at `index`.
    pub(super) fn integers_or_input(
        &self,
        name: &str,
        index: usize,
        since: i64,
    ) -> Result<Option<Vec<i64>>, Problem> {
        let is_given = self.is_given(index);
        match (self.opset >= since, self.constant(index)) {
            (false, _) if is_given => {
                Err(self.problem(name, &format!("is no input before version {since}")))
            }
            (false, _) if self.has(name) => self.integers(name).map(Some),
            (false, _) => Ok(None),
            (true, Some(value)) => {
                let list = value.elements::<i64>().map_err(|reason| self.problem(name, &reason))?;
                Ok(Some(list.to_vec()))
            }
            (true, None) if is_given => Err(self.problem(name, "must be a constant")),
            (true, None) => Ok(None),
        }
    }

    /// Whether an input has a name; an optional one may have none.
    pub(super) fn is_given(&self, index: usize) -> bool {
        self.node.inputs.get(index).is_some_and(|input| !input.is_empty())
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

    /// Says that nothing here runs the node.
    pub(super) fn unsupported(&self) -> Problem {
        let reason = format!("the operator is not supported; {IN_A_WORKER}");
        Problem::new(self.node.place(), reason)
    }

    /// Ends the reading of a node.
    ///
    /// # Errors
    /// The first attribute that nobody asked for, or that is given twice.
    pub(super) fn finish(&self) -> Result<(), Problem> {
        let known = self.known.borrow();
        let mut seen = HashSet::new();
        for (name, _) in &self.node.attributes {
            if !known.contains(name) {
                let version = self.opset;
                let reason = format!("is an attribute that is not supported in version {version}");
                return Err(self.problem(name, &reason));
            }
            if !seen.insert(*name) {
                return Err(self.problem(name, "is given twice"));
            }
        }
        Ok(())
    }

    /// Finds an attribute by its name, and sees to its type: the number of the field it uses.
    fn find(&self, name: &str, number: u64) -> Result<Option<Message<'a>>, Problem> {
        let found = self.node.attributes.iter().find(|(other, _)| *other == name);
        let Some((name, attribute)) = found else { return Ok(None) };
        self.known.borrow_mut().insert(*name);
        let (mut stated, mut holds) = (0, false);
        for field in attribute.fields() {
            match field? {
                (field::TYPE, Wire::Varint(kind)) => stated = kind,
                (field::REFERENCE, _) => {
                    return Err(self.problem(name, "refers to a function, which is not supported"));
                }
                (at, _) => holds |= at == number,
            }
        }
        // The first files of ONNX state no type.
        if stated == number - 1 || (stated == 0 && holds) {
            return Ok(Some(*attribute));
        }
        let wanted = match number {
            field::FLOAT => "a float",
            field::INTEGER => "an integer",
            field::TEXT => "a text",
            field::TENSOR => "a tensor",
            field::GRAPH => "a graph",
            field::FLOATS => "a list of floats",
            field::INTEGERS => "a list of integers",
            _ => "a list of texts",
        };
        Err(self.problem(name, &format!("is of another type, must be {wanted}")))
    }

    /// Reads the field of an attribute that is given; the last one where it stands there often.
    fn last<T>(
        &self,
        name: &str,
        number: u64,
        read: impl Fn(Option<Wire<'a>>) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let mut found = None;
        let is_given = self.each(name, number, |wire| {
            found = Some(wire);
            Ok(())
        })?;
        let value = is_given.then(|| read(found)).transpose();
        value.map_err(|problem| self.problem(name, &problem.reason))
    }

    /// Hands over each field with a number, and returns whether the attribute is given.
    fn each(
        &self,
        name: &str,
        number: u64,
        mut take: impl FnMut(Wire<'a>) -> Result<(), Problem>,
    ) -> Result<bool, Problem> {
        let Some(attribute) = self.find(name, number)? else { return Ok(false) };
        for field in attribute.fields() {
            let read = match field? {
                (at, wire) if at == number => take(wire),
                _ => Ok(()),
            };
            read.map_err(|problem| self.problem(name, &problem.reason))?;
        }
        Ok(true)
    }
}
