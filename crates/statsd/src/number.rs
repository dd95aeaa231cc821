//! Reads numbers as JavaScript, Perl and the protocol's own documents do.
//!
//! `None` is no number. Perl makes 0 of text that does not begin with one, JavaScript of blanks.
//! Invariant: what is not finite is `None` here, whatever the language thinks: a sum that it enters
//! is lost. `samples.rs` relies on that.
//! `legacy.rs` reads numbers in files with `javascript`. Sources: ECMA-262, StringToNumber;
//! perlnumber. Never here: writing numbers (`figures.rs`), ranges of rates (`line/rate.rs`).

/// A number as JavaScript's `Number(text)` reads it (ECMA-262, StringToNumber); empty text, which
/// is 0 there, is none, as statsd's `isNumber` wants it.
pub(crate) fn javascript(text: &[u8]) -> Option<f64> {
    if let Some(whole) = digits(text) {
        return Some(whole);
    }
    if text.is_empty() {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?.trim_matches(is_javascript_space);
    if text.is_empty() {
        return Some(0.0);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        let is_prefixed = text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        if is_prefixed {
            return of_radix(&text[2..], radix);
        }
    }
    decimal(text.as_bytes())
}

/// A number as Perl reads a string: as much of its beginning as is one, else 0. What Perl would
/// make infinite or NaN is none.
pub(crate) fn perl(text: &[u8]) -> Option<f64> {
    if let Some(whole) = digits(text) {
        return Some(whole);
    }
    let text = text.trim_ascii_start();
    let signless = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let says = |word: &[u8]| signless.get(..3).is_some_and(|s| s.eq_ignore_ascii_case(word));
    if says(b"inf") || says(b"nan") {
        return None;
    }
    match decimal_length(text) {
        0 => Some(0.0),
        length => decimal(&text[..length]),
    }
}

/// A plain decimal number, with or without fraction and exponent, as the protocol's own documents
/// write them.
pub(crate) fn decimal(text: &[u8]) -> Option<f64> {
    if let Some(whole) = digits(text) {
        return Some(whole);
    }
    // Rust reads the same, and what else it takes is not finite.
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// Up to fifteen digits and nothing else: what nearly every line holds.
fn digits(text: &[u8]) -> Option<f64> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    let mut whole = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        whole = whole * 10 + u64::from(digit);
    }
    Some(whole as f64)
}

/// How many bytes from the start on are a decimal number; 0 when there is none.
fn decimal_length(text: &[u8]) -> usize {
    let run = |from: usize| {
        let tail = &text[from.min(text.len())..];
        tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = run(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = run(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

fn of_radix(text: &str, radix: u32) -> Option<f64> {
    let mut number = 0.0;
    for letter in text.chars() {
        number = number * f64::from(radix) + f64::from(letter.to_digit(radix)?);
    }
    (!text.is_empty() && f64::is_finite(number)).then_some(number)
}

/// ECMA-262: WhiteSpace and LineTerminator.
fn is_javascript_space(letter: char) -> bool {
    letter == '\u{feff}' || letter != '\u{85}' && letter.is_whitespace()
}

#[cfg(test)]
mod tests;
