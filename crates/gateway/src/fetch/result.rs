//! What a fetch brought, for the request that asked for it and for those that wait.

use std::sync::Arc;
use std::time::Duration;

use cache::Entry;
use chassis::http::Payload;
use exchange::Impression;
use http1::FieldLines;

/// What a fetch brought.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A stored answer, everybody's.
    Stored(Arc<Entry>),
    /// An answer that was purged while it was fetched: for those who asked before.
    Purged(Arc<Entry>),
    /// The stale answer, because the upstream failed.
    Stale(Arc<Entry>),
    /// An answer from disk, everybody's.
    Recalled(Arc<Entry>),
    /// An answer for this request alone.
    Private(PrivateAnswer),
}

/// An answer for one request alone.
#[derive(Debug)]
pub(crate) struct PrivateAnswer {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub payload: Payload,
}

/// What a fetch brought, and what it cost.
#[derive(Debug)]
pub(crate) struct FetchResult {
    /// What it brought.
    pub outcome: Outcome,
    /// What it cost.
    pub times: FetchTimes,
    /// What was shown, when a ranking was made.
    pub shown: Option<Arc<Impression<'static>>>,
}

/// Time by the phases within a fetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FetchTimes {
    /// Gathering features.
    pub features: Duration,
    /// Evaluating a model.
    pub score: Duration,
    /// Storing the answer.
    pub store: Duration,
}

impl FetchResult {
    /// What was there already.
    pub(crate) fn of(outcome: Outcome) -> Self {
        Self { outcome, times: FetchTimes::default(), shown: None }
    }

    /// The answer, when it is for this request alone.
    pub(crate) fn private(&self) -> Option<&PrivateAnswer> {
        match &self.outcome {
            Outcome::Private(answer) => Some(answer),
            _ => None,
        }
    }
}
