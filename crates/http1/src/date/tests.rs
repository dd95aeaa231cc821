//! Claims about reading HTTP dates.

use std::time::{Duration, UNIX_EPOCH};

use super::parse;

#[test]
fn the_three_forms_name_the_same_second() {
    let expected = Some(UNIX_EPOCH + Duration::from_secs(784_111_777));
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "SUN, 06 NOV 1994 08:49:37 gmt",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        " Sun, 06 Nov 1994 08:49:37 GMT ",
    ] {
        assert_eq!(parse(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_short_year_is_never_more_than_fifty_years_ahead() {
    let year = |text: &str| {
        let since = parse(text.as_bytes()).unwrap().duration_since(UNIX_EPOCH).unwrap();
        1970 + since.as_secs() / 31_556_952
    };
    assert_eq!(year("Thursday, 18-Aug-50 02:01:18 GMT"), 2050);
    assert_eq!(year("Thursday, 18-Aug-94 02:01:18 GMT"), 1994);
}

#[test]
fn what_is_no_date_is_none() {
    for text in [
        "",
        "0",
        "-1",
        "Thu, 18 Aug 2050 02:01:18 UTC",
        "Thu, 18 Aug 50 02:01:18 GMT",
        "Thu 18 Aug 2050 02:01:18 GMT",
        "Thu, 18  Aug  2050 02:01:18 GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT",
        "Thu, 18 Aug 2050 02.01.18 GMT",
        "Thu, 18 Aug 2050 2:01:18 GMT",
        "Thu, 18 Aug 2050 24:01:18 GMT",
        "Thu, 18 Aux 2050 02:01:18 GMT",
        "Thu, 01 Jan 1969 00:00:00 GMT",
        "Thursday, 18-Aug-50 02:01:18",
        "Sun Nov 6 08:49:37 1994",
    ] {
        assert_eq!(parse(text.as_bytes()), None, "{text}");
    }
}
