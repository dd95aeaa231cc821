//! Bundles a request with what sending it needs: key, interim responses, deadline, upload, client.
//!
//! Invariant: it only borrows its parts, so an attempt can be repeated, until an upload has begun.
//! Plain data, made by `fetch` and `upgrade`. Never here: sending (`servers`, `workers`), rendering
//! (`render`).

use std::sync::Arc;

use tokio::time::Instant;

use super::interim::InterimResponses;
use super::render::UpstreamRequest;
use super::upload::Upload;
use chassis::ClientId;

use crate::clients::Clients;

/// A request on its way to an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch<'d, 'u> {
    /// The rendered request.
    pub request: &'d UpstreamRequest,
    /// The cache key, by which a server is chosen if the upstream balances by key.
    pub key: &'d [u8],
    /// Receives the interim responses.
    pub interim: &'d InterimResponses,
    /// Deadline of the head of the response, in addition to the timeouts of the upstream.
    pub deadline: Option<Instant>,
    /// The rest of its body, if that is still to come.
    pub upload: Option<&'d Upload<'u>>,
    /// Who it is for, and what that client may hold.
    pub client: (&'d Arc<Clients>, ClientId),
}

impl Dispatch<'_, '_> {
    /// Whether it may be repeated though the server may have begun to handle it.
    pub(super) fn is_repeatable(&self) -> bool {
        self.request.is_idempotent() && !self.has_begun_upload()
    }

    /// Whether a part of its body is gone.
    pub(super) fn has_begun_upload(&self) -> bool {
        self.upload.is_some_and(Upload::is_begun)
    }
}
