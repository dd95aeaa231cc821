//! Claims about how long a response may be used, and about its fields after a revalidation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chassis::{Charge, Inflight};
use exchange::Decision;
use http1::FieldLines;
use http1::accept::{Coding, Codings};

use super::{Entry, Lifetime, NewEntry, parse_fields};
use crate::encodings::{Encoding, Variant};
use crate::tests::{MINUTE, entry, response};

const NS: Duration = Duration::from_nanos(1);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Compares to the nanosecond how long a response is fresh, and may be used stale and after an
/// error. Each time counts from `born`.
fn check_ends(entry: &Entry, born: Instant, expected: [Duration; 3]) {
    let may = [Entry::is_fresh, Entry::may_answer_stale, Entry::may_answer_error];
    for (may, end) in may.into_iter().zip(expected) {
        assert!(may(entry, born + end - NS), "until {end:?}");
        assert!(!may(entry, born + end), "not from {end:?} on");
        assert!(!may(entry, born + end + NS));
    }
}

#[test]
fn it_is_of_use_until_each_of_its_periods_ends() {
    let now = Instant::now();
    let new = Entry::new(response(&[], ""), MINUTE, now);
    check_ends(&new, now, [secs(60), secs(65), secs(69)]);
    assert_eq!((new.age(now), new.age(now + secs(7))), (secs(0), secs(7)));
    // One that came with an age has used up a part of its time.
    let later = now + secs(100);
    let old = Entry::new(response(&[], ""), Lifetime { age: secs(40), ..MINUTE }, later);
    assert_eq!(old.age(later), secs(40));
    check_ends(&old, now + secs(60), [secs(60), secs(65), secs(69)]);
    let over = Entry::new(response(&[], ""), Lifetime::OVER, now);
    assert!(!over.is_fresh(now) && !over.may_answer_stale(now) && !over.may_answer_error(now));
}

#[test]
fn its_seconds_count_down_to_zero_and_below() {
    let now = Instant::now();
    let entry = Entry::new(response(&[], ""), MINUTE, now);
    for (age, ttl) in [(0, 60), (1, 59), (59, 1), (60, 0), (75, -15)] {
        assert_eq!(entry.ttl_seconds(now + secs(age)), ttl);
    }
    assert_eq!(entry.ttl_seconds(now + Duration::from_millis(1900)), 59);
}

#[test]
fn one_that_is_made_stale_is_stale_from_then_on_and_its_stale_periods_count_from_then() {
    let now = Instant::now();
    let entry = Entry::new(response(&[], "x"), MINUTE, now);
    let stale = entry.made_stale(now + secs(10));
    check_ends(&stale, now, [secs(10), secs(15), secs(19)]);
    // Stale already: nothing changes.
    check_ends(&entry.made_stale(now + secs(62)), now, [secs(60), secs(65), secs(69)]);
    // At age zero too it differs from one whose every use is revalidated.
    assert_eq!(entry.made_stale(now).fresh, NS);
    let never_fresh = Entry::new(response(&[], "x"), Lifetime::OVER, now);
    assert_eq!(never_fresh.made_stale(now).fresh, Duration::ZERO);
}

#[test]
fn after_a_failed_refetch_it_is_left_alone_for_a_second() {
    let now = Instant::now();
    let entry = Entry::new(response(&[], ""), MINUTE, now);
    assert!(!entry.holds_off(now));
    entry.hold_off(now + secs(70));
    let us = Duration::from_micros(1);
    // A copy, such as one that a purge made stale, goes on with it.
    let copy = entry.made_stale(now + secs(70));
    for entry in [&entry, &copy] {
        assert!(entry.holds_off(now + secs(70)) && entry.holds_off(now + secs(71) - us));
        assert!(!entry.holds_off(now + secs(71)) && !entry.holds_off(now + secs(71) + us));
    }
    copy.hold_off(now + secs(80));
    assert!(!entry.holds_off(now + secs(80)), "each has its time from there on");
}

fn lines(fields: &FieldLines) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
}

