//! Reads a model for `tidegate model inspect`, and ranks one body for `tidegate model score`.
//!
//! Also here: how a model is printed; trees and graphs print themselves (`predictor.rs`). A
//! directory is a model of texts, anything else is a file. The server also takes a `file` without
//! extension for a directory.
//! Invariant: a file is read by the server's own readers, so what they refuse here they refuse
//! there. The server may refuse more: golden inputs, candidate sets, its bounds of bodies. Texts
//! are read in `f32` here, whatever the plan says.
//! `score` has no configuration: its plan stands here, without bounds or sets, and repeats the
//! defaults of `limit` and `exclude_recent` in `config.rs`.
//! Elsewhere: tables (`table.rs`), lines of texts (`lines.rs`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use exchange::ModelRequest;
use models::{AboutEmbedder, Embedder, EmbedderKind, Iterations, Linear, Precision};

use crate::config::ModelPlan;
use crate::error::{InspectError, LoadError};
use crate::model_file;
use crate::predictor::{Predictor, is_linear};
use crate::ranking::{LoadedRanker, rank_loaded};
use crate::table;

/// What a model holds.
#[derive(Debug)]
pub enum Inspection {
    /// A linear model, and what it makes of its items where they are given.
    Linear { model: Linear, items: Option<ItemsInspection> },
    /// Trees, or a graph in ONNX, and the items that it ranks where they are given.
    Predictor { predictor: Arc<Predictor>, items: Option<ItemsInspection> },
    /// A folder with a model of texts.
    Texts { dir: PathBuf, about: AboutEmbedder },
}

/// What an items file holds.
#[derive(Debug)]
pub struct ItemsInspection {
    pub count: usize,
    pub text_bytes: usize,
    /// Categories with the number of their items, most first.
    pub categories: Vec<(String, usize)>,
    /// Fields that the model reads and no item has.
    pub absent: Vec<String>,
}

/// Reads a model file, and its items where given.
///
/// # Errors
/// [`InspectError::Load`] with all that is wrong with the files.
pub fn inspect(file: &Path, items: Option<&Path>) -> Result<Inspection, InspectError> {
    let Some(items) = items else { return inspect_alone(file) };
    let loaded = LoadedRanker::load(&plan(file, items))?;
    let items = Some(ItemsInspection::of(&loaded));
    Ok(match linear(file)? {
        Some(model) => Inspection::Linear { model, items },
        None => Inspection::Predictor { predictor: loaded.rows, items },
    })
}

fn inspect_alone(file: &Path) -> Result<Inspection, InspectError> {
    if file.is_dir() {
        let embedder = Embedder::load(file, Precision::Single)
            .map_err(|source| LoadError::Invalid { path: file.to_owned(), source })?;
        let about = embedder.about().clone();
        return Ok(Inspection::Texts { dir: file.to_owned(), about });
    }
    Ok(match linear(file)? {
        Some(model) => Inspection::Linear { model, items: None },
        None => Inspection::Predictor { predictor: Arc::new(table::load(file)?), items: None },
    })
}

/// Reads a file in our own format; `None` for any other.
fn linear(file: &Path) -> Result<Option<Linear>, LoadError> {
    let bytes = model_file::read(file)?;
    let model = is_linear(&bytes).then(|| Linear::parse(&bytes)).transpose();
    model.map_err(|source| LoadError::Invalid { path: file.to_owned(), source })
}

/// Ranks a body (the format of `POST /v1/models/{model}/rank`) and returns the reply.
///
/// # Errors
/// What is wrong with the files, or with the body.
pub fn score(file: &Path, items: &Path, body: &[u8]) -> Result<Vec<u8>, InspectError> {
    let plan = plan(file, items);
    let loaded = LoadedRanker::load(&plan)?;
    let mut reply = Vec::new();
    let request = ModelRequest { body, ..ModelRequest::default() };
    rank_loaded(&loaded, &plan, &request, &mut reply)?;
    Ok(reply)
}

fn plan(file: &Path, items: &Path) -> ModelPlan {
    // A linear model has a name of its own; another is called as its file.
    let linear_name = linear(file).ok().flatten().map(|model| model.name);
    let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    ModelPlan {
        name: linear_name.unwrap_or_else(stem),
        file: file.to_owned(),
        items: items.to_owned(),
        fields: None,
        limit: 10,
        limit_max: usize::MAX,
        candidates_max: usize::MAX,
        candidates: Vec::new(),
        candidates_default: None,
        per_category_max: None,
        exclude_recent: true,
        version: None,
        golden: None,
        iterations: Iterations::Best,
    }
}

impl ItemsInspection {
    fn of(loaded: &LoadedRanker) -> Self {
        let items = loaded.ranker.items();
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
        let absent = loaded.absent.clone();
        Self { count: items.len(), text_bytes: items.text_bytes(), categories, absent }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear { model, items } => {
                write_linear(f, model)?;
                items.as_ref().map_or(Ok(()), |items| write_items(f, items))
            }
            Self::Predictor { predictor, items } => {
                predictor.fmt(f)?;
                items.as_ref().map_or(Ok(()), |items| write_items(f, items))
            }
            Self::Texts { dir, about } => write_texts(f, dir, about),
        }
    }
}

fn write_linear(f: &mut fmt::Formatter<'_>, model: &Linear) -> fmt::Result {
    writeln!(f, "{} version {}, link {:?}", model.name, model.version, model.link)?;
    writeln!(f, "{:>12}  intercept", shown(model.intercept))?;
    for feature in &model.features {
        writeln!(f, "{:>12}  {}", shown(feature.weight), feature.name)?;
    }
    for cross in &model.crosses {
        writeln!(f, "{:>12}  {} * {}", shown(cross.weight), cross.left, cross.right)?;
    }
    Ok(())
}

fn write_items(f: &mut fmt::Formatter<'_>, items: &ItemsInspection) -> fmt::Result {
    writeln!(f, "{} items, {} bytes of text", items.count, items.text_bytes)?;
    for (category, count) in &items.categories {
        writeln!(f, "{count:>12}  category {category}")?;
    }
    for field in &items.absent {
        writeln!(f, "{:>12}  items have `{field}`, which the model reads", "no")?;
    }
    Ok(())
}

fn write_texts(f: &mut fmt::Formatter<'_>, dir: &Path, about: &AboutEmbedder) -> fmt::Result {
    let kind = match about.kind {
        EmbedderKind::Encoder { layers } => format!("BERT encoder of {layers} layers"),
        EmbedderKind::Static => "static embeddings".to_owned(),
    };
    writeln!(f, "{}: {kind}", dir.display())?;
    writeln!(f, "{:>12}  numbers per vector", about.dims)?;
    writeln!(f, "{:>12}  tokens of a text, at most", about.tokens_max)?;
    writeln!(f, "{:>12}  tokens known", about.vocabulary)?;
    writeln!(f, "{:>12}  bytes of weights", about.bytes)?;
    writeln!(f, "{:>12}  pooling", format!("{:?}", about.pooling).to_lowercase())?;
    let length = if about.normalises { "of length 1" } else { "as they come" };
    writeln!(f, "{:>12}  vectors {length}", "")
}

fn shown(weight: f64) -> String {
    format!("{weight:.6}")
}

#[cfg(test)]
mod tests;
