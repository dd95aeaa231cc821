//! Claims about decisions: which requests get a personalised response.

use std::io::Write;
use std::sync::atomic::Ordering;

use exchange::Decision;
use testkit::{Client, Origin, OriginReply};

use super::{assert_hit, before, decision, decision_field, serve};

const ROUTE: &str = "cache = { ttl = \"60s\" }\npersonalise = { user = \"cookie:userId\" }";

/// An origin that answers with the decision in the request.
fn origin() -> Origin {
    Origin::start(|request| {
        OriginReply::ok(format!(
            "{} {}",
            request.header("tidegate-decision").unwrap_or("-"),
            request.header("cookie").unwrap_or("-")
        ))
    })
}

#[test]
fn each_decision_is_reached_and_said_in_header_and_record() {
    let origin = origin();
    let served = before(&origin, ROUTE);
    let rollout = served.gateway.rollout(0).unwrap();
    let ask = |user: &str| served.get_with("/", &[("Cookie", &format!("a=b; userId={user}"))]);
    assert_eq!(decision(&served.get("/")), "anonymous");
    assert_eq!(decision(&ask("nobody")), "no-profile");
    assert_eq!(decision(&ask("p1")), "personalised");
    rollout.set_rollout(0.0);
    assert_eq!(decision(&ask("p1")), "outside-rollout");
    rollout.set_hold_out(1.0);
    assert_eq!(decision(&ask("p1")), "held-out");
    rollout.set_killed(true);
    assert_eq!(decision_field(&ask("p1")), "fallback; detail=killed");
    rollout.set_killed(false);
    served.users.broken.store(true, Ordering::SeqCst);
    assert_eq!(decision_field(&ask("p1")), "fallback; detail=profiles");
    let records = served.journal.wait_for(7);
    let decisions: Vec<Decision> = records.iter().map(|record| record.decision).collect();
    assert_eq!(
        decisions,
        [
            Decision::Anonymous,
            Decision::NoProfile,
            Decision::Personalised,
            Decision::OutsideRollout,
            Decision::HeldOut,
            Decision::Fallback,
            Decision::Fallback,
        ]
    );
    assert_eq!(records[2].user.as_deref(), Some(&b"p1"[..]));
    assert_eq!(records[0].user, None);
    let generic = before(&origin, "");
    assert_eq!(decision(&generic.get("/")), "generic");
}

#[test]
fn only_the_personalised_answer_is_fetched_for_a_user_and_it_is_never_stored() {
    let origin = origin();
    let served = before(&origin, ROUTE);
    let ask = |user: &str| served.get_with("/", &[("Cookie", &format!("userId={user}"))]);
    assert_eq!(ask("nobody").text(), "no-profile -", "the shared fetch knows no user");
    assert_hit(&ask("somebody"));
    assert_hit(&served.get("/"));
    assert_eq!(ask("p1").text(), "personalised userId=p1");
    assert_eq!(ask("p2").text(), "personalised userId=p2");
    assert_eq!(ask("p1").text(), "personalised userId=p1");
    assert_hit(&ask("nobody"));
    assert_eq!(origin.count("/"), 4);
}

#[test]
fn ids_are_found_in_any_cookie_line_and_two_different_ones_are_nobodys() {
    let origin = origin();
    let served = before(&origin, ROUTE);
    let long = format!("userId=p{}", "x".repeat(10_000));
    let fits = format!("userId=p{}", "x".repeat(99));
    for (lines, expected) in [
        (&["a=1", "userId=p1; b=2"][..], "personalised"),
        (&["userId=p1", "userId=p1"], "personalised"),
        (&["userId=\"p1\""], "personalised"),
        (&["userId=p'1--"], "personalised"),
        (&["userId=p1;userId=p1"], "personalised"),
        (&[&fits], "personalised"),
        (&["userId=p1", "userId=p2"], "no-profile"),
        (&["userId=p1; userId=p2"], "no-profile"),
        (&[&long], "no-profile"),
        (&["userId="], "anonymous"),
        (&["userId"], "anonymous"),
        (&["userIdX=p1", "XuserId=p1"], "anonymous"),
    ] {
        let headers: Vec<(&str, &str)> = lines.iter().map(|line| ("Cookie", *line)).collect();
        assert_eq!(decision(&served.get_with("/", &headers)), expected, "{lines:?}");
    }
    let asked = served.users.asked.lock().unwrap().clone();
    assert!(asked.contains(&b"p'1--".to_vec()) && asked.iter().all(|id| id.len() <= 100));
}

