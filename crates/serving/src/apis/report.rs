//! What is told of all models: their states, and their names.

use std::time::UNIX_EPOCH;

use exchange::ModelAnswer;
use generation::Status;
use serde_json::{Value, json};

use super::Models;
use crate::ranking::ModelStatus;

impl Models {
    /// Returns every model: its version, its state, and the reason for that.
    pub fn index(&self) -> Value {
        let state = |model: &ModelStatus| match (&model.file, &model.version) {
            (_, Some(_)) => ("READY", String::new()),
            (None, None) => ("UNAVAILABLE", "unloaded".to_owned()),
            (Some(file), None) => ("UNAVAILABLE", reason(file)),
        };
        let models: Vec<Value> = self.status().iter().map(|model| {
            let (state, reason) = state(model);
            json!({"name": model.name, "version": model.version, "state": state, "reason": reason})
        }).collect();
        models.into()
    }

    pub(super) fn names(&self) -> Value {
        let models: Vec<Value> = self
            .status()
            .iter()
            .map(|model| {
                let loaded_at = model.file.as_ref().and_then(|file| file.loaded_at);
                let since = loaded_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                let (id, created) = (&model.name, since.map_or(0, |since| since.as_secs()));
                json!({"id": id, "object": "model", "created": created, "owned_by": "tidegate"})
            })
            .collect();
        json!({"object": "list", "data": models})
    }
}

/// Appends a value that is ready.
pub(super) fn said(value: &Value, out: &mut Vec<u8>) -> ModelAnswer {
    out.extend_from_slice(value.to_string().as_bytes());
    ModelAnswer::default()
}

fn reason(file: &Status) -> String {
    file.fault.as_ref().map_or_else(|| "loading".to_owned(), |fault| fault.message.clone())
}
