//! Claims about requests that offer an upgrade.
//!
//! They are forwarded only if the route says so. There is a tunnel only after the upstream's 101,
//! and its bytes are never read as requests.

use std::io::{Read, Write};
use std::net::Shutdown;

use exchange::CacheResult;
use testkit::FIXTURE_TIMEOUT;

use super::raw::{Line, RawOrigin, bytes, connect, head, rest, say};
use super::{Served, check, eventually, route_to_addresses, serve};

const PASS: &str = "upgrade = [\"websocket\"]";
const OPEN: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n\
                    Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                    Sec-WebSocket-Version: 13\r\n\r\n";
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

/// An origin that speaks WebSocket at `/chat`: it echoes every frame, and ends with a close frame.
fn chat() -> RawOrigin {
    RawOrigin::start(|head, line| {
        if !head.starts_with("GET /chat ") || !head.contains("upgrade: websocket\r\n") {
            say(
                line,
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nplain",
            );
            return true;
        }
        say(
            line,
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        );
        while let Some((kind, text)) = frame(line) {
            say(line, [&[0x80 | kind, text.len() as u8], &text[..]].concat());
            if kind == 8 {
                return false;
            }
        }
        say(line, b"\x88\x00");
        false
    })
}

/// Reads a frame and unmasks it; `None` at the end of the connection (RFC 6455 §5.2).
fn frame(line: &mut Line) -> Option<(u8, Vec<u8>)> {
    let mut start = [0; 2];
    line.read_exact(&mut start).ok()?;
    let mut mask = [0; 4];
    if start[1] & 0x80 != 0 {
        line.read_exact(&mut mask).ok()?;
    }
    let mut text = vec![0; usize::from(start[1] & 0x7f)];
    line.read_exact(&mut text).ok()?;
    text.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some((start[0] & 0x0f, text))
}

/// Returns a text frame as a client sends it.
fn masked(text: &str) -> Vec<u8> {
    let mask = [1, 2, 3, 4];
    let masked = text.bytes().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    [&[0x81, 0x80 | text.len() as u8], &mask[..], &masked.collect::<Vec<u8>>()].concat()
}

fn before(origin: &RawOrigin, route: &str) -> Served {
    serve(&route_to_addresses(&[origin.address], "", route))
}

