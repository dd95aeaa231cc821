//! Bundles a request with what sending it needs: the key, the interim responses, a deadline.
//!
//! Invariant: it only borrows its parts, so an attempt can be repeated. Plain data, made by `fetch`
//! and `upgrade`. Never here: sending (`servers`, `workers`), rendering (`render`).

use tokio::time::Instant;

use super::interim::InterimResponses;
use super::render::UpstreamRequest;

/// A request on its way to an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch<'d> {
    /// The rendered request.
    pub request: &'d UpstreamRequest,
    /// The cache key, by which a server is chosen if the upstream balances by key.
    pub key: &'d [u8],
    /// Receives the interim responses.
    pub interim: &'d InterimResponses,
    /// Deadline of the head of the response, in addition to the timeouts of the upstream.
    pub deadline: Option<Instant>,
}
