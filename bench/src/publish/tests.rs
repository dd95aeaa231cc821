//! How numbers are written and drawn.

use super::{chart, short};
use crate::measure::Measurement;

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

#[test]
fn what_is_to_be_drawn_becomes_bars_and_the_greatest_is_the_longest() {
    let measurement = |case: &str, value| Measurement::new(case, "received %", [value]);
    let all = [
        measurement("1 MB", 50.0).drawn(),
        measurement("aside", 400.0),
        measurement("16 MB", 100.0).drawn(),
    ];
    let (half, whole) = ("█".repeat(25), "█".repeat(50));
    let expected = format!("```\nreceived %\n1 MB   {half} 50\n16 MB  {whole} 100\n```\n\n");
    assert_eq!(chart(&all), expected);
    assert_eq!(chart(&all[1..2]), "");
}
