//! Many requests, or many connections, of one client.
//!
//! Never here: requests that are malformed (`framing`).

use std::time::Duration;

use crate::siege::assault::{Assault, push};
use crate::siege::wire::{head, message};

/// Unsafe requests to ever new paths, of routes that store and that do not.
pub(super) fn quiet_posts(assault: &mut Assault<'_>) {
    let salt = assault.dice.number();
    for number in 0_u64.. {
        if !assault.is_on() {
            break;
        }
        let route = if number.is_multiple_of(2) { "post" } else { "d" };
        let target = format!("/{route}/quiet-{salt}-{number}");
        assault.ask("POST", &message("POST", &target, b""));
    }
}

/// Queries of 50 KB, which would flush the journal.
pub(super) fn long_queries(assault: &mut Assault<'_>) {
    let query = "q".repeat(50_000);
    while assault.is_on() {
        let target = format!("/p/long?{}{query}", assault.dice.number());
        assault.get(&target, "");
    }
}

/// Connections that ask nothing, or once.
pub(super) fn many_connections(assault: &mut Assault<'_>) {
    let herd = assault.herd(1500, None, |number| match number % 2 {
        0 => Vec::new(),
        _ => head("GET", "/s/key/1", ""),
    });
    assault.tend(herd, Duration::from_secs(1), |_| Ok(()));
}

/// Clients that close their side and wait.
pub(super) fn half_closed(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let targets = ["/s/key/2", "/p/half/size=200000", "/s/half/slow=500", "/up/half"];
        let target = assault.dice.pick(&targets);
        let herd = assault.herd(20, None, |_| head("GET", target, ""));
        for stream in &herd {
            // It may be over already.
            drop(stream.shutdown(std::net::Shutdown::Write));
        }
        assault.tend_for(Duration::from_millis(600), herd);
    }
}

/// Clients that leave without reading, so that the kernel resets the connection.
pub(super) fn resets(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let targets = ["/s/key/3", "/p/reset/size=400000", "/u/page/1", "/s/reset/slow=300"];
        let target = assault.dice.pick(&targets);
        let herd = assault.herd(20, Some(4096), |_| head("GET", target, ""));
        let wait = assault.dice.below(60);
        assault.rest(Duration::from_millis(wait));
        for stream in herd {
            drop(stream);
            assault.count("left");
        }
    }
}

/// Pipelined requests whose answers nobody reads.
pub(super) fn unread_pipelines(assault: &mut Assault<'_>) {
    let many = head("GET", "/s/key/4", "").repeat(40);
    let large = head("GET", "/p/piped/size=100000", "").repeat(40);
    let herd = assault.herd(50, Some(4096), |_| Vec::new());
    let mut turn = 0;
    assault.tend(herd, Duration::from_millis(100), |stream| {
        turn += 1;
        push(stream, if turn % 2 == 0 { &many } else { &large }).map(drop)
    });
}

/// HEAD of everything.
pub(super) fn heads(assault: &mut Assault<'_>) {
    methods(assault, &["HEAD"]);
}

/// OPTIONS of everything.
pub(super) fn options(assault: &mut Assault<'_>) {
    methods(assault, &["OPTIONS"]);
}

/// What debuggers and caches obey.
pub(super) fn traces(assault: &mut Assault<'_>) {
    methods(assault, &["TRACE", "TRACK", "CONNECT", "get", "FOO"]);
}

fn methods(assault: &mut Assault<'_>, methods: &[&str]) {
    while assault.is_on() {
        let others = assault.target_of_others();
        let method = assault.dice.pick(methods);
        let target = assault.dice.pick(&["/s/key/5", "/d/key/7", "/u/page/2", "/p/any", &others]);
        assault.ask(method, &head(method, target, ""));
    }
}
