//! Claims about stale entries: who still gets them, and how they are refetched.
//!
//! Entries are stale from the start, by the `Age` that the origin sends, so no test waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use testkit::{Client, Gate, Origin, OriginReply};

use super::{assert_hit, assert_miss, before, cache_status, eventually};

/// Returns a response that is stale by nine seconds when it arrives.
fn stale(text: &str, more: &str) -> OriginReply {
    OriginReply::ok(text).header("Cache-Control", &format!("max-age=1{more}")).header("Age", "10")
}

#[test]
fn a_stale_answer_is_given_at_once_while_one_request_fetches_it_anew() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.nth {
        0 => stale("old", ", stale-while-revalidate=600"),
        _ => OriginReply::ok("new").header("Cache-Control", "max-age=60").after(&own),
    });
    let served = before(&origin, "cache = {}");
    assert_eq!(served.get("/").text(), "old");
    for _ in 0..10 {
        let reply = served.get("/");
        assert_eq!(reply.text(), "old");
        assert_hit(&reply);
        assert!(cache_status(&reply).contains("; ttl=-"), "{}", cache_status(&reply));
    }
    origin.wait_for("/", 2);
    gate.open();
    served.wait_for_landing();
    let fresh = served.get("/");
    assert_hit(&fresh);
    assert_eq!((fresh.text(), origin.count("/")), ("new", 2));
}

