//! Claims about the responses that the rules of compression cover.

use super::{Compression, add_vary};
use http1::FieldLines;

fn covers(content_type: &str) -> bool {
    let headers = FieldLines::from_iter([("content-type", content_type)]);
    Compression::default().covers(200, &headers, Some(5000))
}

#[test]
fn types_that_shrink_are_covered_whatever_their_case_and_parameters() {
    for name in [
        "text/html; charset=utf-8",
        "TEXT/CSS",
        "application/json",
        "application/problem+json;x=y",
        "application/rss+xml",
        "image/svg+xml",
        "application/wasm",
        "font/ttf",
    ] {
        assert!(covers(name), "{name}");
    }
    for name in [
        "",
        "text",
        "text/event-stream",
        "Text/Event-Stream; charset=utf-8",
        "image/png",
        "image/webp",
        "video/mp4",
        "font/woff2",
        "application/zip",
        "application/octet-stream",
        "application/pdf",
        "multipart/byteranges; boundary=x",
        "application/json, text/html",
    ] {
        assert!(!covers(name), "{name}");
    }
}

#[test]
fn statuses_without_a_whole_body_and_short_bodies_are_not_covered() {
    let headers = FieldLines::from_iter([("content-type", "text/html")]);
    let rules = Compression::default();
    for (status, length, is_covered) in [
        (200, Some(1000), true),
        (200, Some(999), false),
        (200, None, true),
        (404, Some(5000), true),
        (500, Some(5000), true),
        (204, None, false),
        (206, Some(5000), false),
        (304, None, false),
        (101, None, false),
    ] {
        assert_eq!(rules.covers(status, &headers, length), is_covered, "{status} {length:?}");
    }
}

#[test]
fn vary_keeps_every_line_it_had() {
    let mut headers = FieldLines::from_iter([("vary", "A"), ("vary", "B")]);
    add_vary(&mut headers);
    add_vary(&mut headers);
    let lines: Vec<_> = headers.all("vary").collect();
    assert_eq!(lines, [&b"A, Accept-Encoding"[..], b"B"]);
    let mut star = FieldLines::from_iter([("vary", "*")]);
    add_vary(&mut star);
    assert_eq!(star.text("vary"), Some("*"));
}