#[test]
fn a_304_renews_the_fields_but_those_that_describe_the_stored_bytes() {
    let stored = [
        ("date", "old"),
        ("etag", "\"1\""),
        ("cache-control", "old"),
        ("content-encoding", "old"),
        ("set-cookie", "a=1"),
        ("vary", "old"),
    ];
    let confirmed = [
        ("date", "new"),
        ("etag", "\"2\""),
        ("cache-control", "new"),
        ("content-encoding", "new"),
        ("content-range", "bytes 0-1/2"),
        ("content-md5", "new"),
        ("content-length", "0"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("keep-alive", "1"),
        ("set-cookie", "b=2"),
        ("set-cookie2", "c=3"),
        ("x-new", "1"),
        ("x-new", "2"),
    ];
    let merge = |stored: &[(&str, &str)], confirmed: &[(&str, &str)]| {
        let entry = Entry::new(response(stored, ""), MINUTE, Instant::now());
        lines(&entry.merged(&confirmed.iter().copied().collect()))
    };
    let merged = [
        "etag: \"1\"",
        "content-encoding: old",
        "set-cookie: a=1",
        "vary: old",
        "date: new",
        "cache-control: new",
        "x-new: 1",
        "x-new: 2",
    ];
    assert_eq!(merge(&stored, &confirmed), merged);
    // A tag is news only where there was none; the old date never stays.
    assert_eq!(merge(&[("vary", "a")], &[("etag", "\"2\"")]), ["vary: a", "etag: \"2\""]);
    assert_eq!(merge(&[("date", "old"), ("x", "1")], &[]), ["x: 1"]);
}

#[test]
fn rendered_fields_are_read_back_line_by_line() {
    let fields = [("etag", "\"1\""), ("link", "<a:b>; x=\"c:d\""), ("link", "<e>"), ("empty", "")];
    let entry = Entry::new(response(&fields, ""), MINUTE, Instant::now());
    assert_eq!(
        lines(&parse_fields(&entry.fields)),
        ["etag: \"1\"", "link: <a:b>; x=\"c:d\"", "link: <e>", "empty: "]
    );
    assert_eq!((entry.etag.as_deref(), entry.dated), (Some(&b"\"1\""[..]), false));
    assert!(parse_fields(b"no field\r\n\r\n").is_empty());
}

fn encodable(body: &'static str, decision_at: Option<std::ops::Range<usize>>) -> Arc<Entry> {
    let codings = Some(Codings::ALL);
    let new = NewEntry { codings, decision_at, ..response(&[("etag", "\"1\"")], body) };
    Entry::new(new, MINUTE, Instant::now())
}

#[test]
fn encodings_pass_on_only_to_the_same_body_with_its_decision_at_the_same_place() {
    let variant = Variant { coding: Coding::Gzip, decision: Decision::default() };
    let (body, at) = ("a generic body", 2..9);
    let plain = Entry::new(response(&[], body), MINUTE, Instant::now());
    for (from, to, passes) in [
        (encodable(body, None), encodable(body, None), true),
        (encodable(body, Some(at.clone())), encodable(body, Some(at.clone())), true),
        (encodable(body, None), encodable("another", None), false),
        (encodable(body, Some(at.clone())), encodable("b generic body", Some(at.clone())), false),
        (encodable(body, Some(at.clone())), encodable(body, Some(2..8)), false),
        (encodable(body, Some(at)), encodable(body, None), false),
        (encodable(body, None), plain, false),
    ] {
        let made = Encoding { fields: "old: 1\r\n".into(), body: "encoded".into() };
        from.encodings.as_ref().unwrap().fill(variant, Some(made));
        to.inherit_encodings(&from);
        let made = to.encodings.as_ref().and_then(|encodings| encodings.made(variant));
        assert_eq!(made.map(|made| &*made.body), passes.then_some(&b"encoded"[..]));
        let renewed = b"etag: W/\"1~tg-gzip\"\r\ncontent-encoding: gzip\r\n";
        assert_eq!(made.map(|made| &*made.fields), passes.then_some(&renewed[..]));
    }
}

#[test]
fn a_long_body_is_charged_until_nobody_uses_it_and_a_short_one_not() {
    let budget = Inflight::unbounded();
    for (length, charged) in [(64 * 1024, 5), (64 * 1024 - 1, 0)] {
        let mut charge = Charge::new(&budget);
        charge.add(5);
        let entry = entry(vec![0; length]);
        entry.charge(charge);
        let reply = entry.body.slice(1..);
        drop(entry);
        assert_eq!(budget.bytes(), charged);
        drop(reply);
        assert_eq!(budget.bytes(), 0);
    }
}
