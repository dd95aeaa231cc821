//! Claims about failing personalised responses: the user gets the generic one, and the guard acts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use exchange::Decision;
use testkit::{Client, Origin, OriginReply};

use super::{assert_hit, before, decision, decision_field, route_to, serve};

const ROUTE: &str = "cache = { ttl = \"60s\" }\npersonalise = { user = \"cookie:u\" }";
const USER: [(&str, &str); 1] = [("Cookie", "u=p1")];

/// An origin whose personalised responses fail in every way; the generic one is sound.
fn failing() -> Origin {
    Origin::start(|request| match request.header("tidegate-decision") {
        Some("personalised") => match request.path() {
            "/500" => OriginReply::status(500),
            "/closed" => OriginReply::ok("").close_before_head(),
            "/stalled" => OriginReply::ok("").stall(),
            _ => OriginReply::ok("own"),
        },
        _ => OriginReply::ok("everybody's"),
    })
}

#[test]
fn the_user_gets_everybodys_answer_however_the_personalised_one_fails() {
    let origin = failing();
    let served = before(&origin, &format!("{ROUTE}\nlease = \"500ms\""));
    for target in ["/500", "/closed", "/stalled"] {
        let reply = served.get_with(target, &USER);
        assert_eq!((decision(&reply), reply.text()), ("fallback", "everybody's"), "{target}");
        let again = served.get_with(target, &USER);
        assert_eq!(decision(&again), "fallback");
        assert_hit(&again);
    }
    assert_eq!(served.get_with("/sound", &USER).text(), "own");
    let records = served.journal.wait_for(7);
    assert!(records[..6].iter().all(|record| record.decision == Decision::Fallback));
}

#[test]
fn it_needs_no_cache_and_no_second_place_among_the_pending() {
    let origin = failing();
    let uncached = before(&origin, "personalise = { user = \"cookie:u\" }");
    let reply = uncached.get_with("/500", &USER);
    assert_eq!((decision(&reply), reply.text()), ("fallback", "everybody's"));
    let one = serve(&(route_to(&[&origin], "", ROUTE) + "[limits]\npending_max = 1\n"));
    assert_eq!(one.get_with("/500", &USER).text(), "everybody's");
}

#[test]
fn a_model_that_fails_for_a_user_ranks_for_everybody() {
    let served = serve(
        "[[route]]\npath = \"/rank\"\nto = \"model:news\"\npersonalise = { user = \"cookie:u\" }\n",
    );
    let reply = served.get_with("/rank?own", &USER);
    assert_eq!(decision(&reply), "fallback");
    assert!(reply.text().starts_with("fallback - "), "{}", reply.text());
}

#[test]
fn what_a_model_says_of_a_decision_goes_out_behind_it_and_is_recorded_as_before() {
    let served = serve(
        "[[route]]\npath = \"/rank\"\nto = \"model:news\"\npersonalise = { user = \"cookie:u\" }\n",
    );
    let reply = served.get_with("/rank?lacks", &USER);
    assert_eq!(decision_field(&reply), "personalised; detail=no-affinity");
    assert_eq!(decision_field(&served.get_with("/rank", &USER)), "personalised");
    let records = served.journal.wait_for(2);
    assert!(records.iter().all(|record| record.decision == Decision::Personalised));
}

#[test]
fn a_change_that_fails_for_a_user_is_told_to_the_user_and_never_repeated() {
    let origin = Origin::start(|request| match &*request.method {
        "POST" => OriginReply::status(500).body("not done"),
        _ => OriginReply::ok("everybody's"),
    });
    let served = before(&origin, ROUTE);
    served.get("/");
    let reply = Client::post(served.address, "/", "x").header("Cookie", "u=p1").send();
    assert_eq!((reply.status, reply.text()), (500, "not done"));
    assert_eq!(origin.requests().iter().filter(|r| r.method == "POST").count(), 1);
    assert_eq!(served.get("/").text(), "everybody's");
}

