//! Reads times by a format of `strftime`, with a zone for those that say none.
//!
//! | in the format | stands for |
//! |---|---|
//! | `%Y` `%m` `%d` `%e` `%H` `%M` `%S` | year, month, day, hour, minute, second |
//! | `%y` `%j` `%b` `%B` `%I` `%p` | year from 1969 on, day of the year, month's name, 12 hours |
//! | `%f` `%L` | digits of a second: any number of them, three |
//! | `%s` `%z` `%Z` | seconds since 1970, `+0100` or `+01:00` or `Z`, `UTC` or `GMT` |
//! | `%F` `%T` `%D` `%R` | `%Y-%m-%d`, `%H:%M:%S`, `%m/%d/%y`, `%H:%M` |
//! | `%a` `%A` | a weekday, which is not checked |
//! | `rfc3339` `epoch` `epoch_ms` `epoch_us` `epoch_ns` | the whole text |
//!
//! Invariant: the whole text must fit; a date that does not exist fits none. Without a year it is
//! the latest that lies at most a day ahead.
//! `recount/src/moment.rs` reads the same by code of its own. Never here: the usual ways of logs,
//! which need no format (`times`).

use exchange::parse_rfc3339;
use stdx::calendar::{CivilDate, TimeOfDay, civil_from_days, unix_seconds};

use super::number::{seconds_us, whole};
use crate::config::KeyError;

const DAY_SECONDS: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// How a time is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    /// The format as it was configured.
    pub text: String,
    /// Seconds east of UTC where a time does not say it.
    pub zone_seconds: i64,
    /// Whether the zone was configured.
    pub has_zone: bool,
    parts: Vec<TimePart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimePart {
    Byte(u8),
    Field(u8),
}

/// What a text says of its time.
#[derive(Debug, Default)]
struct TimeParts {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    hour: u32,
    is_pm: Option<bool>,
    minute: u32,
    second: u32,
    micros: u64,
    zone: Option<i64>,
    epoch: Option<i64>,
}

impl TimeFormat {
    /// Compiles a format; `zone` is written as `+01:00`.
    ///
    /// # Errors
    /// The key and what is wrong with it.
    pub(super) fn compile(text: &str, zone: Option<&str>) -> Result<Self, KeyError> {
        let zone_seconds = match zone {
            None => 0,
            Some(text) => {
                zone_of(text.as_bytes())
                    .filter(|(_, rest)| rest.is_empty())
                    .ok_or_else(|| {
                        ("zone", format!("`{text}` is no offset from UTC, such as `+01:00`"))
                    })?
                    .0
            }
        };
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                parts.push(TimePart::Byte(byte));
                continue;
            }
            let field = bytes.next().unwrap_or(b' ');
            let wrong = || {
                let field = char::from(field);
                ("time_format", format!("`%{field}` is no part of a time that is read here"))
            };
            parts.extend(expanded(field).ok_or_else(wrong)?);
        }
        let has =
            |fields: &[u8]| fields.iter().any(|field| parts.contains(&TimePart::Field(*field)));
        let is_whole = has(b"s") || (has(b"H") || has(b"I")) && has(b"dej");
        if !is_name(text) && !is_whole {
            let reason = format!("`{text}` has no day and hour, such as `%Y-%m-%d %H:%M:%S`");
            return Err(("time_format", reason));
        }
        Ok(Self { text: text.to_owned(), zone_seconds, has_zone: zone.is_some(), parts })
    }

    /// Reads a time as microseconds since the Unix epoch.
    pub(super) fn read(&self, text: &[u8]) -> Option<u64> {
        match self.text.as_str() {
            "rfc3339" => return parse_rfc3339(text).or_else(|| self.in_zone(text)),
            "epoch" => return seconds_us(text),
            "epoch_ms" => return whole(text)?.checked_mul(1000),
            "epoch_us" => return whole(text),
            "epoch_ns" => return Some(whole(text)? / 1000),
            _ => {}
        }
        let (mut parts, mut rest) = (TimeParts::default(), text);
        for part in &self.parts {
            rest = match part {
                TimePart::Byte(byte) => rest.strip_prefix(&[*byte])?,
                TimePart::Field(field) => parts.field(*field, rest)?,
            };
        }
        rest.is_empty().then(|| parts.micros(self.zone_seconds)).flatten()
    }
}

