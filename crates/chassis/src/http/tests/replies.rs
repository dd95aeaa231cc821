//! Claims about replies: their framing matches their body for every method and version.

use super::{exchange, reply_to, serve_plain};

#[test]
fn statuses_without_a_body_have_none_and_no_length() {
    let served = serve_plain();
    for status in [204, 304] {
        let request = format!("GET /status?{status} HTTP/1.1\r\nHost: a\r\n\r\n");
        let text = exchange(&served, request.as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
        assert!(!text.contains("content-length"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
}

#[test]
fn head_is_answered_with_the_length_but_not_the_body() {
    let served = serve_plain();
    let mut client = served.client();
    let reply = reply_to(&mut client, "HEAD /status?200 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((reply.header("content-length"), reply.text()), (Some("4"), ""));
    let reply = reply_to(&mut client, "HEAD /stream?12 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(reply.header("content-length"), Some("12"));
    let reply = reply_to(&mut client, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(reply.header("content-length"), None);
    assert_eq!(reply_to(&mut client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").text(), "GET a /");
    assert_eq!(served.next_sent().bytes_out, 0);
}

#[test]
fn streams_are_framed_by_their_length_or_by_chunks_or_by_the_close() {
    let served = serve_plain();
    let mut client = served.client();
    let reply = reply_to(&mut client, "GET /stream?13 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((reply.header("content-length"), reply.text()), (Some("13"), "one,two,three"));
    let reply = reply_to(&mut client, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
    assert_eq!(reply.text(), "one,two,three");
    let text = exchange(&served, b"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(!text.contains("transfer-encoding"), "{text}");
    assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\none,two,three"), "{text}");
}

#[test]
fn a_stream_that_is_shorter_or_longer_than_announced_ends_the_connection() {
    let served = serve_plain();
    for announced in [12, 14] {
        let request = format!("GET /stream?{announced} HTTP/1.1\r\nHost: a\r\n\r\n");
        let twice = request.repeat(2);
        let text = exchange(&served, twice.as_bytes());
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
        assert!(body.len() <= announced && "one,two,three".starts_with(body), "{text}");
        let sent = served.next_sent();
        assert_eq!((sent.complete, sent.body_failed), (false, true));
    }
}

#[test]
fn a_stream_that_breaks_off_lacks_its_end() {
    let served = serve_plain();
    let text = exchange(&served, b"GET /breaks HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(text.ends_with("4\r\none,\r\n"), "{text}");
    let sent = served.next_sent();
    assert_eq!((sent.complete, sent.body_failed), (false, true));
}

#[test]
fn a_role_that_says_nothing_is_answered_for_with_500() {
    let served = serve_plain();
    assert_eq!(reply_to(&mut served.client(), "GET /none HTTP/1.1\r\nHost: a\r\n\r\n").status, 500);
}

#[test]
fn every_reply_has_a_date() {
    let served = serve_plain();
    let mut client = served.client();
    for target in ["/", "/stream", "/status?404", "/none"] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        let reply = reply_to(&mut client, &request);
        let date = reply.header("date").unwrap();
        assert!(httpdate::parse_http_date(date).is_ok(), "{target}: {date}");
        assert_eq!(reply.headers.all("date").count(), 1);
    }
}

#[test]
fn spliced_bodies_arrive_as_one() {
    let served = serve_plain();
    let mut client = served.client();
    for length in [0, 3, 3_000_000] {
        let request = format!("GET /spliced?{length} HTTP/1.1\r\nHost: a\r\n\r\n");
        let reply = reply_to(&mut client, &request);
        assert!(reply.text() == format!("before middle {}", "x".repeat(length)));
        let head = reply_to(&mut client, &request.replace("GET", "HEAD"));
        assert_eq!(head.header("content-length"), reply.header("content-length"));
    }
}

#[test]
fn large_bodies_arrive_whole() {
    let served = serve_plain();
    let mut client = served.client();
    for _ in 0..2 {
        let reply = reply_to(&mut client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(reply.body.len(), 3_000_000);
        assert_eq!(served.next_sent().bytes_out, 3_000_000);
    }
}
