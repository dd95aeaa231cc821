//! Regressions of the answering side, on raw sockets: an upstream that frames its answers to be
//! misread, sends more or less than it says, or speaks unasked. Each case shows what the client
//! gets, that nothing of it is taken for the answer to another request, and that nothing cut off is
//! stored.

use std::sync::{Arc, Condvar, Mutex};

use testkit::Client;

use super::raw::{RawOrigin, connect, rest, say};
use super::{Served, route_to_addresses, serve};

/// An answer that nobody asked for.
const EVIL: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nevil";

const ROUTES: [&str; 3] = ["", "cache = { ttl = \"60s\" }", "cache = {}"];

/// What the client gets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gets {
    /// This status and body.
    Answer(u16, &'static str),
    /// 502, and nothing of the answer.
    Refusal,
    /// An answer that visibly breaks off, or 502 when it was to be stored.
    Break,
}
use Gets::{Answer, Break, Refusal};

/// An origin that answers `/bad` with these bytes, then keeps the connection or ends it.
fn saying(bytes: Vec<u8>, keeps: bool) -> RawOrigin {
    RawOrigin::start(move |head, line| {
        let target = head.split(' ').nth(1).unwrap();
        if target == "/bad" {
            say(line, &bytes);
            return keeps;
        }
        say(line, format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{target}", target.len()));
        true
    })
}

fn before(origin: &RawOrigin, route: &str) -> Served {
    serve(&route_to_addresses(&[origin.address], "", route))
}

/// The next clients get their own answers, whichever connections these come on.
fn others_get_their_own(served: &Served, shown: &str) {
    for target in ["/a", "/b", "/c"] {
        let reply = Client::get(served.address, target).send();
        assert_eq!((reply.status, reply.text()), (200, target), "after {shown}");
    }
}

fn case(bytes: &[u8], keeps: bool, gets: Gets) {
    let shown = format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
    for route in ROUTES {
        let origin = saying(bytes.to_vec(), keeps);
        let served = before(&origin, route);
        let rounds = if matches!(gets, Answer(..)) { 1 } else { 2 };
        for _ in 0..rounds {
            let reply = Client::get(served.address, "/bad").try_send();
            let got = reply.map(|reply| (reply.status, String::from_utf8(reply.body).unwrap()));
            match (gets, got) {
                (Answer(status, body), Ok(got)) => {
                    assert_eq!(got, (status, body.into()), "{shown}")
                }
                (Refusal | Break, Ok((502, body))) => assert!(!body.contains("evil"), "{shown}"),
                (Break, Err(_)) => {}
                (_, got) => panic!("{shown} was passed on as {got:?} with {route:?}"),
            }
            others_get_their_own(&served, &shown);
        }
        drop(served);
        let bad = origin.finish().iter().filter(|asked| *asked == "GET /bad").count();
        // One more is a kept connection that ended without a word: there it is asked again.
        assert!(bad >= rounds, "{shown} was stored");
    }
}

/// The bytes come with and without an answer behind them.
fn case_with_more(head: &str, body: &str, gets: Gets) {
    case(format!("HTTP/1.1 {head}\r\n\r\n{body}").as_bytes(), true, gets);
    case(format!("HTTP/1.1 {head}\r\n\r\n{body}{EVIL}").as_bytes(), true, gets);
}

#[test]
fn what_stands_behind_an_answer_answers_nobody() {
    for (head, body, gets) in [
        ("200 OK\r\nContent-Length: 3", "abc", Answer(200, "abc")),
        ("200 OK\r\nContent-Length: 0", "", Answer(200, "")),
        ("404 Not Found\r\nContent-Length: 3", "abc", Answer(404, "abc")),
        ("200 OK\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", Answer(200, "abc")),
        (
            "200 OK\r\nTransfer-Encoding: CHUNKED",
            "3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
            Answer(200, "abc"),
        ),
        ("200 OK\r\nTransfer-Encoding: chunked", "0\r\n\r\n", Answer(200, "")),
        ("204 No Content", "", Answer(204, "")),
        ("204 No Content\r\nContent-Length: 0", "", Answer(204, "")),
        ("204 No Content\r\nContent-Length: 4", "evil", Answer(204, "")),
        ("204 No Content\r\nTransfer-Encoding: chunked", "4\r\nevil\r\n0\r\n\r\n", Answer(204, "")),
        ("200 OK\r\nContent-Length: 3\r\nContent-Length: 3", "abc", Answer(200, "abc")),
        ("200 OK\r\nContent-Length: 3, 3", "abc", Answer(200, "abc")),
        ("200 OK\r\nContent-Length: 003", "abc", Answer(200, "abc")),
        (
            "200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked",
            "3\r\nabc\r\n0\r\n\r\n",
            Answer(200, "abc"),
        ),
        (
            "200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0",
            "3\r\nabc\r\n0\r\n\r\n",
            Answer(200, "abc"),
        ),
        (
            "103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3",
            "abc",
            Answer(200, "abc"),
        ),
        ("100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3", "abc", Answer(200, "abc")),
    ] {
        case_with_more(head, body, gets);
    }
    let head_only = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
    for more in ["", "evil", "HTTP", EVIL] {
        let origin = saying(format!("{head_only}{more}").into_bytes(), true);
        let served = before(&origin, "");
        let mut line =
            connect(served.address, "HEAD /bad HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let text = rest(&mut line);
        assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("\r\n\r\n"), "{text}");
        others_get_their_own(&served, more);
    }
}

#[test]
fn answers_whose_framing_is_in_doubt_are_502() {
    let length = "200 OK\r\nContent-Length";
    for (head, body) in [
        (format!("{length}: 3\r\nContent-Length: 4"), "abc"),
        (format!("{length}: 4\r\nContent-Length: 3"), "abc"),
        (format!("{length}: 3, 4"), "abc"),
        (format!("{length}: 3,"), "abc"),
        (format!("{length}: +3"), "abc"),
        (format!("{length}: -3"), "abc"),
        (format!("{length}: 0x3"), "abc"),
        (format!("{length}: 3 3"), "abc"),
        (format!("{length}: 3.0"), "abc"),
        (format!("{length}:"), "abc"),
        (format!("{length}: many"), "abc"),
        (format!("{length}: 18446744073709551616"), "abc"),
        (format!("{length}: 18446744073709551619"), "abc"),
        (format!("{length} : 3"), "abc"),
        (format!("{length}\t: 3"), "abc"),
        (format!("{length}:\r\n 3"), "abc"),
        (format!("{length}: 3\r\n 3"), "abc"),
        (format!("{length}: 3\0"), "abc"),
    ] {
        case_with_more(&head, body, Refusal);
    }
    let chunks = "3\r\nabc\r\n0\r\n\r\n";
    for coding in [
        "gzip",
        "identity",
        "xchunked",
        "chunked, gzip",
        "gzip, chunked",
        "chunked, chunked",
        "identity, chunked",
        "chunked, identity",
        "chunked,",
        ",chunked",
        "chunked;q=1",
        "\"chunked\"",
        "",
        "chunked\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: identity",
        "\x0bchunked",
        "chunked\0",
        "\r\n chunked",
        "chunked\r\n , identity",
    ] {
        for fields in ["", "\r\nContent-Length: 3"] {
            let head = format!("200 OK\r\nTransfer-Encoding: {coding}{fields}");
            case_with_more(&head, chunks, Refusal);
        }
    }
    case(
        format!("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}").as_bytes(),
        true,
        Refusal,
    );
}

#[test]
fn what_is_no_answer_is_502() {
    let many = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 3\r\n\r\nabc", "X: y\r\n".repeat(200));
    let large =
        format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 3\r\n\r\nabc", "y".repeat(1 << 20));
    let flood = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100) + EVIL;
    let injected =
        |field: &str| format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 3\r\n\r\nabc");
    for bytes in [
        "".to_owned(),
        "\r\n\r\n".to_owned(),
        "evil".to_owned(),
        "evil\r\n\r\n".to_owned(),
        "ICY 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/0.9 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 20 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 2000 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 099 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 abc OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1  200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 O\0K\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Le".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(),
        format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n{EVIL}"),
        "HTTP/1.1 103 Early Hints\r\n\r\n".to_owned(),
        injected("X: a\rSet-Cookie: evil=1"),
        injected("X: a\0b"),
        injected("X: a\x7fb"),
        injected("X: a\r\n evil"),
        injected("X: a\r\n\tevil"),
        injected(" X: evil"),
        injected("X : evil"),
        injected("X\0: evil"),
        injected("evil"),
        injected(": evil"),
        many,
        large,
        flood,
    ] {
        case(bytes.as_bytes(), false, Refusal);
    }
}

