//! Replies, and what is recorded of them.
//!
//! Invariant: a reply is valid JSON whatever the items and ids hold; ids and titles were made JSON
//! when the items were loaded, unknown ids are copied as the body wrote them.

use std::sync::Arc;

use models::{PROPENSITY, Ranked};
use smallvec::SmallVec;

use crate::features::Work;
use crate::json::push_text;
use crate::load::Loaded;

/// The items that a ranked answer shows, in order.
#[derive(Debug, Clone)]
pub struct Impression {
    loaded: Arc<Loaded>,
    rows: SmallVec<[u32; 16]>,
}

/// What a `rank` answer was made of.
#[derive(Debug, Clone)]
pub struct RankMeta {
    pub impression: Impression,
    /// Candidates that were scored.
    pub candidates: usize,
    /// Candidates listed that no item has.
    pub unknown: usize,
}

impl Impression {
    pub(crate) fn new(loaded: Arc<Loaded>, ranked: &[Ranked]) -> Self {
        let rows = ranked.iter().map(|ranked| ranked.row).collect();
        Self { loaded, rows }
    }

    /// Returns the model's name in the configuration.
    pub fn model(&self) -> &str {
        self.loaded.name()
    }

    /// Returns the model's version, as its file says.
    pub fn version(&self) -> &str {
        &self.loaded.ranker.model().version
    }

    /// Returns the probability with which this list was shown: 1, a ranking is deterministic.
    pub fn propensity(&self) -> f64 {
        PROPENSITY
    }

    /// Returns the ids in the order shown.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|row| self.loaded.ranker.items().id(*row))
    }
}

/// Appends the answer of `POST …/rank`.
pub(crate) fn write_rank(
    out: &mut Vec<u8>,
    loaded: &Loaded,
    work: &Work,
    body: &[u8],
    (request_id, explain): (Option<&str>, bool),
) {
    out.extend_from_slice(&loaded.opening);
    if let Some(request_id) = request_id {
        out.extend_from_slice(b",\"request_id\":");
        push_text(out, request_id);
    }
    out.extend_from_slice(b",\"items\":[");
    write_items(out, loaded, work, explain);
    out.push(b']');
    if !work.unknown.is_empty() {
        write_unknown(out, &work.unknown, body);
    }
    out.push(b'}');
}

/// Appends the answer of the `GET` route.
pub(crate) fn write_recommendation(
    out: &mut Vec<u8>,
    loaded: &Loaded,
    work: &Work,
    (request_id, decision, explain): (&str, &str, bool),
) {
    out.extend_from_slice(b"{\"request_id\":");
    push_text(out, request_id);
    out.extend_from_slice(b",\"decision\":");
    push_text(out, decision);
    out.extend_from_slice(b",\"items\":[");
    write_items(out, loaded, work, explain);
    out.extend_from_slice(b"]}");
}

fn write_items(out: &mut Vec<u8>, loaded: &Loaded, work: &Work, explain: bool) {
    for (index, ranked) in work.ranked.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{" } else { b",{" });
        out.extend_from_slice(loaded.ranker.items().shown(ranked.row).as_bytes());
        out.extend_from_slice(b",\"score\":");
        push_number(out, ranked.score);
        if explain {
            write_explanation(out, loaded, &work.slots, ranked.row);
        }
        out.push(b'}');
    }
}

/// The contributions sum to the score before the model's link.
fn write_explanation(out: &mut Vec<u8>, loaded: &Loaded, slots: &[f64], row: u32) {
    out.extend_from_slice(b",\"explain\":{\"intercept\":");
    push_number(out, loaded.ranker.model().intercept);
    loaded.ranker.explain(slots, row, |name, _, contribution| {
        out.push(b',');
        push_text(out, name);
        out.push(b':');
        push_number(out, contribution);
    });
    out.push(b'}');
}

fn write_unknown(out: &mut Vec<u8>, unknown: &[(usize, usize)], body: &[u8]) {
    out.extend_from_slice(b",\"unknown\":[");
    for (index, (start, end)) in unknown.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(&body[*start..*end]);
        out.push(b'"');
    }
    out.push(b']');
}

/// A single term may overflow where the sum of a score was proven not to: JSON has only null.
fn push_number(out: &mut Vec<u8>, number: f64) {
    match number.is_finite() {
        true => out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes()),
        false => out.extend_from_slice(b"null"),
    }
}
