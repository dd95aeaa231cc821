//! Claims about explanations: they say what a request then gets.

use std::sync::atomic::Ordering;

use testkit::{Client, Origin, OriginReply};

use super::{Served, assert_hit, assert_miss, before, decision, route_to, serve};
use crate::explain::{ExplainRequest, Explanation};

/// An origin that answers with the fields in the query, which `;` separates.
fn origin() -> Origin {
    Origin::start(|request| {
        let fields = request.target.split_once('?').map_or("", |(_, fields)| fields);
        let fields = fields.split(';').filter_map(|field| field.split_once(':'));
        fields.fold(OriginReply::ok("body"), |reply, (name, value)| reply.header(name, value))
    })
}

fn question(url: &str) -> ExplainRequest {
    ExplainRequest { url: url.to_owned(), ..ExplainRequest::default() }
}

fn explain(served: &Served, target: &str) -> Explanation {
    // As `Client` names the host.
    let url = format!("http://{}{target}", served.address);
    served.gateway.explain(&question(&url)).unwrap()
}

fn of_user(served: &Served, user: &str) -> Explanation {
    let question = ExplainRequest { user: Some(user.to_owned()), ..question("/") };
    served.gateway.explain(&question).unwrap()
}

#[test]
fn every_decision_is_explained_as_it_is_taken() {
    let origin = origin();
    let served = before(&origin, "personalise = { user = \"cookie:userId\" }");
    let rollout = served.gateway.rollout(0).unwrap();
    let check = |user: &str, expected: &str, reason: &str| {
        let explained = of_user(&served, user);
        assert_eq!(explained.decision, expected);
        assert!(explained.decided_by.contains(reason), "{}", explained.decided_by);
        let reply = served.get_with("/", &[("Cookie", &format!("userId={user}"))]);
        assert_eq!(decision(&reply), expected);
    };
    check("", "anonymous", "no user id");
    check("nobody", "no-profile", "does not name the user");
    check("p1", "personalised", "below the share");
    rollout.set_rollout(0.0);
    check("p1", "outside-rollout", "not below the share");
    rollout.set_hold_out(1.0);
    check("p1", "held-out", "held out");
    rollout.set_killed(true);
    check("p1", "fallback", "kill switch");
    served.users.broken.store(true, Ordering::SeqCst);
    check("p1", "fallback", "no profile file");
    let draw = of_user(&served, "p1").draw;
    assert_eq!(draw, None, "nobody is drawn whose profile is not known");
}

#[test]
fn a_draw_is_told_with_the_shares_that_decide_it() {
    let origin = origin();
    let served = before(&origin, "personalise = { user = \"cookie:userId\", rollout = \"20%\" }");
    let [mut inside, mut outside] = [0, 0];
    for number in 0..100 {
        let explained = of_user(&served, &format!("p{number}"));
        let draw = explained.draw.unwrap();
        assert_eq!((draw.rollout, draw.hold_out, draw.killed), (0.2, 0.0, false));
        let is_inside = explained.decision == "personalised";
        assert_eq!(is_inside, draw.place < 0.2, "{draw:?}");
        *(if is_inside { &mut inside } else { &mut outside }) += 1;
    }
    assert!(inside > 0 && outside > 0);
}

#[test]
fn the_id_is_put_where_the_route_looks_for_it() {
    for source in ["cookie:u", "header:x-user", "query:u", "path:1"] {
        let origin = origin();
        let served = before(&origin, &format!("personalise = {{ user = \"{source}\" }}"));
        let question = ExplainRequest { user: Some("p one".to_owned()), ..question("/me?a=b") };
        let user = served.gateway.explain(&question).unwrap().user.unwrap();
        assert_eq!((user.source.as_str(), user.id.as_deref()), (source, Some("p one")));
        assert_eq!(user.profile.as_deref(), Some("present"));
    }
    let origin = origin();
    let served = before(&origin, "personalise = { user = \"cookie:u\" }");
    let wrong = ExplainRequest { user: Some("a;b".to_owned()), ..question("/") };
    assert_eq!(served.gateway.explain(&wrong).unwrap_err(), "`cookie:u` cannot carry the id `a;b`");
}

#[test]
fn each_route_before_the_right_one_says_why_it_is_not_it() {
    let origin = origin();
    let text = route_to(&[&origin], "", "");
    let (upstream, route) = text.split_at(text.find("[[route]]").unwrap());
    let first = |keys: &str| format!("[[route]]\n{keys}\nto = \"upstream:o\"\n");
    let before = [
        first("name = \"host\"\npath = \"/{*rest}\"\nhost = \"shop.test\""),
        first("name = \"path\"\npath = \"/items/{id}\""),
        first("name = \"method\"\npath = \"/{*rest}\"\nmethods = [\"POST\"]"),
        first("name = \"when\"\npath = \"/{*rest}\"\nwhen = 'query.a == \"1\"'"),
    ];
    let served = serve(&format!("{upstream}{}{route}", before.concat()));
    let explained = explain(&served, "/news");
    let reasons: Vec<String> = explained
        .routes
        .iter()
        .map(|route| {
            let reason = route.refused_by.as_deref().unwrap_or("takes");
            reason.split(':').next().unwrap().to_owned()
        })
        .collect();
    assert_eq!(reasons, ["host", "path", "method", "when", "takes"]);
    assert_eq!(explained.target_name, "upstream:o");
    let explained = served.gateway.explain(&question("http://shop.test/news")).unwrap();
    assert_eq!(explained.routes.len(), 1);
}

