//! Reads HTTP/1 replies from a stream of bytes that arrives in any pieces.
//!
//! `event_loop` and `idle_connections` use it, and `lab probe` (`lab`, `probe/http.rs`): the same
//! bytes are malformed for all.
//! Invariant: `feed` takes exactly the bytes of one reply and leaves those of the next, so
//! pipelined replies never mix. A reply without a length lasts until the connection closes;
//! `ends_with_stream` tells. Before a further reply the caller calls `reset`. Informational replies
//! are passed over.
//! Framing follows RFC 9112 §6.3, more leniently than `http1`. Chunks and trailers may end their
//! lines with a bare LF. A reply with `Transfer-Encoding` that does not end in `chunked` lasts
//! until the connection closes. Lengths that contradict each other, or stand beside a
//! `Transfer-Encoding`, are malformed.
//! Bytes of the body are counted; with `Ask::keep` head and body are kept, too, without a bound.
//! `keep` is looked at in each `feed`. So `lab probe` keeps the head, and of the body only what
//! came in one read with the end of the head.
//! Refuses, as malformed: more than 128 headers, and a head still incomplete beyond 64 KiB, which
//! the first piece alone may exceed. `lab` parses kept heads again, for 128 headers, too
//! (`probe/http/fields.rs`).

use std::mem::MaybeUninit;

use crate::Ask;

const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 128;

/// The bytes are not an HTTP/1 reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The reply that a connection is reading.
#[derive(Debug, Default)]
pub struct ReplyReader {
    state: State,
    // A head that has not arrived whole; with `Ask::keep` also the whole one.
    head: Vec<u8>,
    body: Vec<u8>,
    /// Status of the reply whose head was read last.
    pub status: u16,
    /// Bytes of body so far, chunk framing not counted.
    pub body_bytes: u64,
    /// The server closes the connection after this reply.
    pub close: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// Where in a chunked body (RFC 9112 §7.1) the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Size { size: u64, digits: u8 },
    SizeRest(u64),
    Data(u64),
    DataEnd,
    // The bytes of the current trailer line so far; an empty line ends the body.
    Trailer(u64),
}

impl ReplyReader {
    /// Reads on; returns how many bytes it took and whether the reply is complete.
    ///
    /// # Errors
    /// The bytes are not an HTTP/1 reply; the connection is of no more use.
    pub fn feed(&mut self, input: &[u8], ask: Ask) -> Result<(usize, bool), Malformed> {
        let mut taken = 0;
        if self.state == State::Head {
            match self.feed_head(input, ask)? {
                None => return Ok((input.len(), false)),
                Some(bytes) => taken = bytes,
            }
        }
        let rest = &input[taken..];
        let (bytes, complete) = match self.state {
            State::Head => (0, false),
            State::Length(left) => self.feed_length(rest, left, ask.keep),
            State::Chunked(chunk) => self.feed_chunked(rest, chunk, ask.keep)?,
            State::UntilClose => {
                self.take(rest, ask.keep);
                (rest.len(), false)
            }
        };
        if self.state == State::Head && !complete && taken > 0 {
            // An informational reply came first: the real one follows.
            let (more, complete) = self.feed(rest, ask)?;
            return Ok((taken + more, complete));
        }
        Ok((taken + bytes, complete))
    }

    /// Tells whether the end of the stream completes the reply.
    pub fn ends_with_stream(&self) -> bool {
        self.state == State::UntilClose
    }

    /// Whether the head has come whole.
    pub fn has_head(&self) -> bool {
        self.state != State::Head
    }

    /// Head and body as kept.
    pub fn kept(&self) -> (&[u8], &[u8]) {
        (&self.head, &self.body)
    }

