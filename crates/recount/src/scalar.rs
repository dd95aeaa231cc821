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

/// Reads digits up to 2^63 - 1; nothing else may stand there.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
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
