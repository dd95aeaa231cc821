//! Reading of HTTP/1.1 messages, as little as both ends of a test need.
//!
//! Invariant: header names stay as they were sent, since a test may look at their case and order.
//! A body that ends early is an error; elsewhere it is lenient. Refuses: bodies over 256 MB.

use std::io::{self, BufRead, Read};

const BODY_BYTES_MAX: u64 = 256 << 20;

/// Header lines in the order they came; names are compared without case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// Returns the value of the first header of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let same = |(header, _): &&(String, String)| header.eq_ignore_ascii_case(name);
        self.0.iter().find(same).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let same = move |(header, _): &&(String, String)| header.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_str())
    }

    /// Returns whether the comma-separated header holds the token.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        let mut tokens = self.all(name).flat_map(|value| value.split(','));
        tokens.any(|it| it.trim().eq_ignore_ascii_case(token))
    }
}

/// A start line with its headers.
#[derive(Debug)]
pub(crate) struct Head {
    pub start: String,
    pub headers: Headers,
}

/// How the end of a body is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Reads a head; `None` when the peer closed before its first byte.
pub(crate) fn read_head(from: &mut impl BufRead) -> io::Result<Option<Head>> {
    let Some(start) = read_line(from)? else { return Ok(None) };
    let mut headers = Headers::default();
    loop {
        let line = read_line(from)?.ok_or_else(|| early("the head"))?;
        if line.is_empty() {
            return Ok(Some(Head { start, headers }));
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(malformed(format!("header line without colon: `{line}`")));
        };
        headers.0.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// Returns the framing that the headers announce, or `otherwise` when they announce none.
pub(crate) fn framing(headers: &Headers, otherwise: Framing) -> io::Result<Framing> {
    if headers.has_token("transfer-encoding", "chunked") {
        return Ok(Framing::Chunked);
    }
    let Some(length) = headers.get("content-length") else { return Ok(otherwise) };
    let length = length.parse().map_err(|_| malformed(format!("content length `{length}`")))?;
    Ok(Framing::Length(length))
}

pub(crate) fn read_body(from: &mut impl BufRead, framing: &Framing) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    match framing {
        Framing::None => {}
        Framing::Length(length) => read_exactly(from, *length, &mut body)?,
        Framing::Chunked => read_chunks(from, &mut body)?,
        Framing::UntilClose => {
            from.take(BODY_BYTES_MAX).read_to_end(&mut body)?;
        }
    }
    Ok(body)
}

fn read_chunks(from: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = read_line(from)?.ok_or_else(|| early("a chunk"))?;
        let digits = line.split(';').next().unwrap_or("").trim();
        let length = u64::from_str_radix(digits, 16)
            .map_err(|_| malformed(format!("chunk length `{line}`")))?;
        if length > 0 {
            read_exactly(from, length, body)?;
        }
        // The line break after the chunk; after the last one, trailers up to an empty line.
        loop {
            let line = read_line(from)?.ok_or_else(|| early("a chunk"))?;
            if length > 0 && !line.is_empty() {
                return Err(malformed(format!("`{line}` after a chunk")));
            }
            if line.is_empty() {
                break;
            }
        }
        if length == 0 {
            return Ok(());
        }
    }
}

fn read_exactly(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if length > BODY_BYTES_MAX {
        return Err(malformed(format!("{length} bytes are too long for a test")));
    }
    let read = from.take(length).read_to_end(body)? as u64;
    if read < length {
        return Err(early(&format!("byte {read} of {length}")));
    }
    Ok(())
}

/// Returns a line without its line break; `None` at the end of the stream.
fn read_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.take(1 << 20).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(early("the end of a line"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

fn early(what: &str) -> io::Error {
    let text = format!("the peer closed before {what}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

fn malformed(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests;
