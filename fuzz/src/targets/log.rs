//! Log lines of every format, as scanners cut them.
//!
//! Each line is seen once, where it stands. The structure of a piece does not depend on what else
//! is in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use exchange::Fields;
use pipeline::{Decoder, Format};

pub(super) const TOKENS: &[&str] = &[
    "\n",
    "1.2.3.4 - - ",
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
];

const FORMATS: [&str; 7] = [
    "combined",
    "common",
    "ltsv",
    "tidegate",
    "json",
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
    for name in FORMATS {
        let format = Format::parse(name, None, &BTreeMap::new()).expect("a known format");
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
        next = start + line.len() + 1;
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
