//! Takes lines out of what wraps them, plainly: Docker's `json-file`, the log of a container
//! runtime (CRI), and syslog of RFC 3164 and 5424.
//!
//! `None` for a line that is not wrapped so, for pieces of more than 512 KiB together, and for a
//! text of several lines. Pieces are put together by stream; the line counts at its last piece.
//! Also here: the fields of a line of syslog.
//! Invariant: what `pipeline/src/decode/wrapper.rs` and `syslog.rs` beside it take or refuse, by
//! other code. `plain/tests.rs` compares both.

use std::collections::HashMap;

use exchange::FieldName;
use pipeline::Wrapper;

use crate::escapes::json;
use crate::object::members;
use crate::scalar::whole;
use crate::texts::LineTexts;

const PIECES_BYTES_MAX: usize = 512 << 10;

/// Pieces of lines that have not ended, by stream.
#[derive(Default)]
pub(crate) struct Pieces(HashMap<Vec<u8>, Vec<u8>>);

/// What a line becomes.
pub(crate) enum Unwrapped {
    /// The line that was wrapped.
    Line(Vec<u8>),
    /// A piece, which others follow.
    Piece,
}

impl Pieces {
    /// Takes a line out of its wrapper; none when it is refused.
    pub(crate) fn unwrap(&mut self, wrapper: Wrapper, line: &[u8]) -> Option<Unwrapped> {
        let (stream, text, is_last) = match wrapper {
            Wrapper::Docker => docker(line)?,
            Wrapper::Cri => runtime(line)?,
            Wrapper::Syslog => (Vec::new(), Syslog::of(line)?.message.to_vec(), true),
            Wrapper::MaybeSyslog => {
                let message = Syslog::of(line).map_or(line, |found| found.message);
                (Vec::new(), message.to_vec(), true)
            }
        };
        if !is_last {
            self.0.entry(stream).or_default().extend(text);
            return Some(Unwrapped::Piece);
        }
        let mut whole = self.0.remove(&stream).unwrap_or_default();
        whole.extend(text);
        let is_line = !whole.contains(&b'\n') && !whole.ends_with(b"\r");
        let is_sound = whole.len() <= PIECES_BYTES_MAX && is_line;
        is_sound.then_some(Unwrapped::Line(whole))
    }
}

/// The stream, the text, and whether it is the last piece.
type Piece = (Vec<u8>, Vec<u8>, bool);

fn docker(line: &[u8]) -> Option<Piece> {
    let members = members(line).filter(|members| !members.is_empty())?;
    let of = |name: &[u8]| members.iter().rfind(|member| member.key == name);
    let stream = of(b"stream").filter(|member| member.is_text);
    let stream = stream.map(|member| member.value.to_vec()).unwrap_or_default();
    let mut text = json(of(b"log").filter(|member| member.is_text)?.value);
    let is_last = text.ends_with(b"\n");
    for end in [b"\n", b"\r"] {
        if is_last && text.ends_with(end) {
            text.pop();
        }
    }
    Some((stream, text, is_last))
}

fn runtime(line: &[u8]) -> Option<Piece> {
    let (time, rest) = first_word(line)?;
    let (stream, rest) = first_word(rest)?;
    let (tags, text) = first_word(rest)?;
    exchange::parse_rfc3339(time)?;
    let is_last = match tags.split(|byte| *byte == b':').next()? {
        b"F" => true,
        b"P" => false,
        _ => return None,
    };
    (stream == b"stdout" || stream == b"stderr").then(|| (stream.to_vec(), text.to_vec(), is_last))
}

/// The text before the first space, and that after it.
fn first_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..space], &text[space + 1..]))
}

/// The parts of a line of syslog.
pub(crate) struct Syslog<'l> {
    pub time: &'l [u8],
    host: &'l [u8],
    program: &'l [u8],
    pid: &'l [u8],
    priority: &'l [u8],
    message: &'l [u8],
}

