//! Claims about telling formats apart.

use super::*;

#[test]
fn formats_are_told_by_their_first_bytes() {
    for (text, format) in [
        ("latency_ms\n5\n", Format::Csv),
        ("", Format::Csv),
        ("{\"format\": \"tidegate-lab/1\", \"series\": []}", Format::Saved),
        ("{\"resourceSpans\":[]}", Format::Otlp),
        ("{\n  \"resourceSpans\": []\n}", Format::Otlp),
        ("{\"request_time\":0.5}", Format::Nginx),
        ("time:1\tstatus:200\turi:/\treqtime:1", Format::Csv),
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
    saved::write(&[&series], false, &mut bytes).unwrap();
    let options = ReadOptions { since_unix_ms: Some(5500.0), ..ReadOptions::default() };
    assert_eq!(read("a", &bytes, &options).unwrap().series[0].total_ms, [2.0]);
}