#[test]
fn a_refresh_that_fails_is_not_repeated_by_every_request() {
    let origin = Origin::start(|request| match request.nth {
        0 => stale("old", ", stale-while-revalidate=600"),
        _ => OriginReply::status(503),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    served.get("/");
    origin.wait_for("/", 2);
    served.wait_for_landing();
    let begun = Instant::now();
    for _ in 0..200 {
        assert_eq!(served.get("/").text(), "old");
    }
    served.wait_for_landing();
    let allowed = 2 + begun.elapsed().as_secs() as usize;
    assert!(origin.count("/") <= allowed, "{} fetches", origin.count("/"));
}

#[test]
fn an_entry_holds_off_for_a_second_after_a_failure() {
    let origin = Origin::start(|_| stale("old", ", stale-while-revalidate=600"));
    let served = before(&origin, "cache = {}");
    served.get("/");
    let key = format!("http\n{}\n/", served.address);
    let entry = served.gateway.store.get(key.as_bytes()).unwrap();
    let now = Instant::now();
    assert!(!entry.holds_off(now));
    entry.hold_off(now);
    assert!(entry.holds_off(now) && entry.holds_off(now + Duration::from_millis(999)));
    assert!(!entry.holds_off(now + Duration::from_secs(1)));
}

#[test]
fn a_failing_origin_is_hidden_by_the_stale_answer_and_asked_no_more_than_needed() {
    let status = Arc::new(AtomicU16::new(200));
    let own = Arc::clone(&status);
    let origin = Origin::start(move |request| match own.load(Ordering::SeqCst) {
        200 => stale("old", ", stale-if-error=600"),
        0 => OriginReply::status(200).close_before_head(),
        1 => stale("truncated", "").claim_length(100),
        status => OriginReply::status(status).body(request.path()),
    });
    let served = before(&origin, "cache = {}");
    for (cause, target) in [(500, "/500"), (503, "/503"), (0, "/closed"), (1, "/truncated")] {
        status.store(200, Ordering::SeqCst);
        assert_miss(&served.get(target));
        status.store(cause, Ordering::SeqCst);
        let begun = Instant::now();
        for _ in 0..50 {
            let reply = served.get(target);
            assert_eq!((reply.status, reply.text()), (200, "old"), "{target}");
            assert_hit(&reply);
        }
        // A request that was lost with a kept connection is repeated on a new one.
        let tries = if cause == 0 { 2 } else { 1 };
        let allowed = 1 + tries * (1 + begun.elapsed().as_secs() as usize);
        assert!(origin.count(target) <= allowed, "{} fetches", origin.count(target));
    }
    // A response that is no failure is passed on, not replaced by the stale entry.
    status.store(200, Ordering::SeqCst);
    served.get("/404");
    status.store(404, Ordering::SeqCst);
    assert_eq!(served.get("/404").status, 404);
    assert_eq!(served.get("/404").status, 404);
}

#[test]
fn a_stale_answer_is_never_given_where_the_origin_forbids_it() {
    let broken = Arc::new(AtomicU16::new(0));
    let own = Arc::clone(&broken);
    let origin = Origin::start(move |request| match own.load(Ordering::SeqCst) {
        0 => stale("old", &request.path().replace('/', ", ")).header("ETag", "\"a\""),
        _ => OriginReply::status(503),
    });
    let served = before(&origin, "cache = { stale = \"600s\" }");
    let targets = ["/must-revalidate", "/proxy-revalidate", "/no-cache", "/s-maxage=1"];
    for target in targets {
        served.get(target);
    }
    served.get("/x");
    broken.store(1, Ordering::SeqCst);
    for target in targets {
        assert_eq!(served.get(target).status, 503, "{target}");
    }
    assert_eq!(served.get("/x").text(), "old");
}

#[test]
fn a_stale_entry_is_confirmed_by_304_and_takes_over_its_fields() {
    let origin = Origin::start(|request| match request.header("if-none-match") {
        Some("\"v1\"") => OriginReply::status(304)
            .header("Cache-Control", "max-age=60")
            .header("ETag", "\"v1\"")
            .header("X-Changed", "new"),
        _ => stale("body", "")
            .header("ETag", "\"v1\"")
            .header("Date", "Thu, 01 Jan 1999 00:00:00 GMT")
            .header("X-Changed", "old")
            .header("X-Kept", "kept"),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    let confirmed = served.get("/");
    assert_miss(&confirmed);
    let hit = served.get("/");
    assert_hit(&hit);
    for reply in [&confirmed, &hit] {
        assert_eq!((reply.status, reply.text()), (200, "body"));
        assert_eq!(reply.headers.all("x-changed").collect::<Vec<_>>(), ["new"]);
        assert_eq!(reply.header("x-kept"), Some("kept"));
    }
    assert_eq!(origin.count("/"), 2);
}

#[test]
fn a_confirmation_changes_nothing_that_describes_the_stored_bytes() {
    let origin = Origin::start(|request| match request.header("if-none-match") {
        Some(_) => OriginReply::status(304)
            .header("Cache-Control", "max-age=60")
            .header("ETag", "\"v2\"")
            .header("Content-Encoding", "gzip")
            .header("Content-Range", "bytes 0-1/2")
            .header("Content-Type", "text/html"),
        _ => stale("body", "").header("ETag", "\"v1\"").header("Content-Type", "text/plain"),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    served.get("/");
    let reply = served.get("/");
    assert_hit(&reply);
    assert_eq!((reply.text(), reply.header("etag")), ("body", Some("\"v1\"")));
    assert_eq!(reply.header("content-length"), Some("4"));
    assert_eq!((reply.header("content-encoding"), reply.header("content-range")), (None, None));
    assert_eq!(reply.header("content-type"), Some("text/html"));
}

#[test]
fn a_refresh_whose_answer_may_not_be_stored_forgets_the_stale_one() {
    for second in ["no-store", "private"] {
        let origin = Origin::start(move |request| match request.nth {
            0 => stale("old", ", stale-while-revalidate=600"),
            n => OriginReply::ok(format!("own {n}")).header("Cache-Control", second),
        });
        let served = before(&origin, "cache = {}");
        served.get("/");
        assert_eq!(served.get("/").text(), "old");
        origin.wait_for("/", 2);
        served.wait_for_landing();
        assert_eq!(served.get("/").text(), "own 2");
    }
}

#[test]
fn clients_that_have_the_stored_answer_get_304() {
    let origin = Origin::start(|_| {
        OriginReply::ok("body")
            .header("Cache-Control", "max-age=60")
            .header("ETag", "W/\"v1\"")
            .header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    });
    let served = before(&origin, "cache = {}");
    let first = served.get_with("/", &[("If-None-Match", "\"v1\"")]);
    assert_eq!(first.status, 304, "also from the answer that was fetched for it");
    assert_eq!(origin.requests()[0].header("if-none-match"), None);
    for (name, value, status) in [
        ("If-None-Match", "\"v1\"", 304),
        ("If-None-Match", "\"x\", W/\"v1\"", 304),
        ("If-None-Match", "*", 304),
        ("If-None-Match", "\"v2\"", 200),
        ("If-None-Match", "v1", 200),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 304),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT", 200),
        ("If-Modified-Since", "yesterday", 200),
    ] {
        let reply = served.get_with("/", &[(name, value)]);
        assert_eq!(reply.status, status, "{name}: {value}");
        assert_eq!(reply.text().is_empty(), status == 304);
        assert_eq!(reply.header("etag"), Some("W/\"v1\""));
    }
    let both =
        [("If-None-Match", "\"v2\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")];
    assert_eq!(served.get_with("/", &both).status, 200, "the tag decides");
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn answers_that_need_a_confirmation_are_confirmed_for_each_request_in_parallel() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.header("if-none-match") {
        Some(_) => OriginReply::status(304).after(&own),
        None => OriginReply::ok("x").header("Cache-Control", "no-cache").header("ETag", "\"a\""),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    let asking: Vec<_> = (0..5).map(|_| served.ask("/", &[])).collect();
    origin.wait_for("/", 6);
    gate.open();
    for reply in asking {
        assert_eq!(reply.join().unwrap().text(), "x");
    }
}

#[test]
fn a_head_request_refreshes_a_stale_entry_with_its_body() {
    let origin = Origin::start(|request| match request.nth {
        0 => stale("old", ", stale-while-revalidate=600"),
        _ => OriginReply::ok("new").header("Cache-Control", "max-age=60"),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    let head = Client::call(served.address, "HEAD", "/").send();
    assert_eq!(head.header("content-length"), Some("3"));
    eventually("the refresh", || origin.count("/") == 2);
    served.wait_for_landing();
    assert_eq!(served.get("/").text(), "new");
}

#[test]
fn a_cookie_in_a_304_is_for_nobody_else() {
    let origin = Origin::start(|request| match request.nth {
        0 => stale("body", "").header("ETag", "\"1\"").header("Set-Cookie", "own=1"),
        _ => OriginReply::status(304)
            .header("Cache-Control", "max-age=60")
            .header("X-Changed", "yes")
            .header("Set-Cookie", "leak=1"),
    });
    let served = before(&origin, "cache = {}");
    served.get("/");
    // The client whose request was confirmed gets the cookie, and nobody else.
    for cookie in ["leak=1", "own=1", "own=1"] {
        let reply = served.get("/");
        assert_eq!((reply.text(), reply.header("x-changed")), ("body", Some("yes")));
        assert_eq!(reply.header("set-cookie"), Some(cookie));
    }
    assert_eq!(origin.count("/"), 2);
}
