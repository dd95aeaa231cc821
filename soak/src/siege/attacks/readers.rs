//! Clients that hold what an upstream sends: endless answers, slow readers, idle tunnels.
//!
//! Never here: bodies of requests (`bodies`).

use std::time::Duration;

use crate::siege::assault::{Assault, push, sip};
use crate::siege::wire::head;

const UPGRADE: &str = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: c2llZ2Ugc2llZ2Ugc2llZw==\r\n";

/// Endless answers that may be stored.
pub(super) fn endless(assault: &mut Assault<'_>) {
    let salt = assault.dice.number();
    let herd =
        assault.herd(60, None, |number| head("GET", &format!("/s/endless/{salt}-{number}"), ""));
    assault.tend(herd, Duration::from_millis(20), |stream| sip(stream, 16 << 10));
}

/// Answers of 8 MB, read at 3 KB a second.
pub(super) fn slow(assault: &mut Assault<'_>) {
    let salt = assault.dice.number();
    let herd = assault.herd(100, Some(4096), |number| {
        head("GET", &format!("/p/slow-{salt}-{number}/size=8388608"), "")
    });
    assault.tend(herd, Duration::from_millis(300), |stream| sip(stream, 900));
}

/// Fetches that an upstream takes seconds for, each of another key.
pub(super) fn slow_fetches(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let salt = assault.dice.number();
        let route = assault.dice.pick(&["s", "p", "r", "strict"]);
        let herd = assault.herd(200, None, |number| {
            head("GET", &format!("/{route}/waits-{salt}-{number}/slow=3000"), "")
        });
        assault.tend_for(Duration::from_secs(4), herd);
    }
}

/// WebSockets that say nothing.
pub(super) fn idle_sockets(assault: &mut Assault<'_>) {
    let herd = assault.herd(100, None, |_| head("GET", "/ws/idle", UPGRADE));
    assault.tend(herd, Duration::from_secs(1), |_| Ok(()));
}

/// WebSockets that send without reading the echo.
pub(super) fn stuffed_sockets(assault: &mut Assault<'_>) {
    let herd = assault.herd(40, Some(4096), |_| head("GET", "/ws/stuffed", UPGRADE));
    let piece = vec![b'w'; 32 << 10];
    assault.tend(herd, Duration::from_millis(50), |stream| push(stream, &piece).map(drop));
}
