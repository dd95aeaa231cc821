//! Claims about bounds as they are written.

use super::{BoundLimit, BoundMeasure, FailBound};

#[track_caller]
fn read(text: &str) -> FailBound {
    text.parse().unwrap()
}

#[test]
fn every_measure_is_read_with_or_without_blanks() {
    for (text, measure, limit) in [
        ("p99 > 50ms", BoundMeasure::Quantile(0.99), BoundLimit::Milliseconds(50.0)),
        ("p99.9>1s", BoundMeasure::Quantile(0.999), BoundLimit::Milliseconds(1000.0)),
        (" median  >  250us ", BoundMeasure::Quantile(0.5), BoundLimit::Milliseconds(0.25)),
        ("mean > 1h", BoundMeasure::Mean, BoundLimit::Milliseconds(3.6e6)),
        ("stddev > 20ms", BoundMeasure::Stddev, BoundLimit::Milliseconds(20.0)),
        ("max > 0ms", BoundMeasure::Max, BoundLimit::Milliseconds(0.0)),
        ("errors > 1%", BoundMeasure::Errors, BoundLimit::Share(0.01)),
        ("errors > 0", BoundMeasure::Errors, BoundLimit::Count(0)),
        ("slower > 5 %", BoundMeasure::Slower, BoundLimit::Share(0.05)),
    ] {
        let bound = read(text);
        assert_eq!((bound.measure, bound.limit), (measure, limit), "{text}");
    }
    assert!(read("errors >= 3").is_or_equal && !read("errors > 3").is_or_equal);
    assert_eq!(read(" p99>50ms ").text, "p99 > 50ms");
}

#[test]
fn what_is_none_is_refused_with_its_column_and_the_grammar() {
    for (text, column, part) in [
        ("", 1, "a measure is missing"),
        ("  p0 > 1ms", 3, "`p0` is no measure"),
        ("p100 > 1ms", 1, "`p100` is no measure"),
        ("pinf > 1ms", 1, "`pinf` is no measure"),
        ("p99", 4, "`>` and a limit are missing"),
        ("p99 < 1ms", 5, "`<` is neither"),
        ("p99 >> 1ms", 5, "`>>` is neither"),
        ("p99 > ", 7, "a limit is missing"),
        ("p99 > 50", 7, "`50` is no length of time"),
        ("p99 > 5%", 7, "`5%` is no length of time"),
        ("stddev > 5%", 10, "`5%` is no length of time"),
        ("µ > 5%", 1, "`µ` is no measure"),
        ("errors > 100%", 10, "neither a share below 100%"),
        ("errors > 5ms", 10, "neither a share"),
        ("slower > 5", 10, "`5` is no share"),
        ("slower > -5%", 10, "`-5%` is no share"),
    ] {
        let error = text.parse::<FailBound>().unwrap_err();
        let words = error.to_string();
        assert_eq!(error.column, column, "{text}: {words}");
        assert!(words.contains(part) && words.contains("write MEASURE > LIMIT"), "{text}: {words}");
    }
}
