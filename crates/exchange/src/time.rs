//! Writes RFC 3339 timestamps in UTC with microseconds (`2026-11-21T03:54:12.123456Z`), and reads
//! any offset.
//!
//! Written times past the year 9999 stand at its last second. Reading takes `T`, `t` or a space
//! between date and time, and drops digits after the sixth of a fraction. It takes an offset with
//! or without its colon (ISO 8601 has both). A leap second counts as the second after it. Times
//! outside of 1970 to 9999, offsets of more than 14 hours and all other text give `None`.
//! Each thread keeps the text of the last second that it wrote. So times that follow each other
//! convert a date once a second.
//! The written form, always 27 bytes, must not change. Journals hold it. Sinks keep it in keys
//! (`sinks/src/json.rs`, `sinks/src/time.rs`, `sinks/src/clickhouse/schema.rs`) and cut it by
//! position.
//! The calendar is `stdx::calendar`; the times of `combined` are read in `combined.rs`.

use std::cell::Cell;

use stdx::calendar::{CivilDate, TimeOfDay, civil_from_days, unix_seconds};

/// The length of a written timestamp in bytes.
pub(crate) const LENGTH: usize = 27;

const MICROS: u64 = 1_000_000;
const DAY: i64 = 86_400;
/// `9999-12-31T23:59:59Z`, the last second that RFC 3339 can write.
const LAST_SECOND: u64 = 253_402_300_799;

thread_local! {
    static SECOND: Cell<(u64, [u8; 19])> = const { Cell::new((0, *b"1970-01-01T00:00:00")) };
}

/// Appends the timestamp of `micros` since the Unix epoch; times past year 9999 are cut to it.
pub fn write(micros: u64, out: &mut Vec<u8>) {
    let second = (micros / MICROS).min(LAST_SECOND);
    let mut text = [0; LENGTH];
    text[..19].copy_from_slice(&SECOND.with(|cell| {
        let (cached, text) = cell.get();
        if cached == second {
            return text;
        }
        let text = date_and_time(second);
        cell.set((second, text));
        text
    }));
    text[19] = b'.';
    let micros = (micros % MICROS) as u32;
    pair(&mut text[20..], micros / 10_000);
    pair(&mut text[22..], micros / 100 % 100);
    pair(&mut text[24..], micros % 100);
    text[26] = b'Z';
    out.extend_from_slice(&text);
}

/// Reads an RFC 3339 timestamp with any offset and any number of fractional digits.
///
/// Returns microseconds since the Unix epoch, or nothing when the text is no timestamp or lies
/// before the epoch or past the year 9999.
pub fn parse(text: &[u8]) -> Option<u64> {
    let separators = (text.get(4)?, text.get(7)?, text.get(10)?, text.get(13)?, text.get(16)?);
    if !matches!(separators, (b'-', b'-', b'T' | b't' | b' ', b':', b':')) {
        return None;
    }
    let (year, month) = (number(&text[..4])?, number(&text[5..7])?);
    let date = CivilDate { year, month, day: number(&text[8..10])? };
    let (hour, minute) = (number(&text[11..13])?, number(&text[14..16])?);
    let clock = TimeOfDay { hour, minute, second: number(text.get(17..19)?)? };
    let (micros, zone) = fraction(&text[19..])?;
    let seconds = epoch_seconds(unix_seconds(date, clock)? - zone_seconds(zone)?)?;
    seconds.checked_mul(MICROS)?.checked_add(micros)
}

/// Seconds since the Unix epoch, unless they lie before it or past the year 9999.
pub(crate) fn epoch_seconds(seconds: i64) -> Option<u64> {
    u64::try_from(seconds).ok().filter(|seconds| *seconds <= LAST_SECOND)
}

/// Reads digits only.
pub(crate) fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
    })
}

fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else { return Some((0, text)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let micros = (0..6).fold(0, |sum, at| {
        let digit = if at < length { digits[at] - b'0' } else { 0 };
        sum * 10 + u64::from(digit)
    });
    Some((micros, &digits[length..]))
}

fn zone_seconds(zone: &[u8]) -> Option<i64> {
    let sign = match zone {
        b"Z" | b"z" => return Some(0),
        [b'+', _, _, b':', _, _] => 1,
        [b'-', _, _, b':', _, _] => -1,
        [b'+', _, _, _, _] => 1,
        [b'-', _, _, _, _] => -1,
        _ => return None,
    };
    Some(sign * offset_seconds(&zone[1..3], &zone[zone.len() - 2..])?)
}

/// Seconds of an offset from UTC, which no clock has beyond 14 hours.
pub(crate) fn offset_seconds(hours: &[u8], minutes: &[u8]) -> Option<i64> {
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let is_one = minutes < 60 && hours * 60 + minutes <= 14 * 60;
    is_one.then_some(i64::from(hours * 3600 + minutes * 60))
}

fn date_and_time(second: u64) -> [u8; 19] {
    let second = second as i64;
    let CivilDate { year, month, day } = civil_from_days(second.div_euclid(DAY));
    let of_day = second.rem_euclid(DAY) as u32;
    let mut text = *b"0000-00-00T00:00:00";
    pair(&mut text[0..], year / 100);
    pair(&mut text[2..], year % 100);
    pair(&mut text[5..], month);
    pair(&mut text[8..], day);
    pair(&mut text[11..], of_day / 3600);
    pair(&mut text[14..], of_day / 60 % 60);
    pair(&mut text[17..], of_day % 60);
    text
}

fn pair(text: &mut [u8], value: u32) {
    text[0] = b'0' + (value / 10) as u8;
    text[1] = b'0' + (value % 10) as u8;
}

#[cfg(test)]
mod tests;
