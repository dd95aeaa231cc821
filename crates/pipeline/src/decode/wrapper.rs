//! Takes the lines of programs out of what wraps them: Docker's `json-file`, the log of a
//! container runtime (CRI), and syslog.
//!
//! Docker and CRI cut a long line into pieces, 16 KiB each by default. Docker marks the last by a
//! line feed in its text, CRI by `F` where others have `P` (Kubernetes, "CRI log format").
//! Invariant: the pieces of one stream are put together in their order, and the line counts where
//! its last piece stands. What is put together has at most [`WHOLE_BYTES_MAX`] bytes; a longer one
//! is refused. A text with a line feed inside is refused too, since it is not one line.
//! Pieces at the end of a file wait for ever for their last one.
//! `recount/src/wrapped.rs` does the same by code of its own. Never here: what the line means.

use std::borrow::Cow;

use exchange::{DecodeError, DecodeReason, unescape_json};

use super::syslog::SyslogLine;
use super::walk;

/// The bytes that pieces may have together.
const WHOLE_BYTES_MAX: usize = 512 << 10;

/// What each line is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    /// Docker's driver `json-file`.
    Docker,
    /// The log of a container runtime of Kubernetes.
    Cri,
    /// Syslog, as of RFC 3164 or 5424.
    Syslog,
    /// Syslog, or nothing.
    MaybeSyslog,
}

impl Wrapper {
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "docker" => Self::Docker,
            "cri" => Self::Cri,
            "syslog" => Self::Syslog,
            other => {
                let near = exchange::nearest_name(other, &["docker", "cri", "syslog"]);
                let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(format!("`{other}` is none of docker, cri, syslog{near}"));
            }
        })
    }

    /// Whether a line may be in pieces, so that lines before it matter.
    pub(super) fn has_pieces(self) -> bool {
        matches!(self, Self::Docker | Self::Cri)
    }
}

/// The pieces of lines that have not ended yet, by stream.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenPieces(Vec<(Box<[u8]>, Vec<u8>)>);

/// What a line has inside.
struct WrappedText<'l> {
    stream: &'l [u8],
    text: Cow<'l, [u8]>,
    is_last: bool,
}

impl OpenPieces {
    /// Takes the line out of its wrapper, and appends it to `out`; false where more pieces follow.
    pub(super) fn unwrap(
        &mut self,
        wrapper: Wrapper,
        line: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, DecodeError> {
        let expected = |what| DecodeError { offset: 0, reason: DecodeReason::Expected(what) };
        let found = match wrapper {
            Wrapper::Docker => docker(line).ok_or_else(|| expected("a line of Docker's log"))?,
            Wrapper::Cri => cri(line).ok_or_else(|| expected("a line of a container's log"))?,
            Wrapper::Syslog => syslog(line).ok_or_else(|| expected("a line of syslog"))?,
            Wrapper::MaybeSyslog => syslog(line).unwrap_or(WrappedText {
                stream: b"",
                text: Cow::Borrowed(line),
                is_last: true,
            }),
        };
        let open = self.0.iter().position(|(stream, _)| **stream == *found.stream);
        if !found.is_last {
            let at = open.unwrap_or_else(|| {
                self.0.push((found.stream.into(), Vec::new()));
                self.0.len() - 1
            });
            let whole = &mut self.0[at].1;
            // One byte more says that it was too long.
            let free = (WHOLE_BYTES_MAX + 1).saturating_sub(whole.len());
            whole.extend_from_slice(&found.text[..found.text.len().min(free)]);
            return Ok(false);
        }
        let start = out.len();
        if let Some(at) = open {
            out.append(&mut self.0.swap_remove(at).1);
        }
        out.extend_from_slice(&found.text);
        let whole = &out[start..];
        let reason = if whole.len() > WHOLE_BYTES_MAX {
            "pieces of at most 512 KiB together"
        } else if memchr::memchr(b'\n', whole).is_some() || whole.ends_with(b"\r") {
            "one line inside"
        } else {
            return Ok(true);
        };
        out.truncate(start);
        Err(expected(reason))
    }
}

/// `{"log":"TEXT\n","stream":"stdout","time":"…"}`; a last piece ends with a line feed.
fn docker(line: &[u8]) -> Option<WrappedText<'_>> {
    let (mut log, mut stream) = (None, &b""[..]);
    walk::each_member(line, |key, value| match key {
        b"log" => log = walk::inside(value),
        b"stream" => stream = walk::inside(value).unwrap_or_default(),
        _ => {}
    })?;
    let mut text = unescape_json(log?).ok()?;
    let is_last = text.last() == Some(&b'\n');
    if is_last {
        let end = text.len() - 1;
        let end = end - usize::from(text[..end].ends_with(b"\r"));
        match &mut text {
            Cow::Borrowed(text) => *text = &text[..end],
            Cow::Owned(text) => text.truncate(end),
        }
    }
    Some(WrappedText { stream, text, is_last })
}

/// `TIME STREAM TAGS TEXT`; the first of the tags is `P` for a piece that others follow.
fn cri(line: &[u8]) -> Option<WrappedText<'_>> {
    let mut parts = line.splitn(4, |byte| *byte == b' ');
    exchange::parse_rfc3339(parts.next()?)?;
    let stream = parts.next().filter(|stream| matches!(*stream, b"stdout" | b"stderr"))?;
    let is_last = match parts.next()?.split(|byte| *byte == b':').next()? {
        b"F" => true,
        b"P" => false,
        _ => return None,
    };
    Some(WrappedText { stream, text: Cow::Borrowed(parts.next()?), is_last })
}

fn syslog(line: &[u8]) -> Option<WrappedText<'_>> {
    let message = SyslogLine::of(line)?.message;
    Some(WrappedText { stream: b"", text: Cow::Borrowed(&line[message..]), is_last: true })
}

#[cfg(test)]
mod tests;
