//! Reads times plainly: by a format of strftime, or in any way that logs write them.
//!
//! Two forms are read by `exchange` (RFC 3339, nginx's log time). What is a time, and in which
//! order the forms are tried, must be as in `pipeline/src/decode/times.rs`.
//! The fields are those of docs/operating/log-formats.md. `None` means that the text is no such
//! time. Without a year it is the latest that lies at most a day ahead of the clock.
//! Invariant: what `pipeline/src/decode/time_format.rs` reads, by other code; only the text of the
//! format and its zone come from there. `plain/tests.rs` compares both.

use pipeline::TimeFormat;
use stdx::calendar::{CivilDate, TimeOfDay, civil_from_days, unix_seconds};

use crate::scalar::{seconds, whole};

const MONTHS: &str = "January February March April May June July August September October \
                      November December";
const DAYS: &str = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday";

/// A time in any way that logs write it, as microseconds since the Unix epoch.
pub(crate) fn time(text: &[u8], format: Option<&TimeFormat>) -> Option<u64> {
    let us = match format {
        Some(format) => read(format, text),
        None => usual(text),
    };
    // The year 9999 is the last.
    us.filter(|us| us / 1_000_000 < 253_402_300_800)
}

fn usual(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    let counted = || {
        let number = whole(text)?;
        match text.len() {
            13 => number.checked_mul(1000),
            16 => Some(number),
            19 => Some(number / 1000),
            _ => None,
        }
    };
    exchange::parse_log_time(text)
        .or_else(counted)
        .or_else(|| exchange::parse_rfc3339(text))
        .or_else(|| seconds(text))
}

/// What was read of a time.
#[derive(Default)]
struct CivilTime {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    is_afternoon: bool,
    minute: i64,
    second: i64,
    micros: i64,
    zone: Option<i64>,
    epoch: Option<i64>,
}

/// A time as microseconds since the Unix epoch.
pub(crate) fn read(format: &TimeFormat, text: &[u8]) -> Option<u64> {
    match format.text.as_str() {
        "rfc3339" if format.has_zone && exchange::parse_rfc3339(text).is_none() => {
            let utc = exchange::parse_rfc3339(&[text, b"Z"].concat())?;
            let zone = i128::from(format.zone_seconds) * 1_000_000;
            return u64::try_from(i128::from(utc) - zone).ok();
        }
        "rfc3339" => return exchange::parse_rfc3339(text),
        "epoch" => return seconds(text),
        "epoch_ms" => return whole(text).filter(|_| !text.is_empty())?.checked_mul(1000),
        "epoch_us" => return whole(text).filter(|_| !text.is_empty()),
        "epoch_ns" => return whole(text).filter(|_| !text.is_empty()).map(|ns| ns / 1000),
        _ => {}
    }
    let text = std::str::from_utf8(text).ok()?;
    let mut moment = CivilTime::default();
    let rest = moment.take(&format.text, text)?;
    rest.is_empty().then(|| moment.micros(format.zone_seconds)).flatten()
}

