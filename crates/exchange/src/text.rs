//! Escapes arbitrary bytes as the inside of a JSON string, and reads them back without loss.
//!
//! Valid UTF-8 stands as it is, but for `"`, `\` and bytes below 0x20, which are escaped. A byte
//! that is not part of valid UTF-8 is written as the lone surrogate `\udc80`–`\udcff`: the byte
//! plus U+DC00. Python's `surrogateescape` does the same (PEP 383).
//! Invariant: `read` of what `write` appended gives the same bytes. It is valid by RFC 8259's
//! grammar, and holds no line feed and no bare quote. Tools that replace lone surrogates show
//! U+FFFD.
//! Reading takes every escape of RFC 8259, but of lone surrogates only those above. The place of
//! any other is the error. Bytes that are not escaped are not checked: neither control characters
//! nor UTF-8.
//! Also here: where a string ends (`inside_length`). Objects, arrays and numbers are read in
//! `line/decode.rs`.
//! Journals and quarantines keep what `write` wrote, so `read` must take it in every later version.
//! `pipeline` and `recount` both call `read`: `events verify` sees no mistake made here.

use std::borrow::Cow;

use memchr::memchr2;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Appends `bytes` escaped; never appends a line feed or an unescaped quote.
#[inline]
pub fn write(bytes: &[u8], out: &mut Vec<u8>) {
    let plain = plain_length(bytes);
    out.extend_from_slice(&bytes[..plain]);
    if plain < bytes.len() {
        write_special(&bytes[plain..], out);
    }
}

/// Returns what the inside of a JSON string stands for, borrowed when nothing is escaped.
///
/// # Errors
/// The offset of the backslash that starts no valid escape.
pub fn read(inside: &[u8]) -> Result<Cow<'_, [u8]>, usize> {
    let Some(first) = memchr::memchr(b'\\', inside) else {
        return Ok(Cow::Borrowed(inside));
    };
    let mut out = Vec::with_capacity(inside.len());
    out.extend_from_slice(&inside[..first]);
    let mut at = first;
    while at < inside.len() {
        if inside[at] == b'\\' {
            at += read_escape(&inside[at..], &mut out).ok_or(at)?;
            continue;
        }
        let end = memchr::memchr(b'\\', &inside[at..]).map_or(inside.len(), |next| at + next);
        out.extend_from_slice(&inside[at..end]);
        at = end;
    }
    Ok(Cow::Owned(out))
}

/// Returns the length of the inside of a string, which is the offset of its closing quote, and
/// whether anything in it is escaped.
#[inline]
pub(crate) fn inside_length(text: &[u8]) -> Option<(usize, bool)> {
    // Most texts are short: eight bytes at a time beat the set-up of a vectorised search.
    for (at, chunk) in text.chunks_exact(8).take(4).enumerate() {
        let word = u64::from_le_bytes(chunk.try_into().expect("the chunk has 8 bytes"));
        let found = (zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\'))))
        .trailing_zeros() as usize;
        if found < 64 {
            let place = at * 8 + found / 8;
            return if text[place] == b'"' { Some((place, false)) } else { escaped_length(text) };
        }
    }
    escaped_length(text)
}

fn escaped_length(text: &[u8]) -> Option<(usize, bool)> {
    let mut at = 0;
    let mut escaped = false;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2;
    }
}

/// Marks the high bit of each zero byte; the lowest mark is exact ("Bit Twiddling Hacks").
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Returns how many leading bytes are ASCII that needs no escape.
fn plain_length(bytes: &[u8]) -> usize {
    let mut chunks = bytes.chunks_exact(8);
    let mut length = 0;
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("the chunk has 8 bytes"));
        let special = special_bytes(word);
        if special != 0 {
            return length + special.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let special = |byte: &u8| !(0x20..0x80).contains(byte) || matches!(byte, b'"' | b'\\');
    let rest = chunks.remainder();
    length + rest.iter().position(special).unwrap_or(rest.len())
}

/// Marks the high bit of each byte that is a control, a quote, a backslash or not ASCII.
///
/// Borrows can mark a byte wrongly only above a byte marked rightly ("Bit Twiddling Hacks",
/// `hasless` and `haszero`), so that the lowest mark is exact.
fn special_bytes(word: u64) -> u64 {
    let below_space = word.wrapping_sub(ONES * 0x20);
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (below_space | quote | backslash | word) & HIGHS
}

#[cold]
fn write_special(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        write_utf8(chunk.valid().as_bytes(), out);
        for byte in chunk.invalid() {
            write_unit(0xdc00 | u16::from(*byte), out);
        }
    }
}

fn write_utf8(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => write_unit(byte.into(), out),
            _ => out.push(byte),
        }
    }
}

fn write_unit(unit: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u16| DIGITS[usize::from(unit >> shift & 15)];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// Appends what the escape at the start of `text` stands for; returns the bytes it takes.
fn read_escape(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let plain = match text.get(1)? {
        b'u' => return read_unit_escape(text, out),
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        byte @ (b'"' | b'\\' | b'/') => *byte,
        _ => return None,
    };
    out.push(plain);
    Some(2)
}

fn read_unit_escape(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let unit = read_unit(text)?;
    let (code, taken) = match unit {
        0xdc80..=0xdcff => {
            out.push((unit & 0xff) as u8);
            return Some(6);
        }
        0xd800..=0xdbff => {
            let low = read_unit(&text[6..]).filter(|low| (0xdc00..=0xdfff).contains(low))?;
            (0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)), 12)
        }
        _ => (unit, 6),
    };
    let character = char::from_u32(code)?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(taken)
}

fn read_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests;
