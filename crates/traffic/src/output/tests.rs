//! Claims about `output`.

use std::borrow::Cow;

use super::{OutputFormat, OutputOptions, Show, ViewWriter};
use crate::view::{Headers, ShownHeader, View, ViewTimes};

fn header(name: &'static str, value: &'static str) -> ShownHeader<'static> {
    (Cow::Borrowed(name.as_bytes()), Cow::Borrowed(value.as_bytes()))
}

fn written(change: impl FnOnce(&mut View<'_>), options: OutputOptions) -> String {
    let request = [header("Host", "localhost"), header("AUTHORIZATION", "Basic Zm9v")];
    let response = [header("Set-Cookie", "id=1"), header("Age", "267")];
    let mut view = View {
        method: Cow::Borrowed(b"GET"),
        url: Cow::Borrowed(b"/a?b=1"),
        protocol: Cow::Borrowed(b"HTTP/1.1"),
        status: Some(200),
        reason: Cow::Borrowed(b"OK"),
        client: Cow::Borrowed(b"172.22.0.15"),
        handling: Some("hit"),
        is_hit: Some(true),
        times: ViewTimes { total_us: Some(88), ..ViewTimes::default() },
        headers: Headers::Listed { request: &request, response: &response },
        ..View::default()
    };
    change(&mut view);
    let mut out = Vec::new();
    let mut output = ViewWriter::new(&mut out, options);
    output.write(&view).unwrap();
    output.finish(1).unwrap();
    String::from_utf8(out).unwrap()
}

const WITH_HEADERS: OutputOptions = OutputOptions {
    format: OutputFormat::Text,
    colour: false,
    request_headers: true,
    response_headers: true,
    shows_secrets: false,
};

#[test]
fn text_is_vlogdumps_byte_for_byte() {
    let text = written(|_| {}, WITH_HEADERS);
    let wanted = concat!(
        "    172.22.0.15 => GET /a?b=1 HTTP/1.1 HIT\n",
        "                <= 200 OK                                                           ",
        "0.088 ms\n",
        "        req.http.Host = localhost\n",
        "        req.http.AUTHORIZATION = [redacted]\n\n",
        "        beresp.http.Set-Cookie = [redacted]\n",
        "        beresp.http.Age = 267\n\n",
        "\n\nTotal number of requests: 1\n\n"
    );
    assert_eq!(text, wanted);
}

#[test]
fn colours_are_vlogdumps() {
    let options = OutputOptions { colour: true, ..OutputOptions::default() };
    let text = written(|view| view.times.total_us = Some(1_000_000), options);
    assert!(text.contains("HTTP/1.1 \u{1b}[1;32mHIT\u{1b}[0m\n"), "{text}");
    assert!(text.contains("\u{1b}[1;31m  1000.000\u{1b}[0m ms\n"), "{text}");
    let text = written(|view| (view.is_hit, view.handling) = (Some(false), Some("pipe")), options);
    assert!(text.contains("\u{1b}[1;33m(pipe)\u{1b}[0m"), "{text}");
    let text = written(|view| (view.is_hit, view.handling) = (Some(false), Some("pass")), options);
    assert!(text.contains("\u{1b}[1;31mMISS\u{1b}[0m"), "{text}");
}

#[test]
fn control_characters_are_escaped_and_other_letters_stay() {
    let hostile = |view: &mut View<'_>| {
        view.url = Cow::Borrowed("/\u{1b}[2Jé\u{202e}".as_bytes());
        view.reason = Cow::Borrowed(b"\xff\r");
    };
    let text = written(hostile, OutputOptions::default());
    assert!(text.contains("GET /\\x1b[2Jé\\xe2\\x80\\xae HTTP/1.1"), "{text}");
    assert!(text.contains("200 \\xff\\x0d"), "{text}");
}

#[test]
fn secrets_are_shown_on_demand() {
    let text = written(|_| {}, OutputOptions { shows_secrets: true, ..WITH_HEADERS });
    assert!(text.contains("AUTHORIZATION = Basic Zm9v") && text.contains("Set-Cookie = id=1"));
}

#[test]
fn bytes_that_are_no_text_and_a_path_that_is_not_there_are_sound_json() {
    let options = OutputOptions { format: OutputFormat::Ndjson, ..OutputOptions::default() };
    let text = written(|view| view.url = Cow::Borrowed(b"/\xff?\xe9"), options);
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&object["path"], &object["query"]), (&"/\u{fffd}".into(), &"\u{fffd}".into()));
    let text = written(|view| view.url = Cow::Borrowed(b""), options);
    assert!(text.contains("\"path\":null"), "{text}");
    let options = OutputOptions { format: OutputFormat::Har, ..options };
    let text = written(|view| view.url = Cow::Borrowed(b""), options);
    assert!(text.contains("\"http://localhost\""), "{text}");
}

#[test]
fn an_archive_is_one_document_without_secrets() {
    let options = OutputOptions { format: OutputFormat::Har, ..OutputOptions::default() };
    let text = written(|view| view.times.ready_us = Some(80), options);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = &document["log"]["entries"][0];
    assert_eq!(document["log"]["version"], "1.2");
    assert_eq!(entry["request"]["url"], "http://localhost/a?b=1");
    assert_eq!(entry["request"]["queryString"][0]["value"], "1");
    assert_eq!(entry["response"]["headers"][0]["value"], "[redacted]");
    assert_eq!(entry["timings"]["wait"], 0.08);
    let mut out = Vec::new();
    ViewWriter::new(&mut out, options).finish(0).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["log"]["entries"], serde_json::json!([]));
}

#[test]
fn what_is_not_known_is_a_dash_in_text() {
    let unknown = |view: &mut View<'_>| {
        view.client = Cow::Borrowed(b"");
        (view.status, view.times.total_us, view.is_hit) = (None, None, None);
    };
    let text = written(unknown, OutputOptions::default());
    assert!(text.starts_with("              - => GET /a?b=1 HTTP/1.1 -\n"), "{text}");
    assert!(text.contains(&format!("<= {:59} {:>10} ms\n", "", "-")), "{text}");
}
