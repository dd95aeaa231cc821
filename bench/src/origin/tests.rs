//! What the origin reads in a path, and that its bodies are JSON of the exact length.

use std::time::Duration;

use load::{Plan, Request, Stop, Target};

use super::{Answer, BODY_BYTES, Origin, json, parse};

fn check(path: &str, bytes: usize, storable: bool, delay_ms: u64) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let delay = Duration::from_millis(delay_ms);
    let expected = (Answer { bytes, storable, delay }, request.len());
    assert_eq!(parse(format!("{request}GET").as_bytes()), Some(expected), "{path}");
    assert_eq!(parse(&request.as_bytes()[..request.len() - 1]), None);
}

#[test]
fn reads_kind_and_number_in_the_path() {
    check("/json/100/a", 100, true, 0);
    check("/slow/20/key", BODY_BYTES, true, 20);
    check("/private/300/key", BODY_BYTES, false, 300);
    check("/1/recommendations.json?country=01", BODY_BYTES, true, 0);
}

#[test]
fn bodies_are_json_of_the_exact_length() {
    for bytes in [100, BODY_BYTES] {
        let body = json(bytes);
        assert_eq!(body.len(), bytes);
        serde_json::from_slice::<serde_json::Value>(&body).unwrap();
    }
}

#[test]
fn answers_after_its_delay_and_counts_its_fetches() {
    let origin = Origin::start().unwrap();
    let plan = Plan::closed(Target::Tcp(origin.address), 20, Stop::Count(40));
    let mut request = Request::get("/slow/30/a").expect_status(200).expect_bytes(4096).template();
    let report = load::run(&plan, &mut request).unwrap();
    assert!(report.is_clean());
    assert!(report.latency.min() >= 30_000);
    assert_eq!(origin.fetches(), 40);
}