impl CivilTime {
    /// Takes all of `format` off the text; returns the rest.
    fn take<'t>(&mut self, format: &str, text: &'t str) -> Option<&'t str> {
        let (mut rest, mut letters) = (text, format.chars());
        while let Some(letter) = letters.next() {
            rest = match letter {
                '%' => self.field(letters.next()?, rest)?,
                letter => rest.strip_prefix(letter)?,
            };
        }
        Some(rest)
    }

    fn field<'t>(&mut self, field: char, text: &'t str) -> Option<&'t str> {
        let number = |least: usize, most: usize| {
            let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
            let value = (count >= least).then(|| text[..count].parse::<i64>().ok())??;
            Some((value, &text[count..]))
        };
        let (value, rest) = match field {
            'F' => return self.take("%Y-%m-%d", text),
            'T' => return self.take("%H:%M:%S", text),
            'D' => return self.take("%m/%d/%y", text),
            'R' => return self.take("%H:%M", text),
            '%' => return text.strip_prefix('%'),
            'b' | 'h' | 'B' => {
                let (at, rest) = name(MONTHS, field == 'B', text)?;
                self.month = Some(at + 1);
                return Some(rest);
            }
            'a' | 'A' => return Some(name(DAYS, field == 'A', text)?.1),
            'p' => {
                let (half, rest) = text.split_at_checked(2)?;
                let half = half.to_ascii_uppercase();
                self.is_afternoon = half == "PM";
                return (half == "AM" || half == "PM").then_some(rest);
            }
            'z' => {
                let (zone, rest) = zone(text)?;
                self.zone = Some(zone);
                return Some(rest);
            }
            'Z' => {
                self.zone = Some(0);
                return ["UTC", "GMT", "Z"].iter().find_map(|name| text.strip_prefix(name));
            }
            'f' => {
                let count = text.bytes().take_while(u8::is_ascii_digit).count();
                self.micros = micros(&text[..count])?;
                return Some(&text[count..]);
            }
            'L' => {
                self.micros = number(3, 3)?.0 * 1000;
                return Some(&text[3..]);
            }
            's' => number(1, 11)?,
            'Y' => number(4, 4)?,
            'j' => number(3, 3)?,
            'e' => {
                let padded = text.strip_prefix(' ').unwrap_or(text);
                let count = padded.bytes().take(2).take_while(u8::is_ascii_digit).count();
                (padded[..count].parse().ok()?, &padded[count..])
            }
            _ => number(2, 2)?,
        };
        match field {
            's' => self.epoch = Some(value),
            'Y' => self.year = Some(value),
            'y' => self.year = Some(if value < 69 { 2000 + value } else { 1900 + value }),
            'm' => self.month = Some(value),
            'd' | 'e' => self.day = Some(value),
            'j' => self.day_of_year = Some(value),
            'H' => self.hour = value,
            'I' => self.hour = (1..=12).contains(&value).then_some(value % 12)?,
            'M' => self.minute = value,
            'S' => self.second = value,
            _ => return None,
        }
        Some(rest)
    }

    fn micros(self, zone_seconds: i64) -> Option<u64> {
        let seconds = match self.epoch {
            Some(seconds) => seconds,
            None => self.local()? - self.zone.unwrap_or(zone_seconds),
        };
        u64::try_from(seconds.checked_mul(1_000_000)?).ok().map(|us| us + self.micros as u64)
    }

    /// Seconds since 1970 by the clock that wrote it.
    fn local(&self) -> Option<i64> {
        if let Some(year) = self.year {
            return self.in_year(year);
        }
        let now = i64::try_from(stdx::unix_micros() / 1_000_000).ok()?;
        let this = i64::from(civil_from_days(now / 86_400).year);
        (this - 4..=this + 1)
            .rev()
            .filter_map(|year| self.in_year(year))
            .find(|s| *s <= now + 86_400)
    }

    fn in_year(&self, year: i64) -> Option<i64> {
        let part = |value: i64| u32::try_from(value).ok();
        let hour = part(self.hour + if self.is_afternoon { 12 } else { 0 })?;
        let time = TimeOfDay { hour, minute: part(self.minute)?, second: part(self.second)? };
        let at = |month: i64, day: i64| {
            let date = CivilDate { year: part(year)?, month: part(month)?, day: part(day)? };
            unix_seconds(date, time)
        };
        let Some(day) = self.day_of_year else { return at(self.month?, self.day?) };
        let (first, next) = (at(1, 1)?, at(12, 31)?);
        let found = first + (day - 1) * 86_400;
        (first..=next).contains(&found).then_some(found)
    }
}

fn micros(digits: &str) -> Option<i64> {
    (!digits.is_empty()).then(|| format!("{digits:0<6}")[..6].parse().ok()).flatten()
}

/// The place of the name in a list that the text begins with.
fn name<'t>(names: &str, is_long: bool, text: &'t str) -> Option<(i64, &'t str)> {
    let names = names.split_ascii_whitespace().map(|name| if is_long { name } else { &name[..3] });
    for (at, name) in names.enumerate() {
        let head = text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        if head {
            return Some((at as i64, &text[name.len()..]));
        }
    }
    None
}

/// `Z`, `+0100` or `+01:00`, and the rest.
fn zone(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two = |text: &str| {
        let digits = text.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<i64>().ok()
    };
    let hours = two(&text[1..])?;
    let rest = &text[3..];
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let minutes = two(rest)?;
    let is_one = minutes < 60 && (hours < 14 || (hours == 14 && minutes == 0));
    is_one.then_some((sign * (hours * 3600 + minutes * 60), &rest[2..]))
}
