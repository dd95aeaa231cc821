//! Reads the journal's line into an exchange; the format stands in `line.rs`.
//!
//! Fields come in any order. Of a field that stands twice the last one wins. An unknown field or
//! phase is skipped; only its brackets and strings are looked at. An unknown decision or cache
//! result is an error, as is a number out of range. An absent `id` is 0, an absent `propensity` is
//! NaN, an absent `decision` is `generic`. Other absent fields are empty, 0 or `None`.
//! Invariant: an error names a byte of the line; for a missing field it is the end. Text without
//! escapes is borrowed. Recursion never follows the input. Names of fields are compared as written,
//! so an escaped name is an unknown one.
//! Never here: quarantine of bad lines, which is the caller's; unescaping (`text.rs`) and times
//! (`time.rs`).
//! `training`, `profiles` and `lab` read by this. `lab` takes a log of JSON for ours if its first
//! line decodes. The delivery reads in `pipeline/src/decode/json.rs`; its `decode/tests.rs`
//! compares both on random lines. `events verify` reads in `recount/src/formats.rs` (`journal`).

use std::borrow::Cow;

use crate::exchange::Exchange;
use crate::model::{Impression, ItemIds};
use crate::outcome::{CacheResult, Decision};
use crate::phase::Phase;
use crate::{text, time};

/// A line that is no exchange.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("decode line at byte {offset}")]
pub struct DecodeError {
    /// The place in the line, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    #[source]
    pub reason: DecodeReason,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeReason {
    /// The line ends too early, as a torn one does.
    #[error("the line ends inside a value")]
    Torn,
    /// Something else stands where this was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A required field is absent.
    #[error("field `{0}` is missing")]
    Missing(&'static str),
    /// Text that Tidegate itself writes is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
}

/// Reads one line, with or without its line feed.
///
/// # Errors
/// The first place that is not as the format wants it; the line is to be quarantined.
pub fn decode(line: &[u8]) -> Result<Exchange<'_>, DecodeError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut reader = Reader { line, at: 0 };
    let mut exchange = Exchange::default();
    let mut required = RequiredFields::default();
    reader.object(|reader, name| read_field(reader, name, &mut exchange, &mut required))?;
    reader.white();
    if reader.at < line.len() {
        return Err(reader.expected("the end of the line"));
    }
    match required.missing() {
        Some(name) => Err(reader.error(DecodeReason::Missing(name))),
        None => Ok(exchange),
    }
}

/// Reads an RFC 3339 time as microseconds since the Unix epoch.
pub(crate) fn parse_time(text: &[u8]) -> Option<u64> {
    time::parse(text)
}

#[derive(Default)]
struct RequiredFields {
    time: bool,
    method: bool,
    path: bool,
    status: bool,
}

impl RequiredFields {
    fn missing(&self) -> Option<&'static str> {
        let required = [
            ("time", self.time),
            ("method", self.method),
            ("path", self.path),
            ("status", self.status),
        ];
        required.into_iter().find(|(_, required)| !required).map(|(name, _)| name)
    }
}

fn read_field<'a>(
    reader: &mut Reader<'a>,
    name: &[u8],
    exchange: &mut Exchange<'a>,
    required: &mut RequiredFields,
) -> Result<(), DecodeError> {
    match name {
        b"time" => {
            exchange.time_us = reader.parsed("an RFC 3339 time", time::parse)?;
            required.time = true;
        }
        b"id" => exchange.id = reader.parsed("32 hexadecimal digits", parse_id)?,
        b"method" => {
            exchange.method = reader.text()?;
            required.method = true;
        }
        b"scheme" => exchange.scheme = reader.text()?,
        b"host" => exchange.host = Some(reader.bytes()?),
        b"path" => {
            exchange.path = reader.bytes()?;
            required.path = true;
        }
        b"query" => exchange.query = Some(reader.bytes()?),
        b"version" => exchange.version = reader.text()?,
        b"status" => {
            exchange.status = reader.number()?;
            required.status = true;
        }
        b"bytes_in" => exchange.bytes_in = reader.number()?,
        b"bytes_out" => exchange.bytes_out = reader.number()?,
        b"client_ip" => exchange.client_ip = Some(reader.parsed("an IP address", parse_str)?),
        b"user" => exchange.user = Some(reader.bytes()?),
        b"user_agent" => exchange.user_agent = Some(reader.bytes()?),
        b"referer" => exchange.referer = Some(reader.bytes()?),
        b"route" => exchange.route = Some(reader.text()?),
        b"decision" => exchange.decision = reader.named("a decision", Decision::from_name)?,
        b"decision_detail" => exchange.decision_detail = Some(reader.text()?),
        b"cache" => exchange.cache = reader.named("a cache result", CacheResult::from_name)?,
        b"upstream" => exchange.upstream = Some(reader.text()?),
        b"ranked_by" => {
            exchange.ranked_by = Some(reader.parsed("32 hexadecimal digits", parse_id)?);
        }
        b"fetched_by" => {
            exchange.fetched_by = Some(reader.parsed("32 hexadecimal digits", parse_id)?);
        }
        b"total_us" => exchange.total_us = reader.number()?,
        b"phases" => exchange.phases = read_phases(reader)?,
        b"impression" => exchange.impression = Some(read_impression(reader)?),
        _ => reader.skip()?,
    }
    Ok(())
}

