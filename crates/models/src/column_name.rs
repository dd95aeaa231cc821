//! Reads the names of a model's columns: what of an item, a user or a request each stands for.
//!
//! | name | value |
//! |---|---|
//! | `item.FIELD` | the number of the item |
//! | `item.FIELD=TEXT` | 1 where the item's text is this one, else 0 |
//! | `user.NAME`, `context.NAME` | the number of the profile or the request |
//! | `user.NAME=TEXT`, `context.NAME=TEXT` | 1 where the text is this one, else 0 |
//! | `user.NAME@item.FIELD` | the user's number `NAME.TEXT`, where TEXT is the item's text |
//! | `LEFT*RIGHT` | the product of these |
//!
//! `user.affinity@item.category` is the user's affinity to the item's own category. `@`, `=` and
//! `*` are what the rules of LightGBM and XGBoost for names leave. A graph in ONNX may take texts:
//! there the name of a number stands for a text (`row_model.rs`).
//! Invariant: a name is read as it is trained: LightGBM turns blanks into `_`, and that is not
//! undone. `*` parts a name only before `item.`, `user.` or `context.`, so a text may hold it.
//! `python/tidegate/names.py` reads the same names by code of its own; docs/MODELS.md has the
//! table.
//! Never here: values (`row_columns.rs`).

use crate::linear::{FeatureName, FeatureSource};

/// What parts the sides of a product.
const TIMES: char = '*';

/// What parts the user's name from the item's field.
const OF_ITEM: &str = "@item.";

/// A column: the product of its sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnName {
    pub(crate) sides: Vec<ColumnSide>,
}

/// One factor of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnSide {
    /// A number, or whether a text is this one.
    Feature(FeatureName),
    /// A text, as the number that stands for it in a model of texts; no name is read as this.
    Word(FeatureName),
    /// The number that a user or a request has for the text in a field of the item.
    OfItem { source: FeatureSource, name: String, field: String },
}

impl ColumnName {
    /// Reads a name.
    ///
    /// # Errors
    /// Why it names nothing, as text.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let mut sides = Vec::new();
        let mut rest = name;
        while let Some(at) = next_side(rest) {
            sides.push(ColumnSide::parse(&rest[..at])?);
            rest = &rest[at + TIMES.len_utf8()..];
        }
        sides.push(ColumnSide::parse(rest)?);
        Ok(Self { sides })
    }
}

impl ColumnSide {
    fn parse(name: &str) -> Result<Self, String> {
        let feature = FeatureName::parse(name)?;
        let parts = name.split_once(OF_ITEM).filter(|(left, _)| !left.contains('='));
        let Some((left, field)) = parts else {
            return match feature.field.contains('@') && feature.equals.is_none() {
                true => Err(format!("`{name}` must go on with `item.` and a field after `@`")),
                false => Ok(Self::Feature(feature)),
            };
        };
        let FeatureName { source, field: name, .. } = FeatureName::parse(left)?;
        if source == FeatureSource::Item || field.is_empty() || field.contains('=') {
            let wanted = "a name of `user.` or `context.`, then `@item.` and a field of texts";
            return Err(format!("`{left}{OF_ITEM}{field}` must be {wanted}"));
        }
        Ok(Self::OfItem { source, name, field: field.to_owned() })
    }
}

/// Where the next side of a product begins: its `*`.
fn next_side(name: &str) -> Option<usize> {
    let begins = |rest: &str| {
        let sources = [FeatureSource::Item, FeatureSource::User, FeatureSource::Context];
        sources.iter().any(|source| {
            rest.strip_prefix(source.prefix()).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    name.match_indices(TIMES).map(|(at, _)| at).find(|at| begins(&name[at + 1..]))
}

#[cfg(test)]
mod tests;
