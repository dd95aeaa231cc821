//! Reads datagrams: lines of `key:value|type|@rate`, as each flavour reads them.
//!
//! Nearly all lines are plain (`key:123|c`, a key of letters, digits, `_`, `-` and `.`), mean the
//! same in each flavour, and are read in one pass without a copy; the rest goes the long way.
//! Invariants: a line is taken, or counted as bad with the reason; nothing is both. Keys come out
//! as the flavour writes them, so that no two texts of one series differ.

mod dogstatsd;
mod native;
mod perl;
mod statsd;

pub(crate) use dogstatsd::Notice;
pub(crate) use native::write_tag_value;

use crate::flavour::Flavour;
use crate::number;

/// Takes what lines say.
pub(crate) trait Take {
    /// Adds to a counter; the amount is multiplied up by the sample rate.
    fn counter(&mut self, key: &[u8], amount: f64);
    /// Adds a value to a timer, histogram or distribution; it stands for `weight` values.
    fn timer(&mut self, key: &[u8], value: f64, weight: f64);
    /// Changes a gauge.
    fn gauge(&mut self, key: &[u8], change: Change);
    /// Adds a member to a set.
    fn set(&mut self, key: &[u8], member: &[u8]);
    /// Takes an event or a service check.
    fn notice(&mut self, notice: Notice<'_>);
    /// Is told of every line that has a key; only where keys are counted.
    fn key(&mut self, key: &[u8]);
    /// Is told of a piece of a line that says nothing.
    fn bad(&mut self, line: &[u8], reason: Bad);
}

/// How a gauge changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    /// It is this.
    Set(f64),
    /// It is more by this.
    Add(f64),
    /// statsd's oddity: a value with a sign is added to a gauge that is not 0, and otherwise set.
    AddUnlessZero(f64),
}

/// Why a line, or a piece of it, counts nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// No key, or none that is left after cleaning.
    Key,
    /// No type.
    NoType,
    /// A type that is not known.
    Type,
    /// A value that is no finite number, or negative where time is meant.
    Value,
    /// A sample rate that is no number, or out of range.
    Rate,
    /// Control characters in a key or a tag.
    Control,
    /// An event or a service check whose lengths or fields do not fit.
    Notice,
}

impl Bad {
    /// Every reason there is.
    pub const ALL: [Self; 7] =
        [Self::Key, Self::NoType, Self::Type, Self::Value, Self::Rate, Self::Control, Self::Notice];

    /// The reason in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::NoType => "no_type",
            Self::Type => "type",
            Self::Value => "value",
            Self::Rate => "rate",
            Self::Control => "control",
            Self::Notice => "notice",
        }
    }
}

/// What of a datagram was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Lines.
    pub lines: u64,
    /// Pieces that said nothing.
    pub bad: u64,
}

/// Reads datagrams of one flavour.
#[derive(Debug)]
pub(crate) struct Reader {
    flavour: Flavour,
    cleans_keys: bool,
    counts_keys: bool,
    /// Where keys are written that are not used as they came.
    key: Vec<u8>,
    tags: native::Tags,
}

