//! What the languages make of the same text; the figures were looked up in Node 20 and Perl 5.36.

use super::{decimal, javascript, perl};

#[test]
fn javascript_reads_what_node_reads() {
    let read = |text: &str| javascript(text.as_bytes());
    for (text, number) in [
        ("1", 1.0),
        ("007", 7.0),
        ("+10e1", 100.0),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("5.", 5.0),
        (" 12 ", 12.0),
        ("\u{a0}12\u{feff}", 12.0),
        ("  ", 0.0),
        ("0x10", 16.0),
        ("0B101", 5.0),
        ("0o17", 15.0),
        ("123456789012345678", 123_456_789_012_345_680.0),
        ("1234567890123456789012345", 1.234_567_890_123_456_8e24),
        ("0xfF", 255.0),
        ("1.5E+3", 1500.0),
        ("\t\n12\u{2028}", 12.0),
    ] {
        assert_eq!(read(text), Some(number), "`{text}`");
    }
    for text in [
        "", "0,5", "1_000", "0x", "-0x10", "1e", "e5", ".", "+", "12 3", "NaN", "1e999", "0xg",
        "0b2", "\u{85}12", "1e+", "+-1", "0 x10",
    ] {
        assert_eq!(read(text), None, "`{text}`");
    }
}

#[test]
fn javascript_is_denied_its_infinity() {
    assert_eq!(javascript(b"Infinity"), None);
    assert_eq!(javascript(b"-Infinity"), None);
}

#[test]
fn perl_reads_as_much_as_is_a_number() {
    for (text, number) in [
        ("12", 12.0),
        (" 12abc", 12.0),
        ("abc", 0.0),
        ("", 0.0),
        ("1.5.3", 1.5),
        ("1e3x", 1000.0),
        ("1e", 1.0),
        ("+5", 5.0),
        ("-.5", -0.5),
        ("0x10", 0.0),
        ("5.", 5.0),
        ("5.x", 5.0),
        ("-5.25e+2x", -525.0),
        ("25e-1.5", 2.5),
        (".e3", 0.0),
        ("-.", 0.0),
        ("+e3", 0.0),
        ("1.e2", 100.0),
        ("1e-", 1.0),
        ("1E2e3", 100.0),
        ("\n 7", 7.0),
        ("1234567890123456789012345x", 1.234_567_890_123_456_8e24),
    ] {
        assert_eq!(perl(text.as_bytes()), Some(number), "`{text}`");
    }
    for text in ["inf", "-Infinity", "NaN", "+nanny", " INF", "1e999"] {
        assert_eq!(perl(text.as_bytes()), None, "`{text}`");
    }
}

#[test]
fn decimals_are_whole_or_nothing() {
    for (text, number) in [
        ("1.25e-2", 0.0125),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("-7E2", -700.0),
        ("999999999999999", 999_999_999_999_999.0),
        ("1234567890123456789012345", 1.234_567_890_123_456_8e24),
    ] {
        assert_eq!(decimal(text.as_bytes()), Some(number), "`{text}`");
    }
    let none = [
        "", " 1", "1 ", "0x1", "1,5", "--1", "1e400", "inf", "nan", "Infinity", ".", "e1", "1e",
        "1_0",
    ];
    for text in none {
        assert_eq!(decimal(text.as_bytes()), None, "`{text}`");
    }
}
