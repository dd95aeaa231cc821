//! Defines what is asked of a model and what it answers: types shared by gateway, model APIs and
//! record.
//!
//! The gateway makes a [`ModelRequest`]; so do a queue and `inspect` in `serving`. A model answers
//! with a [`ModelAnswer`] or a [`Refusal`]. The record keeps the [`Impression`] of a ranking.
//! [`Refusal::new`] with status 429 or 503 asks the client to wait one second.
//!
//! Invariant: [`ItemIds`] holds JSON strings of UTF-8 with commas between them, as they stand in
//! the record. `line/decode.rs` checks those that it reads; reading them panics where that was not
//! done. All other types are plain data.
//! Refuses: bodies of answers, which the two sides hand over in buffers of their own.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use crate::outcome::Decision;
use crate::text;

/// A request to a model in this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelRequest<'a> {
    /// The model that a route names; `None` when `path` names it (the model API).
    pub model: Option<&'a str>,
    /// The request's method, in capitals.
    pub method: &'a str,
    /// The request's path, without the query.
    pub path: &'a str,
    /// The request's query, raw.
    pub query: &'a str,
    /// The request's body.
    pub body: &'a [u8],
    /// Bytes of the body that are JSON, where binary tensors follow
    /// (`Inference-Header-Content-Length`).
    pub json_length: Option<usize>,
    /// The user, when the answer is to be made for them.
    pub user: Option<&'a [u8]>,
    /// Why this answer.
    pub decision: Decision,
    /// The request id; a ranking carries it.
    pub id: u128,
}

/// A model's answer, but for its body.
#[derive(Debug, Clone, Default)]
pub struct ModelAnswer {
    /// Time spent on gathering features.
    pub features: Duration,
    /// Time spent on evaluating the model and writing the answer.
    pub score: Duration,
    /// What was shown, when the answer is a ranking.
    pub impression: Option<Impression<'static>>,
    /// Where the body names the decision, in bytes: an answer that is shared names each user's own.
    pub decision_at: Option<Range<usize>>,
    /// What else there is to say of the decision, as a token; nothing where empty. Goes out as the
    /// parameter `detail` of `Tidegate-Decision`.
    pub detail: &'static str,
    /// The body's content type; JSON where empty.
    pub content_type: &'static str,
    /// Bytes of the body that are JSON, where binary tensors follow; goes out as
    /// `Inference-Header-Content-Length`.
    pub json_length: Option<usize>,
}

/// A request that a model does not answer, and what the client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 4xx for what the client sent, 5xx for what is wrong here.
    pub status: u16,
    /// The object, the place and the cause, in one line.
    pub reason: String,
    /// The byte of the body at which the trouble starts, from 0.
    pub position: Option<usize>,
    /// The methods that the path has, with status 405: `GET, HEAD`.
    pub allowed_methods: Option<&'static str>,
    /// Seconds after which the client may try again, where that may help.
    pub retry_after_s: Option<u32>,
    /// What the client is sent, in JSON; else `{"error": reason}`.
    pub body: Option<Box<str>>,
}

/// The items that a ranked answer showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Impression<'a> {
    /// The name of the model.
    pub model: Cow<'a, str>,
    /// The version of the model.
    pub version: Cow<'a, str>,
    /// The probability with which this order was chosen, in 0..=1.
    pub propensity: f64,
    /// The ids of the items, in the order shown.
    pub items: ItemIds<'a>,
}

/// Ids of items in order: one buffer, whatever their number.
#[derive(Debug, Clone, Default)]
pub struct ItemIds<'a>(Cow<'a, [u8]>);

impl Refusal {
    /// Returns a refusal with a status; 429 and 503 tell the client to try again in a second.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        let retry_after_s = matches!(status, 429 | 503).then_some(1);
        Self {
            status,
            reason: reason.into(),
            position: None,
            allowed_methods: None,
            retry_after_s,
            body: None,
        }
    }

    /// Returns a 405 that names the methods a path has.
    pub fn of_method(allowed_methods: &'static str) -> Self {
        let reason = format!("method not allowed; use {allowed_methods}");
        Self { allowed_methods: Some(allowed_methods), ..Self::new(405, reason) }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

impl Impression<'_> {
    /// Returns the impression without what it borrows.
    pub fn into_owned(self) -> Impression<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Impression {
            model: owned(self.model),
            version: owned(self.version),
            propensity: self.propensity,
            items: ItemIds(Cow::Owned(self.items.0.into_owned())),
        }
    }
}

impl<'a> ItemIds<'a> {
    /// Wraps what stands between the brackets of a JSON array whose elements were read as texts.
    pub(crate) fn of_array(inside: &'a [u8]) -> Self {
        Self(Cow::Borrowed(inside))
    }
}

impl ItemIds<'_> {
    /// Returns the ids in order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let mut rest: &[u8] = &self.0;
        std::iter::from_fn(move || {
            let opening = rest.iter().position(|byte| *byte == b'"')?;
            let (length, _) = text::inside_length(&rest[opening + 1..])?;
            let (inside, behind) = rest[opening + 1..].split_at(length);
            rest = &behind[1..];
            Some(read(inside))
        })
    }

    /// Returns whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// The ids are written as the record has them, into a buffer that a short list never outgrows.
impl<'i> FromIterator<&'i str> for ItemIds<'static> {
    fn from_iter<I: IntoIterator<Item = &'i str>>(ids: I) -> Self {
        let mut array = Vec::with_capacity(256);
        for (index, id) in ids.into_iter().enumerate() {
            array.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
            text::write(id.as_bytes(), &mut array);
            array.push(b'"');
        }
        Self(Cow::Owned(array))
    }
}

impl PartialEq for ItemIds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

fn read(inside: &[u8]) -> Cow<'_, str> {
    const CHECKED: &str = "ids are texts, as whoever wrote or read the array made sure";
    match text::read(inside).expect(CHECKED) {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).expect(CHECKED)),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).expect(CHECKED)),
    }
}

#[cfg(test)]
mod tests;
