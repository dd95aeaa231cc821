//! Reads numbers as log lines write them.
//!
//! Invariant: `whole` takes 1 to 20 digits and nothing else, and gives none past `i64::MAX`, which
//! is what sinks can hold.
//! `real` takes what Rust takes for a real number, with a sign and an exponent, and gives none
//! where that is not finite.
//! Spaces are no part of either. Never here: text of a field that is added up, which may have
//! spaces around it (`window::measure`).

/// Reads digits; nothing else may stand there.
#[inline]
pub(super) fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let number = digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    });
    number.filter(|number| *number <= i64::MAX.unsigned_abs())
}

/// Reads a finite real number.
pub(super) fn real(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Reads seconds with or without a fraction as microseconds; digits past the sixth are cut.
pub(super) fn seconds_us(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    let whole = self::whole(whole)?;
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + u64::from(digit(fraction.get(place).copied().unwrap_or(b'0'))?);
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(())?;
    whole.checked_mul(1_000_000)?.checked_add(micros)
}

/// Reads a length of time as Go writes it, such as `1m2.5s`, `411.487µs` or `3ms`, as microseconds.
pub(super) fn duration_us(text: &[u8]) -> Option<u64> {
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (mut rest, mut nanos) = (text, 0_u128);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
        let micros = u128::from(seconds_us(&rest[..end])?);
        rest = &rest[end..];
        let unit = UNITS.iter().find(|(name, _)| rest.starts_with(name.as_bytes()));
        let (name, unit) = *unit?;
        // Of a number six decimals count.
        nanos = nanos.checked_add(micros.checked_mul(unit)? / 1_000_000)?;
        rest = &rest[name.len()..];
    }
    u64::try_from(nanos / 1000).ok()
}

/// Reads a digit.
pub(super) fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}

#[cfg(test)]
mod tests;
