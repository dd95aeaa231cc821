//! Lines of logs: whatever is read from one and written again is read the same.

use exchange::{Exchange, ExchangeRef, decode, decode_combined, decode_ltsv, encode};

pub(super) const TOKENS: &[&str] = &[
    "\"time\":\"2026-11-21T07:00:00.000001Z\"",
    "\"id\":\"",
    "\"method\":\"GET\"",
    "\"path\":\"/\"",
    "\"status\":200",
    "{",
    "}",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\u00e9",
    "null",
    "[1]",
    "1e9",
    "\"phases\":{\"fetch\":1}",
    "time:",
    "\treq:GET / HTTP/1.1",
    "\tstatus:200",
    "[21/Nov/2026:03:54:12 +0000]",
    "\\x22",
];

pub(super) fn run(input: &[u8]) {
    for read in [decode, decode_combined, decode_ltsv] {
        if let Ok(exchange) = read(input) {
            check(&exchange);
        }
    }
}

fn check(exchange: &Exchange<'_>) {
    let first = written(exchange);
    assert_eq!(first.iter().filter(|b| **b == b'\n').count(), 1, "a line is one line");
    let again = decode(&first).expect("what is written can be read");
    assert_eq!(written(&again), first, "what is read again differs");
    assert_eq!((again.path.as_ref(), &again.query), (exchange.path.as_ref(), &exchange.query));
    assert_eq!((again.status, again.id), (exchange.status, exchange.id));
    assert_eq!(again.user, exchange.user);
}

fn written(exchange: &Exchange<'_>) -> Vec<u8> {
    let line = ExchangeRef {
        time_us: exchange.time_us,
        id: exchange.id,
        method: &exchange.method,
        scheme: &exchange.scheme,
        host: exchange.host.as_deref(),
        path: &exchange.path,
        query: exchange.query.as_deref(),
        version: &exchange.version,
        status: exchange.status,
        bytes_in: exchange.bytes_in,
        bytes_out: exchange.bytes_out,
        client_ip: exchange.client_ip,
        user: exchange.user.as_deref(),
        user_agent: exchange.user_agent.as_deref(),
        referer: exchange.referer.as_deref(),
        route: exchange.route.as_deref(),
        decision: exchange.decision,
        decision_detail: exchange.decision_detail.as_deref(),
        cache: exchange.cache,
        upstream: exchange.upstream.as_deref(),
        ranked_by: exchange.ranked_by,
        fetched_by: exchange.fetched_by,
        phases: exchange.phases,
        total_us: exchange.total_us,
        impression: exchange.impression.as_ref(),
    };
    let mut out = Vec::new();
    encode(&line, &mut out);
    out
}
