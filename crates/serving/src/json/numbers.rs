//! Reads arrays of numbers fast, the bulk of a request to a model that predicts.
//!
//! A decimal of at most 19 digits, 2⁵³ at most, with a power of ten up to 22, is computed. It is a
//! product or quotient of two exact doubles, rounded once. The standard library reads the others.
//! So each number is the nearest double; one too large is infinite, and callers refuse it. Numbers
//! such as -0.123456, which most are, are read without a loop or a branch that depends on them.
//!
//! Invariant: what is accepted is an array of JSON numbers, and nothing else. `None` is no refusal:
//! `json.rs` takes back what was appended here, and its caller reads element by element. Exponents
//! of more than nine digits, and arrays beyond the limit, are `None` too.
//! What it gained is in docs/decisions/models.md; row `oip` of docs/BENCHMARKS.md measures it.
//! Source: Clinger, "How to read floating point numbers accurately", 1990.

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// What makes room for so many digits.
const SHIFTS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Digits that always fit 64 bits.
const DIGITS_MAX: usize = 19;

/// Reads the array at `at`, and returns the place behind it; `None` where it holds anything but
/// numbers, or more than makes `numbers` `limit` long.
pub(super) fn read(
    text: &[u8],
    mut at: usize,
    numbers: &mut Vec<f64>,
    limit: usize,
) -> Option<usize> {
    at = over_space(text, at);
    if *text.get(at)? != b'[' {
        return None;
    }
    at = over_space(text, at + 1);
    if *text.get(at)? == b']' {
        return Some(at + 1);
    }
    loop {
        while numbers.len() < limit
            && let Some((number, end)) = short_number(text, at)
        {
            numbers.push(number);
            at = end + 1;
            if text[end] == b']' {
                return Some(at);
            }
        }
        let (number, end) = number(text, over_space(text, at))?;
        if numbers.len() == limit {
            return None;
        }
        numbers.push(number);
        at = over_space(text, end);
        match text.get(at)? {
            b',' => at += 1,
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Numbers as they stand in `data`: in one list, or in lists of equal length within one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberTable {
    pub(crate) numbers: Vec<f64>,
    /// Lists, and the numbers of each; `None` where there is one.
    pub(crate) sizes: Option<[usize; 2]>,
}

/// Reads the table at `at`, and returns the place behind it; `None` for anything else.
pub(super) fn read_table(text: &[u8], mut at: usize) -> Option<(NumberTable, usize)> {
    at = over_space(text, at);
    if *text.get(at)? != b'[' {
        return None;
    }
    // Most numbers have more bytes; of shorter ones the list grows.
    let mut numbers = Vec::with_capacity((text.len() - at) / 8);
    let first = over_space(text, at + 1);
    if *text.get(first)? != b'[' {
        let end = read(text, at, &mut numbers, usize::MAX)?;
        return Some((NumberTable { numbers, sizes: None }, end));
    }
    at = first;
    let mut sizes = [0, 0];
    loop {
        let before = numbers.len();
        at = over_space(text, read(text, at, &mut numbers, usize::MAX)?);
        let width = numbers.len() - before;
        if sizes[0] > 0 && width != sizes[1] {
            return None;
        }
        sizes = [sizes[0] + 1, width];
        match text.get(at)? {
            b',' => at = over_space(text, at + 1),
            b']' => return Some((NumberTable { numbers, sizes: Some(sizes) }, at + 1)),
            _ => return None,
        }
    }
}

#[inline]
fn over_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Reads a number of one digit, a point and up to seven digits, with a comma or bracket behind it.
/// Returns it and the place of that.
#[inline(always)]
fn short_number(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let window: &[u8; 11] = text.get(at..)?.first_chunk()?;
    let negative = window[0] == b'-';
    let start = usize::from(negative);
    let digit = window[start].wrapping_sub(b'0');
    let (values, count) = digits_of(*window[start + 2..].first_chunk()?);
    let end = at + start + 2 + count;
    if digit > 9 || window[start + 1] != b'.' || !(1..8).contains(&count) {
        return None;
    }
    if !matches!(text[end], b',' | b']') {
        return None;
    }
    let mantissa = u64::from(digit) * SHIFTS[count] + value_of(values, count);
    let number = mantissa as f64 / TENS[count];
    // No branch: whether a number is negative cannot be foreseen.
    Some((f64::from_bits(number.to_bits() | u64::from(negative) << 63), end))
}

/// Reads a number; returns it and the place behind it.
#[inline(always)]
fn number(text: &[u8], start: usize) -> Option<(f64, usize)> {
    let mut at = start;
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(negative);
    let first = at;
    let mut mantissa = 0;
    at = digits(text, at, &mut mantissa);
    let whole = at - first;
    if whole == 0 || (whole > 1 && text[first] == b'0') {
        return None;
    }
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        at = digits(text, point, &mut mantissa);
        fraction = at - point;
        if fraction == 0 {
            return None;
        }
    }
    let mut exponent = 0_i64;
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        let below = text.get(at) == Some(&b'-');
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        let (digit, mut size) = (at, 0);
        at = digits(text, at, &mut size);
        if at == digit || at - digit > 9 {
            return None;
        }
        exponent = if below { -(size as i64) } else { size as i64 };
    }
    let power = exponent - fraction as i64;
    let is_exact = whole + fraction <= DIGITS_MAX && mantissa <= 1 << 53 && power.abs() <= 22;
    let number = match is_exact {
        true if power < 0 => mantissa as f64 / TENS[power.unsigned_abs() as usize],
        true => mantissa as f64 * TENS[power as usize],
        // The standard library reads what JSON allows; its sign is taken with it.
        false => {
            let written = std::str::from_utf8(&text[start..at]).ok()?;
            return Some((written.parse().ok()?, at));
        }
    };
    Some((if negative { -number } else { number }, at))
}

/// Takes eight bytes as one word, and finds the first one that is no digit.
#[inline(always)]
fn digits_of(bytes: [u8; 8]) -> (u64, usize) {
    let values = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // The high bit of every byte above 9. What is carried out of such a byte spoils only those
    // behind it.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    (values, others.trailing_zeros() as usize / 8)
}

/// Adds up the first `count` digits of a word, of which there is one, in pairs (Lemire, "Number
/// parsing at a gigabyte per second", 2021).
#[inline(always)]
fn value_of(values: u64, count: usize) -> u64 {
    const EVERY_FOURTH: u64 = 0x0000_00FF_0000_00FF;
    let pairs = values << (64 - 8 * count);
    let pairs = pairs.wrapping_mul(10).wrapping_add(pairs >> 8);
    let high = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

/// Reads digits into `number`, which wraps where they are too many; returns the place behind.
#[inline(always)]
fn digits(text: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(&bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let (values, count) = digits_of(bytes);
        if count == 0 {
            return at;
        }
        *number = number.wrapping_mul(SHIFTS[count]).wrapping_add(value_of(values, count));
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
