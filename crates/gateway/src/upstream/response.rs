//! Makes a response of a head that has been read; its body has not.
//!
//! Invariant: its connection is marked reusable only if the whole request was sent and the framing
//! of the head allows it. A 101 that nobody asked for is malformed. Never here: reading the body
//! (`body`), keeping the connection (`connections`), parsing the head (`http1::response`).

use bytes::Bytes;
use http1::FieldLines;
use http1::response::Head;
use std::time::Duration;

use super::body::UpstreamBody;
use super::connections::Lent;
use super::dispatch::Dispatch;
use super::read_ahead::ReadAhead;
use super::upload::Upload;
use crate::error::FetchError;

/// A response whose body has not been read.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub body: UpstreamBody,
}

impl Response {
    /// Makes the response of a head, on the connection on which the head came.
    ///
    /// # Errors
    /// When the head is a 101, which was not asked for.
    pub(super) fn to(
        dispatch: Dispatch<'_, '_>,
        head: Head,
        mut lent: Lent,
        piece_timeout: Duration,
    ) -> Result<Self, FetchError> {
        let Dispatch { request, upload, client, .. } = dispatch;
        if head.status == 101 {
            return Err(FetchError::Malformed);
        }
        let sent = lent.connection.sent();
        let unsent = request.unsent_body(sent).unwrap_or_default();
        let is_sent = sent >= request.length() && upload.is_none_or(Upload::is_done);
        lent.reusable = is_sent && head.framing.keeps;
        let body = UpstreamBody::new(
            head.framing.length,
            lent,
            unsent,
            piece_timeout,
            ReadAhead::new(client),
        );
        Ok(Self { status: head.status, headers: head.fields, body })
    }

    /// Makes the response of a head on a connection that is not reused.
    pub(super) fn alone(
        dispatch: Dispatch<'_, '_>,
        head: Head,
        lent: Lent,
        piece_timeout: Duration,
    ) -> Self {
        let (length, unsent) = (head.framing.length, Bytes::new());
        let read_ahead = ReadAhead::new(dispatch.client);
        let body = UpstreamBody::new(length, lent, unsent, piece_timeout, read_ahead);
        Self { status: head.status, headers: head.fields, body }
    }
}
