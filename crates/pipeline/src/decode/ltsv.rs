//! Reads lines of labelled tab-separated values (ltsv.org) with the labels recommended there, and
//! any others as `var.LABEL`.
//!
//! Our names and the variables of nginx are known as labels too. An empty value and `-` are absent,
//! but for bytes, where `-` is 0.
//! Refuses: a part without a colon, and a line without a time or a status. A number that
//! is none is refused, and so is a line with two times, which is two lines in one.
//! A label that is added to `LABELS` also goes into `label_of` in `recount/src/formats.rs`.
//! Never here: what meanings do to an event (`meaning`).

use exchange::{DecodeError, DecodeReason};

use super::event::{Event, FieldSlot, TotalUnit};
use super::meaning::{Meaning, key_names};
use super::span::LineSpan;
use super::times::TimeCache;

/// The labels of ltsv.org that mean something else as a name of ours or of nginx, or nothing.
const LABELS: [(&str, Meaning); 10] = [
    ("host", Meaning::FieldSlot(FieldSlot::ClientIp)),
    ("req", Meaning::Request),
    ("uri", Meaning::Target),
    ("protocol", Meaning::Protocol),
    ("vhost", Meaning::FieldSlot(FieldSlot::Host)),
    ("size", Meaning::FieldSlot(FieldSlot::BytesOut)),
    ("reqsize", Meaning::FieldSlot(FieldSlot::BytesIn)),
    ("ua", Meaning::FieldSlot(FieldSlot::UserAgent)),
    ("reqtime", Meaning::Total(TotalUnit::Seconds)),
    ("reqtime_microsec", Meaning::Total(TotalUnit::Microseconds)),
];

/// Reads one line.
pub(super) fn read(
    line: &[u8],
    times: &mut TimeCache,
    event: &mut Event<'_>,
) -> Result<(), DecodeError> {
    let mut has_time = false;
    let mut at = 0;
    for part in line.split(|byte| *byte == b'\t') {
        let start = at;
        at += part.len() + 1;
        if part.is_empty() {
            continue;
        }
        let expected = |what| DecodeError { offset: start, reason: DecodeReason::Expected(what) };
        let colon = memchr::memchr(b':', part).ok_or_else(|| expected("`label:value`"))?;
        let value = LineSpan::new(start + colon + 1, start + part.len());
        let text = &part[colon + 1..];
        match meaning(&part[..colon]) {
            Some(meaning) if meaning.is_bytes() && text == b"-" => meaning.set(event, value),
            _ if text.is_empty() || text == b"-" => {}
            None => event.push_other(LineSpan::new(start, start + colon), value),
            Some(Meaning::Time) if has_time => return Err(expected("one time, not two")),
            Some(Meaning::Time) => {
                event.set_time(times.any(text).ok_or_else(|| expected("a time"))?);
                has_time = true;
            }
            Some(meaning) => {
                if let Some(what) = meaning.refuses(text) {
                    return Err(expected(what));
                }
                meaning.set(event, value);
            }
        }
    }
    let missing = [("time", has_time), ("status", event.has(FieldSlot::Status))];
    match missing.into_iter().find(|(_, has)| !has) {
        Some((name, _)) => {
            Err(DecodeError { offset: line.len(), reason: DecodeReason::Missing(name) })
        }
        None => Ok(()),
    }
}

fn meaning(label: &[u8]) -> Option<Meaning> {
    let label = std::str::from_utf8(label).ok()?;
    let mut names = LABELS.iter().chain(key_names());
    names.find(|(known, _)| *known == label).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests;
