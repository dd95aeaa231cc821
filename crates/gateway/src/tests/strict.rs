//! Claims about `coalesce = "strict"`: every request gets the same response, good or bad.

use testkit::{Gate, Origin, OriginReply, Reply};

use super::{Served, assert_hit, before, cache_status};

const STRICT: &str = "coalesce = \"strict\"";

/// Sends a leader and `waiters` others for `/`, and opens the gate when all wait.
fn together(served: &Served, origin: &Origin, waiters: usize, gate: &Gate) -> Vec<Reply> {
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 1);
    let others: Vec<_> = (0..waiters).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(waiters);
    gate.open();
    [leader].into_iter().chain(others).map(|reply| reply.join().unwrap()).collect()
}

#[test]
fn an_answer_without_any_lifetime_is_shared_and_held() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        OriginReply::ok(format!("{}", request.nth))
            .header("Date", "Thu, 01 Jan 1999 00:00:00 GMT")
            .after(&own)
    });
    let served = before(&origin, STRICT);
    for reply in together(&served, &origin, 5, &gate) {
        assert_eq!(reply.text(), "0");
    }
    let held = served.get("/");
    assert_hit(&held);
    assert!(cache_status(&held).ends_with("ttl=20") || cache_status(&held).ends_with("ttl=19"));
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn a_failure_is_everybodys_at_once_and_not_kept() {
    for fails in [
        |reply: OriginReply| reply.close_before_head(),
        |reply: OriginReply| reply.close_mid_body(1),
        |reply: OriginReply| reply.stall(),
    ] {
        let gate = Gate::new();
        let own = gate.clone();
        let origin = Origin::start(move |request| match request.nth {
            0 => fails(OriginReply::ok("broken").after(&own)),
            _ => OriginReply::ok("sound"),
        });
        let served = before(&origin, &format!("{STRICT}\nlease = \"400ms\""));
        for reply in together(&served, &origin, 5, &gate) {
            assert_eq!((reply.status, reply.header("retry-after")), (502, Some("1")));
        }
        assert_eq!(origin.count("/"), 1, "nobody takes over");
        assert_eq!(served.get("/").text(), "sound");
    }
}

#[test]
fn the_waiters_get_the_leaders_answer_whatever_it_says_of_storing() {
    for (status, field) in [
        (200, ("Cache-Control", "max-age=0, private, must-revalidate")),
        (200, ("Cache-Control", "no-store")),
        (200, ("Cache-Control", "no-cache")),
        (404, ("Cache-Control", "private")),
        (500, ("X-Reason", "oh")),
        (503, ("Retry-After", "7")),
    ] {
        let gate = Gate::new();
        let own = gate.clone();
        let origin = Origin::start(move |request| {
            let reply = OriginReply::status(status).body(format!("{}", request.nth));
            reply.header(field.0, field.1).after(&own)
        });
        let served = before(&origin, STRICT);
        for reply in together(&served, &origin, 5, &gate) {
            assert_eq!((reply.status, reply.text()), (status, "0"), "{field:?}");
            assert_eq!(reply.header(field.0), Some(field.1));
        }
        assert_eq!(origin.count("/"), 1, "{field:?}");
        assert_eq!(served.get("/").text(), "1", "{field:?}: nothing of it is kept");
    }
}

#[test]
fn a_cookie_is_the_leaders_alone() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        OriginReply::ok(format!("{}", request.nth)).header("Set-Cookie", "a=b").after(&own)
    });
    let served = before(&origin, STRICT);
    let replies = together(&served, &origin, 3, &gate);
    assert!(replies.iter().all(|reply| reply.text() == "0"));
    let cookies: Vec<_> = replies.iter().map(|reply| reply.header("set-cookie")).collect();
    assert_eq!(cookies, [Some("a=b"), None, None, None]);
}

#[test]
fn who_shows_credentials_neither_shares_nor_waits() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.header("authorization") {
        Some(who) => OriginReply::ok(who),
        None => OriginReply::ok("everybody's").after(&own),
    });
    let served = before(&origin, STRICT);
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 1);
    assert_eq!(served.get_with("/", &[("Authorization", "one")]).text(), "one");
    assert_eq!(served.get_with("/", &[("Authorization", "two")]).text(), "two");
    gate.open();
    assert_eq!(leader.join().unwrap().text(), "everybody's");
    assert_eq!(served.get_with("/", &[("Authorization", "one")]).text(), "one");
}
