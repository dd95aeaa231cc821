//! Defines the result of a fetch, for the request that began it and for those that wait.
//!
//! Invariant: an entry may be shared, a [`PrivateAnswer`] never is: it is moved into one reply. A
//! purged entry is only for requests that came before the purge (`miss` checks that). A new
//! `Outcome` needs its case in `fetch` (landing, memory of unstorable keys, stale entry),
//! `reply::deliver` and `invalidate`. Plain data, made by `fetch` and its modules. Never here: how
//! it is sent (`reply`).

use std::sync::Arc;
use std::time::Duration;

use cache::Entry;
use chassis::http::Payload;
use exchange::Impression;
use http1::FieldLines;

use crate::freshness::Unstored;

/// The kind of response that a fetch has brought.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A response that is stored, for everyone.
    Stored(Arc<Entry>),
    /// A response that was purged while it was fetched, for requests that came before the purge.
    Purged(Arc<Entry>),
    /// A response that is not stored, for all who wait on its flight (`coalesce = "strict"`).
    Shared(Arc<Entry>),
    /// The stale entry, because the upstream failed.
    Stale(Arc<Entry>),
    /// A response from disk, for everyone.
    Recalled(Arc<Entry>),
    /// A response for this request alone.
    Private(PrivateAnswer),
}

/// A response for one request alone.
#[derive(Debug)]
pub(crate) struct PrivateAnswer {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub payload: Payload,
    /// Why it was not stored; none where nothing is.
    pub unstored: Option<Unstored>,
}

/// The response of a fetch, with its times and its impression.
#[derive(Debug)]
pub(crate) struct FetchResult {
    /// The response.
    pub outcome: Outcome,
    /// The times of the phases within the fetch.
    pub times: FetchTimes,
    /// The impression, if the fetch made a ranking.
    pub shown: Option<Arc<Impression<'static>>>,
    /// What a model says of the decision beside its name; nothing where empty.
    pub detail: &'static str,
    /// Cookies for the client whose request went to the origin, in place of those of the entry.
    pub cookies: Option<Box<FieldLines>>,
}

/// The times of the phases within a fetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FetchTimes {
    /// Time until a worker or a thread was free.
    pub queue: Duration,
    /// Time to gather features.
    pub features: Duration,
    /// Time to evaluate a model.
    pub score: Duration,
    /// Time to store the response.
    pub store: Duration,
}

impl FetchResult {
    /// Returns a result that cost no phase, such as an entry that existed already.
    pub(crate) fn of(outcome: Outcome) -> Self {
        Self { outcome, times: FetchTimes::default(), shown: None, detail: "", cookies: None }
    }

    /// Returns the status of a response that may not be stored.
    pub(crate) fn unstored_status(&self) -> Option<u16> {
        match &self.outcome {
            Outcome::Private(answer) => Some(answer.status),
            Outcome::Shared(entry) => Some(entry.status),
            _ => None,
        }
    }

    /// Returns the response if it is for this request alone.
    pub(crate) fn private(&self) -> Option<&PrivateAnswer> {
        match &self.outcome {
            Outcome::Private(answer) => Some(answer),
            _ => None,
        }
    }
}
