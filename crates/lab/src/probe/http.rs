//! Makes one HTTP/1.1 request and reads its answer, over a new connection or a kept one.
//!
//! Phases: `resolve connect tls send wait transfer`; `wait` ends with the first byte of the answer,
//! `transfer` with its last. A kept connection that the server closed meanwhile is replaced once,
//! within the same call and its time-out. The request is sent again then, whatever its method.
//! Invariant: a call that succeeded has read its answer whole, in a status that was expected.
//! Bodies are counted; only what comes in one read with the head is kept until the end. Bytes read
//! beyond the answer are a failure.
//!
//! `load` parses the answer, `fields.rs` writes and reads fields, `tcp.rs` and `tls.rs` connect.
//! Refuses: redirects, which are answers like others; HTTP/2; unpacking what is compressed.

mod fields;

use std::io::{self, Read, Write};
use std::sync::Arc;

use load::{Ask, ReplyReader};
use rustls::ClientConfig;

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::numbered_text::NumberedText;
use super::plan::{AddressFamily, HttpOptions};
use super::target::Url;
use super::tcp;
use super::tls::{self, ClientStream};
use crate::LabError;

const BUFFER_BYTES: usize = 64 << 10;

/// Asks a server.
pub(crate) struct HttpCaller {
    url: Url,
    family: AddressFamily,
    options: Arc<HttpOptions>,
    tls: Option<Arc<ClientConfig>>,
    head: NumberedText,
    body: NumberedText,
    /// Head and body as they are sent next.
    request: Vec<u8>,
    kept: Option<OpenConnection>,
    buffer: Vec<u8>,
}

/// A connection that stays open between calls.
struct OpenConnection {
    stream: ClientStream,
    address: String,
}

/// An answer that was read to its end.
struct HttpAnswer {
    status: u16,
    body_bytes: u64,
    head: Vec<u8>,
    stays_open: bool,
}

impl HttpCaller {
    /// # Errors
    /// When the certificates of the authority cannot be read.
    pub(crate) fn new(
        url: &Url,
        family: AddressFamily,
        options: &Arc<HttpOptions>,
    ) -> Result<Self, LabError> {
        let tls = match url.is_tls {
            true => Some(tls::config(options.is_insecure, options.authority.as_deref())?),
            false => None,
        };
        Ok(Self {
            url: url.clone(),
            family,
            options: Arc::clone(options),
            tls,
            head: NumberedText::new(fields::head(url, options).as_bytes()),
            body: NumberedText::new(&options.body),
            request: Vec::new(),
            kept: None,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    fn connect(&self, watch: &mut Stopwatch) -> Result<OpenConnection, CallFailure> {
        let (tcp, address) = tcp::connect(&self.url.place, self.family, watch)?;
        let stream = match &self.tls {
            Some(config) => tls::shake_hands(tcp, &self.url.place.host, config, watch)?,
            None => ClientStream::Plain(tcp),
        };
        Ok(OpenConnection { stream, address: address.to_string() })
    }

    /// Sends the request and reads the answer; `has_begun` tells whether a byte of it came.
    fn exchange(
        &mut self,
        kept: &mut OpenConnection,
        watch: &mut Stopwatch,
        has_begun: &mut bool,
    ) -> Result<HttpAnswer, CallFailure> {
        let stream = &mut kept.stream;
        let limit = |stream: &ClientStream, watch: &Stopwatch, step| {
            let left = Some(watch.left(step)?);
            let set = stream.tcp().set_read_timeout(left);
            let set = set.and_then(|()| stream.tcp().set_write_timeout(left));
            set.map_err(|error| CallFailure::of(step, &error))
        };
        limit(stream, watch, "send")?;
        let sent = stream.write_all(&self.request).and_then(|()| stream.flush());
        sent.map_err(|error| CallFailure::of("send", &error))?;
        watch.lap("send");
        let mut reader = ReplyReader::default();
        let mut ask = Ask { head: self.options.method == "HEAD", keep: true, ..Ask::default() };
        loop {
            let step = if *has_begun { "transfer" } else { "wait" };
            limit(stream, watch, step)?;
            let read = stream.read(&mut self.buffer).map_err(|e| CallFailure::of(step, &e))?;
            if !*has_begun && read > 0 {
                watch.lap("wait");
                *has_begun = true;
            }
            let is_whole = match read {
                0 if reader.ends_with_stream() => true,
                0 => return Err(CallFailure::of(step, &io::ErrorKind::UnexpectedEof.into())),
                _ => feed(&mut reader, &self.buffer[..read], &mut ask)?,
            };
            if is_whole {
                watch.lap("transfer");
                return Ok(HttpAnswer {
                    status: reader.status,
                    body_bytes: reader.body_bytes,
                    stays_open: read > 0 && !reader.close,
                    head: reader.kept().0.to_vec(),
                });
            }
        }
    }
}

impl Caller for HttpCaller {
    fn prepare(&mut self, number: u64) {
        let mut body = Vec::new();
        self.body.fill(number, &mut body);
        self.request.clear();
        self.head.fill(number, &mut self.request);
        if !body.is_empty() || matches!(self.options.method.as_str(), "POST" | "PUT" | "PATCH") {
            let length = format!("Content-Length: {}\r\n", body.len());
            self.request.extend_from_slice(length.as_bytes());
        }
        self.request.extend_from_slice(b"\r\n");
        self.request.extend_from_slice(&body);
        // An idle connection may have been closed; who asks again should not pay for that.
        self.kept = self.kept.take().filter(|kept| is_open(&kept.stream));
    }

    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        let kept = self.kept.take();
        let mut is_reused = kept.is_some();
        let mut kept = kept.map_or_else(|| self.connect(watch), Ok)?;
        let mut has_begun = false;
        let answer = match self.exchange(&mut kept, watch, &mut has_begun) {
            // The server closed it while the request was on its way: RFC 9112 §9.3.1.
            Err(failure) if is_reused && failure.is_hang_up && !has_begun => {
                is_reused = false;
                kept = self.connect(watch)?;
                self.exchange(&mut kept, watch, &mut has_begun)?
            }
            other => other?,
        };
        if !self.options.expects(answer.status) {
            return Err(CallFailure::new(format!("status {}", answer.status)));
        }
        let mut made = fields::attributes(&answer.head, &self.options.attributes);
        made.name("status", answer.status.to_string());
        made.name("address", kept.address.as_str());
        made.number("bytes", answer.body_bytes as f64);
        if self.options.keeps_alive {
            made.name("connection", if is_reused { "reused" } else { "new" });
            self.kept = answer.stays_open.then_some(kept);
        }
        Ok(made)
    }
}

/// Reads on; returns whether the answer is whole. The head is kept, the body only counted.
fn feed(reader: &mut ReplyReader, bytes: &[u8], ask: &mut Ask) -> Result<bool, CallFailure> {
    let fed = reader.feed(bytes, *ask);
    let (taken, is_whole) = fed.map_err(|_| CallFailure::new("the answer is not HTTP/1"))?;
    ask.keep = !reader.has_head();
    match is_whole && taken < bytes.len() {
        true => Err(CallFailure::new("the answer is longer than it says")),
        false => Ok(is_whole),
    }
}

/// Whether nothing has come on an idle connection, not even its end.
fn is_open(stream: &ClientStream) -> bool {
    let tcp = stream.tcp();
    let peek = || {
        tcp.set_nonblocking(true)?;
        let peeked = tcp.peek(&mut [0]);
        tcp.set_nonblocking(false)?;
        peeked
    };
    matches!(peek(), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests;