impl TimeFormat {
    /// Reads a time of RFC 3339 without an offset, where the zone is configured.
    fn in_zone(&self, text: &[u8]) -> Option<u64> {
        let us = parse_rfc3339(&[text, b"Z"].concat()).filter(|_| self.has_zone)?;
        us.checked_add_signed(-self.zone_seconds * 1_000_000)
    }
}

fn is_name(text: &str) -> bool {
    matches!(text, "rfc3339" | "epoch" | "epoch_ms" | "epoch_us" | "epoch_ns")
}

/// The parts of a field, some of which stand for several.
fn expanded(field: u8) -> Option<Vec<TimePart>> {
    let several = |text: &str| {
        let mut is_field = false;
        let part = |byte: u8| match (byte, is_field) {
            (b'%', false) => {
                is_field = true;
                None
            }
            (byte, true) => {
                is_field = false;
                Some(TimePart::Field(byte))
            }
            (byte, _) => Some(TimePart::Byte(byte)),
        };
        text.bytes().filter_map(part).collect::<Vec<_>>()
    };
    Some(match field {
        b'F' => several("%Y-%m-%d"),
        b'T' => several("%H:%M:%S"),
        b'D' => several("%m/%d/%y"),
        b'R' => several("%H:%M"),
        b'h' => several("%b"),
        b'%' => vec![TimePart::Byte(b'%')],
        b'Y' | b'm' | b'd' | b'e' | b'H' | b'M' | b'S' | b'y' | b'j' | b'b' | b'B' | b'I'
        | b'p' | b'f' | b'L' | b's' | b'z' | b'Z' | b'a' | b'A' => vec![TimePart::Field(field)],
        _ => return None,
    })
}

