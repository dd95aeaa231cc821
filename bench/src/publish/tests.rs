//! How numbers are written.

use super::short;

#[test]
fn writes_three_significant_digits() {
    for (value, text) in [
        (0.756, "0.76"),
        (1.0, "1"),
        (11.66, "11.7"),
        (502.3, "502"),
        (9_999.0, "9999"),
        (104_300.0, "104.3 k"),
        (4_312_000.0, "4.31 M"),
        (31_200_000.0, "31.2 M"),
        (f64::NAN, "–"),
    ] {
        assert_eq!(short(value), text);
    }
}
