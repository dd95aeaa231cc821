//! Serves `/v2/repository`: lists, loads and unloads models, by Triton's extension of the Open
//! Inference Protocol.
//!
//! Only the admin listener loads and unloads: a client of a model must not take it away from
//! others. The list is on the public listener, too (`serving`).
//! The counts of models of texts are named here as well, for `/status` and as gauges
//! `tidegate_texts_…`. Both have the same names and, while the model is loaded, the same numbers.
//! After an unload the gauges keep their last. A name is promised to operators; it also stands in
//! docs/operating/status.md.
//! Invariant: a load that fails leaves what was loaded. The paths are Triton's and stay.
//! Never here: requests to models, which are `serving`'s on the public listener.

use chassis::admin::{Page, Visit};
use metrics::Registry;
use serde_json::Value;
use serving::TextCounts;

use super::refusal::refuse;
use crate::parts::Parts;

/// What an action does.
type Act = fn(&Parts, &Visit<'_>) -> Page;

const PREFIX: &str = "/v2/repository/models/";

/// The actions by their paths.
pub(super) const ACTIONS: [(&str, Act); 2] = [
    ("/v2/repository/models/{model}/load", load),
    ("/v2/repository/models/{model}/unload", unload),
];

/// What a model of texts has done, by names that metrics share, with what they mean.
fn counts(counts: &TextCounts) -> [(&'static str, &'static str, u64); 10] {
    [
        ("hits", "Texts whose vector was remembered.", counts.hits),
        ("misses", "Texts whose vector was not.", counts.misses),
        ("joined", "Of these, texts that others waited for already.", counts.joined),
        ("busy", "Requests refused because too many waited.", counts.busy),
        ("abandoned", "Texts that nobody waited for any more.", counts.abandoned),
        ("batches", "Batches embedded.", counts.batches),
        ("embedded", "Texts embedded.", counts.texts),
        ("tokens", "Tokens embedded.", counts.tokens),
        ("waiting", "Requests that wait.", counts.requests_waiting as u64),
        ("cached_bytes", "Bytes of vectors remembered.", counts.cached_bytes),
    ]
}

/// What a model of texts has done, for the status page.
pub(super) fn counted(texts: &TextCounts) -> Value {
    counts(texts)
        .into_iter()
        .map(|(name, _, count)| (name.to_owned(), Value::from(count)))
        .collect()
}

/// Sets the gauges of models of texts.
pub(super) fn refresh(parts: &Parts, registry: &Registry) {
    for model in parts.models.status() {
        for (name, help, count) in model.texts.iter().flat_map(counts) {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let gauge = format!("tidegate_texts_{name}");
            registry.gauge(&gauge, help, &[("model", &model.name)]).set(count);
        }
    }
}

/// Every model: its version, state, and the reason for that.
pub(super) fn index(parts: &Parts, _: &Visit<'_>) -> Page {
    Page::json(200, format!("{:#}\n", parts.models.index()))
}

/// Reads a model's files anew; what was loaded stays where they are unfit.
fn load(parts: &Parts, visit: &Visit<'_>) -> Page {
    set_loaded(parts, visit, true)
}

/// Lets go of a model.
fn unload(parts: &Parts, visit: &Visit<'_>) -> Page {
    set_loaded(parts, visit, false)
}

fn set_loaded(parts: &Parts, visit: &Visit<'_>, loaded: bool) -> Page {
    let model = visit.path.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('/'));
    let model = model.map_or("", |(model, _)| model);
    match parts.models.set_loaded(model, loaded) {
        Ok(()) => Page::json(200, "{}\n"),
        Err(refusal) => refuse(refusal.status, &refusal.reason),
    }
}
