//! The filter language: what parses has one meaning, and `not` turns it round.

use exchange::{Exchange, Filter, decode};

pub(super) const TOKENS: &[&str] = &[
    "path",
    "status",
    "header.user-agent",
    "query.item",
    "total_us",
    "==",
    "!=",
    "<=",
    ">=",
    "~",
    "!~",
    "in",
    "[",
    "]",
    "(",
    ")",
    "not ",
    " and ",
    " or ",
    "true",
    "false",
    "'a'",
    "\"b\"",
    "10KB",
    "20ms",
    "1.5",
    "phases.fetch",
];

const LINE: &[u8] = concat!(
    r#"{"time":"2026-11-21T07:00:00.000001Z","id":"0000000000000000000000000000000a","#,
    r#""method":"GET","host":"a","path":"/1/x","query":"item=7&b","status":200,"#,
    r#""bytes_out":10240,"user":"ann","total_us":20000}"#,
)
.as_bytes();

pub(super) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(filter) = Filter::parse(text) else { return };
    assert_eq!(filter.as_str(), text);
    let exchange: Exchange<'_> = decode(LINE).expect("the sample is a line");
    let matches = filter.matches(&exchange);
    let turned = |text: String| Filter::parse(&text).ok().map(|filter| filter.matches(&exchange));
    // At the bounds of length and depth the longer text may be refused.
    assert_ne!(turned(format!("not ({text})")), Some(matches), "`not` does not turn it round");
    assert_ne!(turned(format!("({text}) and true")), Some(!matches));
    assert_ne!(turned(format!("({text}) or false")), Some(!matches));
}
