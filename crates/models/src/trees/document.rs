//! What JSON and UBJSON both hold, as XGBoost writes it: maps, lists, and long arrays of one kind
//! of number, which are kept as such.
//!
//! Invariant: nothing nests deeper than [`DEPTH_MAX`], so that reading may recurse. The memory
//! taken is at most a small multiple of the bytes read.

use crate::error::Problem;

/// Levels of nesting; XGBoost needs ten.
pub(super) const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f32),
    Text(String),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// A value with its place, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    value: &'a Value,
    within: Option<&'a Node<'a>>,
    name: Name<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Name<'a> {
    Key(&'a str),
    Index(usize),
}

/// A list as it grows: of one kind of number while it can be.
#[derive(Debug, Default)]
pub(super) struct Elements(Option<Value>);

impl Elements {
    pub(super) fn push(&mut self, value: Value) {
        let list = self.0.get_or_insert_with(|| match value {
            Value::Integer(_) => Value::Integers(Vec::new()),
            Value::Float(_) => Value::Floats(Vec::new()),
            _ => Value::List(Vec::new()),
        });
        match (list, value) {
            (Value::Integers(values), Value::Integer(value)) => values.push(value),
            (Value::Floats(values), Value::Float(value)) => values.push(value),
            (Value::Floats(values), Value::Integer(value)) => values.push(value as f32),
            (Value::List(values), value) => values.push(value),
            (list @ Value::Integers(_), value @ Value::Float(_)) => {
                list.integers_to_floats();
                self.push(value);
            }
            (list, value) => {
                list.numbers_to_list();
                self.push(value);
            }
        }
    }

    pub(super) fn finish(self) -> Value {
        self.0.unwrap_or(Value::Integers(Vec::new()))
    }
}

impl Value {
    fn integers_to_floats(&mut self) {
        if let Self::Integers(values) = self {
            *self = Self::Floats(values.iter().map(|value| *value as f32).collect());
        }
    }

    fn numbers_to_list(&mut self) {
        *self = match self {
            Self::Integers(values) => Self::List(values.drain(..).map(Self::Integer).collect()),
            Self::Floats(values) => Self::List(values.drain(..).map(Self::Float).collect()),
            _ => return,
        };
    }
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, within: None, name: Name::Key("model") }
    }

    /// Returns the value of a key, which must be there.
    pub(super) fn get(&'a self, key: &'a str) -> Result<Node<'a>, Problem> {
        self.find(key)?.ok_or_else(|| self.problem(format!("has no key `{key}`")))
    }

    /// Returns the value of a key, if it is there.
    pub(super) fn find(&'a self, key: &'a str) -> Result<Option<Node<'a>>, Problem> {
        let Value::Map(map) = self.value else {
            return Err(self.problem("must be an object"));
        };
        let found = map.iter().find(|(name, _)| name == key);
        Ok(found.map(|(_, value)| Node { value, within: Some(self), name: Name::Key(key) }))
    }

    /// Returns the elements of a list of anything but numbers.
    pub(super) fn list(&'a self) -> Result<impl Iterator<Item = Node<'a>>, Problem> {
        let values: &[Value] = match self.value {
            Value::List(values) => values,
            Value::Integers(values) if values.is_empty() => &[],
            _ => return Err(self.problem("must be an array")),
        };
        Ok(values.iter().enumerate().map(move |(index, value)| Node {
            value,
            within: Some(self),
            name: Name::Index(index),
        }))
    }

    pub(super) fn text(&self) -> Result<&'a str, Problem> {
        match self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.problem("must be a string")),
        }
    }

    /// Returns a number that is written as a string, as XGBoost writes its parameters.
    pub(super) fn count(&self) -> Result<usize, Problem> {
        let text = self.text()?;
        text.parse().map_err(|_| self.problem(format!("`{text}` is no count")))
    }

    pub(super) fn integers(&self) -> Result<Vec<i64>, Problem> {
        match self.value {
            Value::Integers(values) => Ok(values.clone()),
            Value::List(values) => values
                .iter()
                .map(|value| match value {
                    Value::Bool(value) => Ok(i64::from(*value)),
                    _ => Err(self.problem("must be an array of integers")),
                })
                .collect(),
            _ => Err(self.problem("must be an array of integers")),
        }
    }

    pub(super) fn floats(&self) -> Result<Vec<f32>, Problem> {
        match self.value {
            Value::Floats(values) => Ok(values.clone()),
            Value::Integers(values) => Ok(values.iter().map(|value| *value as f32).collect()),
            _ => Err(self.problem("must be an array of numbers")),
        }
    }

    pub(super) fn problem(&self, cause: impl Into<String>) -> Problem {
        Problem::new(format!("`{}`", self.place()), cause)
    }

    fn place(&self) -> String {
        let Some(within) = self.within else { return "model".to_owned() };
        let before = within.place();
        match self.name {
            Name::Index(index) => format!("{before}[{index}]"),
            Name::Key(key) if before == "model" => key.to_owned(),
            Name::Key(key) => format!("{before}.{key}"),
        }
    }
}