fn read_phases(reader: &mut Reader<'_>) -> Result<[u32; Phase::COUNT], DecodeError> {
    let mut phases = [0; Phase::COUNT];
    reader.object(|reader, name| {
        let phase = std::str::from_utf8(name).ok().and_then(Phase::from_name);
        match phase {
            Some(phase) => phases[phase.index()] = reader.number()?,
            None => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(phases)
}

fn read_impression<'a>(reader: &mut Reader<'a>) -> Result<Impression<'a>, DecodeError> {
    let mut impression = Impression { propensity: f64::NAN, ..Impression::default() };
    reader.object(|reader, name| {
        match name {
            b"model" => impression.model = reader.text()?,
            b"version" => impression.version = reader.text()?,
            b"propensity" => impression.propensity = reader.real()?,
            b"items" => impression.items = reader.item_ids()?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(impression)
}

fn parse_id(text: &[u8]) -> Option<u128> {
    let (high, low) = text.split_at_checked(16).filter(|(_, low)| low.len() == 16)?;
    Some(u128::from(parse_hex(high)?) << 64 | u128::from(parse_hex(low)?))
}

fn parse_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some(sum << 4 | u64::from(value))
    })
}

fn parse_str<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

struct Reader<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.take(b'{', "an object")?;
        if self.take_if(b'}') {
            return Ok(());
        }
        loop {
            let (name, _) = self.raw()?;
            self.take(b':', "a colon")?;
            field(self, name)?;
            if !self.take_if(b',') {
                return self.take(b'}', "a comma or the end of the object");
            }
        }
    }

    /// Takes an array of texts; checks each, and leaves them as they are written.
    fn item_ids(&mut self) -> Result<ItemIds<'a>, DecodeError> {
        self.take(b'[', "an array")?;
        let start = self.at;
        if self.take_if(b']') {
            return Ok(ItemIds::default());
        }
        loop {
            self.text()?;
            if !self.take_if(b',') {
                self.take(b']', "a comma or the end of the array")?;
                break;
            }
        }
        Ok(ItemIds::of_array(&self.line[start..self.at - 1]))
    }

    fn bytes(&mut self) -> Result<Cow<'a, [u8]>, DecodeError> {
        let (inside, escaped) = self.raw()?;
        if !escaped {
            return Ok(Cow::Borrowed(inside));
        }
        let start = self.at - inside.len() - 1;
        text::read(inside).map_err(|place| DecodeError {
            offset: start + place,
            reason: DecodeReason::Expected("a JSON escape"),
        })
    }

    /// Takes text as it is written, and whether anything in it is escaped. Names are compared
    /// so: none that matters needs an escape.
    #[inline]
    fn raw(&mut self) -> Result<(&'a [u8], bool), DecodeError> {
        self.take(b'"', "text in quotes")?;
        let rest = &self.line[self.at..];
        let Some((length, escaped)) = text::inside_length(rest) else {
            return Err(DecodeError { offset: self.line.len(), reason: DecodeReason::Torn });
        };
        self.at += length + 1;
        Ok((&rest[..length], escaped))
    }

    fn text(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        let start = self.at;
        let not_utf8 = || DecodeError { offset: start, reason: DecodeReason::NotUtf8 };
        Ok(match self.bytes()? {
            Cow::Borrowed(bytes) => {
                Cow::Borrowed(std::str::from_utf8(bytes).map_err(|_| not_utf8())?)
            }
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).map_err(|_| not_utf8())?),
        })
    }

    fn parsed<T>(
        &mut self,
        what: &'static str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, DecodeError> {
        self.white();
        let start = self.at;
        let bytes = self.bytes()?;
        parse(&bytes).ok_or(DecodeError { offset: start, reason: DecodeReason::Expected(what) })
    }

    fn named<T>(
        &mut self,
        what: &'static str,
        from_name: fn(&str) -> Option<T>,
    ) -> Result<T, DecodeError> {
        self.parsed(what, |bytes| from_name(std::str::from_utf8(bytes).ok()?))
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        self.white();
        let digits = self.line[self.at..].iter().take_while(|byte| byte.is_ascii_digit());
        let mut length = 0;
        let number = digits.inspect(|_| length += 1).try_fold(0_u64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        let number = number.and_then(|number| T::try_from(number).ok()).filter(|_| length > 0);
        number
            .inspect(|_| self.at += length)
            .ok_or_else(|| self.expected("a whole number in range"))
    }

    fn real(&mut self) -> Result<f64, DecodeError> {
        self.white();
        let wrong = self.expected("a number");
        let digits = self.scalar();
        parse_str(digits).filter(|real: &f64| real.is_finite()).ok_or(wrong)
    }

    /// Skips one value of any kind.
    fn skip(&mut self) -> Result<(), DecodeError> {
        let mut depth = 0_usize;
        loop {
            self.white();
            match self.line.get(self.at) {
                None => return Err(self.error(DecodeReason::Torn)),
                Some(b'"') => drop(self.bytes()?),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']' | b',' | b':') if depth == 0 => {
                    return Err(self.expected("a value"));
                }
                Some(b'}' | b']') => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',' | b':') => self.at += 1,
                Some(_) => drop(self.scalar()),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Takes everything up to the next structural character.
    fn scalar(&mut self) -> &'a [u8] {
        let rest = &self.line[self.at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']' | b'"' | b' ' | b'\t');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    #[inline]
    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), DecodeError> {
        if self.take_if(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    #[inline]
    fn take_if(&mut self, byte: u8) -> bool {
        self.white();
        let found = self.line.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn white(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.line.get(self.at) {
            self.at += 1;
        }
    }

    #[cold]
    fn expected(&self, what: &'static str) -> DecodeError {
        if self.at >= self.line.len() {
            return self.error(DecodeReason::Torn);
        }
        self.error(DecodeReason::Expected(what))
    }

    fn error(&self, reason: DecodeReason) -> DecodeError {
        DecodeError { offset: self.at, reason }
    }
}
