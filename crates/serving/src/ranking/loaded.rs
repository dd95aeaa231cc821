//! Reads one generation of a model that ranks: it joins model file and items file, and checks them.
//!
//! Also here: candidate sets and rows of categories, computed once, and `opening`, with which each
//! reply of `rank` begins (`ranking/reply.rs`).
//! Invariant: every item has a finite score in a request without features (`Ranker::new`). Device,
//! inode, time and size of both files were the same before and after the reading.
//! A candidate set by a number that no item has is an error; one by texts that no item has is
//! empty. The rows of a set ascend, which `ranking.rs` relies on. `read_items` must ask for each
//! field that a set needs.

use std::path::Path;
use std::sync::Arc;

use generation::FileVersion;
use models::{CandidateSet, Codes, Items, Linear, Ranker};

use crate::config::{CandidatesPlan, ModelPlan};
use crate::error::LoadError;
use crate::json::push_text;
use crate::model_file;
use crate::predictor::Predictor;

/// A model with its items, ready to answer. Immutable.
#[derive(Debug)]
pub(crate) struct LoadedRanker {
    pub(crate) ranker: Ranker,
    pub(crate) name: String,
    /// Each candidate set, in the order of the plan, lowest row first.
    pub(crate) sets: Vec<(String, CandidateSet)>,
    /// Rows of each category, by its code.
    pub(crate) categories: Vec<Vec<u32>>,
    /// How each answer of `rank` begins: `{"model":…,"version":…`.
    pub(crate) opening: Vec<u8>,
    /// The model over rows that a client brings.
    pub(crate) rows: Arc<Predictor>,
    pub(crate) sources: SourceFiles,
}

/// Which two files a generation came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceFiles {
    model: FileVersion,
    items: FileVersion,
}

impl LoadedRanker {
    /// Reads, joins and checks the files of a plan.
    ///
    /// # Errors
    /// Whatever makes them unfit, with the file's name.
    pub(crate) fn load(plan: &ModelPlan) -> Result<Self, LoadError> {
        let sources = SourceFiles::at(plan)?;
        let model = read_model(&plan.file)?;
        let rows = Arc::new(Predictor::of_linear(&model, None));
        let items = read_items(plan, &model)?;
        let sets = plan.candidates.iter().map(|set| rows_of(set, &items));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let categories = categories(&items);
        let ranker = Ranker::new(model, items)
            .map_err(|source| LoadError::Invalid { path: plan.file.clone(), source })?;
        let sets = sets.into_iter().map(|(name, rows)| (name, ranker.pack(rows))).collect();
        if SourceFiles::at(plan)? != sources {
            return Err(LoadError::Changed { path: plan.file.clone() });
        }
        let name = plan.name.clone();
        let opening = opening(&name, &ranker.model().version);
        Ok(Self { ranker, name, sets, categories, opening, rows, sources })
    }
}

impl SourceFiles {
    pub(crate) fn at(plan: &ModelPlan) -> Result<Self, LoadError> {
        let at = |path: &Path| {
            FileVersion::at(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })
        };
        Ok(Self { model: at(&plan.file)?, items: at(&plan.items)? })
    }
}

pub(crate) fn read_model(path: &Path) -> Result<Linear, LoadError> {
    Linear::parse(&model_file::read(path)?)
        .map_err(|source| LoadError::Invalid { path: path.to_owned(), source })
}

fn read_items(plan: &ModelPlan, model: &Linear) -> Result<Items, LoadError> {
    let mut wanted = Ranker::wanted(model);
    for set in &plan.candidates {
        wanted.texts.extend(set.fields.iter().map(|(field, _)| field.clone()));
        wanted.numbers.extend(set.highest.iter().map(|(field, _)| field.clone()));
    }
    let path = &plan.items;
    Items::parse(&model_file::read(path)?, &wanted)
        .map_err(|source| LoadError::Invalid { path: path.clone(), source })
}

fn rows_of(set: &CandidatesPlan, items: &Items) -> Result<(String, Vec<u32>), LoadError> {
    let mut rows: Vec<u32> = (0..items.len() as u32).collect();
    for (field, text) in &set.fields {
        let codes = items.text(field).expect("the items were read with this field");
        let code = codes.code(text).unwrap_or(Codes::ABSENT);
        rows.retain(|row| code != Codes::ABSENT && codes.rows()[*row as usize] == code);
    }
    if let Some((field, count)) = &set.highest {
        let numbers = items.number(field).expect("the items were read with this field");
        if numbers.iter().all(|number| number.is_nan()) {
            return Err(LoadError::Set { set: set.name.clone(), field: field.clone() });
        }
        let key = |row: &u32| match numbers[*row as usize] {
            absent if absent.is_nan() => f64::NEG_INFINITY,
            number => number,
        };
        rows.sort_by(|a, b| key(b).total_cmp(&key(a)));
        rows.truncate(*count);
        rows.sort_unstable();
    }
    Ok((set.name.clone(), rows))
}

fn categories(items: &Items) -> Vec<Vec<u32>> {
    let codes = items.text("category").expect("items always keep `category`");
    let mut rows = vec![Vec::new(); codes.distinct()];
    for (row, code) in codes.rows().iter().enumerate() {
        if *code != Codes::ABSENT {
            rows[*code as usize].push(row as u32);
        }
    }
    rows
}

fn opening(name: &str, version: &str) -> Vec<u8> {
    let mut opening = b"{\"model\":".to_vec();
    push_text(&mut opening, name);
    opening.extend_from_slice(b",\"version\":");
    push_text(&mut opening, version);
    opening
}

#[cfg(test)]
mod tests;
