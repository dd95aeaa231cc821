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

/// Longest time between two pieces of a stream of events, unless `piece_timeout` is longer.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(300);

/// A response whose body has not been read.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub body: UpstreamBody,
    /// How long a free worker was awaited.
    pub queued: Duration,
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
            lent.give_up(FetchError::Malformed);
            return Err(FetchError::Malformed);
        }
        let sent = lent.connection.sent();
        // An upload is finished by whoever has its body (`UpstreamBody::finish_upload`).
        let unsent = match upload {
            None => request.unsent_body(sent).unwrap_or_default(),
            Some(_) => Bytes::new(),
        };
        lent.uploading = upload.is_some_and(|upload| !upload.is_done()) && head.status < 400;
        let piece_timeout = timeout_of(&head, piece_timeout);
        judge_endless(&head, &mut lent);
        let is_sent = sent >= request.length() && upload.is_none_or(Upload::is_done);
        lent.reusable = is_sent && head.framing.keeps;
        let body = UpstreamBody::new(
            head.framing.length,
            lent,
            unsent,
            piece_timeout,
            ReadAhead::new(client),
        );
        Ok(Self { status: head.status, headers: head.fields, body, queued: Duration::ZERO })
    }

    /// Makes the response of a head on a connection that is not reused.
    pub(super) fn alone(
        dispatch: Dispatch<'_, '_>,
        head: Head,
        mut lent: Lent,
        piece_timeout: Duration,
    ) -> Self {
        judge_endless(&head, &mut lent);
        let (length, unsent) = (head.framing.length, Bytes::new());
        let read_ahead = ReadAhead::new(dispatch.client);
        let body = UpstreamBody::new(length, lent, unsent, piece_timeout, read_ahead);
        Self { status: head.status, headers: head.fields, body, queued: Duration::ZERO }
    }
}

/// Returns the longest time between two pieces of a response. A stream of events may be quiet for
/// long: its standard suggests a comment every 15 seconds (HTML, server-sent events).
fn timeout_of(head: &Head, piece_timeout: Duration) -> Duration {
    match is_event_stream(&head.fields) {
        true => piece_timeout.max(EVENTS_TIMEOUT),
        false => piece_timeout,
    }
}

/// Counts a stream of events as answered by its head: it has no end, and its clients leave it.
fn judge_endless(head: &Head, lent: &mut Lent) {
    if is_event_stream(&head.fields) {
        lent.asked.take().into_iter().for_each(|asked| asked.ended(None));
    }
}

/// Whether a response is a stream of events, which has no end and is worth nothing late.
pub(crate) fn is_event_stream(fields: &FieldLines) -> bool {
    let media = fields.text("content-type").unwrap_or("").split(';').next().unwrap_or("");
    media.trim().eq_ignore_ascii_case("text/event-stream")
}
