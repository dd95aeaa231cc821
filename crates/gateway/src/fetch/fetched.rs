//! Holds a fetched response until it is decided whether it may be stored, or makes it private.
//!
//! Invariant: its length comes from the framing that was read; a reply to HEAD states the length
//! that a GET would get. A response of an upstream loses its CORS fields if the route has `cors`:
//! `reply::respond` writes them anew. On a route with `cache` it also loses the fields that name
//! its tags, unless `forward_tags`. The tags themselves are kept in `tags`, for purges. A private
//! response begins with what was read of it already. Never here: the decision (`storing`),
//! which fields name tags (`cache::Tags`).

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use cache::Tags;
use chassis::http::Payload;
use exchange::Impression;
use http1::FieldLines;

use super::result::{FetchResult, FetchTimes, Outcome, PrivateAnswer};
use crate::freshness::Unstored;
use crate::plan::Route;
use crate::upstream::{Response, UpstreamBody};

/// A fetched response, before it is decided whether it may be stored.
pub(super) struct Fetched {
    pub status: u16,
    pub headers: FieldLines,
    pub body: FetchedBody,
    /// Length of the body; after a HEAD, the length that a GET would get.
    pub length: Option<u64>,
    pub times: FetchTimes,
    pub shown: Option<Impression<'static>>,
    pub decision_at: Option<Range<usize>>,
    /// As in [`FetchResult`].
    pub detail: &'static str,
    pub tags: Tags,
}

#[expect(clippy::large_enum_variant, reason = "it is moved once, and a box would be allocated")]
pub(super) enum FetchedBody {
    Whole(Bytes),
    Incoming(UpstreamBody),
}

impl Fetched {
    /// Takes a response of an upstream. `is_head` says that the request was a HEAD.
    pub(super) fn received(route: &Route, response: Response, is_head: bool) -> Self {
        let Response { status, mut headers, mut body, queued } = response;
        if route.cors.is_some() {
            // The route states the permission; a browser takes two permissions for none.
            headers.retain(|name| !name.starts_with(b"access-control-"));
        }
        let mut tags = Tags::default();
        if let Some(cache) = &route.cache {
            tags = Tags::of(&headers);
            if !cache.forward_tags {
                Tags::strip(&mut headers);
            }
        }
        // The framing decides; a field may contradict it.
        let length = if is_head { announced(&headers) } else { body.length() };
        let body =
            body.take_whole().map_or_else(|| FetchedBody::Incoming(body), FetchedBody::Whole);
        Self {
            length,
            status,
            headers,
            body,
            times: FetchTimes { queue: queued, ..FetchTimes::default() },
            shown: None,
            decision_at: None,
            detail: "",
            tags,
        }
    }

    /// Makes the response private to one request, on a route that stores.
    pub(super) fn into_unstored(self, reason: Unstored) -> FetchResult {
        let mut result = self.into_private();
        if let Outcome::Private(answer) = &mut result.outcome {
            answer.unstored = Some(reason);
        }
        result
    }

    /// Makes the response private to one request.
    pub(super) fn into_private(self) -> FetchResult {
        let payload = match self.body {
            FetchedBody::Whole(bytes) => Payload::Whole(bytes),
            FetchedBody::Incoming(body) if body.length() == Some(0) => {
                Payload::Withheld(self.length)
            }
            FetchedBody::Incoming(body) => Payload::Stream(self.length, Box::new(body)),
        };
        let answer =
            PrivateAnswer { status: self.status, headers: self.headers, payload, unstored: None };
        let shown = self.shown.map(Arc::new);
        let outcome = Outcome::Private(answer);
        let (times, detail) = (self.times, self.detail);
        FetchResult { outcome, times, shown, detail, cookies: None }
    }
}

fn announced(headers: &FieldLines) -> Option<u64> {
    headers.text("content-length")?.parse().ok()
}
