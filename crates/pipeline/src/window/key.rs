//! Encodes the key of a row as bytes, which one hash and one comparison cover, and decodes it into
//! cells.
//!
//! Text stands after its length in four bytes, a number in eight. Absent text is empty text; an
//! absent number makes no key. Minus zero becomes zero.
//! Invariant: keys of the same parts are equal when their bytes are, and none begins with another.
//! `sanitised` makes the text of a key what engines take.
//! The bytes stay in memory, so their layout may change. Sinks store the cells: which keys are
//! equal must stay, and be the same in `recount/src/count.rs`. Never here: finding the row of a key
//! (`window`).

use std::borrow::Cow;

use exchange::Fields;

use super::measure::{self, text_of};
use crate::batch::{Flat, KEY_TEXT_BYTES_MAX, Kind, fit};
use crate::rollup::KeyPart;

/// Appends the key of a line; none, and half a key, when a number is missing.
pub(super) fn encode(
    parts: &[KeyPart],
    event: &impl Fields,
    time_us: i64,
    out: &mut Vec<u8>,
) -> Option<()> {
    for part in parts {
        match part {
            KeyPart::Bucket(us) => push_bits(out, time_us - time_us.rem_euclid(*us)),
            KeyPart::Field(field, Kind::Text) => match event.field(field) {
                Some(text) => push_text(out, &text_of(text)),
                None => push_text(out, b""),
            },
            KeyPart::Field(field, kind) => match measure::number(event, field, *kind)? {
                // Minus zero is another number by its bits, and the same to an engine.
                Flat::Real(number) => push_bits(out, (number + 0.0).to_bits().cast_signed()),
                Flat::Integer(number) | Flat::Time(number) => push_bits(out, number),
                _ => unreachable!("a number is one of those"),
            },
        }
    }
    Some(())
}

/// The key with its text made what engines take; none when it was.
pub(super) fn sanitised(parts: &[KeyPart], key: &[u8]) -> Option<Vec<u8>> {
    let (mut sanitised, mut changed) = (Vec::new(), false);
    let mut rest = key;
    for part in parts {
        match next(part, &mut rest) {
            KeyValue::Bits(bits) => push_bits(&mut sanitised, bits),
            KeyValue::Text(text) => {
                let text = fit(text, KEY_TEXT_BYTES_MAX);
                changed |= matches!(text, Cow::Owned(_));
                push_text(&mut sanitised, &text);
            }
        }
    }
    changed.then_some(sanitised)
}

/// The cells of a key that is kept at `start`.
pub(super) fn cells(parts: &[KeyPart], key: &[u8], start: u32) -> impl Iterator<Item = Flat> {
    let mut rest = key;
    parts.iter().map(move |part| match (next(part, &mut rest), part) {
        (KeyValue::Text(text), _) => {
            let length = text.len() as u32;
            Flat::Text { start: start + (key.len() - rest.len()) as u32 - length, length }
        }
        (KeyValue::Bits(bits), KeyPart::Field(_, Kind::Real)) => {
            Flat::Real(f64::from_bits(bits.cast_unsigned()))
        }
        (KeyValue::Bits(number), KeyPart::Field(_, Kind::Integer)) => Flat::Integer(number),
        (KeyValue::Bits(us), _) => Flat::Time(us),
    })
}

enum KeyValue<'k> {
    Text(&'k [u8]),
    Bits(i64),
}

fn next<'k>(part: &KeyPart, rest: &mut &'k [u8]) -> KeyValue<'k> {
    const WHOLE: &str = "a key has all of its parts";
    if matches!(part, KeyPart::Field(_, Kind::Text)) {
        let (length, more) = rest.split_first_chunk().expect(WHOLE);
        let (text, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        *rest = more;
        return KeyValue::Text(text);
    }
    let (bits, more) = rest.split_first_chunk().expect(WHOLE);
    *rest = more;
    KeyValue::Bits(i64::from_le_bytes(*bits))
}

fn push_bits(out: &mut Vec<u8>, bits: i64) {
    out.extend_from_slice(&bits.to_le_bytes());
}

/// A line is far shorter than 4 GB.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}
