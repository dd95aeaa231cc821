//! Reads lines as Tidegate does: statsd's, DogStatsD's up to 1.6, and both ways to pack values.
//!
//! `key:1:2|ms` is DogStatsD's way, `key:1|c:2|ms` is statsd's. Their place tells them apart: the
//! section behind values is their type. What stands behind a `:` in a type or a rate is the next
//! piece. A member of a set may hold `:`.
//! Fields follow a type in any order: `@rate`, `#tag,tag:value`, `T` and a time, `c:`, `e:` and
//! `card:`. Only the first two mean anything here; of several `#` the first counts.
//! Tags become a part of the key, sorted and each once: `key;tag=value`, as Graphite writes them
//! (its documentation, "Carbon"). A key may come with tags in this form, as statsd lets it. A tag
//! without value is `true`. `backend/tags.rs` and
//! `graphite.rs` cut keys at `;` again, and snapshots and stored series have them in this form.
//! Bad are empty keys, missing or unknown types, and control characters in keys and tags. So are
//! negative times, and rates that are not above 0 or are above 1. A gauge with a sign is changed,
//! not set. `write_tag_value` is here for `self_metrics.rs`, too.

use super::dogstatsd;
use super::key::{KeyBuffer, clean};
use super::rate::scaled;
use super::sink::{BadReason, CountingSink, GaugeChange, SampleSink};
use crate::number;

/// Values with their type and their sample rate.
#[derive(Clone, Copy)]
struct TypedValues<'l> {
    values: &'l [u8],
    kind: &'l [u8],
    rate: f64,
}

/// Reads a line; returns how many lines that is: none when it is empty.
pub(super) fn read(
    line: &[u8],
    keys: &mut KeyBuffer,
    tags: &mut TagBuffer,
    to: &mut CountingSink<'_, impl SampleSink>,
) -> u64 {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return 0;
    }
    let outcome = if line.starts_with(b"_e{") || line.starts_with(b"_sc|") {
        let notice = dogstatsd::notice(line).ok_or(BadReason::Notice);
        notice.map(|notice| to.sink.notice(notice))
    } else {
        samples(line, keys, tags, to)
    };
    if let Err(reason) = outcome {
        to.bad(reason);
    }
    1
}

fn samples(
    line: &[u8],
    keys: &mut KeyBuffer,
    sorted: &mut TagBuffer,
    to: &mut CountingSink<'_, impl SampleSink>,
) -> Result<(), BadReason> {
    let (key, rest) = cut(line, b':');
    let rest = rest.ok_or(BadReason::NoType)?;
    let mut sections = rest.split(|byte| *byte == b'|');
    let tags = sections.clone().skip(2).find_map(|section| section.strip_prefix(b"#"));
    keys.text.clear();
    let (name, tags_in_key) = cut(key, b';');
    write_name(name, &mut keys.text)?;
    let written = Tags { in_key: tags_in_key, behind: tags };
    write_tags(&written, &mut keys.text, sorted)?;
    if keys.is_counting {
        to.sink.key(&keys.text);
    }
    let mut untyped = sections.next();
    let mut open: Option<TypedValues<'_>> = None;
    for section in sections {
        let mut next = None;
        if let Some(values) = untyped.take() {
            let (kind, rest) = cut(section, b':');
            (open, next) = (Some(TypedValues { values, kind, rate: 1.0 }), rest);
        } else if let Some(field) = section.strip_prefix(b"@")
            && let Some(piece) = &mut open
        {
            let (rate, rest) = cut(field, b':');
            (piece.rate, next) = (rate_of(rate)?, rest);
        }
        if next.is_some() {
            open.take().into_iter().for_each(|piece| take_piece(&keys.text, &piece, to));
            untyped = next;
        }
    }
    open.into_iter().for_each(|piece| take_piece(&keys.text, &piece, to));
    if untyped.is_some() { Err(BadReason::NoType) } else { Ok(()) }
}

fn take_piece(key: &[u8], piece: &TypedValues<'_>, to: &mut CountingSink<'_, impl SampleSink>) {
    if piece.kind == b"s" {
        return to.sink.set(key, piece.values);
    }
    for text in piece.values.split(|byte| *byte == b':') {
        if let Err(reason) = take_value(key, text, piece, to.sink) {
            to.bad(reason);
        }
    }
}

