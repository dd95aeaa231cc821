//! Claims about telling formats apart.

use exchange::Filter;

use super::*;

#[test]
fn formats_are_told_by_their_first_bytes() {
    for (text, format) in [
        ("latency_ms\n5\n", Format::Csv),
        ("", Format::Csv),
        ("{\"format\": \"tidegate-lab/1\", \"series\": []}", Format::SessionFile),
        ("{\"resourceSpans\":[]}", Format::Otlp),
        ("{\n  \"resourceSpans\": []\n}", Format::Otlp),
        ("{\"request_time\":0.5}", Format::Nginx),
        ("time:1\tstatus:200\turi:/\treqtime:1", Format::Nginx),
        ("time:1\tstatus:200\turi:/", Format::Csv),
        (
            "{\"time\":\"2023-11-14T22:13:20Z\",\"method\":\"GET\",\"path\":\"/\",\"status\":200}",
            Format::Exchanges,
        ),
        ("10.0.0.1 - - [14/Nov/2023:22:13:21 +0000] \"GET / HTTP/1.1\" 200 5 0.5", Format::Nginx),
    ] {
        assert_eq!(format_of(text.as_bytes()), format, "{text}");
    }
}

#[test]
fn saved_series_keep_to_the_time_asked_for() {
    let series = Series {
        total_ms: vec![1.0, 2.0],
        began_ms: vec![0.0, 1000.0],
        origin_unix_ms: Some(5000.0),
        ..Series::default()
    };
    let mut bytes = Vec::new();
    session_file::write(&[&series], false, &mut bytes).unwrap();
    let options = ReadOptions { since_unix_ms: Some(5500.0), ..ReadOptions::default() };
    assert_eq!(read("a", &bytes, &options).unwrap().series[0].total_ms, [2.0]);
}

fn reason(text: &[u8], options: &ReadOptions) -> String {
    read("a", text, options).unwrap_err().to_string()
}

#[test]
fn what_holds_no_call_is_refused_by_name() {
    let options = ReadOptions::default();
    for text in ["", " \n\n"] {
        assert_eq!(reason(text.as_bytes(), &options), "read `a`: it is empty");
    }
    for text in ["latency_ms\n", "hello\n", "# nothing yet\n", "{\"resourceSpans\":[]}"] {
        assert_eq!(reason(text.as_bytes(), &options), "read `a`: there is no call in it", "{text}");
    }
    let program = b"\x7fELF\x02\x01\x01\0\0\0";
    assert!(
        reason(program, &options).starts_with("read `a`: it is binary; what can be read is CSV")
    );
}

#[test]
fn a_filter_that_holds_everything_back_is_said_to() {
    let line =
        b"10.0.0.1 - - [14/Nov/2023:22:13:21 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\" rt=0.5\n";
    let filter = Some(Filter::parse("status == 404").unwrap());
    let found = read("a", line, &ReadOptions { filter, ..ReadOptions::default() }).unwrap();
    assert!(found.series[0].is_empty());
    assert_eq!(found.series[0].notes, ["the filter holds 1 calls back"]);
}

#[test]
fn what_a_message_quotes_of_a_file_is_short_and_moves_no_cursor() {
    let long = format!("latency_ms\n\u{1b}[2J{}\n", "x".repeat(500));
    let error = reason(long.as_bytes(), &ReadOptions::default());
    assert!(error.len() < 200 && error.ends_with("…` is not a number"), "{error}");
    assert!(!error.contains('\u{1b}'));
}