#[test]
fn a_websocket_goes_both_ways_and_is_one_recorded_exchange() {
    let origin = chat();
    let served = before(&origin, &format!("{PASS}\ncache = {{ ttl = \"60s\" }}"));
    let mut line = connect(served.address, OPEN);
    let answer = head(&mut line);
    assert_eq!(answer[0], "HTTP/1.1 101 Switching Protocols");
    for field in [
        "connection: upgrade",
        "upgrade: WebSocket",
        "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "cache-status: tidegate; fwd=bypass",
    ] {
        assert!(answer.iter().any(|line| line == field), "{field}: {answer:?}");
    }
    let sent = &origin.heads()[0];
    assert!(sent.contains("\r\nconnection: upgrade\r\nupgrade: websocket\r\n"), "{sent}");
    assert!(sent.contains("\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "{sent}");
    assert_eq!(served.gateway.metrics.tunnels.get(), 1);
    for text in ["hello", HIDDEN, "", "bye"] {
        say(&mut line, masked(text));
        assert_eq!(frame(&mut line), Some((1, text.as_bytes().to_vec())));
    }
    // The client ends its direction first; the origin may still send.
    line.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(frame(&mut line), Some((8, Vec::new())));
    assert_eq!(rest(&mut line), "");
    let record = served.journal.wait_for(1)[0].clone();
    assert_eq!(
        (record.path.as_str(), record.status, record.cache),
        ("/chat", 101, CacheResult::Pass)
    );
    let (up, down) = (4 * 6 + 41, 4 * 2 + 41 + 2);
    assert_eq!((record.bytes_in, record.bytes_out), (up, down));
    assert_eq!(origin.asked(), ["GET /chat"]);
    eventually("no tunnel is open", || served.gateway.metrics.tunnels.get() == 0);
}

#[test]
fn without_the_routes_word_the_offer_is_ignored_and_what_follows_is_a_request() {
    let origin = chat();
    for route in ["", "cache = {}", "upgrade = []", "upgrade = [\"other\"]"] {
        let served = before(&origin, route);
        let seen = origin.heads().len();
        let mut line =
            connect(served.address, format!("{OPEN}{}", HIDDEN.replace("hidden", "next")));
        assert_eq!(head(&mut line)[0], "HTTP/1.1 200 OK", "{route}");
        assert_eq!(bytes(&mut line, 5), b"plain");
        assert_eq!(head(&mut line)[0], "HTTP/1.1 200 OK", "{route}");
        assert_eq!(bytes(&mut line, 5), b"plain");
        let heads = origin.heads()[seen..].concat();
        assert!(!heads.contains("upgrade"), "{route}: {heads}");
        assert_eq!(origin.asked()[seen..], ["GET /chat", "GET /next"]);
    }
}

/// CVE-2026-2833 in another proxy: a connection became a tunnel before the upstream had agreed.
#[test]
fn bytes_behind_an_offer_reach_nobody_before_the_101_and_are_no_request_without_it() {
    let refusals = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=60\r\n\r\nno",
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: other\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nno\r\n0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno",
    ];
    for refusal in refusals {
        let origin = RawOrigin::start(move |_, line| {
            say(line, refusal);
            true
        });
        let served = before(&origin, &format!("{PASS}\ncache = {{}}"));
        for _ in 0..2 {
            let mut line = connect(served.address, format!("{OPEN}{HIDDEN}"));
            let text = rest(&mut line);
            let last = text.split("HTTP/1.1 ").last().unwrap();
            assert!(text.contains("connection: close\r\n"), "{text}");
            assert!(last.ends_with("\r\n\r\nno") || last.ends_with("\r\n0\r\n\r\n"), "{text}");
            assert!(!last.contains("\r\nupgrade:"), "{text}");
        }
        assert_eq!(served.gateway.metrics.tunnels.get(), 0);
        drop(served);
        assert_eq!(
            origin.finish(),
            ["GET /chat", "GET /chat"],
            "nothing is stored, nothing hidden"
        );
    }
}

#[test]
fn a_101_without_or_with_another_protocol_is_502() {
    for answer in [
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket, h2c\r\n\r\n",
    ] {
        let origin = RawOrigin::start(move |_, line| {
            say(line, answer);
            say(line, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            true
        });
        let served = before(&origin, PASS);
        let text = rest(&mut connect(served.address, format!("{OPEN}{HIDDEN}")));
        assert!(text.starts_with("HTTP/1.1 502 "), "{text}");
        assert_eq!((text.matches("HTTP/1.1").count(), text.contains("evil")), (1, false), "{text}");
        assert_eq!(origin.asked(), ["GET /chat"]);
        eventually("the place is free", || served.gateway.metrics.tunnels.get() == 0);
    }
}

#[test]
fn only_a_plain_get_of_http_1_1_that_names_the_field_makes_an_offer() {
    let origin = chat();
    let served = before(&origin, PASS);
    for request in [
        OPEN.replace("GET", "HEAD"),
        OPEN.replace("GET", "POST"),
        OPEN.replace("HTTP/1.1", "HTTP/1.0"),
        OPEN.replace("keep-alive, Upgrade", "keep-alive"),
        OPEN.replace("Upgrade: websocket\r\n", "Upgrade: h2c\r\n"),
        OPEN.replace("Upgrade: websocket\r\n", ""),
        OPEN.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nhi"),
        OPEN.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
    ] {
        let mut line = connect(served.address, &request);
        assert_eq!(head(&mut line)[0], "HTTP/1.1 200 OK", "{request}");
        let sent = origin.heads().pop().unwrap();
        assert!(!sent.to_ascii_lowercase().contains("upgrade"), "{sent}");
    }
    let several = OPEN.replace("Upgrade: websocket", "Upgrade: h2c, WebSocket");
    let mut line = connect(served.address, several.replace("\r\nSec-WebSocket-V", "\r\nX-V"));
    head(&mut line);
    let sent = origin.heads().pop().unwrap();
    assert!(
        sent.contains("\r\nupgrade: WebSocket\r\n"),
        "only what is let through goes on: {sent}"
    );
}

/// Serves with at most one connection and one tunnel to the origin.
fn before_one(origin: &RawOrigin, route: &str) -> Served {
    let upstream = "connections_max = 1\ntunnels_max = 1";
    serve(&route_to_addresses(&[origin.address], upstream, route))
}

#[test]
fn a_quiet_tunnel_ends_on_both_sides_and_gives_its_place_back() {
    let origin = chat();
    let served = before_one(&origin, &format!("{PASS}\ntunnel_idle_timeout = \"1ns\""));
    for count in 1..3 {
        let mut line = connect(served.address, OPEN);
        assert_eq!(head(&mut line)[0], "HTTP/1.1 101 Switching Protocols");
        assert_eq!(rest(&mut line), "");
        origin.wait_for_ends(count);
        eventually("the tunnel is gone", || served.gateway.metrics.tunnels.get() == 0);
    }
}

#[test]
fn a_tunnel_takes_a_place_among_the_upstreams_tunnels_as_long_as_it_lasts() {
    let origin = chat();
    let served = before_one(&origin, PASS);
    let mut line = connect(served.address, OPEN);
    assert_eq!(head(&mut line)[0], "HTTP/1.1 101 Switching Protocols");
    let refused = rest(&mut connect(served.address, OPEN));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    // Tunnels leave the connections to requests.
    assert_eq!(served.get("/").status, 200);
    drop(line);
    eventually("the tunnel is gone", || served.gateway.metrics.tunnels.get() == 0);
    let mut line = connect(served.address, OPEN);
    assert_eq!(head(&mut line)[0], "HTTP/1.1 101 Switching Protocols");
}

#[test]
fn the_drain_waits_for_no_quiet_tunnel() {
    let origin = chat();
    let mut served = before(&origin, PASS);
    let mut line = connect(served.address, OPEN);
    head(&mut line);
    served.drain.begin(FIXTURE_TIMEOUT);
    served.thread.take().unwrap().join().unwrap();
    assert_eq!(rest(&mut line), "");
    assert_eq!(served.journal.wait_for(1)[0].status, 101);
}

#[test]
fn an_upstream_that_breaks_off_ends_the_tunnel() {
    let origin = RawOrigin::start(|_, line| {
        say(line, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nlast words");
        false
    });
    let served = before(&origin, PASS);
    let mut line = connect(served.address, OPEN);
    head(&mut line);
    assert_eq!(rest(&mut line), "last words");
    let _ = line.get_mut().write_all(b"anybody?");
    line.get_ref().shutdown(Shutdown::Both).unwrap();
    assert_eq!(served.journal.wait_for(1)[0].status, 101);
}

#[test]
fn protocols_that_would_pass_the_routes_by_are_refused_in_the_configuration() {
    for (route, error) in [
        ("upgrade = [\"h2c\"]", "`h2c` would take requests past the routes"),
        ("upgrade = [\"TLS\"]", "`TLS` would take requests past the routes"),
        ("upgrade = [\"web socket\"]", "`web socket` is not a protocol"),
        ("upgrade = [\"\"]", "`` is not a protocol"),
        ("upgrade = [\"websocket\"]\ntunnel_idle_timeout = \"soon\"", "soon"),
    ] {
        let (_, problems) =
            check(&route_to_addresses(&["127.0.0.1:1".parse().unwrap()], "", route));
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(problems.len() == 1 && problems[0].contains(error), "{route}: {problems:?}");
    }
    let text = "[[route]]\npath = \"/x\"\nto = \"model:news\"\nupgrade = [\"websocket\"]\n";
    assert!(check(text).1[0].to_string().contains("only an upstream"));
}
