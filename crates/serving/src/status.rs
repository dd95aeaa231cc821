//! Tells where models stand: the index for operators, and the names for clients of OpenAI's API.
//!
//! Plain data; each kind of model fills it. Invariant: in the index a model without a version has a
//! reason: unloaded, a problem of its files, or loading. `created` is when the generation of the
//! model file was put to use, and 0 without one. Clients compare the texts of states.
//! A new field of [`ModelStatus`] is filled in `ranking.rs`, `predicting.rs` and `router.rs`. The
//! binary shows it (`tidegate/src/admin.rs`: `model`). No `version` beside a `file` means not ready
//! there and in `router.rs`.

use std::time::UNIX_EPOCH;

use generation::Status;
use serde_json::{Value, json};

use crate::texts::TextCounts;

/// What an operator asks about a model.
#[derive(Debug, Clone)]
pub struct ModelStatus {
    pub name: String,
    /// The version in use; none before the first good generation.
    pub version: Option<String>,
    pub items: usize,
    /// The model file; none while the model is unloaded.
    pub file: Option<Status>,
    /// The items file; none where the model has no items.
    pub items_file: Option<Status>,
    /// Fields of items that the model reads and no item has.
    pub absent: Vec<String>,
    /// What a model of texts has done.
    pub texts: Option<TextCounts>,
}

/// Returns every model: its version, its state, and the reason for that.
pub(crate) fn index(models: &[ModelStatus]) -> Value {
    let state = |model: &ModelStatus| match (&model.file, &model.version) {
        (_, Some(_)) => ("READY", String::new()),
        (None, None) => ("UNAVAILABLE", "unloaded".to_owned()),
        (Some(file), None) => ("UNAVAILABLE", reason(file, model.items_file.as_ref())),
    };
    let entry = |model: &ModelStatus| {
        let (state, reason) = state(model);
        json!({"name": model.name, "version": model.version, "state": state, "reason": reason})
    };
    models.iter().map(entry).collect()
}

/// Returns the names of all models, as OpenAI's API lists them.
pub(crate) fn names(models: &[ModelStatus]) -> Value {
    let entry = |model: &ModelStatus| {
        let loaded_at = model.file.as_ref().and_then(|file| file.loaded_at);
        let since = loaded_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let (id, created) = (&model.name, since.map_or(0, |since| since.as_secs()));
        json!({"id": id, "object": "model", "created": created, "owned_by": "tidegate"})
    };
    let models: Vec<Value> = models.iter().map(entry).collect();
    json!({"object": "list", "data": models})
}

fn reason(file: &Status, items: Option<&Status>) -> String {
    let problem = [Some(file), items].into_iter().flatten().find_map(|one| one.problem.as_ref());
    problem.map_or_else(|| "loading".to_owned(), |failure| failure.message.clone())
}