fn take_value(
    key: &[u8],
    text: &[u8],
    piece: &TypedValues<'_>,
    take: &mut impl SampleSink,
) -> Result<(), BadReason> {
    let is_timer = matches!(piece.kind, b"ms" | b"h" | b"d");
    if !is_timer && !matches!(piece.kind, b"c" | b"g") {
        return Err(if piece.kind.is_empty() { BadReason::NoType } else { BadReason::Type });
    }
    let number = number::decimal(text).ok_or(BadReason::Value)?;
    match piece.kind {
        b"ms" if number < 0.0 => return Err(BadReason::Value),
        _ if is_timer => take.timer(key, number, scaled(1.0, piece.rate)?),
        b"c" => take.counter(key, scaled(number, piece.rate)?),
        _ if matches!(text[0], b'+' | b'-') => take.gauge(key, GaugeChange::Add(number)),
        _ => take.gauge(key, GaugeChange::Set(number)),
    }
    Ok(())
}

fn rate_of(text: &[u8]) -> Result<f64, BadReason> {
    number::decimal(text).filter(|rate| *rate > 0.0 && *rate <= 1.0).ok_or(BadReason::Rate)
}

fn write_name(name: &[u8], out: &mut Vec<u8>) -> Result<(), BadReason> {
    if name.iter().any(u8::is_ascii_control) {
        return Err(BadReason::Control);
    }
    let start = out.len();
    clean(name, b"=", out);
    if out.len() == start { Err(BadReason::Key) } else { Ok(()) }
}

/// Where tags are put in order.
#[derive(Debug, Default)]
pub(super) struct TagBuffer {
    text: Vec<u8>,
    at: Vec<(u32, u32)>,
}

/// The tags of a line, as they came.
struct Tags<'l> {
    /// `tag=value` between `;`, behind the name.
    in_key: Option<&'l [u8]>,
    /// `tag:value` between `,`, behind `#`.
    behind: Option<&'l [u8]>,
}

fn write_tags(tags: &Tags<'_>, key: &mut Vec<u8>, sorted: &mut TagBuffer) -> Result<(), BadReason> {
    let Tags { in_key, behind } = *tags;
    if in_key.is_none() && behind.is_none_or(<[u8]>::is_empty) {
        return Ok(());
    }
    let TagBuffer { text, at } = sorted;
    text.clear();
    at.clear();
    for (tags, between, before_value) in [(in_key, b';', b'='), (behind, b',', b':')] {
        let tags = tags.unwrap_or_default();
        if tags.iter().any(u8::is_ascii_control) {
            return Err(BadReason::Control);
        }
        for tag in tags.split(|byte| *byte == between) {
            let start = text.len();
            write_tag(cut(tag, before_value), text);
            if text.len() > start {
                at.push((start as u32, text.len() as u32));
            }
        }
    }
    let of = |(start, end): (u32, u32)| &text[start as usize..end as usize];
    at.sort_unstable_by_key(|range| of(*range));
    at.dedup_by_key(|range| of(*range));
    for range in at {
        key.push(b';');
        key.extend_from_slice(of(*range));
    }
    Ok(())
}

/// Nothing is written where no name is left.
fn write_tag((name, value): (&[u8], Option<&[u8]>), out: &mut Vec<u8>) {
    let start = out.len();
    clean(name, b"/", out);
    if out.len() == start {
        return;
    }
    out.push(b'=');
    match value.filter(|value| !value.is_empty()) {
        Some(value) => write_tag_value(&String::from_utf8_lossy(value), out),
        None => out.extend_from_slice(b"true"),
    }
}

/// What means something in a key becomes `_`.
pub(crate) fn write_tag_value(value: &str, out: &mut Vec<u8>) {
    for (place, letter) in value.chars().enumerate() {
        let is_taken = letter == ';' || letter.is_whitespace() || place == 0 && letter == '~';
        let mut bytes = [0; 4];
        out.extend_from_slice(
            if is_taken { "_" } else { letter.encode_utf8(&mut bytes) }.as_bytes(),
        );
    }
}

/// Cuts at the first of these bytes.
fn cut(section: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(at, section) {
        Some(at) => (&section[..at], Some(&section[at + 1..])),
        None => (section, None),
    }
}
