//! Reads numbers as log lines write them.
//!
//! Invariant: `whole` takes 1 to 20 digits and nothing else, and gives none where they overflow.
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
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Reads a finite real number.
pub(super) fn real(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}
