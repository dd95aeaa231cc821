//! Claims about lifetimes.

use std::time::{Duration, SystemTime};

use super::{Lifetime, Policy, RequestFacts, lifetime};
use http1::FieldLines;

fn headers(fields: &[(&str, &str)]) -> FieldLines {
    fields.iter().copied().collect()
}

fn fresh(status: u16, fields: &[(&str, &str)], policy: Policy) -> Option<u64> {
    lifetime(status, &headers(fields), &policy, RequestFacts::default())
        .ok()
        .map(|l| l.fresh.as_secs())
}

#[test]
fn the_origin_states_the_lifetime_and_there_is_no_default() {
    let none = Policy::default();
    assert_eq!(fresh(200, &[("cache-control", "max-age=60")], none), Some(60));
    assert_eq!(fresh(200, &[("cache-control", "max-age=60, s-maxage=5")], none), Some(5));
    assert_eq!(fresh(299, &[("cache-control", "max-age=60")], none), Some(60));
    assert_eq!(fresh(200, &[], none), None);
    assert_eq!(fresh(206, &[("cache-control", "max-age=60")], none), None);
    let dates =
        [("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("expires", "Sun, 06 Nov 1994 08:50:37 GMT")];
    assert_eq!(fresh(200, &dates, none), Some(60));
    assert_eq!(fresh(200, &[("expires", "0"), ("etag", "\"x\"")], none), Some(0));
}

#[test]
fn what_belongs_to_one_user_is_never_stored_not_even_by_the_routes_ttl() {
    let policy = Policy { ttl: Some(Duration::from_secs(60)), ..Policy::default() };
    assert_eq!(fresh(200, &[], policy), Some(60));
    assert_eq!(fresh(500, &[], policy), None);
    for field in [
        ("cache-control", "no-store"),
        ("cache-control", "private"),
        ("set-cookie", "a=b"),
        ("vary", "accept, *"),
    ] {
        assert_eq!(fresh(200, &[field], policy), None, "{field:?}");
    }
    let asked = RequestFacts { authorised: true, ..RequestFacts::default() };
    let stored = |cc| lifetime(200, &headers(&[("cache-control", cc)]), &policy, asked).is_ok();
    assert!(!stored("max-age=60"));
    assert!(stored("max-age=60, public"));
}

#[test]
fn what_must_be_understood_is_stored_only_where_its_status_is() {
    let none = Policy::default();
    let said = [("cache-control", "max-age=60, no-store, must-understand")];
    assert_eq!(fresh(200, &said, none), Some(60));
    assert_eq!(fresh(599, &said, none), None);
    assert_eq!(fresh(599, &[("cache-control", "max-age=60, must-understand")], none), None);
    assert_eq!(fresh(599, &[("cache-control", "max-age=60")], none), Some(60));
}

#[test]
fn malformed_and_repeated_numbers_count_as_the_shortest() {
    let none = Policy::default();
    assert_eq!(fresh(200, &[("cache-control", "max-age=60, max-age=5")], none), Some(5));
    assert_eq!(fresh(200, &[("cache-control", "max-age=-1"), ("etag", "\"x\"")], none), Some(0));
    let huge = "max-age=99999999999999999999999999";
    assert_eq!(fresh(200, &[("cache-control", huge)], none), Some(1 << 31));
}

#[test]
fn strict_origins_forbid_stale_answers() {
    let policy = Policy { stale: Some(Duration::from_secs(300)), ..Policy::default() };
    let stale = |cc| {
        let found =
            lifetime(200, &headers(&[("cache-control", cc)]), &policy, RequestFacts::default());
        let Lifetime { while_revalidate, if_error, .. } = found.unwrap();
        (while_revalidate.as_secs(), if_error.as_secs())
    };
    assert_eq!(stale("max-age=1"), (300, 300));
    assert_eq!(stale("max-age=1, must-revalidate"), (0, 0));
    assert_eq!(stale("max-age=1, proxy-revalidate"), (0, 0));
}

#[test]
fn a_slow_response_ages_once_whether_it_is_dated_at_its_begin_or_end() {
    let facts = RequestFacts { delay: Duration::from_secs(3), ..RequestFacts::default() };
    let age = |more: &[(&str, &str)]| {
        let fields = headers(&[&[("cache-control", "max-age=100")], more].concat());
        lifetime(200, &fields, &Policy::default(), facts).unwrap().age.as_secs()
    };
    let dated = |ago: u64| {
        let date = SystemTime::now() - Duration::from_secs(ago);
        age(&[("date", &httpdate::fmt_http_date(date))])
    };
    // Dates have whole seconds, so one more may have begun.
    assert!((3..=4).contains(&dated(3)) && dated(0) == 3, "RFC 9111 §4.2.3");
    assert_eq!(age(&[("age", "7")]), 10);
}

#[test]
fn age_is_read_from_the_first_value() {
    let age = |value| {
        let fields = headers(&[("cache-control", "max-age=100"), ("age", value)]);
        let found = lifetime(200, &fields, &Policy::default(), RequestFacts::default());
        found.unwrap().age.as_secs()
    };
    assert_eq!(age("7"), 7);
    assert_eq!(age("7, 9"), 7);
    assert_eq!(age("x"), 0);
}

#[test]
fn proxy_revalidate_opens_no_answer_to_authorization_and_must_revalidate_does() {
    let asked = RequestFacts { authorised: true, ..RequestFacts::default() };
    let stored = |cc| {
        let fields = headers(&[("cache-control", cc), ("etag", "\"x\"")]);
        lifetime(200, &fields, &Policy::default(), asked).is_ok()
    };
    assert!(stored("max-age=9, must-revalidate"), "RFC 9111 §3.5");
    assert!(!stored("max-age=9, proxy-revalidate"), "it is not among the three of §3.5");
}

#[test]
fn a_route_vouches_for_no_stale_answer_to_a_request_with_cookies() {
    let policy = Policy { stale: Some(Duration::from_secs(300)), ..Policy::default() };
    let asked = RequestFacts { cookies: true, ..RequestFacts::default() };
    let stale = |cc| {
        let fields = headers(&[("cache-control", cc), ("etag", "\"x\"")]);
        let Lifetime { while_revalidate, if_error, .. } =
            lifetime(200, &fields, &policy, asked).unwrap();
        (while_revalidate.as_secs(), if_error.as_secs())
    };
    assert_eq!(stale("max-age=0"), (0, 0));
    assert_eq!(stale("max-age=0, stale-while-revalidate=7"), (7, 7), "the origin says so");
    assert_eq!(stale("max-age=0, public"), (300, 300));
    assert_eq!(stale("max-age=5"), (300, 300), "a lifetime for all is stated");
    let without = headers(&[("cache-control", "max-age=0")]);
    assert_eq!(lifetime(200, &without, &policy, asked), Err(super::Unstored::NoUse));
}
