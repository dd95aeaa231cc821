//! What is sent to an upstream, and what goes with it.

use tokio::time::Instant;

use super::interim::InterimResponses;
use super::render::UpstreamRequest;

/// A request on its way to an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch<'d> {
    /// The request.
    pub request: &'d UpstreamRequest,
    /// Its key: by it a server is chosen where the upstream balances by key.
    pub key: &'d [u8],
    /// Takes the interim responses that come ahead of the response.
    pub interim: &'d InterimResponses,
    /// When the response's head must have come, whatever the upstream's own timeouts are.
    pub deadline: Option<Instant>,
}
