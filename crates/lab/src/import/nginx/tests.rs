//! Claims about access logs with timings.

use exchange::Filter;
use verdicts::{AttributeValues, Series};

use super::super::{ReadOptions, read as read_any};

const COMBINED: &str =
    r#"10.0.0.1 - - [14/Nov/2023:22:13:21 +0000] "GET /a?x=1 HTTP/1.1" 200 512 "-" "curl/8 \"x\"""#;

fn read(text: &str) -> Series {
    let saved = read_any("access.log", text.as_bytes(), &ReadOptions::default()).expect(text);
    saved.series.into_iter().next().unwrap()
}

fn steps(series: &Series) -> Vec<(&str, f64)> {
    series.phases.iter().map(|phase| (phase.name.as_str(), phase.ms[0])).collect()
}

fn text(series: &Series, name: &str) -> String {
    let attribute = series.attributes.iter().find(|own| own.name == name).expect(name);
    match &attribute.values {
        AttributeValues::Names { names, of } => names[of[0] as usize].clone(),
        AttributeValues::Numbers(numbers) => numbers[0].to_string(),
    }
}

#[track_caller]
fn check(line: &str) {
    let series = read(line);
    assert_eq!(series.total_ms, [1000.0], "{line}");
    assert_eq!(
        steps(&series),
        [("connect", 100.0), ("wait", 500.0), ("transfer", 200.0)],
        "{line}"
    );
    assert_eq!(series.origin_unix_ms, Some(1_700_000_000_000.0), "{line}");
    assert_eq!(text(&series, "status"), "200", "{line}");
}

#[test]
fn what_servers_say_by_server_timing_are_steps_inside_the_wait() {
    let timing = "server_timing=\"db;dur=300, cache;desc=hit, app;dur=50\"";
    let series = read(&format!("{COMBINED} rt=1.000 uct=0.100 uht=0.600 urt=0.800 {timing}"));
    assert_eq!(
        steps(&series),
        [
            ("connect", 100.0),
            ("wait", 150.0),
            ("server.db", 300.0),
            ("server.app", 50.0),
            ("transfer", 200.0)
        ]
    );
    assert!(series.attributes.iter().all(|attribute| attribute.name != "server_timing"));
    let upstream = read(&format!("{COMBINED} rt=1.000 urt=0.800 {timing}"));
    assert_eq!(steps(&upstream)[0], ("upstream", 450.0));
    let json = r#"{"request_time": 1.0, "sent_http_server_timing": "db;dur=300"}"#;
    let whole = read(&format!("{json}\n{{\"request_time\": 2.0}}"));
    assert_eq!(steps(&whole), [("server.db", 300.0)]);
    assert_eq!(whole.phases[0].ms, [300.0, 0.0]);
}

#[test]
fn metrics_of_server_timing_that_overlap_are_attributes() {
    let line = r#"{"request_time": 1.0, "server_timing": "db;dur=800, app;dur=900"}"#;
    let series = read(line);
    assert!(series.phases.is_empty(), "{:?}", series.phases);
    assert_eq!(
        (text(&series, "server.db_ms"), text(&series, "server.app_ms")),
        ("800".to_owned(), "900".to_owned())
    );
    assert!(series.notes[0].contains("adds up to more than it"), "{:?}", series.notes);
}

#[test]
fn the_four_forms_give_the_same_row() {
    check(&format!(r#"{COMBINED} rt=1.000 uct="0.100" uht="0.600" urt="0.800""#));
    check(&format!("{COMBINED} 1.000 0.800 0.100 0.600"));
    check(
        "time:14/Nov/2023:22:13:21 +0000\tstatus:200\turi:/a\trequest_time:1.000\t\
         upstream_response_time:0.800\tupstream_connect_time:0.100\tupstream_header_time:0.600",
    );
    check(
        r#"{"time_iso8601":"2023-11-14T22:13:21+00:00","status":200,"uri":"/a","request_time":1.0,
"upstream_response_time":"0.800","upstream_connect_time":"0.100","upstream_header_time":"0.600"}"#
            .replace('\n', "")
            .as_str(),
    );
}

#[test]
fn several_upstreams_count_together_and_dashes_are_none() {
    let series = read(&format!(r#"{COMBINED} rt=1.000 urt="0.300, 0.200 : 0.100""#));
    assert_eq!(steps(&series), [("upstream", 600.0)]);
    let series = read(&format!("{COMBINED} 1.000 - - -"));
    assert_eq!((series.phases.len(), series.total_ms[0]), (0, 1000.0));
}

#[test]
fn lines_without_a_time_are_bad_and_named() {
    let series = read(&format!("{COMBINED} rt=0.5\n{COMBINED}\nwhat\n{COMBINED} rt=fast\n"));
    assert_eq!((series.len(), series.left_out.total()), (1, 3));
    assert!(
        series.notes[0].starts_with("left out: access.log:2: request_time"),
        "{:?}",
        series.notes
    );
}

#[test]
fn filters_choose_exchanges() {
    let other = COMBINED.replace("/a?", "/b?");
    let log = format!("{COMBINED} rt=0.5\n{other} rt=0.7\n");
    let filter = Some(Filter::parse("path == '/b'").unwrap());
    let options = ReadOptions { filter, ..ReadOptions::default() };
    let saved = read_any("access.log", log.as_bytes(), &options).unwrap();
    assert_eq!(saved.series[0].total_ms, [700.0]);
    let error = read_any("x.csv", b"latency_ms\n5\n", &options).unwrap_err().to_string();
    assert!(error.contains("a filter needs exchanges"), "{error}");
}

#[test]
fn microseconds_of_apache_are_read() {
    let series = read("time:14/Nov/2023:22:13:21 +0000\tstatus:200\turi:/a\treqtime_microsec:2500");
    assert_eq!(series.total_ms, [2.5]);
}
