//! Claims about times of the command line.

use super::micros;

#[test]
fn what_is_missing_is_the_beginning() {
    let whole = micros("2026-11-01T00:00:00Z").unwrap();
    for text in ["2026-11", "2026-11-01", "2026-11-01T00", "2026-11-01T00:00:00"] {
        assert_eq!(micros(text).unwrap(), whole, "{text}");
    }
}

#[test]
fn a_number_that_is_not_written_in_full_is_refused() {
    for text in ["2026-1", "2026-11-2", "2026-11-21T9", "2026-11-21T09:4", "20", ""] {
        assert!(micros(text).is_err(), "{text}");
    }
}