#[test]
fn a_request_that_no_route_takes_is_explained_by_its_refusal() {
    let origin = origin();
    let text = route_to(&[&origin], "", "").replace("/{*rest}", "/news");
    let served = serve(&text);
    let explained = explain(&served, "/other");
    assert!(explained.refused.as_ref().unwrap().starts_with("404"), "{explained:?}");
    assert_eq!(explained.routes[0].refused_by.as_deref().unwrap().split(':').next(), Some("path"));
    assert_eq!(served.get("/other").status, 404);
}

#[test]
fn what_memory_holds_is_told_with_the_field_that_gave_its_lifetime() {
    let origin = origin();
    for (route, fields, expected) in [
        ("cache = {}", "Cache-Control:max-age=60", "`max-age=60` of the response"),
        ("cache = {}", "Cache-Control:max-age=1,s-maxage=60", "`s-maxage=60` of the response"),
        ("cache = { ttl = \"60s\" }", "Cache-Control:max-age=5", "`cache.ttl` of the route"),
        ("cache = { ttl = \"60s\" }", "", "`cache.ttl` of the route"),
    ] {
        let served = before(&origin, route);
        let target = format!("/?{fields}");
        let empty = explain(&served, &target);
        assert_eq!(empty.cache.entry, None);
        assert_eq!(empty.cache.missing_by.as_deref(), Some("uri-miss"));
        assert!(empty.now.starts_with("Upstream `o` is asked"), "{}", empty.now);
        assert_miss(&served.get(&target));
        let stored = explain(&served, &target);
        let entry = stored.cache.entry.unwrap();
        assert_eq!((entry.status, entry.bytes, entry.fresh_by.as_str()), (200, 4, expected));
        assert!(entry.fresh_s >= 60.0 && entry.age_s < 60.0, "{entry:?}");
        assert!(stored.now.contains("`hit`"), "{}", stored.now);
        assert_hit(&served.get(&target));
    }
}

#[test]
fn the_key_of_a_users_own_answer_has_all_that_identifies() {
    let origin = origin();
    let route = "cache = { ttl = \"60s\", per_user = true }\n\
         personalise = { user = \"cookie:sid\", \
         identifies = [\"query:user\", \"header:X-User\", \"cookie:uid\"] }";
    let served = before(&origin, route);
    let key = |user: &str, header: &str, uid: &str| {
        let fields = [("cookie", format!("uid={uid}; sid=p1")), ("x-user", header.to_owned())];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        let url = format!("/list?a=1&user={user}");
        let question = ExplainRequest { url, fields: fields.to_vec(), ..ExplainRequest::default() };
        served.gateway.explain(&question).unwrap().cache.key.unwrap()
    };
    let one = key("alice", "b", "c");
    assert_eq!(one[2..], ["/list?a=1", "user=p1", "&user=alice", ":b", ";uid=c"]);
    for other in [key("bob", "b", "c"), key("alice", "z", "c"), key("alice", "b", "z")] {
        assert_ne!(one, other);
    }
    served.users.broken.store(true, Ordering::SeqCst);
    assert_eq!(key("alice", "b", "c"), key("bob", "z", "z"), "everybody's names nobody");
}

#[test]
fn a_request_past_the_cache_says_why() {
    let origin = origin();
    let check = |route: &str, asked: &ExplainRequest, expected: &str| {
        let served = before(&origin, route);
        let explained = served.gateway.explain(asked).unwrap();
        let reason = explained.cache.bypassed_by.unwrap();
        assert!(reason.contains(expected), "{reason}");
        assert!(explained.now.contains("past the cache"), "{}", explained.now);
    };
    let user = ExplainRequest { user: Some("p1".to_owned()), ..question("/") };
    let post = ExplainRequest { method: "POST".to_owned(), ..question("/") };
    let reload = ExplainRequest {
        fields: vec![("cache-control".to_owned(), "no-store".to_owned())],
        ..question("/")
    };
    check("", &question("/"), "no `cache`");
    check("cache = {}", &post, "only GET and HEAD");
    check("cache = {}", &reload, "no-store");
    check("cache = {}\npersonalise = { user = \"cookie:u\" }", &user, "for one user");
}

#[test]
fn an_answer_that_could_not_be_stored_is_remembered_in_the_explanation() {
    let origin = origin();
    let served = before(&origin, "cache = {}");
    let target = "/?Cache-Control:no-store";
    assert!(explain(&served, target).now.contains("equal requests wait"));
    served.get(target);
    let now = explain(&served, target).now;
    assert!(now.contains("could not be stored"), "{now}");
}

#[test]
fn explaining_fetches_nothing_and_records_nothing() {
    let origin = origin();
    let served = before(&origin, "cache = {}\npersonalise = { user = \"cookie:u\" }");
    of_user(&served, "p1");
    explain(&served, "/?Cache-Control:max-age=60");
    assert_eq!(origin.count("/"), 0);
    Client::get(served.address, "/").send();
    assert_eq!(served.journal.wait_for(1).len(), 1);
}

#[test]
fn a_question_that_is_no_request_is_refused() {
    let origin = origin();
    let served = before(&origin, "");
    for wrong in ["", "news", "ftp://a/", "http:///x", "/a\r\nb: c", "/a b"] {
        assert!(served.gateway.explain(&question(wrong)).is_err(), "{wrong}");
    }
    let field = ("x y".to_owned(), "1".to_owned());
    let wrong = ExplainRequest { fields: vec![field], ..question("/") };
    assert!(served.gateway.explain(&wrong).is_err());
}
