//! Claims about replays.

use ::traffic::ReplayRequest;
use testkit::{Origin, OriginReply, free_port};

use super::send;

fn request(address: String, method: &str) -> ReplayRequest {
    let bytes =
        format!("{method} /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").into_bytes();
    ReplayRequest { number: 0, address, method: method.to_owned(), bytes }
}

#[test]
fn an_answer_is_read_to_its_end() {
    let origin = Origin::start(|request| match request.path() {
        "/a" => OriginReply::status(404).body("x".repeat(100_000)),
        _ => OriginReply::status(500),
    });
    for method in ["GET", "HEAD"] {
        let (status, us) = send(&request(origin.address().to_string(), method)).unwrap();
        assert!(status == 404 && us > 0, "{status} in {us} µs");
    }
}

#[test]
fn what_is_no_answer_is_an_error_that_says_so() {
    let origin = Origin::start(|_| OriginReply::ok("").close_before_head());
    let error = send(&request(origin.address().to_string(), "GET")).unwrap_err();
    assert_eq!(error.to_string(), "the connection was closed before there was an answer");
    let error = send(&request(format!("127.0.0.1:{}", free_port()), "GET")).unwrap_err();
    assert_eq!(error.to_string(), "connect");
}
