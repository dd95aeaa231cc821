//! Makes a ranker of a model over rows: it finds out what each column stands for.
//!
//! A linear model of our own names its features; trees know columns by the names that they were
//! trained with. `column_name.rs` says what those mean. A graph in ONNX names its inputs, or in a
//! property of the file each number of its input.
//! Invariant: a [`RowModel`] gives one number a row, and each of its columns names something that
//! an item or a request brings. No field is both a number and a text.
//! Refuses, as [`Error::Model`]: columns without names or with others, all of them at once, and
//! models with more scores than one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column_name::{ColumnName, ColumnSide};
use crate::error::{Error, Problem};
use crate::inputs::{WholeBounds, Words};
use crate::items::WantedColumns;
use crate::linear::FeatureSource;
use crate::onnx::{AboutOnnx, OnnxKind, OnnxModel};
use crate::trees::Trees;

/// The largest whole number of which a double holds every smaller one.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

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
    Onnx(Arc<OnnxModel>, OnnxScore),
}

/// Which number of a graph's outputs is a row's score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnnxScore {
    pub(crate) output: usize,
    pub(crate) column: usize,
    pub(crate) width: usize,
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
        let columns = columns(&labels).map_err(Error::Model)?;
        check_kinds(&columns).map_err(Error::Model)?;
        Ok(Self { evaluator: RowEvaluator::Trees(trees), labels, columns })
    }

    /// Takes a graph whose columns are named: by the property `tidegate.features`, or as inputs of
    /// one column each.
    ///
    /// # Errors
    /// As [`Self::of_trees`].
    pub fn of_onnx(model: Arc<OnnxModel>) -> Result<Self, Error> {
        let about = model.about();
        let score = score_of(about).map_err(|problem| Error::Model(vec![problem]))?;
        let is_by_column = about.inputs.iter().all(|input| input.width == 1);
        let labels = match about.feature_names.is_empty() && is_by_column {
            true => about.inputs.iter().map(|input| input.name.clone()).collect(),
            false => about.feature_names.clone(),
        };
        let mut columns = columns(&labels).map_err(Error::Model)?;
        for (column, kind) in columns.iter_mut().zip(kinds(about)) {
            column.sides = sides_of_kind(&column.sides, kind)
                .map_err(|problem| Error::Model(vec![problem]))?;
        }
        check_kinds(&columns).map_err(Error::Model)?;
        Ok(Self { evaluator: RowEvaluator::Onnx(model, score), labels, columns })
    }

    /// Returns the texts that the model names, with the numbers that stand for them.
    pub(crate) fn words(&self) -> Words {
        match &self.evaluator {
            RowEvaluator::Trees(_) => Words::default(),
            RowEvaluator::Onnx(model, _) => Words::new(model.texts(), model.text_number("")),
        }
    }

    /// Returns the whole numbers that a column takes, where it takes no others.
    pub(crate) fn bounds(&self, column: usize) -> Option<WholeBounds> {
        let RowEvaluator::Onnx(model, _) = &self.evaluator else { return None };
        match kinds(model.about()).nth(column)? {
            OnnxKind::Integer => Some((-EXACT_MAX, EXACT_MAX)),
            OnnxKind::Integer32 => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
            OnnxKind::Bool => Some((0.0, 1.0)),
            OnnxKind::Float | OnnxKind::Double | OnnxKind::Text => None,
        }
    }

    /// Returns the columns that items must be read with.
    pub(crate) fn wanted(&self) -> WantedColumns {
        let mut wanted = WantedColumns::default();
        for side in self.columns.iter().flat_map(|column| &column.sides) {
            let (fields, field) = match side {
                ColumnSide::OfItem { field, .. } => (&mut wanted.texts, field),
                ColumnSide::Feature(name) | ColumnSide::Word(name)
                    if name.source != FeatureSource::Item =>
                {
                    continue;
                }
                ColumnSide::Word(name) => (&mut wanted.texts, &name.field),
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
/// All that name nothing, as one problem.
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
    Ok(columns)
}

/// What each number of a row becomes.
fn kinds(about: &AboutOnnx) -> impl Iterator<Item = OnnxKind> {
    about.inputs.iter().flat_map(|input| std::iter::repeat_n(input.kind, input.width))
}

/// Takes the sides of a column for what its input takes.
fn sides_of_kind(sides: &[ColumnSide], kind: OnnxKind) -> Result<Vec<ColumnSide>, Problem> {
    let wanted = match kind {
        OnnxKind::Float | OnnxKind::Double => return Ok(sides.to_vec()),
        OnnxKind::Text => "texts",
        _ => "whole numbers",
    };
    match (sides, kind) {
        ([ColumnSide::Feature(name)], OnnxKind::Text) if name.equals.is_none() => {
            Ok(vec![ColumnSide::Word(name.clone())])
        }
        ([ColumnSide::Feature(name)], kind) if kind != OnnxKind::Text => {
            Ok(vec![ColumnSide::Feature(name.clone())])
        }
        _ => {
            let reason = format!("takes {wanted}, so its name must be that of one field");
            Err(Problem::new("an input", reason))
        }
    }
}

/// Finds the output that has the score: the only one of floats.
fn score_of(about: &AboutOnnx) -> Result<OnnxScore, Problem> {
    let floats = about
        .outputs
        .iter()
        .enumerate()
        .filter(|(_, output)| matches!(output.kind, OnnxKind::Float | OnnxKind::Double));
    let found: Vec<(usize, usize)> = floats.map(|(at, output)| (at, output.width)).collect();
    match found[..] {
        [(output, 1)] => Ok(OnnxScore { output, column: 0, width: 1 }),
        // The probability of the second of two classes.
        [(output, 2)] if about.outputs.len() > 1 => Ok(OnnxScore { output, column: 1, width: 2 }),
        _ => {
            let outputs = about.outputs.iter();
            let shown: Vec<String> = outputs
                .map(|one| format!("`{}` of {} {:?}", one.name, one.width, one.kind))
                .collect();
            let reason = format!(
                "gives {}, and a ranking needs one float, or the probabilities of two classes \
                 behind their label",
                shown.join(", ")
            );
            Err(Problem::new("outputs", reason))
        }
    }
}

fn check_kinds(columns: &[ColumnName]) -> Result<(), Vec<Problem>> {
    match fields_of_two_kinds(columns) {
        wrong if wrong.is_empty() => Ok(()),
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
            ColumnSide::Word(name) => (name.source, name.field.as_str(), true),
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
