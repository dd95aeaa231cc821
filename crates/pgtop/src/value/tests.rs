//! Tests of the module `value`.

use super::*;

#[test]
fn a_text_that_is_no_utf_8_is_shown_with_replacements_and_one_cut_short_without() {
    assert_eq!(text_of("ä".as_bytes()), "ä");
    assert_eq!(text_of(b"caf\xe9 \xff!"), "caf\u{fffd} \u{fffd}!");
    assert_eq!(text_of(&"caffè".as_bytes()[..5]), "caff");
}

#[test]
fn times_are_exact_to_the_microsecond_both_ways() {
    let mut out = BytesMut::new();
    let time = 1_795_000_000_123_457;
    ServerTime(time).to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
    let back = SqlScalar::from_sql(&Type::TIMESTAMPTZ, &out).unwrap();
    assert_eq!(back, SqlScalar::Whole(time));
}