#[test]
fn failures_behind_a_route_reach_its_guard() {
    let broken = Arc::new(AtomicBool::new(true));
    let own = Arc::clone(&broken);
    let origin = Origin::start(move |request| {
        let is_own = request.header("tidegate-decision") == Some("personalised");
        match is_own && own.load(Ordering::SeqCst) {
            true => OriginReply::status(500),
            false => OriginReply::ok("x"),
        }
    });
    let guarded = ROUTE.replace("\"cookie:u\"", "\"cookie:u\", guard = { errors = \"50%\" }");
    let served = before(&origin, &guarded);
    let rollout = served.gateway.rollout(0).unwrap();
    let ask = || (0..25).for_each(|_| assert_eq!(served.get_with("/", &USER).status, 200));
    ask();
    // The guard judges at the first response after its interval.
    let later = |seconds| Instant::now() + Duration::from_secs(seconds);
    rollout.note_at(later(2), Duration::ZERO, true);
    assert_eq!(rollout.shares().guard, 0.5);
    broken.store(false, Ordering::SeqCst);
    let users: Vec<String> = (0..2000).map(|n| format!("p{n}")).collect();
    let let_in =
        |user: &&String| rollout.decide(user.as_bytes()).decision == Decision::Personalised;
    let inside: Vec<&String> = users.iter().filter(let_in).take(30).collect();
    for user in inside {
        served.get_with("/", &[("Cookie", &format!("u={user}"))]);
    }
    rollout.note_at(later(4), Duration::ZERO, false);
    assert_eq!(rollout.shares().guard, 0.6);
}

#[test]
fn a_personalised_body_that_breaks_off_reaches_the_guard_as_a_failure() {
    let origin = Origin::start(|_| OriginReply::ok("x".repeat(200)).close_mid_body(2));
    let guarded = "personalise = { user = \"cookie:u\", guard = { errors = \"50%\" } }";
    let served = before(&origin, guarded);
    let rollout = served.gateway.rollout(0).unwrap();
    for _ in 0..25 {
        let call = Client::get(served.address, "/").header("Cookie", "u=p1");
        assert!(call.try_send().is_err());
    }
    served.journal.wait_for(25);
    // The guard judges at the first response after its interval.
    rollout.note_at(Instant::now() + Duration::from_secs(2), Duration::ZERO, false);
    assert_eq!(rollout.shares().guard, 0.5);
}

#[test]
fn a_personalised_response_leaves_as_its_users_own_whatever_the_origin_says() {
    let origin = Origin::start(|request| {
        OriginReply::ok(format!("{}", request.nth))
            .header("Cache-Control", "public, max-age=60, s-maxage=600")
            .header("CDN-Cache-Control", "max-age=600")
            .header("Age", if request.nth == 0 { "0" } else { "100" })
    });
    let personalise = "personalise = { user = \"cookie:u\" }";
    let keeping = "personalise = { user = \"cookie:u\", cache_control = \"origin\" }";
    for (cache, personalise, is_own) in [
        ("", personalise, true),
        ("cache = {}", personalise, true),
        ("cache = { per_user = true }", personalise, true),
        ("cache = { per_user = true }", keeping, false),
    ] {
        let served = before(&origin, &format!("{cache}\n{personalise}"));
        for _ in 0..2 {
            let reply = served.get_with("/own", &USER);
            assert_eq!(decision(&reply), "personalised");
            let control = reply.header("cache-control").unwrap();
            match is_own {
                true => assert_eq!(control, "private, max-age=60", "{cache}"),
                false => assert!(control.starts_with("public"), "{cache}: {control}"),
            }
            assert_eq!(reply.header("cdn-cache-control").is_none(), is_own);
        }
        let everybodys = served.get("/own");
        assert!(everybodys.header("cache-control").unwrap().starts_with("public"), "{cache}");
    }
}
