//! A request as it goes over a connection: rendered once, sent as it lies there, and again as it
//! is when a kept connection turns out dead.
//!
//! Invariants: its framing is written here and nowhere else: one `Content-Length`, no coding, so
//! no server can read the body's end in two ways (RFC 9112 §6.3); no line is added whose value
//! could begin another one.

use std::io::IoSlice;

use bytes::Bytes;
use http::Method;

/// A request with its whole body.
#[derive(Debug)]
pub(crate) struct UpstreamRequest {
    method: Method,
    head: Vec<u8>,
    body: Bytes,
    /// The protocols that it offers to change to.
    offered: Box<[u8]>,
}

impl UpstreamRequest {
    /// Begins a request's head; `capacity` is the number of bytes it may take.
    pub(crate) fn begin(method: Method, target: &str, host: &str, capacity: usize) -> Self {
        let mut head = Vec::with_capacity(capacity);
        for part in [method.as_str(), " ", target, " HTTP/1.1\r\nhost: ", host, "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        Self { method, head, body: Bytes::new(), offered: Box::default() }
    }

    /// Adds a line that is rendered already, CRLF and all.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.head.extend_from_slice(line);
    }

    /// Adds a field. A value that would end its line early is left out.
    pub(crate) fn field(&mut self, name: &str, value: &[u8]) {
        if memchr::memchr3(b'\r', b'\n', 0, value).is_none() {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                self.head.extend_from_slice(part);
            }
        }
    }

    /// Offers to change the protocol (RFC 9110 §7.8).
    pub(crate) fn offer(&mut self, protocols: &[u8]) {
        self.field("connection", b"upgrade");
        self.field("upgrade", protocols);
        self.offered = protocols.into();
    }

    /// The head's bytes, to append whole lines to.
    pub(crate) fn head_bytes(&mut self) -> &mut Vec<u8> {
        &mut self.head
    }

    /// Ends the head, behind which this body follows.
    #[must_use]
    pub(crate) fn end(mut self, body: Bytes) -> Self {
        // Where a body is usual, its absence is said (RFC 9110 §8.6).
        let is_usual = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        if !body.is_empty() || is_usual {
            let mut digits = itoa::Buffer::new();
            self.field("content-length", digits.format(body.len()).as_bytes());
        }
        self.head.extend_from_slice(b"\r\n");
        self.body = body;
        self
    }

    /// Whether the answer has no body, whatever its fields say.
    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Whether a repeated request changes nothing (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// The protocols that it offers to change to; empty when it offers none.
    pub(crate) fn offered(&self) -> &[u8] {
        &self.offered
    }

    /// Bytes in all.
    pub(crate) fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// What is left to send when `sent` bytes are: of head and body.
    pub(crate) fn rest(&self, sent: usize) -> [IoSlice<'_>; 2] {
        let of_body = sent.saturating_sub(self.head.len());
        let head = self.head.get(sent..).unwrap_or_default();
        [IoSlice::new(head), IoSlice::new(self.body.get(of_body..).unwrap_or_default())]
    }

    /// What is left of the body when `sent` bytes are sent; `None` before the head is.
    pub(crate) fn unsent_body(&self, sent: usize) -> Option<Bytes> {
        Some(self.body.slice(sent.checked_sub(self.head.len())?..))
    }
}
