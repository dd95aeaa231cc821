//! Claims about how figures read.

use super::*;

#[test]
fn times_have_three_digits_and_a_unit() {
    for (ms, text) in [
        (0.0, "0 ms"),
        (-4e-16, "0 ms"),
        (0.000_25, "250 ns"),
        (0.0123, "12.3 µs"),
        (1.0, "1.00 ms"),
        (12.345, "12.3 ms"),
        (999.4, "999 ms"),
        (1500.0, "1.50 s"),
        (150_000.0, "2.50 min"),
        (-3.0, "-3.00 ms"),
        (f64::INFINITY, "unknown"),
    ] {
        assert_eq!(time(ms), text);
    }
    assert_eq!(
        (tick(500.0), tick(1500.0), tick(2.0)),
        ("500 ms".into(), "1.5 s".into(), "2 ms".into())
    );
}

#[test]
fn digits_follow_the_interval() {
    assert_eq!(exact(500.234_56, [499.6, 500.9]), "500.2 ms");
    assert_eq!(interval([499.61, 500.92]), "499.6 to 500.9 ms");
    assert_eq!(exact(5.0, [5.0, 5.0]), "5.00 ms");
}

#[test]
fn shares_counts_and_p_values_are_short() {
    assert_eq!(percent(0.1834), "18 %");
    assert_eq!(percent(0.004), "0.40 %");
    assert_eq!(percent(0.000_01), "< 0.01 %");
    assert_eq!((percent(1.0), percent(0.03)), ("100 %".into(), "3 %".into()));
    assert_eq!((count(999), count(28_221_878)), ("999".into(), "28,221,878".into()));
    assert_eq!(
        (p(0.001), p(3e-9), p(0.0)),
        ("p = 0.0010".into(), "p = 3e-9".into(), "p < 1e-300".into())
    );
    assert_eq!(
        (of(1, "call", "calls"), of(0, "call", "calls")),
        ("1 call".into(), "0 calls".into())
    );
}

#[test]
fn bytes_have_three_digits_and_a_unit() {
    let cases = [(0.0, "0 B"), (512.0, "512 B"), (8_192.0, "8.19 kB"), (999_600.0, "1.000 MB")];
    for (value, text) in cases {
        assert_eq!(bytes(value), text);
    }
    assert_eq!(bytes(1.3e15), "1300 TB");
}