#[test]
fn bodies_that_break_off_or_are_no_chunks_break_off_and_are_not_stored() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in [
        "",
        "3",
        "3\r\n",
        "3\r\nab",
        "3\r\nabc",
        "3\r\nabc\r\n",
        "3\r\nabc\r\n0",
        "3\r\nabc\r\n0\r\n",
        "3\r\nabc\r\n0\r\nX: y\r\n",
        "3\nabc\r\n0\r\n\r\nevil",
        "3\r\nabc0\r\n\r\nevil",
        "3\r\nabcd\r\n0\r\n\r\nevil",
        "2\r\nabc\r\n0\r\n\r\nevil",
        "x\r\nabc\r\n0\r\n\r\nevil",
        "-3\r\nabc\r\n0\r\n\r\nevil",
        "+3\r\nabc\r\n0\r\n\r\nevil",
        "0x3\r\nabc\r\n0\r\n\r\nevil",
        " 3\r\nabc\r\n0\r\n\r\nevil",
        "3;\nx\r\nabc\r\n0\r\n\r\nevil",
        "\r\n3\r\nabc\r\n0\r\n\r\nevil",
        "10000000000000003\r\nabc\r\n0\r\n\r\nevil",
        "fffffffffffffffff\r\nabc\r\n0\r\n\r\nevil",
    ] {
        case(format!("{chunked}{body}").as_bytes(), false, Break);
    }
    for body in ["", "a", "abcdefghi"] {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n";
        case(format!("{head}{body}").as_bytes(), false, Break);
    }
    let vast = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nabc", u64::MAX - 2);
    case(vast.as_bytes(), false, Break);
}

