//! Takes lines of syslog apart: RFC 5424, RFC 3164, and the file formats of rsyslog. These leave
//! the priority out, and may have a time of RFC 3339.
//!
//! `<PRI>1 TIME HOST PROGRAM PID ID DATA MESSAGE`, or `<PRI>TIME HOST PROGRAM[PID]: MESSAGE`.
//! Invariant: the message is the end of the line, without the byte order mark and the spaces that
//! rsyslog writes before it. A tag has no spaces; without one, all behind the host is the message.
//! Refuses: a line without a time or a host, and structured data that does not close.
//! `recount/src/wrapped.rs` does the same by code of its own. Never here: what a message means.

use exchange::{DecodeError, DecodeReason, FieldName};

use super::event::{Event, FieldSlot};
use super::number::whole;
use super::span::LineSpan;
use super::times::TimeCache;

/// The fields of a line beyond the slots, in the order of [`read`].
pub(super) fn extra() -> Vec<FieldName> {
    ["program", "pid", "priority", "message"].map(|name| FieldName::Variable(name.into())).into()
}

/// The highest priority: facility 23, severity 7 (RFC 5424, 6.2.1).
const PRIORITY_MAX: u64 = 191;

/// Where the parts of a line lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct SyslogLine {
    priority: Option<LineSpan>,
    time: LineSpan,
    host: LineSpan,
    program: Option<LineSpan>,
    pid: Option<LineSpan>,
    /// Where the message begins.
    pub message: usize,
}

impl SyslogLine {
    /// Takes a line apart; none when it is none of syslog.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let (priority, at) = match line.first()? {
            b'<' => {
                let close = memchr::memchr(b'>', line.get(..5).unwrap_or(line))?;
                let digits = &line[1..close];
                let is_sound = whole(digits).is_some_and(|priority| priority <= PRIORITY_MAX);
                is_sound.then_some((Some(LineSpan::new(1, close)), close + 1))?
            }
            _ => (None, 0),
        };
        match priority.is_some() && line[at..].starts_with(b"1 ") {
            true => Self::structured(line, priority, at + 2),
            false => Self::plain(line, priority, at),
        }
    }

    /// RFC 5424, from the time on.
    fn structured(line: &[u8], priority: Option<LineSpan>, at: usize) -> Option<Self> {
        let (time, at) = word(line, at)?;
        let (host, at) = word(line, at)?;
        let (program, at) = word(line, at)?;
        let (pid, at) = word(line, at)?;
        let (_, at) = word(line, at)?;
        let end = end_of_data(line, at)?;
        let message = match line.get(end) {
            None => end,
            Some(b' ') => end + 1,
            Some(_) => return None,
        };
        let mark = b"\xef\xbb\xbf";
        let message = message + if line[message..].starts_with(mark) { mark.len() } else { 0 };
        // rsyslog's own template leaves the space in that RFC 3164 has behind the tag.
        let message = message + usize::from(line.get(message) == Some(&b' '));
        let (program, pid) = (Some(program), Some(pid));
        Some(Self { priority, time, host, program, pid, message })
    }

    /// RFC 3164, or a file of rsyslog, from the time on.
    fn plain(line: &[u8], priority: Option<LineSpan>, at: usize) -> Option<Self> {
        let is_dated = line.get(at)?.is_ascii_digit() && line.get(at + 10) == Some(&b'T');
        let (time, at) = match is_dated {
            true => word(line, at)?,
            false => {
                // `Oct  1 22:14:15` has a fixed length.
                let text = line.get(at..at + 16)?;
                let is_time = text[0].is_ascii_uppercase() && text[3] == b' ' && text[15] == b' ';
                (is_time && text[9] == b':' && text[12] == b':').then_some(())?;
                (LineSpan::new(at, at + 15), at + 16)
            }
        };
        let (host, at) = word(line, at)?;
        let tag_end = line[at..].iter().position(|byte| matches!(byte, b':' | b'[' | b' '));
        let tag_end = tag_end.map_or(line.len(), |length| at + length);
        let (pid, end) = match line.get(tag_end) {
            Some(b'[') => {
                let close = tag_end + memchr::memchr(b']', &line[tag_end..])?;
                (Some(LineSpan::new(tag_end + 1, close)), close + 1)
            }
            _ => (None, tag_end),
        };
        if line.get(end) != Some(&b':') || tag_end == at {
            return Some(Self { priority, time, host, program: None, pid: None, message: at });
        }
        let program = Some(LineSpan::new(at, tag_end));
        let message = end + 1 + usize::from(line.get(end + 1) == Some(&b' '));
        Some(Self { priority, time, host, program, pid, message })
    }
}

/// Reads a line with its message as a field.
pub(super) fn read(
    line: &[u8],
    times: &mut TimeCache,
    event: &mut Event<'_>,
) -> Result<(), DecodeError> {
    let expected = |what| DecodeError { offset: 0, reason: DecodeReason::Expected(what) };
    let found = SyslogLine::of(line).ok_or_else(|| expected("a line of syslog"))?;
    let time = found.time.of(line).unwrap_or_default();
    let time = times.rfc3339(time).or_else(|| times.configured(time));
    event.set_time(time.ok_or_else(|| expected("a time"))?);
    event.set_present(FieldSlot::Host, found.host);
    let message = Some(LineSpan::new(found.message, line.len()));
    let extra = [found.program, found.pid, found.priority, message];
    for (at, span) in extra.into_iter().enumerate() {
        if let Some(span) = span {
            event.set_extra(at, span);
        }
    }
    Ok(())
}

/// A word that a space follows, and the place behind the space.
fn word(line: &[u8], at: usize) -> Option<(LineSpan, usize)> {
    let length = memchr::memchr(b' ', line.get(at..)?).filter(|length| *length > 0)?;
    Some((LineSpan::new(at, at + length), at + length + 1))
}

/// The place behind structured data: `-`, or elements in brackets with quoted values.
fn end_of_data(line: &[u8], at: usize) -> Option<usize> {
    if line.get(at)? == &b'-' {
        return Some(at + 1);
    }
    let mut at = at;
    while line.get(at) == Some(&b'[') {
        let mut is_quoted = false;
        loop {
            at += 1;
            match line.get(at)? {
                b'\\' if is_quoted => at += 1,
                b'"' => is_quoted = !is_quoted,
                b']' if !is_quoted => break,
                _ => {}
            }
        }
        at += 1;
    }
    (line.get(at.checked_sub(1)?) == Some(&b']')).then_some(at)
}

#[cfg(test)]
mod tests;
