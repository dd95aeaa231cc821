//! Claims about spans.

use verdicts::{AttributeValues, Series};

use super::super::{ReadOptions, read as read_any};

fn span(id: &str, parent: &str, name: &str, (start, end): (u64, u64)) -> String {
    let base = 1_700_000_000_000_000_000_u64;
    let (start, end) = (base + start * 1_000_000, base + end * 1_000_000);
    format!(
        r#"{{"traceId":"t","spanId":"{id}","parentSpanId":"{parent}","name":"{name}",
           "startTimeUnixNano":"{start}","endTimeUnixNano":"{end}",
           "attributes":[{{"key":"http.status","value":{{"intValue":"200"}}}}]}}"#
    )
}

fn export(spans: &[String]) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":
           [{{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},
           "scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
        spans.join(",")
    )
}

fn read(text: &str) -> Series {
    let saved = read_any("traces.json", text.as_bytes(), &ReadOptions::default()).expect(text);
    saved.series.into_iter().next().unwrap()
}

fn steps(series: &Series) -> Vec<(&str, f64)> {
    series.phases.iter().map(|phase| (phase.name.as_str(), phase.ms[0])).collect()
}

#[test]
fn the_critical_path_adds_up_and_the_rest_is_the_roots() {
    // Root 0-100; auth 10-30; two parallel queries 40-80 and 40-90, of which the longer waits for a
    // disk 50-85.
    let series = read(&export(&[
        span("1", "", "GET /", (0, 100)),
        span("2", "1", "auth", (10, 30)),
        span("3", "1", "query a", (40, 80)),
        span("4", "1", "query b", (40, 90)),
        span("5", "4", "disk", (50, 85)),
    ]));
    assert_eq!(series.total_ms, [100.0]);
    let mut found = steps(&series);
    found.sort_by(|left, right| left.0.cmp(right.0));
    assert_eq!(found, [("auth", 20.0), ("disk", 35.0), ("query b", 15.0)]);
    assert_eq!(series.origin_unix_ms, Some(1_700_000_000_000.0));
}

#[test]
fn attributes_are_the_roots_and_its_resources() {
    let series = read(&export(&[span("1", "", "GET /", (0, 100))]));
    let named = |name: &str| series.attributes.iter().find(|own| own.name == name).unwrap();
    let AttributeValues::Names { names, .. } = &named("service.name").values else { panic!() };
    assert_eq!(names[0], "shop");
    let AttributeValues::Numbers(numbers) = &named("http.status").values else { panic!() };
    assert_eq!(numbers[0], 200.0);
}

#[test]
fn children_that_reach_beyond_their_parent_are_clipped() {
    let series = read(&export(&[
        span("1", "0000000000000000", "root", (100, 200)),
        span("2", "1", "early and late", (50, 250)),
    ]));
    assert_eq!(steps(&series), [("early and late", 100.0)]);
}

#[test]
fn lines_bad_spans_and_lost_roots_are_told() {
    let lines = format!(
        "{}\nnot json {{\n{}\n",
        export(&[span("1", "", "root", (0, 5))]).replace('\n', ""),
        export(&[span("9", "lost", "child", (0, 5)), span("8", "", "back", (9, 5))])
            .replace('\n', "")
    );
    let series = read(&lines);
    assert_eq!(series.len(), 1);
    assert_eq!(series.left_out.failed["trace without its root"], 1);
    assert_eq!(
        (series.left_out.bad["no export of spans"], series.left_out.bad["negative"]),
        (1, 1)
    );
}

#[test]
fn spans_that_are_their_own_ancestors_are_counted_in_a_note() {
    let series = read(&export(&[
        span("1", "", "root", (0, 5)),
        span("2", "3", "a", (0, 5)),
        span("3", "2", "b", (0, 5)),
        span("4", "3", "below both", (0, 5)),
        span("5", "lost", "child", (0, 5)),
        span("6", "5", "grandchild", (0, 5)),
    ]));
    assert_eq!(series.len(), 1);
    assert_eq!(
        series.notes,
        ["3 spans are each other's ancestors, or below such: they belong to no call"]
    );
}

#[test]
fn a_file_of_spans_in_a_circle_alone_is_refused_with_that_cause() {
    let text = export(&[span("2", "3", "a", (0, 5)), span("3", "2", "b", (0, 5))]);
    let refused = read_any("traces.json", text.as_bytes(), &ReadOptions::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "read `traces.json`: there is no call in it; \
         2 spans are each other's ancestors, or below such: they belong to no call"
    );
}
