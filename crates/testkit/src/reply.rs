//! What an origin answers, and how it misbehaves while doing so.
//!
//! Invariant: at most one fault is made in an answer. Refuses: to choose; the script of the origin
//! does.

use std::io::{self, Write};
use std::time::Duration;

use crate::gate::Gate;
use crate::message::Headers;

/// An answer under construction: `OriginReply::ok("hi").header("Cache-Control", "max-age=60")`.
///
/// At most one fault is applied; the last one named wins.
#[derive(Debug, Clone)]
pub struct OriginReply {
    status: u16,
    headers: Headers,
    body: Vec<u8>,
    chunk_bytes: Option<usize>,
    length: Option<u64>,
    /// Goes out before the gate.
    pub(crate) early: Vec<u8>,
    pub(crate) gate: Option<Gate>,
    /// How long the answer takes.
    pub(crate) takes: Duration,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    None,
    CloseBeforeHead,
    StallBeforeHead,
    CloseAfter(usize),
    StallAfter(usize),
    Raw(Vec<u8>),
}

/// What becomes of the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    KeepAlive,
    Close,
    /// Hold it open, say nothing more.
    Stall,
}

impl OriginReply {
    /// Returns a 200 with the body and its length.
    pub fn ok(body: impl Into<Vec<u8>>) -> OriginReply {
        OriginReply::status(200).body(body)
    }

    /// Returns an answer without body.
    pub fn status(status: u16) -> OriginReply {
        OriginReply {
            status,
            headers: Headers::default(),
            body: Vec::new(),
            chunk_bytes: None,
            length: None,
            early: Vec::new(),
            gate: None,
            takes: Duration::ZERO,
            fault: Fault::None,
        }
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> OriginReply {
        self.body = body.into();
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> OriginReply {
        self.headers.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in chunks of so many bytes instead of with its length.
    pub fn chunked(mut self, chunk_bytes: usize) -> OriginReply {
        self.chunk_bytes = Some(chunk_bytes.max(1));
        self
    }

    /// Announces this length whatever the body is; a longer one leaves the client waiting, so
    /// the connection is closed after it.
    pub fn claim_length(mut self, length: u64) -> OriginReply {
        self.length = Some(length);
        self
    }

    /// Closes the connection after the answer, and says so.
    pub fn close(self) -> OriginReply {
        self.header("Connection", "close")
    }

    /// Holds the answer back, before its first byte, until the gate lets it through.
    pub fn after(mut self, gate: &Gate) -> OriginReply {
        self.gate = Some(gate.clone());
        self
    }

    /// Takes so long: for who measures it. A test that waits for something holds a gate.
    pub fn taking(mut self, time: Duration) -> OriginReply {
        self.takes = time;
        self
    }

    /// Closes without a byte.
    pub fn close_before_head(self) -> OriginReply {
        self.with(Fault::CloseBeforeHead)
    }

    /// Never answers; the connection stays open until the origin is dropped.
    pub fn stall(self) -> OriginReply {
        self.with(Fault::StallBeforeHead)
    }

    /// Closes after the head and so many bytes of the body as it is sent, chunk frames included.
    pub fn close_mid_body(self, bytes: usize) -> OriginReply {
        self.with(Fault::CloseAfter(bytes))
    }

    /// As [`close_mid_body`](Self::close_mid_body), but the connection stays open and silent.
    pub fn stall_mid_body(self, bytes: usize) -> OriginReply {
        self.with(Fault::StallAfter(bytes))
    }

    /// Sends these bytes instead of an answer, then closes.
    pub fn raw(self, bytes: impl Into<Vec<u8>>) -> OriginReply {
        self.with(Fault::Raw(bytes.into()))
    }

    /// Sends these bytes ahead of the answer and of its gate: interim responses.
    pub fn early(mut self, bytes: impl Into<Vec<u8>>) -> OriginReply {
        self.early = bytes.into();
        self
    }

    fn with(mut self, fault: Fault) -> OriginReply {
        self.fault = fault;
        self
    }

    /// Writes the answer to a request of that method.
    pub(crate) fn write(&self, to: &mut impl Write, method: &str) -> io::Result<After> {
        let body = self.framed_body(method);
        let (sent, after) = match &self.fault {
            Fault::CloseBeforeHead => return Ok(After::Close),
            Fault::StallBeforeHead => return Ok(After::Stall),
            Fault::Raw(bytes) => {
                to.write_all(bytes)?;
                to.flush()?;
                return Ok(After::Close);
            }
            Fault::CloseAfter(bytes) => (&body[..body.len().min(*bytes)], After::Close),
            Fault::StallAfter(bytes) => (&body[..body.len().min(*bytes)], After::Stall),
            Fault::None => (&body[..], self.after_whole()),
        };
        let mut message = self.head();
        message.extend_from_slice(sent);
        to.write_all(&message)?;
        to.flush()?;
        Ok(after)
    }

    fn after_whole(&self) -> After {
        let lies = self.length.is_some_and(|length| length != self.body.len() as u64);
        let closes = self.headers.has_token("connection", "close");
        if lies || closes { After::Close } else { After::KeepAlive }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers.0 {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.chunk_bytes.is_some() {
            head.push_str("Transfer-Encoding: chunked\r\n");
        } else if self.headers.get("content-length").is_none() && !self.is_bodiless() {
            let length = self.length.unwrap_or(self.body.len() as u64);
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn framed_body(&self, method: &str) -> Vec<u8> {
        if method == "HEAD" || self.is_bodiless() {
            return Vec::new();
        }
        let Some(chunk_bytes) = self.chunk_bytes else { return self.body.clone() };
        let mut framed = Vec::new();
        for chunk in self.body.chunks(chunk_bytes) {
            framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
        }
        framed.extend_from_slice(b"0\r\n\r\n");
        framed
    }

    fn is_bodiless(&self) -> bool {
        matches!(self.status, 100..=199 | 204 | 304)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        304 => "Not Modified",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
