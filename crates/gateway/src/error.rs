//! Why a request gets no answer of its upstream, whose fault that is, and what the client is told.
//!
//! One table (`Refusal::status`) maps causes to statuses; the same names label the metrics.

use http1::framing::MalformedResponse;

/// Why a fetch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// No server is healthy.
    #[error("no server or worker of the upstream is healthy")]
    Unhealthy,
    /// Every server's connections are in use, or every place in the workers' queue.
    #[error("the upstream has as many requests as it may")]
    Busy,
    /// The connection could not be made.
    #[error("the upstream refused the connection")]
    Connect,
    /// A time limit ran out.
    #[error("the upstream did not answer in time")]
    Timeout,
    /// The connection broke before the answer was complete.
    #[error("the upstream closed the connection early")]
    Closed,
    /// The answer was not HTTP.
    #[error("the upstream's answer is malformed")]
    Malformed,
    /// The one fetch that all requests of a `strict` route share failed.
    #[error("the fetch that all requests share failed")]
    Shared,
    /// The fetch ended without a result.
    #[error("the fetch was abandoned")]
    Abandoned,
}

impl From<MalformedResponse> for FetchError {
    fn from(_: MalformedResponse) -> Self {
        Self::Malformed
    }
}

impl FetchError {
    /// Name in metrics and `Cache-Status`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unhealthy => "unhealthy",
            Self::Busy => "busy",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Shared => "shared",
            Self::Abandoned => "abandoned",
        }
    }

    /// Whether the same request may succeed on another server.
    pub(crate) fn is_worth_a_retry(self) -> bool {
        matches!(self, Self::Connect | Self::Timeout | Self::Closed)
    }
}

/// Why a request is answered by the gateway itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No route matches.
    NoRoute,
    /// A route matches but for the method; these are allowed.
    Method(Box<str>),
    /// The gateway has enough to do.
    Overloaded(&'static str),
    /// The request's body cannot be read.
    Body(u16, String),
    /// Recording is refused because the disk is full (`on_full = "refuse"`).
    NotRecorded,
    /// The upstream failed.
    Fetch(FetchError),
    /// A waiter's time ran out.
    WaitedTooLong,
    /// The client wants no more than what is stored (`only-if-cached`), and that is nothing.
    NotCached,
    /// A model refused the request.
    Model(exchange::Refusal),
    /// The client left before it had its answer: it is told nothing.
    ClientLeft,
}

impl Refusal {
    /// A model's refusal; one of the method is as one of a route.
    pub(crate) fn of_model(refusal: exchange::Refusal) -> Self {
        match refusal.allowed_methods {
            Some(allowed) => Self::Method(allowed.into()),
            None => Self::Model(refusal),
        }
    }

    /// The status.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NoRoute => 404,
            Self::Method(_) => 405,
            Self::Overloaded(_) | Self::NotRecorded => 503,
            Self::Body(status, _) => *status,
            Self::Model(refusal) => refusal.status,
            Self::Fetch(FetchError::Unhealthy | FetchError::Busy) => 503,
            Self::Fetch(FetchError::Timeout) | Self::WaitedTooLong | Self::NotCached => 504,
            Self::Fetch(_) => 502,
            // Never sent; as nginx calls it.
            Self::ClientLeft => 499,
        }
    }

    /// Seconds after which a client may try again, where that may help.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        if let Self::Model(refusal) = self {
            return refusal.retry_after_s;
        }
        (matches!(self.status(), 429 | 502..=504) && *self != Self::NotCached).then_some(1)
    }

    /// What the client is told.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::NoRoute => "no such resource".to_owned(),
            Self::Method(allowed) => format!("method not allowed; use {allowed}"),
            Self::Overloaded(what) => format!("too many {what}; try again"),
            Self::Body(_, reason) => reason.clone(),
            Self::Model(refusal) => refusal.reason.clone(),
            Self::NotRecorded => "the event cannot be recorded; try again".to_owned(),
            Self::Fetch(error) => error.to_string(),
            Self::WaitedTooLong => "the upstream did not answer in time".to_owned(),
            Self::NotCached => "no stored answer; the request asks for no other".to_owned(),
            Self::ClientLeft => "the client has left".to_owned(),
        }
    }

    /// Name in metrics.
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
            Self::Model(..) => "model",
            Self::ClientLeft => "client-left",
        }
    }
}
