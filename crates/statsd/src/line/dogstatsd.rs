//! Reads DogStatsD's events and service checks (its datagram format, version 1.1) into a
//! [`Notice`].
//!
//! `_e{5,4}:title|text|d:1|h:host|k:key|p:low|s:source|t:info|#tag` gives both lengths in bytes;
//! `_sc|name|0|d:1|h:host|#tag|m:message` ends with its message. `\n` in any text field is a line
//! feed. Fields that nobody knows are passed over; a line that does not fit gives none.
//! Two clients deviate, and are read as they mean it. npm hot-shots gives lengths in UTF-16 units.
//! PyPI datadog puts the fields of the sender (`c:`, `e:`, `card:`) behind a message.
//! Invariant: snapshots store a [`Notice`] by the position of its fields. So a change of its types
//! is a new version of the snapshot (`snapshot/format.rs`). A new field is also shown by `notice`
//! (`backend/console.rs`) and by `record` (`backend/otlp.rs`).
//! Never here: samples (`native.rs`). Words such as a priority, and tags, are not checked.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::number;

/// What is no sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Notice<'l> {
    /// Something happened.
    Event(Event<'l>),
    /// Something is well, or not.
    Check(ServiceCheck<'l>),
}

/// An event; what was not said is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event<'l> {
    /// In a line.
    pub title: Cow<'l, str>,
    /// At length.
    pub text: Cow<'l, str>,
    /// Seconds since the Unix epoch.
    pub time: Option<u64>,
    /// The host it happened on.
    pub host: Cow<'l, str>,
    /// Events of one key belong together.
    pub aggregation_key: Cow<'l, str>,
    /// `normal` or `low`.
    pub priority: Cow<'l, str>,
    /// The kind of source.
    pub source: Cow<'l, str>,
    /// `error`, `warning`, `info` or `success`.
    pub alert: Cow<'l, str>,
    /// As sent, between commas.
    pub tags: Cow<'l, str>,
}

/// A service check; what was not said is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceCheck<'l> {
    /// Its name.
    pub name: Cow<'l, str>,
    /// 0 ok, 1 warning, 2 critical, 3 unknown.
    pub status: u8,
    /// Seconds since the Unix epoch.
    pub time: Option<u64>,
    /// The host it is about.
    pub host: Cow<'l, str>,
    /// As sent, between commas.
    pub tags: Cow<'l, str>,
    /// What is to be said about it.
    pub message: Cow<'l, str>,
}

impl Notice<'_> {
    /// The same with texts of its own.
    pub fn into_owned(self) -> Notice<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Event(event) => Notice::Event(Event {
                title: owned(event.title),
                text: owned(event.text),
                time: event.time,
                host: owned(event.host),
                aggregation_key: owned(event.aggregation_key),
                priority: owned(event.priority),
                source: owned(event.source),
                alert: owned(event.alert),
                tags: owned(event.tags),
            }),
            Self::Check(check) => Notice::Check(ServiceCheck {
                name: owned(check.name),
                status: check.status,
                time: check.time,
                host: owned(check.host),
                tags: owned(check.tags),
                message: owned(check.message),
            }),
        }
    }
}

/// The notice of a line that begins with `_e{` or `_sc|`; none when it is malformed.
pub(super) fn notice(line: &[u8]) -> Option<Notice<'_>> {
    match line.strip_prefix(b"_e{") {
        Some(event) => self::event(event).map(Notice::Event),
        None => check(line.strip_prefix(b"_sc|")?).map(Notice::Check),
    }
}

fn event(text: &[u8]) -> Option<Event<'_>> {
    let end = memchr::memchr(b'}', text)?;
    let comma = memchr::memchr(b',', &text[..end])?;
    let lengths = (size(&text[..comma])?, size(&text[comma + 1..end])?);
    let rest = text[end + 1..].strip_prefix(b":")?;
    let cut = texts(rest, lengths, |length, _| Some(length));
    let (title, body, rest) = cut.or_else(|| texts(rest, lengths, utf16_length))?;
    let mut event = Event { title: words(title), text: words(body), ..Event::default() };
    for field in rest.split(|byte| *byte == b'|').skip(1) {
        match field {
            [b'#', tags @ ..] => event.tags = words(tags),
            [b'd', b':', time @ ..] => event.time = Some(number::decimal(time)? as u64),
            [b'h', b':', host @ ..] => event.host = words(host),
            [b'k', b':', key @ ..] => event.aggregation_key = words(key),
            [b'p', b':', priority @ ..] => event.priority = words(priority),
            [b's', b':', source @ ..] => event.source = words(source),
            [b't', b':', alert @ ..] => event.alert = words(alert),
            _ => {}
        }
    }
    Some(event)
}

/// Title, text and fields, where both lengths fit by this way to make bytes of them.
fn texts(
    rest: &[u8],
    lengths: (usize, usize),
    bytes: impl Fn(usize, &[u8]) -> Option<usize>,
) -> Option<(&[u8], &[u8], &[u8])> {
    let (title, rest) = rest.split_at_checked(bytes(lengths.0, rest)?)?;
    let rest = rest.strip_prefix(b"|")?;
    let (body, rest) = rest.split_at_checked(bytes(lengths.1, rest)?)?;
    let fits = !title.is_empty() && (rest.is_empty() || rest.starts_with(b"|"));
    fits.then_some((title, body, rest))
}

/// The bytes of so many UTF-16 units at the start of a text.
fn utf16_length(units: usize, text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    let (mut left, mut bytes) = (units, 0);
    for letter in text.chars() {
        if left == 0 {
            break;
        }
        left = left.checked_sub(letter.len_utf16())?;
        bytes += letter.len_utf8();
    }
    (left == 0).then_some(bytes)
}

fn check(text: &[u8]) -> Option<ServiceCheck<'_>> {
    let mut rest = text;
    let mut take = || {
        let end = memchr::memchr(b'|', rest).unwrap_or(rest.len());
        let field = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        field
    };
    let name = take();
    let [digit @ b'0'..=b'3'] = take() else { return None };
    if name.is_empty() {
        return None;
    }
    let mut check =
        ServiceCheck { name: words(name), status: digit - b'0', ..ServiceCheck::default() };
    while !rest.is_empty() {
        if let Some(message) = rest.strip_prefix(b"m:") {
            check.message = words(without_sender(message));
            break;
        }
        let end = memchr::memchr(b'|', rest).unwrap_or(rest.len());
        match &rest[..end] {
            [b'#', tags @ ..] => check.tags = words(tags),
            [b'd', b':', time @ ..] => check.time = Some(number::decimal(time)? as u64),
            [b'h', b':', host @ ..] => check.host = words(host),
            _ => {}
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    Some(check)
}

/// A message without what says who sent it.
fn without_sender(mut message: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memrchr(b'|', message) {
        let field = &message[at + 1..];
        if ![&b"c:"[..], b"e:", b"card:"].iter().any(|start| field.starts_with(start)) {
            break;
        }
        message = &message[..at];
    }
    message
}

fn size(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn words(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
    if text.contains("\\n") { Cow::Owned(text.replace("\\n", "\n")) } else { text }
}
