//! Claims about access logs with timings.

use exchange::Filter;
use verdicts::{AttributeValues, Series};

use super::super::{ReadOptions, read as read_any};

const COMBINED: &str =
    r#"10.0.0.1 - - [14/Nov/2023:22:13:21 +0000] "GET /a?x=1 HTTP/1.1" 200 512 "-" "curl/8 \"x\"""#;

const DEFAULT: ReadOptions =
    ReadOptions { is_strict: false, filter: None, since_unix_ms: None, until_unix_ms: None };

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
fn lists_of_upstreams_are_one_field_without_quotes_too() {
    let series = read(&format!("{COMBINED} rt=1.000 urt=0.300, 0.200 : 0.100 up=a, b"));
    assert_eq!((series.total_ms[0], steps(&series)), (1000.0, vec![("upstream", 600.0)]));
    assert_eq!(text(&series, "up"), "a, b");
    let lists = "0.100, 0.200 : 0.500 0.010, 0.020 : 0.070 0.050, 0.060 : 0.490";
    let series = read(&format!("{COMBINED} 1.000 {lists}"));
    assert_eq!(steps(&series), [("connect", 100.0), ("wait", 500.0), ("transfer", 200.0)]);
    let series = read(&format!("{COMBINED} 1.000 -, 0.200 - 0.100 \"a,\" b"));
    assert_eq!(steps(&series), [("connect", 0.0), ("wait", 100.0), ("transfer", 100.0)]);
}

#[test]
fn numbers_that_are_no_times_of_nginx_are_not_taken_for_them() {
    for other in ["321 0.500", "\"2.50\" 0.500", "321 \"2.50\" \"-\" rt=0.500"] {
        let series = read(&format!("{COMBINED} {other}"));
        assert_eq!(series.total_ms, [500.0], "{other}");
    }
    let error = read_any("access.log", format!("{COMBINED} 100000").as_bytes(), &DEFAULT);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("add `rt=$request_time"), "{error}");
}

#[test]
fn escapes_of_nginx_are_read() {
    let timing = r"server_timing=cache;desc=\x22a,b\x22;dur=6,db;dur=\x2250\x22";
    let series = read(&format!("{COMBINED} rt=1.000 {timing}"));
    assert_eq!(steps(&series), [("server.cache", 6.0), ("server.db", 50.0)]);
    assert_eq!(text(&read(&format!(r"{COMBINED} rt=1.000 a=\x2 b=\xc3\xa9")), "a"), r"\x2");
}

#[test]
fn tabbed_fields_by_the_names_of_nginx_are_read() {
    let series = read("path:/a\tstatus:503\trequest_time:0.100\tupstream_response_time:0.090");
    assert_eq!((series.total_ms[0], series.server_errors), (100.0, 1));
}

#[test]
fn answers_of_5xx_are_calls_that_count_as_errors() {
    let bad = COMBINED.replace(" 200 ", " 502 ");
    let series = read(&format!("{COMBINED} rt=0.5\n{bad} rt=0.7\n"));
    assert_eq!((series.len(), series.server_errors), (2, 1));
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
    let filter = Some(Filter::parse("var.up == 'b'").unwrap());
    let by_field = ReadOptions { filter, ..ReadOptions::default() };
    let named = format!("{COMBINED} rt=0.5 up=a\n{COMBINED} rt=0.7 up=b\n");
    let saved = read_any("access.log", named.as_bytes(), &by_field).unwrap();
    assert_eq!(saved.series[0].total_ms, [700.0]);
    let filter = Some(Filter::parse("status == 200 and total > 600ms").unwrap());
    let by_total = ReadOptions { filter, ..ReadOptions::default() };
    let ltsv = "time:14/Nov/2023:22:13:21 +0000\tstatus:200\turi:/a\treqtime:";
    for log in [&log, &format!("{ltsv}0.5\n{ltsv}0.7\n")] {
        let saved = read_any("access.log", log.as_bytes(), &by_total).unwrap();
        assert_eq!(saved.series[0].total_ms, [700.0]);
    }
    let error = read_any("x.csv", b"latency_ms\n5\n", &options).unwrap_err().to_string();
    assert!(error.contains("needs exchanges"), "{error}");
}

#[test]
fn microseconds_of_apache_are_read() {
    let series = read("time:14/Nov/2023:22:13:21 +0000\tstatus:200\turi:/a\treqtime_microsec:2500");
    assert_eq!(series.total_ms, [2.5]);
    let combined = read(&format!("{COMBINED} request_time_us=2500"));
    assert_eq!(combined.total_ms, [2.5]);
}
