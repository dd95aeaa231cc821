//! HTTP dates (RFC 9110 §5.6.7): where a well-known reader reads one, ours reads the same, and what
//! is written is read again.

use http1::date::parse;

pub(super) const TOKENS: &[&str] = &[
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "Feb",
    "29",
    "2000",
    "1970",
    "9999",
    "60",
    "24:",
    " GMT",
];

pub(super) fn run(input: &[u8]) {
    if input.iter().any(|b| b.is_ascii_control()) {
        // No field value holds one.
        return;
    }
    let ours = parse(input);
    let text = std::str::from_utf8(input).ok();
    // The year of two digits is read by today's date, and weekdays are not checked here.
    let is_short = input.iter().position(|b| *b == b',').is_some_and(|at| at > 3);
    let theirs = text.filter(|_| !is_short).and_then(|t| httpdate::parse_http_date(t).ok());
    if let Some(theirs) = theirs {
        assert_eq!(ours, Some(theirs), "two readings of a date");
    }
    let year_10000 = std::time::Duration::from_secs(253_402_300_800);
    let ours = ours.filter(|at| *at < std::time::UNIX_EPOCH + year_10000);
    if let Some(at) = ours {
        assert_eq!(parse(httpdate::fmt_http_date(at).as_bytes()), Some(at));
    }
}
