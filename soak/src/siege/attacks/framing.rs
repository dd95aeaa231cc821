//! Messages whose end two servers may see at different places.
//!
//! Never here: messages that are sound and slow (`bodies`), but for heads that come in parts.

use std::time::Duration;

use crate::siege::assault::{Assault, push};
use crate::siege::wire::head;

const SMUGGLED: &str = "GET /s/fresh/evil HTTP/1.1\r\nHost: siege.test\r\n\r\n";

const CHUNKS: [&str; 12] = [
    "3 \r\nabc\r\n0\r\n\r\n",
    "3;;;\r\nabc\r\n0\r\n\r\n",
    "3;a=b\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "+3\r\nabc\r\n0\r\n\r\n",
    "-1\r\nabc\r\n0\r\n\r\n",
    "3\nabc\n0\n\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n",
    "3\r\nabc\r\n0\r\nbad trailer\r\n\r\n",
    "00000000000000000000000003\r\nabc\r\n0\r\n\r\n",
];

const FRAMINGS: [&str; 12] = [
    "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer_Encoding: chunked\r\n",
    "Content-Length: 0\r\nContent-Length: 54\r\n",
    "Content-Length: +5\r\n",
    "Content-Length: 5, 5\r\n",
    "Host: other.test\r\n",
    "X: a\r\n folded: b\r\nContent-Length: 5\r\n",
    "Content_Length: 5\r\nTransfer-Encoding:\tx\r\n",
];

/// Chunked bodies at the edge of the grammar, with a request behind them.
pub(super) fn chunks(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let body = assault.dice.pick(&CHUNKS);
        let start = head("POST", "/post/chunked", "Transfer-Encoding: chunked\r\n");
        assault.throw(&[&start, body.as_bytes(), SMUGGLED.as_bytes()].concat());
    }
}

/// Framings that contradict themselves, with a request behind them.
pub(super) fn smuggling(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let fields = assault.dice.pick(&FRAMINGS);
        let method = assault.dice.pick(&["GET", "POST"]);
        let start = head(method, "/post/framed", fields);
        let hidden = if assault.dice.chance(50) { "0\r\n\r\n" } else { "" };
        assault.throw(&[&start, hidden.as_bytes(), SMUGGLED.as_bytes()].concat());
    }
}

/// Heads that come in parts, large ones too, and never end.
pub(super) fn heads_in_parts(assault: &mut Assault<'_>) {
    let herd = assault.herd(200, None, |number| {
        let long = "x".repeat(if number % 4 == 0 { 20_000 } else { 20 });
        format!("GET /s/key/7 HTTP/1.1\r\nHost: siege.test\r\nX-Long: {long}").into_bytes()
    });
    assault.tend(herd, Duration::from_millis(500), |stream| {
        push(stream, b"\r\nX-Part: more").map(drop)
    });
}
