//! Claims about `combined`.

use super::*;
use crate::field::{FieldValue, Fields};

fn text(exchange: &Exchange<'_>, name: &str) -> String {
    exchange.field(&name.parse().unwrap()).as_ref().map(FieldValue::to_string).unwrap_or_default()
}

#[test]
fn reads_a_line_of_nginx() {
    let line = b"203.0.113.9 - bob [21/Nov/2026:04:54:12 +0100] \"GET /a?item=7 HTTP/1.1\" 200 \
        1234 \"http://x/\" \"Mozilla/5.0 \\x22q\\x22\"\n";
    let exchange = decode(line).unwrap();
    assert_eq!(exchange.time_us, 1_795_233_252_000_000);
    assert_eq!((exchange.status, exchange.bytes_out), (200, 1234));
    for (name, expected) in [
        ("client_ip", "203.0.113.9"),
        ("user", "bob"),
        ("method", "GET"),
        ("path", "/a"),
        ("query.item", "7"),
        ("version", "1.1"),
        ("header.referer", "http://x/"),
        ("header.user-agent", "Mozilla/5.0 \"q\""),
    ] {
        assert_eq!(text(&exchange, name), expected, "{name}");
    }
}

#[test]
fn reads_common_format_and_absent_parts() {
    let exchange = decode(b"::1 - - [01/Jan/1970:00:00:01 +0000] \"-\" 400 -").unwrap();
    assert_eq!((exchange.time_us, exchange.status, exchange.bytes_out), (1_000_000, 400, 0));
    assert_eq!(exchange.user, None);
    let line = b"::1 - - [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.0\" 200 5 \"-\" \"-\"";
    let exchange = decode(line).unwrap();
    assert_eq!((exchange.referer, exchange.user_agent), (None, None));
}

#[test]
fn the_host_before_the_client_of_vhost_combined_is_the_host() {
    let rest = "- ann [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"";
    for (first, host, client) in [
        ("e.org:80 192.0.2.1", "e.org", "192.0.2.1"),
        ("e.org ::1", "e.org", "::1"),
        ("[::1]:443 192.0.2.1", "[::1]", "192.0.2.1"),
        ("client.example", "", ""),
    ] {
        let line = format!("{first} {rest}");
        let exchange = decode(line.as_bytes()).unwrap();
        let found = ["host", "client_ip", "user"].map(|name| text(&exchange, name));
        assert_eq!(found, [host, client, "ann"], "{first}");
    }
}

#[test]
fn a_request_that_is_none_becomes_the_path() {
    let line = b"::1 - - [01/Jan/1970:00:00:01 +0000] \"\\x16\\x03\" 400 5 \"-\" \"-\"";
    let exchange = decode(line).unwrap();
    assert_eq!((&*exchange.method, &*exchange.path), ("", &b"\x16\x03"[..]));
}

#[test]
fn what_programs_write_without_a_request_is_no_path() {
    for (request, method, path) in [
        ("  ", "", ""),
        ("- http://e.org:80- -", "-", "http://e.org:80-"),
        ("GET /a ", "GET", "/a "),
    ] {
        let line = format!("::1 - - [01/Jan/1970:00:00:01 +0000] \"{request}\" 400 5 \"-\" \"-\"");
        let exchange = decode(line.as_bytes()).unwrap();
        assert_eq!((&*exchange.method, &*exchange.path), (method, path.as_bytes()), "{request}");
    }
}

#[test]
fn every_prefix_is_refused_or_read_without_panic() {
    let line = b"1.2.3.4 - - [01/Jan/1970:00:00:01 +0000] \"GET / HTTP/1.0\" 200 5 \"-\" \"\\x22\"";
    for length in 0..57 {
        assert!(decode(&line[..length]).is_err(), "{length}");
    }
    for length in 57..line.len() {
        drop(decode(&line[..length]));
    }
}

#[test]
fn undoes_the_escapes_of_apache_and_of_nginx() {
    let text = unescaped(br#"\x22 \t\n\r\b\v \\ \" \q \x2"#);
    assert_eq!(*text, *b"\" \t\n\r\x08\x0b \\ \" \\q \\x2");
}
