//! Claims about where a request ends, and about requests that are refused as ambiguous.

use super::{exchange, replies, reply_to, serve, serve_plain};
use crate::http::Limits;

/// Each of these hides a second request from a parser that frames it differently.
#[test]
fn doubtful_framing_is_refused_once_and_the_connection_closes() {
    let served = serve_plain();
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    for (what, fields, status) in [
        ("CL.TE", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", 400),
        ("TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", 400),
        ("TE.TE", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 501),
        ("TE quoted", "Transfer-Encoding: \"chunked\"\r\n", 501),
        ("TE nothing", "Transfer-Encoding:\r\n", 501),
        ("TE behind a vertical tab", "Transfer-Encoding: \x0bchunked\r\n", 400),
        ("TE with underscore", "Transfer_Encoding: chunked\r\n", 400),
        ("CL with underscore", "Content_Length: 4\r\n", 400),
        ("TE twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 501),
        ("TE obscured", "Transfer-Encoding: xchunked\r\n", 501),
        ("TE list", "Transfer-Encoding: gzip, chunked\r\n", 501),
        ("TE space", "Transfer-Encoding : chunked\r\n", 400),
        ("two lengths", "Content-Length: 4\r\nContent-Length: 5\r\n", 400),
        ("equal lengths", "Content-Length: 4\r\nContent-Length: 4\r\n", 400),
        ("length list", "Content-Length: 4, 4\r\n", 400),
        ("signed length", "Content-Length: +4\r\n", 400),
        ("negative length", "Content-Length: -4\r\n", 400),
        ("no length", "Content-Length: \r\n", 400),
        ("hexadecimal length", "Content-Length: 0x4\r\n", 400),
        ("vast length", "Content-Length: 99999999999999999999\r\n", 400),
        ("obs-fold", "X: a\r\n b\r\n", 400),
        ("folded TE", "Transfer-Encoding:\r\n chunked\r\n", 400),
        ("bare CR", "X: a\rb\r\n", 400),
        ("NUL", "X: a\0b\r\n", 400),
        ("bare LF", "X: a\nY: b\r\n", 400),
        ("bare LF behind blanks", "X: a \t\nY: b\r\n", 400),
        ("bare LF behind nothing", "X:\nY: b\r\n", 400),
        ("second host", "Host: b\r\n", 400),
        ("no colon", "X\r\n", 400),
        ("no name", ": x\r\n", 400),
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n{hidden}");
        let text = exchange(&served, request.as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {text}");
        assert!(text.contains("\r\nconnection: close\r\n"), "{what}: {text}");
        assert_eq!(replies(&text), 1, "{what}: {text}");
    }
}

#[test]
fn lines_of_a_head_end_in_cr_lf_alone() {
    let served = serve_plain();
    for head in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\rHost: a\r\n\r\n",
    ] {
        let text = exchange(&served, head.as_bytes());
        assert!(text.starts_with("HTTP/1.1 400 "), "{head:?}: {text}");
    }
}

#[test]
fn a_request_names_exactly_one_plain_host() {
    let served = serve_plain();
    for (fields, status) in [
        ("", 400),
        ("Host: a\r\nHost: a\r\n", 400),
        ("Host: a b\r\n", 400),
        ("Host: user@a\r\n", 400),
        ("Host: a/b\r\n", 400),
        ("Host: a:8080\r\n", 200),
        ("Host: [::1]:80\r\n", 200),
        ("Host:\r\n", 400),
        ("Host: \t\r\n", 400),
        ("Host: :80\r\n", 400),
    ] {
        let text = exchange(&served, format!("GET / HTTP/1.1\r\n{fields}\r\n").as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{fields:?}: {text}");
    }
    for line in ["GET http://a/ HTTP/1.1", "GET / HTTP/1.0"] {
        let text = exchange(&served, format!("{line}\r\nHost:\r\n\r\n").as_bytes());
        assert!(text.starts_with("HTTP/1.1 200 "), "{line}: {text}");
    }
}

#[test]
fn a_target_is_a_path_or_a_url_without_fragment_or_user() {
    let served = serve_plain();
    for (line, status, said) in [
        ("GET /p?q=1", 200, "GET h /p?q=1"),
        ("GET http://other:81/p?q=1", 200, "GET other:81 /p?q=1"),
        ("GET HTTPS://other", 200, "GET other /"),
        ("OPTIONS *", 200, "OPTIONS h *"),
        ("GET *", 400, ""),
        ("GET p", 400, ""),
        ("GET p?u=http://x/", 400, ""),
        ("GET ftp://x/", 400, ""),
        ("GET http:///p", 400, ""),
        ("GET http://:80/p", 400, ""),
        ("GET http://user@x/", 400, ""),
        ("GET http://x?q", 400, ""),
        ("GET /p#fragment", 400, ""),
        ("GET  /p", 400, ""),
        ("CONNECT x:80", 501, ""),
        ("G(T /", 400, ""),
    ] {
        let text = exchange(&served, format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {text}");
        assert!(text.ends_with(said), "{line}: {text}");
    }
}

#[test]
fn other_versions_are_refused() {
    let served = serve_plain();
    for (request, status) in [
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET /\r\n\r\n", 400),
        ("\x16\x03\x01\x02\0\x01\0\x01\n", 400),
    ] {
        let text = exchange(&served, request.as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {text}");
    }
}

#[test]
fn expectations_but_100_continue_are_417_and_those_of_http_1_0_are_not_read() {
    let served = serve_plain();
    for (version, expect, status) in [
        ("1.1", "100-continue", 200),
        ("1.1", "100-Continue, ", 200),
        ("1.1", "200-ok", 417),
        ("1.1", "100-continue, more", 417),
        ("1.1", "100-continue; x=y", 417),
        ("1.0", "more", 200),
    ] {
        let request = format!("GET / HTTP/{version}\r\nHost: a\r\nExpect: {expect}\r\n\r\n");
        let text = exchange(&served, request.as_bytes());
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{expect}: {text}");
        assert_eq!(replies(&text), 1, "{expect}: {text}");
    }
}

#[test]
fn transfer_codings_of_http_1_0_are_refused_whatever_they_are() {
    let served = serve_plain();
    for fields in ["", "Content-Length: 3\r\n", "Connection: keep-alive\r\n"] {
        let head = format!("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n{fields}\r\n");
        let text = exchange(&served, format!("{head}0\r\n\r\nGET / HTTP/1.0\r\n\r\n").as_bytes());
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
        assert_eq!(replies(&text), 1, "{text}");
    }
}

#[test]
fn a_head_may_come_byte_by_byte_and_behind_empty_lines() {
    let served = serve_plain();
    let mut client = served.client();
    let request = "\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for _ in 0..2 {
        for byte in request.bytes() {
            client.write_raw(&[byte]).unwrap();
        }
        assert_eq!(client.read_reply("POST").unwrap().text(), "abc");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_each_with_its_body() {
    let served = serve_plain();
    let mut client = served.client();
    let mut all = String::new();
    for n in 0..50 {
        all += &format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n");
        let body = "b".repeat(n);
        all += &format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\n{body}");
        all += &format!("POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\n{body}");
        all += "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        all += &format!("2\r\nhi\r\n{:x};x=y\r\n{body}b\r\n0\r\n\r\n", n + 1);
    }
    client.write_raw(all.as_bytes()).unwrap();
    for n in 0..50 {
        assert_eq!(client.read_reply("GET").unwrap().text(), format!("GET a /{n}"));
        assert_eq!(client.read_reply("POST").unwrap().body.len(), n);
        assert_eq!(client.read_reply("POST").unwrap().text(), "ignored");
        assert_eq!(client.read_reply("POST").unwrap().body.len(), n + 3);
    }
}

#[test]
fn http_1_0_closes_unless_it_asks_to_be_kept() {
    let served = serve_plain();
    let text = exchange(&served, b"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!(replies(&text), 1, "{text}");
    assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
    let mut client = served.client();
    for _ in 0..2 {
        let kept = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        let reply = reply_to(&mut client, kept);
        assert_eq!(reply.header("connection"), Some("keep-alive"));
    }
    let text = exchange(&served, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n");
    assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
}

#[test]
fn oversized_heads_are_refused_whether_they_come_at_once_or_in_parts() {
    let served = serve(Limits { head_bytes_max: 2000, ..Limits::default() });
    let head = |bytes: usize| {
        format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(bytes - 32))
    };
    assert!(exchange(&served, head(2000).as_bytes()).starts_with("HTTP/1.1 200 "));
    assert!(exchange(&served, head(2001).as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(exchange(&served, &head(9000).as_bytes()[..5000]).starts_with("HTTP/1.1 431 "));
    let many = "X: y\r\n".repeat(97);
    let text = exchange(&served, format!("GET / HTTP/1.1\r\n{many}").as_bytes());
    assert!(text.starts_with("HTTP/1.1 431 ") || text.is_empty(), "{text}");
    let fields = |count: usize| {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(count - 1));
        exchange(&served, text.as_bytes())
    };
    assert!(fields(96).starts_with("HTTP/1.1 200 "));
    assert!(fields(97).starts_with("HTTP/1.1 431 "));
    let vast = serve_plain();
    assert!(exchange(&vast, head(60_000).as_bytes()).starts_with("HTTP/1.1 200 "));
    assert!(exchange(&vast, head(70_000).as_bytes()).starts_with("HTTP/1.1 431 "));
}
