//! Reads one generation of a model that ranks: it joins model file and items file, and checks them.
//!
//! Also here: candidate sets and rows of categories, computed once, and `opening`, with which each
//! reply of `rank` begins (`ranking/reply.rs`).
//! Invariant: of a linear model, every item has a finite score in a request without features
//! (`Ranker::new`). The model over rows has answered its golden input. Device, inode, time and size
//! of both files were the same before and after the reading.
//! A candidate set by a number that no item has is an error; one by texts that no item has is
//! empty. The rows of a set ascend, which `ranking.rs` relies on. `read_items` must ask for each
//! field that a set needs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use exchange::nearest_name;
use generation::FileVersion;
use models::{CandidateSet, Codes, FeatureSource, Items, RankModel, Ranker, WantedColumns};

use crate::config::{CandidatesPlan, ModelPlan};
use crate::error::LoadError;
use crate::json::push_text;
use crate::model_file;
use crate::predicting;
use crate::predictor::Predictor;

/// A model with its items, ready to answer. Immutable.
#[derive(Debug)]
pub(crate) struct LoadedRanker {
    pub(crate) ranker: Ranker,
    pub(crate) name: String,
    /// As answers name it.
    pub(crate) version: String,
    /// Each candidate set, in the order of the plan, lowest row first.
    pub(crate) sets: Vec<(String, CandidateSet)>,
    /// Rows of each category, by its code.
    pub(crate) categories: Vec<Vec<u32>>,
    /// How each answer of `rank` begins: `{"model":…,"version":…`.
    pub(crate) opening: Vec<u8>,
    /// The model over rows that a client brings.
    pub(crate) rows: Arc<Predictor>,
    pub(crate) sources: SourceFiles,
    /// Fields that the model reads and no item has.
    pub(crate) absent: Vec<String>,
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
        let (model, rows) = read_model(plan)?;
        let wanted = model.wanted();
        let items = read_items(plan, &wanted)?;
        let absent = wanted.absent_from(&items);
        let sets = plan.candidates.iter().map(|set| rows_of(set, &items));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let categories = categories(&items);
        let ranker = Ranker::new(model, items)
            .map_err(|source| LoadError::Invalid { path: plan.file.clone(), source })?;
        let sets = sets.into_iter().map(|(name, rows)| (name, ranker.pack(rows))).collect();
        if SourceFiles::at(plan)? != sources {
            return Err(LoadError::Changed { path: plan.file.clone() });
        }
        let (name, version) = (plan.name.clone(), rows.version.clone());
        let opening = opening(&name, &version);
        let rows = Arc::new(rows);
        Ok(Self { ranker, name, version, sets, categories, opening, rows, sources, absent })
    }

    /// What it reads of users beside affinities and the number of reads.
    pub(crate) fn unusual_user_features(&self) -> Vec<String> {
        let of_users = self.ranker.inputs().names().iter();
        let of_users = of_users.filter(|name| name.source == FeatureSource::User);
        let fields: BTreeSet<_> = of_users.map(|name| name.field.clone()).collect();
        let is_usual = |field: &String| field.starts_with("affinity.") || field == "reads";
        fields.into_iter().filter(|field| !is_usual(field)).collect()
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

/// Reads and checks the model file of a plan; returns the model over rows of a client, too.
///
/// # Errors
/// Whatever makes it unfit to rank, with the file's name.
pub(crate) fn read_model(plan: &ModelPlan) -> Result<(RankModel, Predictor), LoadError> {
    let bytes = model_file::read(&plan.file)?;
    let (model, mut rows) =
        Predictor::read_ranker(&bytes, plan.version.clone(), plan.iterations)
            .map_err(|source| LoadError::Invalid { path: plan.file.clone(), source })?;
    predicting::check(&mut rows, (&plan.file, plan.iterations), plan.golden.as_ref())?;
    Ok((model, rows))
}

/// Reads the items file of a plan.
///
/// # Errors
/// Whatever makes it unfit, with the file's name.
pub(crate) fn read_items(plan: &ModelPlan, wanted: &WantedColumns) -> Result<Items, LoadError> {
    let mut wanted = wanted.clone();
    for set in &plan.candidates {
        wanted.texts.extend(set.fields.iter().map(|(field, _)| field.clone()));
        wanted.numbers.extend(set.highest.iter().map(|(field, _)| field.clone()));
    }
    wanted.shown.clone_from(&plan.fields);
    let path = &plan.items;
    let items = Items::parse(&model_file::read(path)?, &wanted)
        .map_err(|source| LoadError::Invalid { path: path.clone(), source })?;
    let mut fields = plan.fields.iter().flatten();
    match fields.find(|field| !items.has(field)) {
        None => Ok(items),
        Some(field) => {
            let names: Vec<&str> = items.names().collect();
            let near = nearest_name(field, &names).map(str::to_owned);
            Err(LoadError::Field { path: path.clone(), field: field.clone(), near })
        }
    }
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