impl TimeParts {
    /// Reads one field off `text`; returns the rest.
    fn field<'t>(&mut self, field: u8, text: &'t [u8]) -> Option<&'t [u8]> {
        let (value, rest) = match field {
            b'b' | b'B' => return self.month(field == b'B', text),
            b'a' | b'A' => return named(&DAYS, field == b'A', text).map(|(_, rest)| rest),
            b'p' => {
                let (half, rest) = text.split_at_checked(2)?;
                self.is_pm = Some(match half.to_ascii_uppercase().as_slice() {
                    b"AM" => false,
                    b"PM" => true,
                    _ => return None,
                });
                return Some(rest);
            }
            b'z' => {
                let (zone, rest) = zone_of(text)?;
                self.zone = Some(zone);
                return Some(rest);
            }
            b'Z' => {
                let rest = text.strip_prefix(b"UTC").or_else(|| text.strip_prefix(b"GMT"));
                self.zone = Some(0);
                return rest.or_else(|| text.strip_prefix(b"Z"));
            }
            b'f' | b'L' => return self.fraction(field == b'L', text),
            b's' => digits(text, 1..=11)?,
            b'Y' => digits(text, 4..=4)?,
            b'j' => digits(text, 3..=3)?,
            b'e' => digits(text.strip_prefix(b" ").unwrap_or(text), 1..=2)?,
            _ => digits(text, 2..=2)?,
        };
        let small = u32::try_from(value);
        match field {
            b's' => self.epoch = Some(value.cast_signed()),
            b'Y' => self.year = small.ok(),
            b'y' => self.year = small.ok().map(|year| year + if year < 69 { 2000 } else { 1900 }),
            b'm' => self.month = small.ok(),
            b'd' | b'e' => self.day = small.ok(),
            b'j' => self.day_of_year = small.ok(),
            b'H' => self.hour = small.ok()?,
            b'I' => self.hour = small.ok().filter(|hour| (1..=12).contains(hour))? % 12,
            b'M' => self.minute = small.ok()?,
            _ => self.second = small.ok()?,
        }
        Some(rest)
    }

    fn month<'t>(&mut self, is_long: bool, text: &'t [u8]) -> Option<&'t [u8]> {
        let (at, rest) = named(&MONTHS, is_long, text)?;
        self.month = Some(at as u32 + 1);
        Some(rest)
    }

    fn fraction<'t>(&mut self, is_three: bool, text: &'t [u8]) -> Option<&'t [u8]> {
        let all = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let count = if is_three { all.min(3) } else { all };
        if count == 0 || (is_three && count < 3) {
            return None;
        }
        let micros = (0..6).fold(0, |sum, at| {
            let digit = if at < count { text[at] - b'0' } else { 0 };
            sum * 10 + u64::from(digit)
        });
        self.micros = micros;
        Some(&text[count..])
    }

    fn micros(self, zone_seconds: i64) -> Option<u64> {
        let seconds = match self.epoch {
            Some(seconds) => seconds,
            None => self.seconds()? - self.zone.unwrap_or(zone_seconds),
        };
        u64::try_from(seconds).ok()?.checked_mul(1_000_000)?.checked_add(self.micros)
    }

    /// Seconds since 1970, as if the time were in UTC.
    fn seconds(&self) -> Option<i64> {
        let hour = self.hour + if self.is_pm == Some(true) { 12 } else { 0 };
        let clock = TimeOfDay { hour, minute: self.minute, second: self.second };
        let in_year = |year: u32| match self.day_of_year {
            None => unix_seconds(CivilDate { year, month: self.month?, day: self.day? }, clock),
            Some(day) => {
                let first = unix_seconds(CivilDate { year, month: 1, day: 1 }, clock)?;
                let seconds = first + (i64::from(day) - 1) * DAY_SECONDS;
                (day > 0 && civil_from_days(seconds.div_euclid(DAY_SECONDS)).year == year)
                    .then_some(seconds)
            }
        };
        match self.year {
            Some(year) => in_year(year),
            None => latest(in_year),
        }
    }
}

/// The latest of the years in which a time is at most a day ahead.
fn latest(in_year: impl Fn(u32) -> Option<i64>) -> Option<i64> {
    let now = (stdx::unix_micros() / 1_000_000).cast_signed();
    let year = civil_from_days(now.div_euclid(DAY_SECONDS)).year;
    let years = [year + 1, year, year - 1, year - 2, year - 3, year - 4];
    years.into_iter().filter_map(in_year).find(|seconds| *seconds <= now + DAY_SECONDS)
}

/// Reads so many digits, as many as there are.
fn digits(text: &[u8], count: std::ops::RangeInclusive<usize>) -> Option<(u64, &[u8])> {
    let found = text.iter().take(*count.end()).take_while(|byte| byte.is_ascii_digit()).count();
    (found >= *count.start()).then_some(())?;
    Some((whole(&text[..found])?, &text[found..]))
}

/// The place of the name that `text` begins with; short ones have three letters.
fn named<'t>(names: &[&str], is_long: bool, text: &'t [u8]) -> Option<(usize, &'t [u8])> {
    names.iter().enumerate().find_map(|(at, name)| {
        let name = if is_long { name } else { &name[..3] };
        let (head, rest) = text.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(name.as_bytes()).then_some((at, rest))
    })
}

/// Reads `Z`, `+0100` or `+01:00`: seconds east of UTC, and the rest.
fn zone_of(text: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, rest) = match text.split_first()? {
        (b'Z' | b'z', rest) => return Some((0, rest)),
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = digits(rest, 2..=2)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":").unwrap_or(rest), 2..=2)?;
    let seconds = (hours * 3600 + minutes * 60).cast_signed();
    // No clock is more than 14 hours from UTC.
    (minutes < 60 && seconds <= 14 * 3600).then_some((sign * seconds, rest))
}

#[cfg(test)]
mod tests;