#[test]
fn bodies_to_the_end_of_the_connection_end_there() {
    for version in ["1.0", "1.1"] {
        for fields in ["", "Connection: close\r\n", "Connection: keep-alive\r\n"] {
            let head = format!("HTTP/{version} 200 OK\r\n{fields}\r\n");
            case(format!("{head}abc").as_bytes(), false, Answer(200, "abc"));
            let fixed = format!("HTTP/{version} 200 OK\r\nContent-Length: 3\r\n{fields}\r\nabc");
            case(fixed.as_bytes(), false, Answer(200, "abc"));
            case(format!("{fixed}{EVIL}").as_bytes(), true, Answer(200, "abc"));
        }
    }
}

#[test]
fn an_answer_to_no_request_closes_its_connection() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let own = Arc::clone(&gate);
    let origin = RawOrigin::start(move |head, line| {
        let target = head.split(' ').nth(1).unwrap();
        say(line, format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{target}", target.len()));
        if target == "/bad" {
            let open = own.1.wait_while(own.0.lock().unwrap(), |open| !*open).unwrap();
            drop(open);
            say(line, EVIL);
        }
        true
    });
    let served = before(&origin, "");
    assert_eq!(served.get("/bad").text(), "/bad");
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    origin.wait_for_ends(1);
    others_get_their_own(&served, "an answer to no request");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_connection_is_used_again_only_when_its_last_answer_ended_beyond_doubt() {
    let chunks = "3\r\nabc\r\n0\r\n\r\n";
    for (answer, connections) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(), 1),
        (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"), 1),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), 1),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n".to_owned(), 1),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n".to_owned(), 2),
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), 2),
        (
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\
                 Transfer-Encoding: chunked\r\n\r\n{chunks}",
                chunks.len()
            ),
            2,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc".to_owned(), 2),
        ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(), 2),
    ] {
        for route in ["", "cache = {}"] {
            let origin = saying(answer.clone().into_bytes(), true);
            let served = before(&origin, route);
            served.get("/bad");
            others_get_their_own(&served, &answer);
            assert_eq!(origin.connections(), connections, "{answer:?}");
        }
    }
}
