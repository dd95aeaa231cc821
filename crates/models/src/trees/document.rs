//! Defines what JSON and UBJSON both hold, as XGBoost writes it, and reads values out of it by
//! path.
//!
//! Maps, lists, texts, numbers and truths. Arrays of one kind of number are kept as such, integers
//! among floats as floats. Floats are f32, as XGBoost's are.
//!
//! Bounds: `json.rs` and `ubjson.rs` refuse what nests deeper than [`DEPTH_MAX`], so walking may
//! recurse. Memory is proportional to the bytes read: tens of bytes for each at worst.
//! Invariant: every problem of a value names its path (`learner.objective`). A key given twice is
//! found by its first value.
//! Never here: what keys mean, which `xgboost.rs` knows.

use crate::error::Problem;

/// Levels of nesting; XGBoost needs ten.
pub(super) const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f32),
    Text(String),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    List(Vec<Document>),
    Map(Vec<(String, Document)>),
}

/// A value with its place, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueAt<'a> {
    value: &'a Document,
    within: Option<&'a ValueAt<'a>>,
    name: PathStep<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// A list as it grows: of one kind of number while it can be.
#[derive(Debug, Default)]
pub(super) struct Elements(Option<Document>);

impl Elements {
    pub(super) fn push(&mut self, value: Document) {
        let list = self.0.get_or_insert_with(|| match value {
            Document::Integer(_) => Document::Integers(Vec::new()),
            Document::Float(_) => Document::Floats(Vec::new()),
            _ => Document::List(Vec::new()),
        });
        match (list, value) {
            (Document::Integers(values), Document::Integer(value)) => values.push(value),
            (Document::Floats(values), Document::Float(value)) => values.push(value),
            (Document::Floats(values), Document::Integer(value)) => values.push(value as f32),
            (Document::List(values), value) => values.push(value),
            (list @ Document::Integers(_), value @ Document::Float(_)) => {
                list.integers_to_floats();
                self.push(value);
            }
            (list, value) => {
                list.numbers_to_list();
                self.push(value);
            }
        }
    }

    pub(super) fn finish(self) -> Document {
        self.0.unwrap_or(Document::Integers(Vec::new()))
    }
}

impl Document {
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

impl<'a> ValueAt<'a> {
    pub(super) fn root(value: &'a Document) -> Self {
        Self { value, within: None, name: PathStep::Key("model") }
    }

    /// Returns the value of a key, which must be there.
    pub(super) fn get(&'a self, key: &'a str) -> Result<ValueAt<'a>, Problem> {
        self.find(key)?.ok_or_else(|| self.problem(format!("has no key `{key}`")))
    }

    /// Returns the value of a key, if it is there.
    pub(super) fn find(&'a self, key: &'a str) -> Result<Option<ValueAt<'a>>, Problem> {
        let Document::Map(map) = self.value else {
            return Err(self.problem("must be an object"));
        };
        let found = map.iter().find(|(name, _)| name == key);
        Ok(found.map(|(_, value)| ValueAt { value, within: Some(self), name: PathStep::Key(key) }))
    }

    /// Returns the elements of a list of anything but numbers.
    pub(super) fn list(&'a self) -> Result<impl Iterator<Item = ValueAt<'a>>, Problem> {
        let values: &[Document] = match self.value {
            Document::List(values) => values,
            Document::Integers(values) if values.is_empty() => &[],
            _ => return Err(self.problem("must be an array")),
        };
        Ok(values.iter().enumerate().map(move |(index, value)| ValueAt {
            value,
            within: Some(self),
            name: PathStep::Index(index),
        }))
    }

    pub(super) fn text(&self) -> Result<&'a str, Problem> {
        match self.value {
            Document::Text(text) => Ok(text),
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
            Document::Integers(values) => Ok(values.clone()),
            Document::List(values) => values
                .iter()
                .map(|value| match value {
                    Document::Bool(value) => Ok(i64::from(*value)),
                    _ => Err(self.problem("must be an array of integers")),
                })
                .collect(),
            _ => Err(self.problem("must be an array of integers")),
        }
    }

    pub(super) fn floats(&self) -> Result<Vec<f32>, Problem> {
        match self.value {
            Document::Floats(values) => Ok(values.clone()),
            Document::Integers(values) => Ok(values.iter().map(|value| *value as f32).collect()),
            _ => Err(self.problem("must be an array of numbers")),
        }
    }

    pub(super) fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::new(format!("`{}`", self.place()), reason)
    }

    fn place(&self) -> String {
        let Some(within) = self.within else { return "model".to_owned() };
        let before = within.place();
        match self.name {
            PathStep::Index(index) => format!("{before}[{index}]"),
            PathStep::Key(key) if before == "model" => key.to_owned(),
            PathStep::Key(key) => format!("{before}.{key}"),
        }
    }
}
