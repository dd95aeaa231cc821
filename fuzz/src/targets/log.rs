//! Log lines of every format, as scanners cut them.
//!
//! Each line is seen once, where it stands. The structure of a piece does not depend on what else
//! is in it.

use std::sync::Arc;

use exchange::Fields;
use pipeline::{Decoder, FORMAT_NAMES, Format, SourceConfig};

pub(super) const TOKENS: &[&str] = &[
    "\n",
    "1.2.3.4 - - ",
    "1.2.3.4 e.org:80 - ",
    "[21/Nov/2026:03:54:12 +0000] ",
    "\"GET /a?b=1 HTTP/1.1\" ",
    "200 12 ",
    "\"-\" \"-\"",
    "\\x22",
    "\\\"",
    "{\"time\":\"2026-11-21T07:00:00.000001Z\",",
    "\"method\":\"GET\",\"path\":\"/\",\"status\":200",
    "\"phases\":{\"fetch\":1}",
    "time:",
    "\treq:GET / HTTP/1.1",
    "\tstatus:200",
    "}",
    "[",
    "]",
    "<134>",
    "<134>1 2026-11-21T07:00:00Z web1 app 7 - - ",
    "Nov 21 07:00:00 web1 haproxy[7]: ",
    "1.2.3.4:5 [21/Nov/2026:03:54:12.123] in out/s1 0/0/1/2/3 200 12 - - ---- 1/1/0/0/0 0/0 ",
    "2026-11-21T07:00:00Z stdout F ",
    "{\"log\":\"a\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-21T07:00:00Z\"}",
    "\"StartUTC\":\"2026-11-21T07:00:00Z\",\"RequestPath\":\"/a?b=1\",\"Duration\":7",
    "10.0.0.1:80, 10.0.0.2:80 502, 200 0.001, 0.002 ",
    " level=info msg=\"a b\"",
    "1763697252.123    456 1.2.3.4 TCP_MISS/200 12 GET http://a/b - HIER_DIRECT/1.2.3.4 text/html",
];

/// Formats by name whose lines depend on each other, by their directives. Wrappers of pieces are
/// left out for the same reason; as formats, `docker` and `cri` take each line alone.
const DEPENDENT: [&str; 3] = ["iis", "w3c", "cloudfront"];
/// What formats may also be.
const TEMPLATES: [&str; 2] = [
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent",
    "{\"t\":\"$time_iso8601\",\"u\":\"$request_uri\",\"s\":$status}",
];

const FIELDS: [&str; 12] = [
    "path",
    "query.b",
    "status",
    "bytes_out",
    "total",
    "user",
    "header.user-agent",
    "cache",
    "phase.fetch",
    "model",
    "propensity",
    "var.x",
];

pub(super) fn run(input: &[u8]) {
    let names = FORMAT_NAMES.iter().filter(|name| !DEPENDENT.contains(name));
    for name in names.chain(&TEMPLATES) {
        let config = SourceConfig { format: Some((*name).to_owned()), ..SourceConfig::default() };
        let format = Format::parse(&config).expect("a known format");
        let mut decoder = Decoder::new(&format, Arc::new([]));
        let whole = read(&mut decoder, input);
        let mut alone = Vec::new();
        for line in input.split_inclusive(|byte| *byte == b'\n').filter(|l| l.ends_with(b"\n")) {
            alone.extend(read(&mut Decoder::new(&format, Arc::new([])), line));
        }
        assert_eq!(whole, alone, "a line depends on its neighbours in {name}");
    }
}

/// What each line became, in order.
fn read(decoder: &mut Decoder, input: &[u8]) -> Vec<Result<Vec<String>, String>> {
    let mut seen = Vec::new();
    let mut next = 0;
    decoder.each(input, |start, line, outcome| {
        assert_eq!(start, next, "a line was passed over, or seen twice");
        assert_eq!(&input[start..start + line.len()], line, "a line is not where it is said to be");
        // A carriage return before the line feed is no part of the line.
        let end = start + line.len();
        next = end + 1 + usize::from(input[end] == b'\r');
        seen.push(outcome.map_err(|error| error.to_string()).map(|event| {
            let shown = |name: &&str| {
                let field = name.parse().expect("a known field");
                event.field(&field).map_or("-".to_owned(), |value| value.to_string())
            };
            FIELDS.iter().map(shown).collect()
        }));
    });
    seen
}
