//! Reads lines of `key=value` (logfmt), as Go's slog and go-kit, Heroku and Grafana write them.
//!
//! A value with spaces stands in quotes, with the escapes of JSON, of Go and of nginx (`escape`).
//! A key alone is passed over. Keys have the meanings that they have in JSON lines, `ts` is the
//! time too, and others are `var.KEY`.
//! Of two values of one field the last counts that is not absent; of unknown keys, the first.
//! Refuses: an open quote, text behind one, a wrong escape, no time, and what is no number where
//! one is meant. `recount/src/formats.rs` takes the same lines.
//! Never here: which keys a source has (`format`).

use exchange::{DecodeError, DecodeReason};

use super::escape;
use super::event::Event;
use super::marks;
use super::meaning::Meaning;
use super::span::LineSpan;
use super::times::TimeCache;

/// What keys mean.
pub(super) type KeyMeanings = Vec<(Box<[u8]>, Meaning)>;

/// Reads one line.
pub(super) fn read(
    line: &[u8],
    keys: &KeyMeanings,
    times: &mut TimeCache,
    event: &mut Event<'_>,
) -> Result<(), DecodeError> {
    let (mut at, mut has_time) = (0, false);
    while let Some(start) = line[at..].iter().position(|byte| *byte != b' ') {
        let start = at + start;
        let expected = |what| DecodeError { offset: start, reason: DecodeReason::Expected(what) };
        let length = memchr::memchr2(b'=', b' ', &line[start..]).unwrap_or(line.len() - start);
        let key = LineSpan::new(start, start + length);
        at = start + length;
        if line.get(at) != Some(&b'=') {
            continue;
        }
        if length == 0 {
            return Err(expected("a key"));
        }
        at += 1;
        let (value, end) = value(line, at)?;
        at = end;
        let name = key.of(line).unwrap_or_default();
        let text = value.of(line).unwrap_or_default();
        let meaning = keys.iter().find(|(known, _)| **known == *name).map(|(_, meaning)| *meaning);
        match meaning {
            None => event.push_other(key, value),
            Some(Meaning::Time) => {
                event.set_time(times.any(text).ok_or_else(|| expected("a time"))?);
                has_time = true;
            }
            Some(meaning) => match meaning.refuses(text) {
                Some(what) => return Err(expected(what)),
                None => meaning.set(event, value),
            },
        }
    }
    match has_time {
        true => Ok(()),
        false => Err(DecodeError { offset: line.len(), reason: DecodeReason::Missing("time") }),
    }
}

/// The inside of the value at `at`, and the place behind it.
fn value(line: &[u8], at: usize) -> Result<(LineSpan, usize), DecodeError> {
    if line.get(at) != Some(&b'"') {
        let end = memchr::memchr(b' ', &line[at..]).map_or(line.len(), |length| at + length);
        return match memchr::memchr(b'"', &line[at..end]) {
            None => Ok((LineSpan::new(at, end), end)),
            Some(quote) => {
                let reason = DecodeReason::Expected("no quote inside a value");
                Err(DecodeError { offset: at + quote, reason })
            }
        };
    }
    let torn = DecodeError { offset: line.len(), reason: DecodeReason::Torn };
    let (from, to) = marks::quoted(line, at).ok_or(torn)?;
    if let Err(place) = escape::logfmt(&line[from..to]) {
        let reason = DecodeReason::Expected("an escape");
        return Err(DecodeError { offset: from + place, reason });
    }
    match line.get(to + 1) {
        None | Some(b' ') => Ok((LineSpan::new(from, to), to + 1)),
        Some(_) => {
            let reason = DecodeReason::Expected("a space");
            Err(DecodeError { offset: to + 1, reason })
        }
    }
}

#[cfg(test)]
mod tests;
