//! Reads the values of one table of the configuration: durations, sizes, shares, choices.
//!
//! Each key says whether 0 makes sense for it, by the function that reads it. Invariant: a wrong
//! value is reported once, at its key. The reader then returns a stand-in, so the check goes on,
//! and all errors come out in one run. Shares have a second reader in `profiles::config`; both take
//! the form that `units` of `chassis::config` suggests. Never here: which keys there are, their
//! defaults (the other modules), TOML (`chassis::config`).

use std::fmt::Display;
use std::time::Duration;

use chassis::config::{Document, nearest, there_is};
use stdx::{ByteSize, Span};

/// One table of the configuration that is being checked.
pub(super) struct Section<'d, 't> {
    document: &'d mut Document<'t>,
    /// Its dotted key, such as `route[2]`.
    at: String,
}

impl<'d, 't> Section<'d, 't> {
    pub(super) fn new(document: &'d mut Document<'t>, at: impl Into<String>) -> Self {
        Self { document, at: at.into() }
    }

    /// Reports an error at a key of the table; the empty key means the table itself.
    pub(super) fn wrong(&mut self, key: &str, message: impl Into<String>) {
        let key = if key.is_empty() { self.at.clone() } else { format!("{}.{key}", self.at) };
        self.document.wrong(&key, message);
    }

    /// Returns a required value; reports it if it is missing.
    pub(super) fn required(&mut self, key: &str, value: Option<String>) -> Option<String> {
        if value.is_none() && !self.document.is_unread(&format!("{}.{key}", self.at)) {
            self.wrong("", format!("`{key}` is missing"));
        }
        value
    }

    /// Returns the choice of this name, or the default.
    pub(super) fn choice<T: Copy + Default>(
        &mut self,
        key: &str,
        text: Option<String>,
        choices: &[(&str, T)],
    ) -> T {
        text.and_then(|text| self.one_of(key, &text, choices)).unwrap_or_default()
    }

    /// Returns the choice of this name; reports any other name.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        key: &str,
        text: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.wrong(key, format!("`{text}` is none of {}", names.join(", ")));
        }
        found
    }

    /// Returns a duration above 0, or a default in milliseconds.
    pub(super) fn span_above_zero(
        &mut self,
        key: &str,
        text: Option<String>,
        default_ms: u64,
    ) -> Duration {
        let span = text.and_then(|text| self.fitting(key, Span::above_zero(&text)));
        span.unwrap_or(Duration::from_millis(default_ms))
    }

    /// Returns a duration that may be 0, if there is one.
    pub(super) fn span_or_zero(&mut self, key: &str, text: Option<String>) -> Option<Duration> {
        self.fitting(key, Span::or_zero(&text?))
    }

    /// Returns a number of bytes above 0, or a default.
    pub(super) fn size_above_zero(&mut self, key: &str, text: Option<String>, default: u64) -> u64 {
        let size = text.and_then(|text| self.fitting(key, ByteSize::above_zero(&text)));
        size.unwrap_or(default)
    }

    /// Returns a number of bytes that may be 0, or a default.
    pub(super) fn size_or_zero(&mut self, key: &str, text: Option<String>, default: u64) -> u64 {
        let size = text.and_then(|text| self.fitting(key, ByteSize::or_zero(&text)));
        size.unwrap_or(default)
    }

    /// Returns a count above 0, or a default.
    pub(super) fn at_least_one(
        &mut self,
        key: &str,
        count: Option<usize>,
        default: usize,
    ) -> usize {
        if count == Some(0) {
            self.wrong(key, "is 0; write at least 1");
        }
        count.unwrap_or(default)
    }

    fn fitting<T>(&mut self, key: &str, read: Result<T, impl Display>) -> Option<T> {
        read.map_err(|error| self.wrong(key, error.to_string())).ok()
    }

    /// Returns a share from 0 to 1, written as a percentage, or a default.
    pub(super) fn share(&mut self, key: &str, text: Option<String>, default: f64) -> f64 {
        let Some(text) = text else { return default };
        let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        match number {
            Some(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
            _ => {
                self.wrong(key, format!("`{text}` is not a share; write 0% to 100%"));
                default
            }
        }
    }

    /// Reports a reference to an unknown name, with the nearest known one. Nothing is reported
    /// where the sections with the names could not be read.
    pub(super) fn unknown(&mut self, key: &str, kind: &str, name: &str, known: &[&str]) {
        if self.document.is_unread(kind) {
            return;
        }
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() && kind == "model" => {
                "there is no [[model]] with `items`".into()
            }
            None if known.is_empty() => format!("there is no [[{kind}]] section"),
            None => there_is(known),
        };
        self.wrong(key, format!("no {kind} is called `{name}`; {hint}"));
    }
}
