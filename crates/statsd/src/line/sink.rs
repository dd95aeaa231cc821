//! Defines where what lines say goes: samples, events and checks, and pieces that are bad.
//!
//! Each flavour reads into a [`SampleSink`]: a table, or what writes down what was read (`eval.rs`,
//! `fuzzing.rs`). Also here: [`BadReason`] and the ways in which a gauge changes. The names of
//! reasons are keys of `/status` and of `stats`, labels on the page for Prometheus, and words of
//! `eval`.
//! Invariant: `CountingSink` counts every bad piece that it hands on. Its `pieces`, which both
//! references use, hands on each piece once, as a sample or as bad. Natively each value of a bad
//! piece counts alone; a bad key, tag or rate field, or no type, ends its line and counts once. A
//! new reason must stand in `ALL` at its own place: `table.rs` indexes its counts by it.
//! Never here: which lines are bad (`native.rs`, `statsd.rs`, `perl.rs`), counting them
//! (`table.rs`).

use super::dogstatsd::Notice;
use super::key::KeyBuffer;

/// Takes what lines say.
pub(crate) trait SampleSink {
    /// Adds to a counter; the amount is multiplied up by the sample rate.
    fn counter(&mut self, key: &[u8], amount: f64);
    /// Adds a value to a timer, histogram or distribution; it stands for `weight` values.
    fn timer(&mut self, key: &[u8], value: f64, weight: f64);
    /// Changes a gauge.
    fn gauge(&mut self, key: &[u8], change: GaugeChange);
    /// Adds a member to a set.
    fn set(&mut self, key: &[u8], member: &[u8]);
    /// Takes an event or a service check.
    fn notice(&mut self, notice: Notice<'_>);
    /// Takes the key of each line; called only where keys are counted.
    fn key(&mut self, key: &[u8]);
    /// Counts a piece of a line that is bad.
    fn bad(&mut self, line: &[u8], reason: BadReason);
}

/// How a gauge changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GaugeChange {
    /// It is this.
    Set(f64),
    /// It is more by this.
    Add(f64),
    /// statsd's oddity: a value with a sign is added to a gauge that is not 0, and otherwise set.
    AddUnlessZero(f64),
}

/// Why a line, or a piece of it, counts nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadReason {
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

impl BadReason {
    /// Every reason there is.
    pub(crate) const ALL: [Self; 7] =
        [Self::Key, Self::NoType, Self::Type, Self::Value, Self::Rate, Self::Control, Self::Notice];

    /// The reason in a word.
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct LineCounts {
    /// Lines.
    pub lines: u64,
    /// Pieces that said nothing.
    pub bad: u64,
}

/// A sink for the pieces of one line, which counts those that are bad.
pub(super) struct CountingSink<'t, T> {
    /// Where samples go.
    pub sink: &'t mut T,
    /// The whole line, as it came.
    pub line: &'t [u8],
    /// Pieces that were bad so far.
    pub bad: u64,
}

impl<T: SampleSink> CountingSink<'_, T> {
    /// Counts a bad piece and hands it on.
    pub(super) fn bad(&mut self, reason: BadReason) {
        self.bad += 1;
        self.sink.bad(self.line, reason);
    }

    /// Takes each piece behind the key, as both references do; a key alone is bad.
    pub(super) fn pieces<'l>(
        &mut self,
        keys: &KeyBuffer,
        pieces: impl Iterator<Item = &'l [u8]>,
        sample: impl Fn(&[u8], &'l [u8], &mut T) -> Result<(), BadReason>,
    ) {
        if keys.is_counting {
            self.sink.key(&keys.text);
        }
        let mut pieces = pieces.peekable();
        if pieces.peek().is_none() {
            self.bad(BadReason::NoType);
        }
        for piece in pieces {
            if let Err(reason) = sample(&keys.text, piece, self.sink) {
                self.bad(reason);
            }
        }
    }
}
