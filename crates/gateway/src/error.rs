//! Names the reasons why a fetch fails and why the gateway refuses a request, with their statuses.
//!
//! Invariant: each reason has one name in `Cache-Status`. A failed fetch has the same name in
//! metrics, but `shared`, `abandoned` and `upload` are never counted there. [`Refusal::status`]
//! maps reasons to statuses, but that of a body comes from its reader, that of a model from the
//! model. `ClientLeft` is never sent. Here are also the messages for clients, `Retry-After`, and
//! which failures are worth a retry. A new reason of a fetch must also be in `FAILURES` of
//! `metrics`. A new refusal needs a row in CONTRIBUTING ("Where refusals are answered"). `fetch`
//! decides by the reason what waiters get, `upstream::workers` how a loan ends. A refusal of status
//! 500 or more lets a stale entry answer (`fetch`), and counts as failed for the guard and the
//! fallback (`request`). So `ClientLeft` has a lower one. Never here: writing the reply (`reply`),
//! heads that are malformed (`http1::request`).

use http1::framing::MalformedResponse;

/// The reason why a fetch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// No server is healthy, or no worker is ready.
    #[error("no server or worker of the upstream is healthy")]
    Unhealthy,
    /// Every connection to the server is in use, or the queue of the workers is full.
    #[error("the upstream has no free connection or worker")]
    Busy,
    /// The client has its share of the connections to the server.
    #[error("this client has too many requests under way at the upstream")]
    ClientShare,
    /// The connection could not be made.
    #[error("the upstream refused the connection")]
    Connect,
    /// A timeout has passed.
    #[error("there was no answer in time")]
    Timeout,
    /// The connection closed before the response was complete.
    #[error("the upstream closed the connection early")]
    Closed,
    /// The response was no valid HTTP.
    #[error("the upstream's response is malformed")]
    Malformed,
    /// The fetch that all requests of a `strict` route share has failed.
    #[error("the fetch that all requests share failed")]
    Shared,
    /// The fetch ended without a result.
    #[error("the fetch was abandoned")]
    Abandoned,
    /// The client did not send the whole body, so there was nothing to answer.
    #[error("the client did not send the whole request body")]
    Upload,
}

impl From<MalformedResponse> for FetchError {
    fn from(_: MalformedResponse) -> Self {
        Self::Malformed
    }
}

impl FetchError {
    /// Returns its name in metrics and `Cache-Status`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unhealthy => "unhealthy",
            Self::Busy => "busy",
            Self::ClientShare => "client-share",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Shared => "shared",
            Self::Abandoned => "abandoned",
            Self::Upload => "upload",
        }
    }

    /// Whether it says something of the server that took the connection.
    pub(crate) fn is_of_server(self) -> bool {
        matches!(self, Self::Timeout | Self::Closed | Self::Malformed)
    }

    /// Whether the same request may succeed on another server.
    pub(crate) fn is_worth_a_retry(self) -> bool {
        matches!(self, Self::Connect | Self::Timeout | Self::Closed)
    }
}

/// The reason why the gateway refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No route matches.
    NoRoute,
    /// A route would match with one of these methods.
    Method(Box<str>),
    /// The gateway is at a bound; the text names what there is too much of.
    Overloaded(&'static str),
    /// The request cannot be read, with its status and message.
    Body(u16, String),
    /// The event could not be recorded (such as a full disk with `on_full = "refuse"`).
    NotRecorded,
    /// The fetch failed.
    Fetch(FetchError),
    /// The request has waited for other fetches for too long.
    WaitedTooLong,
    /// The client accepts only a stored response (`only-if-cached`), and there is none.
    NotCached,
    /// A model refused the request.
    Model(exchange::Refusal),
    /// The request has come through this process before: an upstream leads back to it.
    Loop,
    /// The client left before the response, so nothing is sent.
    ClientLeft,
}

impl Refusal {
    /// Turns the refusal of a model into one of the gateway.
    pub(crate) fn of_model(refusal: exchange::Refusal) -> Self {
        match refusal.allowed_methods {
            Some(allowed) => Self::Method(allowed.into()),
            None => Self::Model(refusal),
        }
    }

    /// Returns the status of the reply.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NoRoute => 404,
            Self::Method(_) => 405,
            Self::Overloaded(_) | Self::NotRecorded => 503,
            Self::Body(status, _) => *status,
            Self::Model(refusal) => refusal.status,
            Self::Fetch(FetchError::Unhealthy | FetchError::Busy | FetchError::ClientShare) => 503,
            Self::Fetch(FetchError::Upload) => 400,
            Self::Fetch(FetchError::Timeout) | Self::WaitedTooLong | Self::NotCached => 504,
            Self::Fetch(_) => 502,
            Self::Loop => 508,
            // Never sent; nginx uses this number.
            Self::ClientLeft => 499,
        }
    }

    /// Returns the seconds after which the client should try again, if that may help.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        if let Self::Model(refusal) = self {
            return refusal.retry_after_s;
        }
        (matches!(self.status(), 429 | 502..=504) && *self != Self::NotCached).then_some(1)
    }

    /// Returns the message for the client.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::NoRoute => "no such resource".to_owned(),
            Self::Method(allowed) => format!("method not allowed; use {allowed}"),
            Self::Overloaded(what) => format!("too many {what}; try again"),
            Self::Body(_, reason) => reason.clone(),
            Self::Model(refusal) => refusal.reason.clone(),
            Self::NotRecorded => "the event cannot be recorded; try again".to_owned(),
            Self::Fetch(error) => error.to_string(),
            Self::WaitedTooLong => "there was no answer in time".to_owned(),
            Self::NotCached => "nothing is stored, and the request is `only-if-cached`".to_owned(),
            Self::Loop => "an upstream leads back to this server".to_owned(),
            Self::ClientLeft => "the client has left".to_owned(),
        }
    }

    /// Returns its name in `Cache-Status`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::NoRoute => "no-route",
            Self::Method(_) => "method",
            Self::Overloaded(_) => "overloaded",
            Self::Body(..) => "body",
            Self::NotRecorded => "not-recorded",
            Self::Fetch(error) => error.name(),
            Self::WaitedTooLong => "waited-too-long",
            Self::NotCached => "not-cached",
            Self::Loop => "loop",
            Self::Model(..) => "model",
            Self::ClientLeft => "client-left",
        }
    }
}
