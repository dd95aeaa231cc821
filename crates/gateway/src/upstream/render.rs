//! Renders a request to an upstream as bytes, once; a second attempt sends the same bytes again.
//!
//! Invariant: `end` writes the framing: one `Content-Length` for a body or a method that usually
//! has one, never a transfer coding. So no server can see another end of the body (RFC 9112 §6.3).
//! `field` drops a value with a CR, LF or NUL. `line`, `head_bytes`, target and host are not
//! checked: the caller must give rendered lines without framing fields. Never here: which fields
//! are forwarded (`fetch::origin_request`), sending (`connection`).

use std::io::IoSlice;

use bytes::Bytes;
use http::Method;

/// A request with its body, unless that is an upload.
#[derive(Debug)]
pub(crate) struct UpstreamRequest {
    method: Method,
    head: Vec<u8>,
    body: Bytes,
    /// The protocols that it offers for an upgrade.
    offered: Box<[u8]>,
}

impl UpstreamRequest {
    /// Begins the head of a request; `capacity` is the expected number of bytes.
    pub(crate) fn begin(method: Method, target: &str, host: &str, capacity: usize) -> Self {
        let mut head = Vec::with_capacity(capacity);
        for part in [method.as_str(), " ", target, " HTTP/1.1\r\nhost: ", host, "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        Self { method, head, body: Bytes::new(), offered: Box::default() }
    }

    /// Adds a rendered field line, which ends with CRLF.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.head.extend_from_slice(line);
    }

    /// Adds a field. It drops the field if the value holds a line break or a NUL.
    pub(crate) fn field(&mut self, name: &str, value: &[u8]) {
        if memchr::memchr3(b'\r', b'\n', 0, value).is_none() {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                self.head.extend_from_slice(part);
            }
        }
    }

    /// Offers to upgrade the protocol (RFC 9110 §7.8).
    pub(crate) fn offer(&mut self, protocols: &[u8]) {
        self.field("connection", b"upgrade");
        self.field("upgrade", protocols);
        self.offered = protocols.into();
    }

    /// Returns the bytes of the head, to append whole lines.
    pub(crate) fn head_bytes(&mut self) -> &mut Vec<u8> {
        &mut self.head
    }

    /// Ends the head, and adds the body. An upload sends `upload_bytes` more of it.
    #[must_use]
    pub(crate) fn end(mut self, body: Bytes, upload_bytes: u64) -> Self {
        // For methods that usually have a body, an empty one is stated (RFC 9110 §8.6).
        let is_usual = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        if !body.is_empty() || upload_bytes > 0 || is_usual {
            let mut digits = itoa::Buffer::new();
            let length = body.len() as u64 + upload_bytes;
            self.field("content-length", digits.format(length).as_bytes());
        }
        self.head.extend_from_slice(b"\r\n");
        self.body = body;
        self
    }

    /// Whether the method is HEAD, so that the response has no body.
    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Whether the method is safe, and the request has no body (RFC 9110 §9.2.1).
    pub(crate) fn is_safe(&self) -> bool {
        self.method.is_safe() && self.body.is_empty()
    }

    /// Whether the method is idempotent (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Returns the protocols that it offers; empty if it offers none.
    pub(crate) fn offered(&self) -> &[u8] {
        &self.offered
    }

    /// Returns the bytes of head and body, without those of an upload.
    pub(crate) fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// Returns the rest of the head and of the body, after `sent` bytes.
    pub(crate) fn rest(&self, sent: usize) -> [IoSlice<'_>; 2] {
        let of_body = sent.saturating_sub(self.head.len());
        let head = self.head.get(sent..).unwrap_or_default();
        [IoSlice::new(head), IoSlice::new(self.body.get(of_body..).unwrap_or_default())]
    }

    /// Returns the rest of that body after `sent` bytes; `None` if the head is not sent yet.
    pub(crate) fn unsent_body(&self, sent: usize) -> Option<Bytes> {
        let sent = sent.checked_sub(self.head.len())?.min(self.body.len());
        Some(self.body.slice(sent..))
    }
}
