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
fn an_error_of_the_origin_is_the_leaders_and_502_for_its_waiters() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| OriginReply::status(500).body("oh").after(&own));
    let served = before(&origin, STRICT);
    let replies = together(&served, &origin, 3, &gate);
    assert_eq!((replies[0].status, replies[0].text()), (500, "oh"));
    assert!(replies[1..].iter().all(|reply| reply.status == 502));
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn answers_that_are_somebodys_own_are_never_shared() {
    for field in
        [("Set-Cookie", "a=b"), ("Cache-Control", "private"), ("Cache-Control", "no-store")]
    {
        let gate = Gate::new();
        let own = gate.clone();
        let origin = Origin::start(move |request| {
            OriginReply::ok(format!("{}", request.nth)).header(field.0, field.1).after(&own)
        });
        let served = before(&origin, STRICT);
        let replies = together(&served, &origin, 3, &gate);
        let mut texts: Vec<&str> = replies.iter().map(Reply::text).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["0", "1", "2", "3"], "{field:?}");
        assert_eq!(served.get("/").text(), "4", "{field:?}");
    }
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
