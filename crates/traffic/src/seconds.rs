//! Reads the decimal numbers of Varnish's log: seconds with up to nine digits after the point.
//!
//! Invariant: exact. A difference of two times is that of their digits, not of two doubles.
//! Refuses: signs, exponents and empty text, which give `None`, as does what is beyond 64 bits.

/// Reads seconds as nanoseconds; digits after the ninth are dropped.
pub(crate) fn nanos(text: &[u8]) -> Option<u64> {
    let mut whole: u64 = 0;
    let mut at = 0;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        whole = whole.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        at += 1;
    }
    if at == 0 {
        return None;
    }
    let mut fraction = 0;
    let mut unit = 100_000_000;
    if text.get(at) == Some(&b'.') {
        for byte in &text[at + 1..] {
            if !byte.is_ascii_digit() {
                return None;
            }
            fraction += u64::from(byte - b'0') * unit;
            unit /= 10;
        }
    } else if at < text.len() {
        return None;
    }
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Reads seconds as microseconds, rounded.
pub(crate) fn micros(text: &[u8]) -> Option<u64> {
    Some(rounded(nanos(text)?))
}

/// Nanoseconds as microseconds, rounded.
pub(crate) fn rounded(nanos: u64) -> u64 {
    nanos / 1000 + u64::from(nanos % 1000 >= 500)
}

/// Reads a whole number.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// The words of a record, between spaces.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