impl<'l> Syslog<'l> {
    pub(crate) fn of(line: &'l [u8]) -> Option<Self> {
        let (mut priority, mut rest) = (&b""[..], line);
        if let Some(inside) = line.strip_prefix(b"<") {
            let close = inside.iter().take(4).position(|byte| *byte == b'>')?;
            (priority, rest) = (&inside[..close], &inside[close + 1..]);
            whole(priority).filter(|number| *number <= 191)?;
        }
        match rest.strip_prefix(b"1 ").filter(|_| !priority.is_empty()) {
            Some(rest) => Self::of_5424(priority, rest),
            None => Self::of_3164(priority, rest),
        }
    }

    fn of_5424(priority: &'l [u8], rest: &'l [u8]) -> Option<Self> {
        let mut words = [&b""[..]; 5];
        let mut rest = rest;
        for word in &mut words {
            (*word, rest) = first_word(rest).filter(|(word, _)| !word.is_empty())?;
        }
        let [time, host, program, pid, _] = words;
        let data = data_length(rest)?;
        let message = match rest.get(data) {
            None => &b""[..],
            Some(b' ') => &rest[data + 1..],
            Some(_) => return None,
        };
        let message = message.strip_prefix("\u{feff}".as_bytes()).unwrap_or(message);
        let message = message.strip_prefix(b" ").unwrap_or(message);
        Some(Self { time, host, program, pid, priority, message })
    }

    fn of_3164(priority: &'l [u8], text: &'l [u8]) -> Option<Self> {
        let is_dated = text.first()?.is_ascii_digit() && text.get(10) == Some(&b'T');
        let (time, rest) = if is_dated {
            first_word(text)?
        } else {
            let stands = |at: usize, byte: u8| text.get(at) == Some(&byte);
            let is_old = text[0].is_ascii_uppercase() && stands(3, b' ') && stands(15, b' ');
            (is_old && stands(9, b':') && stands(12, b':')).then_some(())?;
            (&text[..15], &text[16..])
        };
        let (host, rest) = first_word(rest).filter(|(host, _)| !host.is_empty())?;
        let plain = Self { time, host, program: b"", pid: b"", priority, message: rest };
        let end = rest.iter().position(|byte| b":[ ".contains(byte)).unwrap_or(rest.len());
        let (program, mut after) = rest.split_at(end);
        let mut pid = &b""[..];
        if let Some(inside) = after.strip_prefix(b"[") {
            let close = inside.iter().position(|byte| *byte == b']')?;
            (pid, after) = (&inside[..close], &inside[close + 1..]);
        }
        let Some(message) = after.strip_prefix(b":").filter(|_| !program.is_empty()) else {
            return Some(plain);
        };
        let message = message.strip_prefix(b" ").unwrap_or(message);
        Some(Self { program, pid, message, ..plain })
    }

    /// Its fields; `time` is the time of the line.
    pub(crate) fn texts(&self, mut texts: LineTexts, time: u64) -> LineTexts {
        texts.time_us = Some(time);
        let variable = |name: &str| FieldName::Variable(name.into());
        let fields = [
            (FieldName::Host, self.host),
            (variable("program"), self.program),
            (variable("pid"), self.pid),
            (variable("priority"), self.priority),
            (variable("message"), self.message),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !matches!(*value, b"" | b"-")) {
            texts.fields.insert(name, value.to_vec());
        }
        texts
    }
}

/// How long structured data is.
fn data_length(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"-") {
        return Some(1);
    }
    let (mut at, mut has_one) = (0, false);
    while text.get(at) == Some(&b'[') {
        at += 1;
        let mut is_text = false;
        while is_text || text.get(at)? != &b']' {
            match text.get(at)? {
                b'"' => is_text = !is_text,
                b'\\' if is_text => at += 1,
                _ => {}
            }
            at += 1;
        }
        (at, has_one) = (at + 1, true);
    }
    has_one.then_some(at)
}
