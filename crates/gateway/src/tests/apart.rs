//! Claims about `personalise.to`: a target for personalised responses alone, beside that of all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use metrics::Registry;
use testkit::{Client, Gate, Origin, OriginReply, free_port};

use super::{assert_hit, assert_miss, check, decision, decision_field, serve};

const USER: [(&str, &str); 1] = [("Cookie", "u=p1")];

/// An app for everybody, and one for each user; what of `personalise` stands behind `to`.
fn apps(generic: &Origin, private: &str, rest: &str, route: &str) -> String {
    format!(
        "[[upstream]]\nname = \"all\"\nservers = [\"{}\"]\n\
         [[upstream]]\nname = \"each\"\nservers = [\"{private}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:all\"\n{route}\n\
         personalise = {{ user = \"cookie:u\", to = \"upstream:each\"{rest} }}\n",
        generic.address()
    )
}

fn everybodys() -> Origin {
    Origin::start(|request| OriginReply::ok(format!("everybody's {}", request.method)))
}

fn fallbacks(registry: &Registry, reason: &str) -> u64 {
    registry.counter("tidegate_fallbacks_total", "", &[("reason", reason)]).get()
}

#[test]
fn a_model_ranks_for_those_who_are_let_in_and_the_app_answers_all_others() {
    let app = everybodys();
    let served = serve(&format!(
        "[[upstream]]\nname = \"all\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:all\"\ncache = {{ ttl = \"60s\" }}\n\
         personalise = {{ user = \"cookie:u\", to = \"model:news\" }}\n",
        app.address()
    ));
    let own = served.get_with("/list", &USER);
    assert!(own.text().starts_with("personalised p1 "), "{}", own.text());
    assert_miss(&own);
    assert_eq!(own.header("cache-control"), Some("private, no-store"));
    for user in ["u=nobody", "x=y"] {
        assert_eq!(served.get_with("/list", &[("Cookie", user)]).text(), "everybody's GET");
    }
    let rollout = served.gateway.rollout(0).unwrap();
    rollout.set_hold_out(1.0);
    let held_out = served.get_with("/list", &USER);
    assert_eq!((decision(&held_out), held_out.text()), ("held-out", "everybody's GET"));
    assert_hit(&held_out);
    rollout.set_hold_out(0.0);
    rollout.set_rollout(0.0);
    assert_eq!(served.get_with("/list", &USER).text(), "everybody's GET");
    let records = served.journal.wait_for(5);
    let upstreams: Vec<Option<&str>> = records.iter().map(|one| one.upstream.as_deref()).collect();
    assert_eq!(upstreams, [Some("news"), Some("all"), None, None, None]);
    assert_eq!(app.count("/list"), 1);
}

#[test]
fn however_the_target_apart_fails_the_user_gets_everybodys_answer_and_the_reason() {
    let gate = Gate::new();
    let own = gate.clone();
    let private = Origin::start(move |request| match request.path() {
        "/refused" => OriginReply::status(403),
        "/failed" => OriginReply::status(500),
        "/closed" => OriginReply::ok("").close_before_head(),
        "/late" => OriginReply::ok("late").after(&own),
        _ => OriginReply::ok("own"),
    });
    let app = everybodys();
    for cache in ["cache = { ttl = \"60s\" }", "", "cache = { ttl = \"60s\", per_user = true }"] {
        let each = private.address().to_string();
        let served = serve(&apps(&app, &each, ", timeout = \"300ms\"", cache));
        for (target, reason) in [
            ("/refused", "status"),
            ("/failed", "status"),
            ("/closed", "closed"),
            ("/late", "timeout"),
        ] {
            let reply = served.get_with(target, &USER);
            assert_eq!(reply.text(), "everybody's GET", "{target} {cache}");
            assert_eq!(decision_field(&reply), format!("fallback; detail={reason}"), "{target}");
        }
        assert_eq!(served.get_with("/sound", &USER).text(), "own");
        assert_eq!(fallbacks(&served.registry, "status"), 2);
        assert_eq!(fallbacks(&served.registry, "timeout"), 1);
        let dead = serve(&apps(&app, &format!("127.0.0.1:{}", free_port()), "", cache));
        assert_eq!(decision_field(&dead.get_with("/", &USER)), "fallback; detail=connect");
    }
    gate.open();
}

#[test]
fn a_model_that_refuses_leaves_the_answer_to_the_app() {
    let app = everybodys();
    let served = serve(&format!(
        "[[upstream]]\nname = \"all\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:all\"\n\
         personalise = {{ user = \"cookie:u\", to = \"model:news\" }}\n",
        app.address()
    ));
    let reply = served.get_with("/list?fail", &USER);
    let expected = ("fallback; detail=model", "everybody's GET");
    assert_eq!((decision_field(&reply), reply.text()), expected);
}

#[test]
fn a_users_own_answer_from_a_target_apart_is_stored_for_that_user_where_the_route_says_so() {
    let count = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&count);
    let private = Origin::start(move |_| {
        OriginReply::ok(format!("own {}", own.fetch_add(1, Ordering::SeqCst)))
    });
    let (app, each) = (everybodys(), private.address().to_string());
    for (cache, is_stored) in
        [("cache = { ttl = \"60s\" }", false), ("cache = { ttl = \"60s\", per_user = true }", true)]
    {
        let served = serve(&apps(&app, &each, "", cache));
        let first = served.get_with("/", &USER).text().to_owned();
        let again = served.get_with("/", &USER);
        assert_eq!(again.text() == first, is_stored, "{cache}");
        assert_ne!(served.get_with("/", &[("Cookie", "u=p2")]).text(), first);
        assert_eq!(served.get("/").text(), "everybody's GET");
    }
}

#[test]
fn a_change_goes_to_the_target_of_all_whoever_makes_it() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&asked);
    let private = Origin::start(move |request| {
        own.lock().unwrap().push(request.method.clone());
        OriginReply::ok("own")
    });
    let app = everybodys();
    let served = serve(&apps(&app, &private.address().to_string(), "", ""));
    let reply = Client::post(served.address, "/", "x").header("Cookie", "u=p1").send();
    assert_eq!((decision(&reply), reply.text()), ("personalised", "everybody's POST"));
    assert_eq!(served.get_with("/", &USER).text(), "own");
    let head = Client::call(served.address, "HEAD", "/").header("Cookie", "u=p1").send();
    assert_eq!(decision(&head), "personalised");
    assert_eq!(*asked.lock().unwrap(), ["GET", "HEAD"]);
}

#[test]
fn a_wrong_target_apart_is_told_with_the_way_out() {
    let said = |to: &str, rest: &str| {
        let (_, problems) = check(&format!(
            "[[upstream]]\nname = \"backend\"\nservers = [\"127.0.0.1:1\"]\n\
             [[route]]\npath = \"/\"\n{rest}\
             personalise = {{ user = \"cookie:u\", to = \"{to}\" }}\n"
        ));
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    };
    let to = "to = \"upstream:backend\"\n";
    for (target, rest, expected) in [
        ("upstream:backend", to, "`upstream:backend` is the target of `to`, too; leave it out"),
        ("upstream:backent", to, "no upstream is called `backent`; did you mean `backend`?"),
        ("model:nwes", to, "no model is called `nwes`; did you mean `news`?"),
        (
            "modle:news",
            to,
            "`modle:news` is none of `upstream:NAME`, `model:NAME`, `models`; \
             did you mean `model`?",
        ),
        ("model:news", "collect = \"only\"\n", "an event is not personalised; leave it out"),
    ] {
        assert_eq!(said(target, rest), [expected], "{target}");
    }
    assert!(said("model:news", to).is_empty());
}
