//! Writes replies of models that rank, and makes the impression that is recorded of them.
//!
//! Invariant: a reply is valid JSON whatever the items and ids hold. What is shown of an item was
//! made JSON when the items were loaded. Unknown ids are copied as the body wrote them, numbers in
//! quotes. A number that is not finite is null.
//! The gateway writes each user's decision over the place that `write_recommendation` returns,
//! counted from the first byte of the body. The impression's model, version, ids and propensity go
//! into the journal, and `training` learns from them.
//! A new key of `rank` goes into `describe/openapi.json`. Its first keys are `opening` in
//! `ranking/loaded.rs`. Elsewhere: recording (the gateway), other replies (`oip/reply.rs`).

use std::borrow::Cow;
use std::ops::Range;

use exchange::{Decision, Impression};
use models::{ExplainStart, PROPENSITY, Ranked};

use crate::json::push_text;
use crate::ranking::loaded::LoadedRanker;
use crate::ranking::scratch::RankScratch;

/// What a reply is made of.
pub(crate) struct RankReply<'r> {
    pub(crate) loaded: &'r LoadedRanker,
    pub(crate) work: &'r mut RankScratch,
    /// Id of the request; 0 where it has none.
    pub(crate) id: u128,
    /// Whether each item says what its score is made of.
    pub(crate) explain: bool,
}

/// Returns what is recorded of a ranking.
pub(crate) fn impression(loaded: &LoadedRanker, ranked: &[Ranked]) -> Impression<'static> {
    let items = loaded.ranker.items();
    Impression {
        model: Cow::Owned(loaded.name.clone()),
        version: Cow::Owned(loaded.version.clone()),
        propensity: PROPENSITY,
        items: ranked.iter().map(|ranked| items.id(ranked.row)).collect(),
    }
}

impl RankReply<'_> {
    /// Appends the answer of `POST …/rank` to `body`.
    pub(crate) fn write_rank(&mut self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.loaded.opening);
        if self.id != 0 {
            out.extend_from_slice(b",\"request_id\":");
            push_id(out, self.id);
        }
        out.extend_from_slice(b",\"items\":[");
        self.write_items(out);
        out.push(b']');
        if !self.work.unknown.is_empty() {
            write_unknown(out, &self.work.unknown, body);
        }
        out.push(b'}');
    }

    /// Appends the answer of the `GET` route; returns where it names the decision.
    pub(crate) fn write_recommendation(
        &mut self,
        decision: Decision,
        out: &mut Vec<u8>,
    ) -> Range<usize> {
        let begun = out.len();
        out.extend_from_slice(b"{\"request_id\":");
        push_id(out, self.id);
        out.extend_from_slice(b",\"decision\":\"");
        let start = out.len() - begun;
        out.extend_from_slice(decision.name().as_bytes());
        let end = out.len() - begun;
        out.extend_from_slice(b"\",\"items\":[");
        self.write_items(out);
        out.extend_from_slice(b"]}");
        start..end
    }

    fn write_items(&mut self, out: &mut Vec<u8>) {
        for index in 0..self.work.ranked.len() {
            let Ranked { row, score } = self.work.ranked[index];
            out.extend_from_slice(if index == 0 { b"{" } else { b",{" });
            out.extend_from_slice(self.loaded.ranker.items().shown(row).as_bytes());
            out.extend_from_slice(b",\"score\":");
            push_number(out, score);
            if self.explain {
                self.write_explanation(row, out);
            }
            out.push(b'}');
        }
    }

    /// The contributions sum to the score before the model's link.
    fn write_explanation(&mut self, row: u32, out: &mut Vec<u8>) {
        let ranker = &self.loaded.ranker;
        out.extend_from_slice(b",\"explain\":{");
        match ranker.explains_from() {
            Err(reason) => {
                out.extend_from_slice(b"\"unavailable\":");
                push_text(out, reason);
            }
            Ok(ExplainStart { name, sum }) => {
                push_text(out, name);
                out.push(b':');
                push_number(out, sum);
                let RankScratch { slots, scratch, .. } = &mut *self.work;
                ranker.explain((slots, row), scratch, |name, contribution| {
                    out.push(b',');
                    push_text(out, name);
                    out.push(b':');
                    push_number(out, contribution);
                });
            }
        }
        out.push(b'}');
    }
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

/// Appends an id as 32 hexadecimal digits, in quotes.
fn push_id(out: &mut Vec<u8>, id: u128) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    out.extend((0..32).map(|digit| DIGITS[(id >> (124 - 4 * digit)) as usize & 15]));
    out.push(b'"');
}

/// A single term may overflow where the sum of a score was proven not to: JSON has only null.
fn push_number(out: &mut Vec<u8>, number: f64) {
    match number.is_finite() {
        true => out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes()),
        false => out.extend_from_slice(b"null"),
    }
}