#[test]
fn a_nul_in_an_id_is_refused_in_a_header_and_looked_up_from_a_query() {
    let origin = origin();
    let served = before(&origin, ROUTE);
    let mut client = Client::connect(served.address).unwrap();
    client.write_raw(b"GET / HTTP/1.1\r\nHost: a\r\nCookie: userId=p\0x\r\n\r\n").unwrap();
    assert_eq!(client.read_reply("GET").unwrap().status, 400);
    let by_query = before(&origin, &ROUTE.replace("cookie:userId", "query:u"));
    assert_eq!(decision(&by_query.get("/?u=p%00%27x")), "personalised");
    assert_eq!(by_query.users.asked.lock().unwrap()[0], b"p\0'x");
}

#[test]
fn ids_come_from_a_header_or_query_field_when_the_route_says_so() {
    let origin = Origin::start(|request| {
        let user = request.header("x-user").unwrap_or("-");
        OriginReply::ok(format!("{} {user}", request.target))
    });
    let by_header = before(&origin, &ROUTE.replace("cookie:userId", "header:X-User"));
    assert_eq!(by_header.get_with("/h", &[("X-User", "p1")]).text(), "/h p1");
    assert_eq!(by_header.get_with("/h", &[("X-User", "nobody")]).text(), "/h -");
    assert_hit(&by_header.get_with("/h", &[("X-User", "somebody")]));
    let by_query = before(&origin, &ROUTE.replace("cookie:userId", "query:u"));
    assert_eq!(by_query.get("/q?a=1&u=p1").text(), "/q?a=1&u=p1 -");
    assert_eq!(by_query.get("/q?a=1&u=nobody").text(), "/q?a=1 -");
    assert_hit(&by_query.get("/q?u=somebody&a=1"));
    assert_eq!(decision(&by_query.get("/q?u=p1&u=p2")), "no-profile");
}

#[test]
fn a_model_ranks_for_the_user_and_its_impression_is_recorded_with_every_hit() {
    let served = serve(
        "[[route]]\npath = \"/rank\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n\
         personalise = { user = \"cookie:u\" }\n",
    );
    assert!(served.get("/rank").text().starts_with("anonymous - "));
    let hit = served.get_with("/rank", &[("Cookie", "u=nobody")]);
    assert_hit(&hit);
    let own = served.get_with("/rank", &[("Cookie", "u=p1")]);
    assert!(own.text().starts_with("personalised p1 "));
    assert_eq!(own.header("cache-control"), Some("private, no-store"));
    let records = served.journal.wait_for(3);
    let ids: Vec<Option<u128>> = records.iter().map(|record| record.ranked_by).collect();
    let (first, third) = (records[0].id, records[2].id);
    assert_eq!(ids, [Some(first), Some(first), Some(third)]);
    assert_eq!(records[0].items, ["12", "7"]);
    assert!(records[1].items.is_empty(), "a hit ran no ranking");
}

#[test]
fn a_shared_ranking_names_each_users_own_decision() {
    let served = serve(
        "[[route]]\npath = \"/rank\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n\
         personalise = { user = \"cookie:u\", rollout = \"0%\" }\n",
    );
    let first = served.get("/rank").text().to_owned();
    for (cookie, expected) in
        [("u=nobody", "no-profile"), ("u=p1", "outside-rollout"), ("x=y", "anonymous")]
    {
        let hit = served.get_with("/rank", &[("Cookie", cookie)]);
        assert_hit(&hit);
        assert_eq!(hit.text(), first.replacen("anonymous", expected, 1));
        let head = Client::call(served.address, "HEAD", "/rank").header("Cookie", cookie).send();
        assert_eq!(head.header("content-length"), hit.header("content-length"));
    }
    let records = served.journal.wait_for(7);
    assert_eq!(records.iter().filter(|record| !record.items.is_empty()).count(), 1);
}

