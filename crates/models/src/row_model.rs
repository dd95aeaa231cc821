//! Makes a ranker of a model over rows: it finds out what each column stands for.
//!
//! A linear model of our own names its features; trees know columns by the names that they were
//! trained with. `column_name.rs` says what those mean.
//! Invariant: a [`RowModel`] gives one number a row, and each of its columns names something that
//! an item or a request brings. No field is both a number and a text.
//! Refuses, as [`Error::Model`]: columns without names or with others, all of them at once, and
//! models with more scores than one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column_name::{ColumnName, ColumnSide};
use crate::error::{Error, Problem};
use crate::items::WantedColumns;
use crate::linear::FeatureSource;
use crate::trees::Trees;

/// Names shown in an error, before the rest is only counted.
const NAMES_SHOWN: usize = 3;

/// Fields of items that are always texts.
const TEXTS: [&str; 3] = ["id", "title", "category"];

/// How to name a column, for whoever trains a model.
const HOW: &str = "name each column `item.FIELD`, `item.FIELD=TEXT`, `user.NAME`, `context.NAME`, \
    `user.affinity@item.category` or `LEFT*RIGHT` when the model is trained, or write it by \
    `tidegate.export_ranker` (docs/MODELS.md)";

/// A model over rows that can rank items.
#[derive(Debug)]
pub struct RowModel {
    pub(crate) evaluator: RowEvaluator,
    /// What each column is called, as the file has it.
    pub(crate) labels: Vec<String>,
    pub(crate) columns: Vec<ColumnName>,
}

/// What scores the rows.
#[derive(Debug)]
pub(crate) enum RowEvaluator {
    Trees(Arc<Trees>),
}

impl RowModel {
    /// Takes trees whose columns are named.
    ///
    /// # Errors
    /// [`Error::Model`] with what the names or the scores lack; train or save the model anew.
    pub fn of_trees(trees: Arc<Trees>) -> Result<Self, Error> {
        let about = trees.about();
        if about.margins != 1 {
            let reason = format!(
                "gives {} scores a row (objective `{}`), and a ranking needs one; train a ranker \
                 (`lambdarank`, `rank:ndcg`), a regression or a classifier of two classes",
                about.margins, about.objective
            );
            return Err(Error::Model(vec![Problem::new("model", reason)]));
        }
        let labels = about.feature_names.clone();
        Self::new(RowEvaluator::Trees(trees), labels)
    }

    fn new(evaluator: RowEvaluator, labels: Vec<String>) -> Result<Self, Error> {
        let columns = columns(&labels).map_err(Error::Model)?;
        Ok(Self { evaluator, labels, columns })
    }

    /// Returns the columns that items must be read with.
    pub(crate) fn wanted(&self) -> WantedColumns {
        let mut wanted = WantedColumns::default();
        for side in self.columns.iter().flat_map(|column| &column.sides) {
            let (fields, field) = match side {
                ColumnSide::OfItem { field, .. } => (&mut wanted.texts, field),
                ColumnSide::Feature(name) if name.source != FeatureSource::Item => continue,
                ColumnSide::Feature(name) => match name.equals {
                    Some(_) => (&mut wanted.texts, &name.field),
                    None => (&mut wanted.numbers, &name.field),
                },
            };
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        }
        wanted
    }
}

/// Reads the names of all columns.
///
/// # Errors
/// What is wrong with them: all that name nothing as one problem, then fields of two kinds.
fn columns(labels: &[String]) -> Result<Vec<ColumnName>, Vec<Problem>> {
    if labels.is_empty() {
        return Err(vec![Problem::new("columns", format!("have no names; {HOW}"))]);
    }
    let (mut columns, mut wrong) = (Vec::new(), Vec::new());
    for label in labels {
        match ColumnName::parse(label) {
            Ok(column) => columns.push(column),
            Err(reason) => wrong.push((label.as_str(), reason)),
        }
    }
    if let Some((_, reason)) = wrong.first() {
        let shown: Vec<String> =
            wrong.iter().take(NAMES_SHOWN).map(|(label, _)| format!("`{label}`")).collect();
        let more = match wrong.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (shown, verb) = (shown.join(", "), if wrong.len() == 1 { "names" } else { "name" });
        let reason = format!(
            "{shown}{more} {verb} nothing that an item or a request brings: {reason}; {HOW}"
        );
        return Err(vec![Problem::new("columns", reason)]);
    }
    match fields_of_two_kinds(&columns) {
        wrong if wrong.is_empty() => Ok(columns),
        wrong => Err(wrong),
    }
}

/// A field is a number or a text; a model that wants both can never be right.
fn fields_of_two_kinds(columns: &[ColumnName]) -> Vec<Problem> {
    let texts = TEXTS.map(|field| ((FeatureSource::Item, field), true));
    let (mut kinds, mut problems) = (HashMap::from(texts), Vec::new());
    for side in columns.iter().flat_map(|column| &column.sides) {
        let (source, field, is_text) = match side {
            ColumnSide::Feature(name) => (name.source, name.field.as_str(), name.equals.is_some()),
            ColumnSide::OfItem { field, .. } => (FeatureSource::Item, field.as_str(), true),
        };
        let kind = kinds.entry((source, field)).or_insert(is_text);
        if *kind != is_text {
            let at = format!("`{}.{field}`", source.prefix());
            problems.push(Problem::new(at, "is used as a number and as a text"));
            *kind = is_text;
        }
    }
    problems
}
