//! What becomes of parts that are refused, or do not arrive.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use testkit::{Origin, OriginReply, TempDir};

use super::Outlet;
use crate::config;
use crate::flush::Flush;
use crate::plan::{BackendPlan, Graphite, Plan, Web};

/// A plan with these backends, that spools in a folder.
fn plan(folder: &TempDir, backends: Vec<BackendPlan>) -> Plan {
    let no_problem = &mut |key: &str, why: String| panic!("{key}: {why}");
    let plan = config::plan(&config::Config::default(), folder.path(), no_problem);
    Plan { backends, ..plan }
}

fn web(origin: &Origin) -> Web {
    Web { url: format!("http://{}", origin.address()), headers: Vec::new() }
}

fn flush(counters: usize) -> Arc<Flush> {
    let counters = (0..counters).map(|at| (format!("c{at}").into(), 1.0)).collect();
    Arc::new(Flush { counters, unix_s: 1_700_000_000, ..Flush::default() })
}

/// Answers with these statuses, one after the other, and then with 200.
fn statuses(statuses: &[u16]) -> Origin {
    let left = Mutex::new(statuses.to_vec());
    Origin::start(move |_| {
        let mut left = left.lock();
        let status = if left.is_empty() { 200 } else { left.remove(0) };
        OriginReply::status(status)
    })
}

#[test]
fn a_part_that_is_refused_costs_no_other() {
    let (folder, origin) = (TempDir::new().expect("a folder"), statuses(&[400]));
    let outlets = Outlet::start_all(&plan(&folder, vec![BackendPlan::Influx(web(&origin))]), None);
    outlets[0].push_last(&flush(5_001));
    outlets[0].end();
    let status = outlets[0].status();
    assert_eq!((status.delivered, status.lost, status.spooled_bytes), (0, 1, 0), "{status:?}");
    let lines = |at: usize| origin.requests()[at].body.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!((lines(0), lines(1)), (5_000, 1));
}

#[test]
fn a_part_that_has_arrived_is_not_sent_again() {
    let (folder, origin) = (TempDir::new().expect("a folder"), statuses(&[200, 503]));
    let outlets = Outlet::start_all(&plan(&folder, vec![BackendPlan::Otlp(web(&origin))]), None);
    outlets[0].push(&flush(2_001));
    origin.wait_for("/v1/metrics", 3);
    outlets[0].end();
    let counts: Vec<usize> = origin
        .requests()
        .iter()
        .map(|request| {
            let document: Value = serde_json::from_slice(&request.body).expect("JSON");
            let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
            metrics.as_array().map_or(0, Vec::len)
        })
        .collect();
    assert_eq!(counts, [2_000, 1, 1]);
    assert_eq!((outlets[0].status().lost, outlets[0].status().spooled_bytes), (0, 0));
}

#[test]
fn what_a_token_or_a_bucket_is_missing_for_waits() {
    for status in [401, 404, 429, 500] {
        let (folder, origin) = (TempDir::new().expect("a folder"), statuses(&[status]));
        let plan = plan(&folder, vec![BackendPlan::Influx(web(&origin))]);
        let outlets = Outlet::start_all(&plan, None);
        outlets[0].push_last(&flush(1));
        origin.wait_for("/", 1);
        outlets[0].end();
        let status = outlets[0].status();
        assert!(status.lost == 0 && (status.spooled_bytes > 0), "{status:?}");
    }
}

#[test]
fn what_a_collector_takes_in_part_is_lost_and_said() {
    let folder = TempDir::new().expect("a folder");
    let origin = Origin::start(|_| {
        OriginReply::ok(r#"{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}"#)
    });
    let outlets = Outlet::start_all(&plan(&folder, vec![BackendPlan::Otlp(web(&origin))]), None);
    outlets[0].push_last(&flush(3));
    outlets[0].end();
    let status = outlets[0].status();
    assert_eq!((status.lost, status.spooled_bytes, origin.requests().len()), (1, 0, 1));
    let error = status.last_error.expect("it is said");
    assert_eq!(error, "the collector refused 2 of what was sent: too old");
}

#[test]
fn backends_of_one_kind_spool_apart() {
    let folder = TempDir::new().expect("a folder");
    let graphite = || {
        // Nobody listens there.
        BackendPlan::Graphite(Graphite { to: Some("127.0.0.1:1".into()), ..Graphite::default() })
    };
    let outlets = Outlet::start_all(&plan(&folder, vec![graphite(), graphite()]), None);
    let names: Vec<&str> = outlets.iter().map(Outlet::name).collect();
    assert_eq!(names, ["graphite", "graphite-2"]);
    for outlet in &outlets {
        outlet.push_last(&flush(1));
        outlet.end();
        let parts = folder.path().join("data/statsd-spool").join(outlet.name());
        assert_eq!(std::fs::read_dir(parts).expect("a folder").count(), 1);
    }
}