#[test]
fn long_model_work_leaves_the_core_and_a_panic_in_it_harms_nobody() {
    let served = serve("[[route]]\npath = \"/rank\"\nto = \"model:news\"\n");
    assert!(served.get("/rank?slow").text().ends_with("work-0"));
    assert!(!served.get("/rank").text().ends_with("work-0"));
    assert_eq!(served.get("/rank?slow&panic").status, 500);
    assert_eq!(served.get("/rank?slow&fail").status, 500);
    assert!(served.get("/rank?slow").text().ends_with("work-0"));
}

#[test]
fn long_questions_to_the_model_api_are_gathered() {
    let served = serve("[[route]]\npath = \"/{*rest}\"\nto = \"models\"\n");
    let ask = |body: &str| Client::post(served.address, "/v2/infer?slow", body).send();
    let reply = ask("a body");
    assert_eq!((reply.status, reply.text()), (200, "/v2/infer a body"));
    assert_eq!(reply.header("content-type"), Some("text/plain"));
    let busy = ask("busy");
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("1")));
    assert!(busy.text().contains("the model is busy"));
    assert_eq!(ask("drop").status, 500);
    let formed = ask("form");
    assert_eq!((formed.status, formed.text()), (404, r#"{"error":{"message":"no"}}"#));
}

#[test]
fn a_body_for_a_model_may_be_packed_with_gzip_and_with_nothing_else() {
    let served = serve("[[route]]\npath = \"/{*rest}\"\nto = \"models\"\n");
    let ask = |coding: &str, body: Vec<u8>| {
        let call = Client::post(served.address, "/v2/infer?slow", body);
        call.header("Content-Encoding", coding).send()
    };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"a body").unwrap();
    let packed = encoder.finish().unwrap();
    let reply = ask("gzip", packed.clone());
    assert_eq!((reply.status, reply.text()), (200, "/v2/infer a body"));
    let other = ask("br", packed.clone());
    assert_eq!((other.status, other.header("accept-encoding")), (415, Some("gzip")));
    assert!(other.text().contains("`content-encoding: br` is not supported here; send gzip"));
    let damaged = ask("gzip", packed[..packed.len() - 3].to_vec());
    assert_eq!(damaged.status, 400);
    assert!(damaged.text().contains("the gzip body is damaged"), "{}", damaged.text());
}

#[test]
fn the_length_of_json_before_binary_tensors_goes_both_ways() {
    let served = serve("[[route]]\npath = \"/{*rest}\"\nto = \"models\"\n");
    let ask = |length: &str| {
        let call = Client::post(served.address, "/v2/infer?slow", "{}");
        call.header("Inference-Header-Content-Length", length).send()
    };
    let reply = ask("2");
    assert_eq!(reply.header("inference-header-content-length"), Some("3"));
    assert_eq!(reply.header("content-type"), Some("application/octet-stream"));
    assert_eq!(ask("two").status, 400);
}

#[test]
fn a_route_may_keep_the_decision_from_its_clients() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    for (header, is_shown) in [("on", true), ("off", false)] {
        let route =
            format!("personalise = {{ user = \"cookie:u\" }}\ndecision_header = \"{header}\"");
        let served = before(&origin, &route);
        for user in ["u=p1", "u=nobody"] {
            let reply = served.get_with("/", &[("Cookie", user)]);
            assert_eq!(reply.header("tidegate-decision").is_some(), is_shown);
        }
        let sent = origin.requests().pop().unwrap();
        assert!(sent.header("tidegate-decision").is_some(), "the origin still sees it");
    }
}
