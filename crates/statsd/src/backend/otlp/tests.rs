//! Documents that a collector takes, whatever is in a flush.

mod requests;

use serde_json::{Value, json};

use super::super::delivery::Render;
use super::{Documents, LOGS, METRICS};
use crate::flush::{Flush, FlushedTimer};
use crate::line::Notice;
use crate::samples::Samples;
use crate::status::BackendStatus;

/// Each part: whether it goes to the logs, and its document.
fn documents(flush: &Flush) -> Vec<(bool, Value)> {
    let mut documents = Vec::new();
    let mut each = |part: &[u8]| {
        assert!([LOGS, METRICS].contains(&part[0]));
        documents.push((part[0] == LOGS, serde_json::from_slice(&part[1..])?));
        Ok(())
    };
    Documents.parts(flush, &BackendStatus::started(), &mut each).expect("vectors take everything");
    documents
}

fn metrics(flush: &Flush) -> Vec<Value> {
    let (is_log, document) = documents(flush).remove(0);
    assert!(!is_log);
    let resource = &document["resourceMetrics"][0];
    assert_eq!(resource["resource"]["attributes"][0]["key"], "service.name");
    resource["scopeMetrics"][0]["metrics"].as_array().expect("metrics").clone()
}

fn event(time: Option<u64>, text: &str, tags: &str) -> Notice<'static> {
    let mut notice = Notice::Event(Default::default());
    if let Notice::Event(event) = &mut notice {
        event.title = "t".into();
        event.text = text.to_owned().into();
        event.tags = tags.to_owned().into();
        event.time = time;
    }
    notice
}

#[test]
fn timers_are_told_by_their_values_whatever_statistics_are_shown() {
    let mut samples = Samples::default();
    for value in [3.0, 1.0, 2.0] {
        samples.add(value, 2.0, usize::MAX);
    }
    samples.sorted();
    let timers = vec![FlushedTimer { name: "t;k=v;k=w".into(), samples, statistics: Vec::new() }];
    let flush = Flush { timers, percentiles: vec![50.0, 99.9], ..Flush::default() };
    let point = &metrics(&flush)[0]["summary"]["dataPoints"][0];
    assert_eq!((&point["count"], &point["sum"]), (&json!("6"), &json!(12.0)));
    let quantiles = json!([
        { "quantile": 0.0, "value": 1.0 }, { "quantile": 0.5, "value": 2.0 },
        { "quantile": 0.999, "value": 3.0 }, { "quantile": 1.0, "value": 3.0 },
    ]);
    assert_eq!(point["quantileValues"], quantiles);
    let attributes = json!([{ "key": "k", "value": { "stringValue": "v,w" } }]);
    assert_eq!(point["attributes"], attributes);
}

#[test]
fn numbers_that_json_does_not_know_are_written_as_protobuf_does() {
    let counters = vec![("up".into(), f64::INFINITY), ("down".into(), -1.0)];
    let metrics = metrics(&Flush { counters, ..Flush::default() });
    assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asDouble"], "Infinity");
    assert_eq!(metrics[0]["sum"]["isMonotonic"], true);
    assert_eq!(metrics[1]["sum"]["isMonotonic"], false);
}

#[test]
fn a_time_that_cannot_be_is_that_of_the_flush() {
    let notices = vec![event(Some(u64::MAX / 2), "a", "k:v,k:w,x"), event(Some(5), "b", "")];
    let flush = Flush { notices, unix_s: 7, ..Flush::default() };
    let (is_log, document) = documents(&flush).remove(0);
    assert!(is_log);
    let records = &document["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
    assert_eq!(records[0]["timeUnixNano"], "7000000000");
    assert_eq!(records[1]["timeUnixNano"], "5000000000");
    let attributes = json!([
        { "key": "event.title", "value": { "stringValue": "t" } },
        { "key": "k", "value": { "stringValue": "v,w" } },
        { "key": "x", "value": { "stringValue": "true" } },
    ]);
    assert_eq!(records[0]["attributes"], attributes);
}

#[test]
fn long_records_go_in_several_requests() {
    let text = "x".repeat(60_000);
    let notices = (0..40).map(|_| event(None, &text, "")).collect();
    let documents = documents(&Flush { notices, ..Flush::default() });
    let records = |document: &Value| {
        let records = &document["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
        records.as_array().map_or(0, Vec::len)
    };
    let counts: Vec<usize> = documents.iter().map(|(_, document)| records(document)).collect();
    assert_eq!((counts.len(), counts.iter().sum::<usize>()), (3, 40));
}
