//! Reads single texts of a line as numbers, and writes a value as its text.
//!
//! `None` means that a text is no such thing. `bytes_of` gives the text of keys and of unique
//! values: it must be that of `text_of` in `pipeline/src/window/measure.rs`.

use exchange::FieldValue;

/// The text of a value.
pub(crate) fn bytes_of(value: FieldValue<'_>) -> Vec<u8> {
    match value {
        FieldValue::Text(text) => text.into_owned(),
        number => number.to_string().into_bytes(),
    }
}

/// Reads a text as whatever can be read from text.
pub(crate) fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads up to 20 digits, as a number up to 2^63 - 1; nothing else may stand there.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    (text.len() <= 20).then_some(())?;
    let number: i64 = text.iter().all(u8::is_ascii_digit).then(|| parsed(text)).flatten()?;
    u64::try_from(number).ok()
}

/// Seconds with or without a fraction, as microseconds.
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let micros = is_number.then(|| format!("{fraction:0<6}")[..6].parse::<u64>().ok())??;
    whole(whole_part.as_bytes())
        .filter(|_| !whole_part.is_empty())?
        .checked_mul(1_000_000)?
        .checked_add(micros)
}

/// Whether it is digits, with a sign before them or a point between them.
pub(crate) fn is_number(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut points = digits.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| at);
    let point = points.next();
    let is_inside = point.is_none_or(|at| at > 0 && at + 1 < digits.len());
    let are_digits = digits.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    !digits.is_empty() && points.next().is_none() && is_inside && are_digits
}

/// A length of time as Go writes it, such as `1m2.5s`, as microseconds.
pub(crate) fn duration(text: &[u8]) -> Option<u64> {
    let mut text = std::str::from_utf8(text).ok()?;
    let mut nanos = 0_u128;
    while !text.is_empty() {
        let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = number.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '.');
        let (value, name) =
            (&text[..text.len() - number.len()], &number[..number.len() - unit.len()]);
        let scale: u128 = match name {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        // Of a number six decimals count.
        nanos += u128::from(seconds(value.as_bytes())?).checked_mul(scale)? / 1_000_000;
        text = unit;
    }
    u64::try_from(nanos / 1_000).ok()
}