impl Reader {
    /// A reader of this flavour; statsd's `keyNameSanitize` is on.
    pub(crate) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            cleans_keys: true,
            counts_keys: false,
            key: Vec::new(),
            tags: native::Tags::default(),
        }
    }

    /// Leaves keys as they come (`keyNameSanitize: false`).
    pub(crate) fn leaving_keys(mut self) -> Self {
        self.cleans_keys = false;
        self
    }

    /// Tells [`Take::key`] of every line's key.
    pub(crate) fn counting_keys(mut self) -> Self {
        self.counts_keys = true;
        self
    }

    /// Reads one datagram, or a part of a stream that ends with a line.
    pub(crate) fn read(&mut self, datagram: &[u8], take: &mut impl Take) -> Seen {
        let mut seen = Seen::default();
        let mut rest = datagram;
        while !rest.is_empty() {
            if let Some((plain, length)) = plain(rest)
                && self.take_plain(&plain, take)
            {
                seen.lines += 1;
                rest = &rest[length..];
                continue;
            }
            let (line, length) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], end + 1),
                None => (rest, rest.len()),
            };
            self.take_line(line, take, &mut seen);
            rest = &rest[length..];
        }
        seen
    }

    /// False when this flavour means something else by it.
    fn take_plain(&mut self, plain: &Plain<'_>, take: &mut impl Take) -> bool {
        let Plain { key, value, kind } = *plain;
        let is_odd = match self.flavour {
            Flavour::Perl => value == 0.0,
            Flavour::Statsd => false,
            Flavour::Native => key.is_empty(),
        };
        if is_odd {
            return false;
        }
        if self.counts_keys {
            take.key(key);
        }
        match kind {
            Kind::Counter => take.counter(key, value),
            Kind::Timer => take.timer(key, value, 1.0),
            Kind::Gauge => take.gauge(key, Change::Set(value)),
        }
        true
    }

    /// Takes each piece behind the key, as both references do; a key alone is bad.
    fn pieces<'l, T: Take>(
        &self,
        pieces: impl Iterator<Item = &'l [u8]>,
        to: &mut Counted<'_, T>,
        sample: impl Fn(&[u8], &'l [u8], &mut T) -> Result<(), Bad>,
    ) {
        if self.counts_keys {
            to.take.key(&self.key);
        }
        let mut pieces = pieces.peekable();
        if pieces.peek().is_none() {
            to.bad(Bad::NoType);
        }
        for piece in pieces {
            if let Err(reason) = sample(&self.key, piece, to.take) {
                to.bad(reason);
            }
        }
    }

    fn take_line(&mut self, line: &[u8], take: &mut impl Take, seen: &mut Seen) {
        let mut counted = Counted { take, line, bad: 0 };
        seen.lines += match self.flavour {
            Flavour::Native => self.native(line, &mut counted),
            Flavour::Statsd => self.statsd(line, &mut counted),
            Flavour::Perl => self.perl(line, &mut counted),
        };
        seen.bad += counted.bad;
    }
}

/// Counts what is bad on its way.
struct Counted<'t, T> {
    take: &'t mut T,
    line: &'t [u8],
    bad: u64,
}

impl<T: Take> Counted<'_, T> {
    fn bad(&mut self, reason: Bad) {
        self.bad += 1;
        self.take.bad(self.line, reason);
    }
}

struct Plain<'l> {
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
fn plain(text: &[u8]) -> Option<(Plain<'_>, usize)> {
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
    Some((Plain { key: &text[..colon], value: value as f64, kind }, length))
}

/// What every flavour leaves alone in a key.
const IN_KEY: [bool; 256] = {
    let mut in_key = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        in_key[byte] = letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-' | b'.');
        byte += 1;
    }
    in_key
};

/// Appends a key as statsd cleans it: white space becomes `_`, `/` becomes `-`, and what is neither
/// alphanumeric nor one of `_-.` nor of `kept` is dropped.
fn clean(key: &[u8], kept: &[u8], out: &mut Vec<u8>) {
    let mut in_space = false;
    for byte in key {
        let is_space = matches!(byte, b'\t'..=b'\r' | b' ');
        match byte {
            _ if is_space && in_space => {}
            _ if is_space => out.push(b'_'),
            b'/' => out.push(b'-'),
            _ if IN_KEY[usize::from(*byte)] || kept.contains(byte) => out.push(*byte),
            _ => {}
        }
        in_space = is_space;
    }
}

/// What a value stands for by its sample rate; too much to be counted is no rate.
fn scaled(value: f64, rate: f64) -> Result<f64, Bad> {
    let scaled = value / rate;
    if scaled.is_finite() { Ok(scaled) } else { Err(Bad::Rate) }
}

/// A sample rate of digits and points after `@`, as both references cut it out.
fn rate_prefix(field: &[u8]) -> Option<f64> {
    let text = field.strip_prefix(b"@")?;
    let length = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    number::perl(&text[..length]).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests;