    /// Makes ready for the next reply on the connection.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.head.clear();
        self.body.clear();
        self.body_bytes = 0;
    }

    /// Returns how many bytes of `input` belong to the head; None when it is not complete.
    fn feed_head(&mut self, input: &[u8], ask: Ask) -> Result<Option<usize>, Malformed> {
        if self.head.is_empty() {
            if let Some(bytes) = self.parse_head(input, ask)? {
                if ask.keep && self.state != State::Head {
                    self.head.extend_from_slice(&input[..bytes]);
                }
                return Ok(Some(bytes));
            }
            self.head.extend_from_slice(input);
            return Ok(None);
        }
        let before = self.head.len();
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(input);
        let parsed = self.parse_head(&head, ask)?;
        if parsed.is_none() && head.len() > HEAD_BYTES_MAX {
            return Err(Malformed);
        }
        if let Some(bytes) = parsed {
            let kept = if ask.keep && self.state != State::Head { bytes } else { 0 };
            head.truncate(kept);
        }
        self.head = head;
        // The part that had arrived before was no complete head, so the end lies beyond it.
        Ok(parsed.map(|bytes| bytes - before))
    }

    fn parse_head(&mut self, head: &[u8], ask: Ask) -> Result<Option<usize>, Malformed> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut reply = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut reply, head, &mut headers)
            .map_err(|_| Malformed)?;
        let httparse::Status::Complete(bytes) = parsed else { return Ok(None) };
        self.status = reply.code.ok_or(Malformed)?;
        self.close = reply.version == Some(0);
        let mut length = None;
        let mut chunked = None;
        for header in reply.headers.iter() {
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let bytes = decimal(header.value)?;
                    if length.replace(bytes).is_some_and(|other| other != bytes) {
                        return Err(Malformed);
                    }
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let last = header.value.rsplit(|byte| *byte == b',').next();
                    let last = last.unwrap_or_default().trim_ascii();
                    chunked = Some(last.eq_ignore_ascii_case(b"chunked"));
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    self.close = header.value.eq_ignore_ascii_case(b"close")
                        || (self.close && !header.value.eq_ignore_ascii_case(b"keep-alive"));
                }
                _ => {}
            }
        }
        if chunked.is_some() && length.is_some() {
            return Err(Malformed);
        }
        self.state = match (self.status, chunked, length) {
            (100..=199, _, _) => State::Head,
            (204 | 304, _, _) => State::Length(0),
            _ if ask.head => State::Length(0),
            (_, Some(true), _) => State::Chunked(Chunk::Size { size: 0, digits: 0 }),
            (_, _, Some(length)) => State::Length(length),
            (_, _, None) => State::UntilClose,
        };
        self.close |= self.state == State::UntilClose;
        Ok(Some(bytes))
    }

    fn feed_length(&mut self, input: &[u8], left: u64, keep: bool) -> (usize, bool) {
        let bytes = left.min(input.len() as u64);
        self.take(&input[..bytes as usize], keep);
        self.state = State::Length(left - bytes);
        (bytes as usize, left == bytes)
    }

    fn feed_chunked(
        &mut self,
        input: &[u8],
        mut chunk: Chunk,
        keep: bool,
    ) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        while at < input.len() {
            if let Chunk::Data(left) = chunk {
                let bytes = left.min((input.len() - at) as u64);
                self.take(&input[at..at + bytes as usize], keep);
                at += bytes as usize;
                chunk = if bytes == left { Chunk::DataEnd } else { Chunk::Data(left - bytes) };
                continue;
            }
            let byte = input[at];
            at += 1;
            match chunk.step(byte)? {
                Some(next) => chunk = next,
                None => return Ok((at, true)),
            }
        }
        self.state = State::Chunked(chunk);
        Ok((at, false))
    }

    fn take(&mut self, bytes: &[u8], keep: bool) {
        self.body_bytes += bytes.len() as u64;
        if keep {
            self.body.extend_from_slice(bytes);
        }
    }
}

impl Chunk {
    /// Returns the state after one byte of framing; None at the end of the body.
    fn step(self, byte: u8) -> Result<Option<Self>, Malformed> {
        Ok(Some(match (self, byte) {
            (Self::Size { digits: 0, .. }, b'\r' | b'\n' | b';') => return Err(Malformed),
            (Self::Size { size, .. }, b'\n') => Self::after_size(size),
            (Self::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => Self::SizeRest(size),
            (Self::Size { size, digits: digits @ 0..15 }, _) => {
                let digit = (byte as char).to_digit(16).ok_or(Malformed)?;
                Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { .. }, _) => return Err(Malformed),
            (Self::SizeRest(size), b'\n') => Self::after_size(size),
            (Self::DataEnd, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::DataEnd, b'\r') => Self::DataEnd,
            (Self::DataEnd, _) => return Err(Malformed),
            (Self::Trailer(0), b'\n') => return Ok(None),
            (Self::Trailer(_), b'\n') => Self::Trailer(0),
            (Self::Trailer(bytes), b'\r') => Self::Trailer(bytes),
            (Self::Trailer(bytes), _) => Self::Trailer(bytes + 1),
            (same @ (Self::SizeRest(_) | Self::Data(_)), _) => same,
        }))
    }

    fn after_size(size: u64) -> Self {
        if size == 0 { Self::Trailer(0) } else { Self::Data(size) }
    }
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() || digits.len() > 18 {
        return Err(Malformed);
    }
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')).ok_or(Malformed)
    })
}

#[cfg(test)]
mod tests;
