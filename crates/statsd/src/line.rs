//! Reads datagrams: lines of `key:value|type|@rate`, as each flavour reads them.
//!
//! Nearly all lines are plain: `key:123|c`, with a key of letters, digits, `_`, `-` and `.`. They
//! are read in one pass without a copy, because all flavours mean the same by them. Other lines go
//! the long way, as do a 0 in Perl and an empty key natively.
//! Invariants: a plain line gives the same sample either way. So a flavour that makes one special
//! also says so in `take_plain`. A line that gives neither a sample nor a notice counts as bad at
//! least once, with the reason. Natively, fields that nobody knows are passed over; the references
//! take a third field for a rate. Empty lines count nowhere, except in Perl, where they are bad.
//! Keys are cleaned as the flavour does; only natively are tags sorted, so that their order makes
//! no second series. The table in docs/STATSD.md says what each flavour does. That lines are read
//! one by one is a measured decision (docs/decisions/statsd.md).
//! Never here: adding up (`table.rs`, through [`SampleSink`]), cutting streams into lines
//! (`receive/streams.rs`).

mod dogstatsd;
mod key;
mod native;
mod perl;
mod rate;
mod sink;
mod statsd;

pub(crate) use dogstatsd::Notice;
pub(crate) use native::write_tag_value;
pub(crate) use sink::{BadReason, GaugeChange, LineCounts, SampleSink};

use crate::flavour::Flavour;
use key::{IN_KEY, KeyBuffer};
use sink::CountingSink;

/// Reads datagrams of one flavour.
#[derive(Debug)]
pub(crate) struct LineReader {
    flavour: Flavour,
    keys: KeyBuffer,
    tags: native::TagBuffer,
}

impl LineReader {
    /// A reader of this flavour; statsd's `keyNameSanitize` is on.
    pub(crate) fn new(flavour: Flavour) -> Self {
        let keys = KeyBuffer { text: Vec::new(), is_cleaning: true, is_counting: false };
        Self { flavour, keys, tags: native::TagBuffer::default() }
    }

    /// Leaves keys as they come (`keyNameSanitize: false`).
    pub(crate) fn leaving_keys(mut self) -> Self {
        self.keys.is_cleaning = false;
        self
    }

    /// Shows every line's key to [`SampleSink::key`].
    pub(crate) fn counting_keys(mut self) -> Self {
        self.keys.is_counting = true;
        self
    }

    /// Reads one datagram, or a part of a stream that ends with a line.
    pub(crate) fn read(&mut self, datagram: &[u8], sink: &mut impl SampleSink) -> LineCounts {
        let mut counts = LineCounts::default();
        let mut rest = datagram;
        while !rest.is_empty() {
            if let Some((plain, length)) = plain(rest)
                && self.take_plain(&plain, sink)
            {
                counts.lines += 1;
                rest = &rest[length..];
                continue;
            }
            let (line, length) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], end + 1),
                None => (rest, rest.len()),
            };
            self.take_line(line, sink, &mut counts);
            rest = &rest[length..];
        }
        counts
    }

    /// False when this flavour means something else by it.
    fn take_plain(&mut self, plain: &PlainLine<'_>, sink: &mut impl SampleSink) -> bool {
        let PlainLine { key, value, kind } = *plain;
        let is_odd = match self.flavour {
            Flavour::Perl => value == 0.0,
            Flavour::Statsd => false,
            Flavour::Native => key.is_empty(),
        };
        if is_odd {
            return false;
        }
        if self.keys.is_counting {
            sink.key(key);
        }
        match kind {
            Kind::Counter => sink.counter(key, value),
            Kind::Timer => sink.timer(key, value, 1.0),
            Kind::Gauge => sink.gauge(key, GaugeChange::Set(value)),
        }
        true
    }

    fn take_line(&mut self, line: &[u8], sink: &mut impl SampleSink, counts: &mut LineCounts) {
        let mut counting = CountingSink { sink, line, bad: 0 };
        counts.lines += match self.flavour {
            Flavour::Native => native::read(line, &mut self.keys, &mut self.tags, &mut counting),
            Flavour::Statsd => statsd::read(line, &mut self.keys, &mut counting),
            Flavour::Perl => perl::read(line, &mut self.keys, &mut counting),
        };
        counts.bad += counting.bad;
    }
}

struct PlainLine<'l> {
    key: &'l [u8],
    value: f64,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Timer,
    Gauge,
}

/// A plain line at the start of `text`, and its length with its line feed.
fn plain(text: &[u8]) -> Option<(PlainLine<'_>, usize)> {
    let colon = text.iter().position(|byte| !IN_KEY[usize::from(*byte)])?;
    if text[colon] != b':' {
        return None;
    }
    let start = colon + 1;
    let mut at = start;
    let mut value = 0u64;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    // Up to fifteen digits every number is exact.
    if at == start || at > start + 15 || text.get(at) != Some(&b'|') {
        return None;
    }
    let (kind, end) = match &text[at + 1..] {
        [b'c', ..] => (Kind::Counter, at + 2),
        [b'm', b's', ..] => (Kind::Timer, at + 3),
        [b'g', ..] => (Kind::Gauge, at + 2),
        _ => return None,
    };
    let length = match text.get(end) {
        None => end,
        Some(b'\n') => end + 1,
        Some(_) => return None,
    };
    Some((PlainLine { key: &text[..colon], value: value as f64, kind }, length))
}

#[cfg(test)]
mod tests;
