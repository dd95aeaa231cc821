//! The origin answers as scripted, and misbehaves as scripted.

use std::io::ErrorKind;

use super::Origin;
use crate::{Client, Gate, OriginReply};

#[test]
fn requests_are_counted_per_path_and_kept_with_their_headers() {
    let origin = Origin::start(|request| OriginReply::ok(format!("{}", request.nth)));
    let call = Client::get(origin.address(), "/a?x=1").header("Cookie", "userId=7");
    assert_eq!(call.send().text(), "0");
    assert_eq!(Client::get(origin.address(), "/a").send().text(), "1");
    assert_eq!((origin.count("/a"), origin.count("/b")), (2, 0));
    assert_eq!(origin.requests()[0].header("cookie"), Some("userId=7"));
    assert_eq!(origin.requests()[0].target, "/a?x=1");
}

#[test]
fn a_gate_holds_the_answer_but_not_the_count() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("late").after(&own));
    let address = origin.address();
    let waiting = std::thread::spawn(move || Client::get(address, "/").send());
    origin.wait_for("/", 1);
    gate.wait_for(1);
    assert!(!waiting.is_finished());
    gate.open_once();
    assert_eq!(waiting.join().unwrap().text(), "late");
}

#[test]
fn bodies_may_be_chunked_empty_or_absent() {
    let origin = Origin::start(|request| match request.path() {
        "/chunked" => OriginReply::ok("abcdefg").chunked(3),
        "/none" => OriginReply::status(204),
        _ => OriginReply::ok("body"),
    });
    assert_eq!(Client::get(origin.address(), "/chunked").send().text(), "abcdefg");
    assert_eq!(Client::get(origin.address(), "/none").send().status, 204);
    let head = Client::call(origin.address(), "HEAD", "/").send();
    assert_eq!((head.header("content-length"), head.text()), (Some("4"), ""));
}

#[test]
fn a_connection_is_kept_until_the_script_closes_it() {
    let origin = Origin::start(|request| match request.path() {
        "/last" => OriginReply::ok("").close(),
        _ => OriginReply::ok(""),
    });
    let mut client = Client::connect(origin.address()).unwrap();
    for target in ["/", "/", "/last"] {
        assert_eq!(client.request("GET", target).send().status, 200);
    }
    assert_eq!(client.read_to_close().unwrap(), b"");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn faults_end_the_answer_early() {
    let origin = Origin::start(|request| match request.path() {
        "/head" => OriginReply::ok("abcd").close_before_head(),
        "/body" => OriginReply::ok("abcd").close_mid_body(2),
        "/lie" => OriginReply::ok("abcd").claim_length(9),
        _ => OriginReply::ok("").raw("\u{1}garbage\r\n\r\n"),
    });
    for target in ["/head", "/body", "/lie"] {
        let error = Client::get(origin.address(), target).try_send().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{target}: {error}");
    }
    let error = Client::get(origin.address(), "/garbage").try_send().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
}

#[test]
fn dropping_the_origin_ends_a_stalled_answer() {
    let origin = Origin::start(|_| OriginReply::ok("abcd").stall_mid_body(2));
    let mut client = Client::connect(origin.address()).unwrap();
    client.write_raw(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    origin.wait_for("/", 1);
    let waiting = std::thread::spawn(move || client.read_reply("GET"));
    drop(origin);
    waiting.join().unwrap().unwrap_err();
}
