//! What stands behind `tidegate model inspect` and `tidegate model score`.
//!
//! Invariant: a model is read exactly as the server reads it, so what is refused here is refused
//! there, for the same reason.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use models::{Linear, Ranker};

use crate::config::ModelPlan;
use crate::load::{LoadError, Loaded, read_model};
use crate::ranking::rank_loaded;
use crate::refusal::Refusal;

/// What a model file holds, and what it makes of its items.
#[derive(Debug)]
pub struct Inspection {
    pub model: Linear,
    /// With an items file only.
    pub items: Option<ItemsInspection>,
}

/// What an items file holds.
#[derive(Debug)]
pub struct ItemsInspection {
    pub count: usize,
    pub text_bytes: usize,
    /// Categories with the number of their items, most first.
    pub categories: Vec<(String, usize)>,
}

/// Why a model cannot be inspected or asked.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("rank the body")]
    Refused(#[from] Refusal),
}

/// Reads a model file, and its items where given.
///
/// # Errors
/// [`InspectError::Load`] with all that is wrong with the files.
pub fn inspect(file: &Path, items: Option<&Path>) -> Result<Inspection, InspectError> {
    let Some(items) = items else {
        return Ok(Inspection { model: read_model(file)?, items: None });
    };
    let loaded = Loaded::load(&plan(file, items)?)?;
    let model = loaded.ranker.model().clone();
    Ok(Inspection { model, items: Some(ItemsInspection::of(&loaded.ranker)) })
}

/// Ranks a body (the format of `POST /v1/models/{model}/rank`) and returns the reply.
///
/// # Errors
/// What is wrong with the files, or with the body.
pub fn score(file: &Path, items: &Path, body: &[u8]) -> Result<Vec<u8>, InspectError> {
    let plan = plan(file, items)?;
    let loaded = Arc::new(Loaded::load(&plan)?);
    let mut reply = Vec::new();
    rank_loaded(&loaded, &plan, (body, None), &mut reply)?;
    Ok(reply)
}

fn plan(file: &Path, items: &Path) -> Result<ModelPlan, LoadError> {
    Ok(ModelPlan {
        name: read_model(file)?.name,
        file: file.to_owned(),
        items: items.to_owned(),
        limit: 10,
        limit_max: usize::MAX,
        candidates_max: usize::MAX,
        candidates: Vec::new(),
        candidates_default: None,
        per_category_max: None,
        exclude_recent: true,
    })
}

impl ItemsInspection {
    fn of(ranker: &Ranker) -> Self {
        let items = ranker.items();
        let codes = items.text("category").expect("items always keep `category`");
        let mut counts = vec![0; codes.distinct()];
        for code in codes.rows() {
            if let Some(count) = counts.get_mut(*code as usize) {
                *count += 1;
            }
        }
        let values = codes.values();
        let mut categories: Vec<(String, usize)> =
            values.map(|(text, code)| (text.to_owned(), counts[code as usize])).collect();
        categories.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self { count: items.len(), text_bytes: items.text_bytes(), categories }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = &self.model;
        writeln!(f, "{} version {}, link {:?}", model.name, model.version, model.link)?;
        writeln!(f, "{:>12}  intercept", shown(model.intercept))?;
        for feature in &model.features {
            writeln!(f, "{:>12}  {}", shown(feature.weight), feature.name)?;
        }
        for cross in &model.crosses {
            writeln!(f, "{:>12}  {} * {}", shown(cross.weight), cross.left, cross.right)?;
        }
        let Some(items) = &self.items else { return Ok(()) };
        writeln!(f, "{} items, {} bytes of text", items.count, items.text_bytes)?;
        for (category, count) in &items.categories {
            writeln!(f, "{count:>12}  category {category}")?;
        }
        Ok(())
    }
}

fn shown(weight: f64) -> String {
    format!("{weight:.6}")
}

#[cfg(test)]
mod tests;
