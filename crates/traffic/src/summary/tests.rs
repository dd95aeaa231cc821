//! Claims about `summary`.

use super::{Era, view};
use crate::tag::Tag;
use crate::transaction::{Kind, Transaction};

fn transaction(records: &[(&str, &str)]) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.begin(2, Kind::Request);
    for (tag, data) in records {
        assert!(transaction.push(Tag::named(tag), data.as_bytes()));
    }
    transaction
}

/// What the calls of VCL mean, each with its return.
fn handling(calls: &[(&str, &str)]) -> Option<&'static str> {
    let records = calls.iter().flat_map(|(call, returned)| {
        [("VCL_call", *call), ("VCL_return", *returned)].into_iter().filter(|(_, d)| !d.is_empty())
    });
    let transaction = transaction(&records.collect::<Vec<_>>());
    view(&transaction, Era::Modern)?.handling
}

#[test]
fn without_calls_of_vcl_nobody_knows_whether_it_was_a_hit() {
    let has_none = transaction(&[("RespStatus", "200")]);
    assert_eq!(view(&has_none, Era::Modern).unwrap().is_hit, None);
    let has_one = transaction(&[("VCL_call", "MISS")]);
    assert_eq!(view(&has_one, Era::Modern).unwrap().is_hit, Some(false));
}

#[test]
fn handling_is_what_varnishncsa_says() {
    let recv = ("RECV", "hash");
    assert_eq!(handling(&[recv, ("HASH", "lookup"), ("HIT", "deliver")]), Some("hit"));
    assert_eq!(handling(&[recv, ("HASH", "lookup"), ("MISS", "fetch")]), Some("miss"));
    assert_eq!(handling(&[recv, ("HIT", "pass"), ("PASS", "fetch")]), Some("pass"));
    assert_eq!(
        handling(&[("RECV", "synth"), ("HASH", "lookup"), ("SYNTH", "deliver")]),
        Some("synth")
    );
    assert_eq!(handling(&[("RECV", "pipe"), ("HASH", "lookup"), ("PIPE", "pipe")]), Some("pipe"));
    assert_eq!(handling(&[]), None);
    assert_eq!(handling(&[("HIT", "deliver"), ("RECV", "hash")]), None);
}

#[test]
fn a_request_that_ends_by_a_restart_is_no_exchange() {
    let restarted = transaction(&[("VCL_call", "RECV"), ("VCL_return", "restart")]);
    assert!(view(&restarted, Era::Modern).is_none());
}

#[test]
fn what_the_client_asked_counts_and_what_it_got() {
    let transaction = transaction(&[
        ("ReqURL", "/asked"),
        ("ReqURL", "/rewritten"),
        ("RespStatus", "200"),
        ("RespStatus", "304"),
        ("RespReason", "OK"),
        ("RespReason", "Not Modified"),
    ]);
    let view = view(&transaction, Era::Modern).unwrap();
    assert_eq!((&*view.url, view.status), (&b"/asked"[..], Some(304)));
    assert_eq!(view.status_line(), b"304 Not Modified");
}

#[test]
fn headers_that_vcl_has_taken_away_are_gone() {
    let transaction = transaction(&[
        ("ReqHeader", "Host: a"),
        ("ReqHeader", "Cookie: x=1"),
        ("ReqHeader", "X-Real-IP: 192.0.2.7"),
        ("ReqUnset", "Cookie: x=1"),
    ]);
    let view = view(&transaction, Era::Modern).unwrap();
    assert_eq!(view.request_header(b"cookie"), None);
    assert_eq!(view.request_header(b"HOST"), Some(&b"a"[..]));
}

#[test]
fn up_to_3_0_a_hit_needs_lookup_delivery_and_no_fetch() {
    let handling = |calls: &[&str]| {
        let records: Vec<_> = calls.iter().map(|call| ("VCL_call", *call)).collect();
        view(&transaction(&records), Era::Legacy).unwrap().handling
    };
    assert_eq!(
        handling(&["recv lookup", "hash hash", "hit deliver", "deliver deliver"]),
        Some("hit")
    );
    assert_eq!(
        handling(&["recv lookup", "miss fetch", "fetch deliver", "deliver deliver"]),
        Some("miss")
    );
    assert_eq!(
        handling(&["recv lookup", "hit pass", "pass pass", "deliver deliver"]),
        Some("pass")
    );
    assert_eq!(
        handling(&["recv 1 128.3 lookup", "hit 2 17.1 deliver", "deliver 3 4.5 deliver"]),
        Some("hit")
    );
    assert_eq!(handling(&["recv lookup", "hit deliver", "deliver restart"]), Some("miss"));
    assert_eq!(handling(&["recv pipe", "pipe pipe"]), Some("pipe"));
    assert_eq!(handling(&["recv error", "error deliver", "deliver deliver"]), Some("synth"));
}

#[test]
fn times_of_3_0_are_those_of_its_last_record() {
    let end = "933984866 1365604497.837000000 1365604497.883500000 0.0000791 0.0452800 0.000056";
    let transaction = transaction(&[("ReqEnd", end)]);
    let view = view(&transaction, Era::Legacy).unwrap();
    assert_eq!(view.times.total_us, Some(46_500));
    assert_eq!(view.times.ready_us, Some(45_280));
    assert_eq!(view.times.time_us, Some(1_365_604_497_837_000));
}
