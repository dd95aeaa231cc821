//! Claims about what names a user to an upstream: none of it reaches a fetch for everybody.

use std::sync::atomic::Ordering;

use testkit::{Client, Origin, OriginReply};

use super::{assert_hit, assert_miss, before, check, decision, serve};
use crate::explain::ExplainRequest;

/// A route whose app reads the user from other places than the gateway does.
const NAMED: &str = "cache = { ttl = \"60s\" }\npersonalise = { user = \"cookie:sid\", \
     identifies = [\"query:user\", \"header:X-User\", \"cookie:uid\"] }";

/// An app that answers with what it was told of the user.
fn app() -> Origin {
    Origin::start(|request| {
        let told = |name| request.header(name).unwrap_or("-");
        OriginReply::ok(format!("{} {} {}", request.target, told("x-user"), told("cookie")))
    })
}

#[test]
fn what_identifies_reaches_no_fetch_for_everybody() {
    let app = app();
    let served = before(&app, NAMED);
    served.users.broken.store(true, Ordering::SeqCst);
    let ask = |user: &str, sid: &str| {
        let cookie = format!("uid={user}; sid={sid}");
        served.get_with(&format!("/list?a=1&user={user}"), &[("X-User", user), ("Cookie", &cookie)])
    };
    let first = ask("u42", "p1");
    assert_eq!((decision(&first), first.text()), ("fallback", "/list?a=1 - -"));
    let other = ask("u43", "p2");
    assert_eq!(other.text(), "/list?a=1 - -");
    assert_hit(&other);
    assert_hit(&served.get("/list?a=1"));
    assert_eq!(app.count("/list"), 1);
}

#[test]
fn a_users_own_answer_is_asked_with_all_that_identifies() {
    let app = app();
    let served = before(&app, NAMED);
    let sent = [("X-User", "u42"), ("Cookie", "uid=u42; sid=p1")];
    let reply = served.get_with("/list?user=u42", &sent);
    assert_eq!(reply.text(), "/list?user=u42 u42 uid=u42; sid=p1");
    assert_eq!(decision(&reply), "personalised");
}

#[test]
fn users_own_stored_answers_are_told_apart_by_all_that_identifies() {
    let app = app();
    let served = before(&app, &NAMED.replace("\"60s\"", "\"60s\", per_user = true"));
    let ask = |target: &str, header: &str, uid: &str| {
        let cookie = format!("sid=p1; uid={uid}; other=x");
        served.get_with(target, &[("X-User", header), ("Cookie", &cookie)])
    };
    let first = ask("/list?user=a", "b", "c");
    assert_eq!(first.text(), "/list?user=a b sid=p1; uid=c");
    for (target, header, uid, expected) in [
        ("/list?user=z", "b", "c", "/list?user=z b sid=p1; uid=c"),
        ("/list?user=a", "z", "c", "/list?user=a z sid=p1; uid=c"),
        ("/list?user=a", "b", "z", "/list?user=a b sid=p1; uid=z"),
    ] {
        let other = ask(target, header, uid);
        assert_eq!(other.text(), expected);
        assert_miss(&other);
    }
    assert_hit(&ask("/list?user=a", "b", "c"));
}

#[test]
fn an_answer_to_a_request_that_tells_the_users_id_elsewhere_is_not_stored() {
    let app = app();
    let served = before(&app, "cache = { ttl = \"60s\" }\npersonalise = { user = \"cookie:sid\" }");
    served.users.broken.store(true, Ordering::SeqCst);
    let user = [("Cookie", "sid=p1"), ("X-Account", "a")];
    for target in ["/list?user=p1", "/list?q=1&user=%701", "/users/p1/list"] {
        let own = served.get_with(target, &user);
        assert_eq!(own.text(), format!("{target} - -"));
        let others = served.get(target);
        assert_miss(&others);
    }
    let plus = [("Cookie", "sid=me+x@h")];
    served.get_with("/users/me+x@h/list", &plus);
    assert_miss(&served.get("/users/me+x@h/list"));
    let told = [("Cookie", "sid=p1"), ("X-Account", "p1")];
    assert_miss(&served.get_with("/by-header", &told));
    assert_miss(&served.get("/by-header"));
    served.get_with("/everybodys?user=p2", &user);
    assert_hit(&served.get("/everybodys?user=p2"));
}

#[test]
fn an_answer_to_a_request_with_ids_of_no_use_that_tells_one_elsewhere_is_not_stored() {
    let app = app();
    let rules = "cache = { ttl = \"60s\" }\n\
         personalise = { user = [\"cookie:sid\", \"header:x-user\", \"query:u\"] }";
    let served = before(&app, rules);
    let long = "p".repeat(600);
    let twice = "sid=p1; sid=x";
    let shared = [("Cookie", "sid=p1"), ("X-Foo", "p1")];
    let by_long = [("Cookie", ""), ("X-Foo", &*long)];
    for (number, (target, sent)) in [
        ("?u=junk", shared),
        ("?u=junk&owner=p1", [("Cookie", "sid=p1"), ("X-Foo", "a")]),
        ("?a=1", [("Cookie", twice), ("X-Foo", "p1")]),
        ("?a=1", [("Cookie", twice), ("X-Foo", "x")]),
        (&*format!("?u={long}"), by_long),
        (&*format!("?a=1{}", "&u=a&u=b".repeat(40)), [("Cookie", ""), ("X-Foo", "b")]),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/list{number}{target}");
        assert_eq!(decision(&served.get_with(&target, &sent)), "no-profile");
        let rest = target.replace("?u=junk&", "?").replace("?u=junk", "");
        let rest = rest.replace(&format!("?u={long}"), "").replace("&u=a&u=b", "");
        assert_miss(&served.get(&rest));
    }
    let apart = [("Cookie", "sid=p1"), ("X-User", "p2")];
    assert_eq!(decision(&served.get_with("/everybodys", &apart)), "no-profile");
    assert_hit(&served.get("/everybodys"));
}

#[test]
fn an_answer_that_may_be_one_users_own_is_not_asked_for_as_a_change_of_everybodys() {
    let app = Origin::start(|request| match request.header("if-none-match") {
        Some(_) => OriginReply::status(304),
        None => OriginReply::ok("x").header("ETag", "\"1\"").header("Cache-Control", "max-age=0"),
    });
    let served = before(&app, "cache = {}\npersonalise = { user = \"cookie:sid\" }");
    served.users.broken.store(true, Ordering::SeqCst);
    served.get("/list?user=p1");
    let own = served.get_with("/list?user=p1", &[("Cookie", "sid=p1")]);
    assert_eq!((own.status, own.text()), (200, "x"));
}

#[test]
fn what_is_fetched_by_a_path_that_names_a_user_is_not_stored() {
    let app = app();
    let route = "cache = { ttl = \"60s\" }\n\
         personalise = { user = \"cookie:sid\", identifies = [\"path:2\"] }";
    let served = before(&app, route);
    for _ in 0..2 {
        assert_miss(&served.get("/users/u42/list"));
    }
    served.get("/about");
    assert_hit(&served.get("/about"));
}

#[test]
fn an_id_may_be_a_segment_of_the_path() {
    let app = app();
    let served = before(&app, "personalise = { user = \"path:2\" }");
    assert_eq!(decision(&served.get("/users/p%201/list")), "personalised");
    assert_eq!(served.users.asked.lock().unwrap()[0], b"p 1");
    assert_eq!(decision(&served.get("/users/")), "anonymous");
    assert_eq!(decision(&served.get("/users")), "anonymous");
}

#[test]
fn a_path_that_an_upstream_may_count_otherwise_names_no_user_and_is_not_stored() {
    let app = app();
    let cached = "cache = { ttl = \"60s\" }\n";
    let by_path = before(&app, &format!("{cached}personalise = {{ user = \"path:2\" }}"));
    let other = "personalise = { user = \"cookie:sid\", identifies = [\"path:2\"] }";
    let by_cookie = before(&app, &format!("{cached}{other}"));
    for target in [
        "/p2//p1/l",
        "//p2/p1/l",
        "/p2/p1//l",
        "/p2/./p1",
        "/p2/p0/../p1",
        "/p2/%2e%2e/x/p1",
        "/p2/%2Fp1",
        "/p2%2F/p1",
        "/p2%2Fp1",
        "/p2/p1%2Fp3/l",
        "/p2/p1;p3/l",
        "/p2/p1%3Bx",
        "/p2/p%2531",
        "/p2\\\\p1",
    ] {
        for _ in 0..2 {
            let reply = by_path.get(target);
            assert_eq!(decision(&reply), "no-profile", "{target}");
            assert_miss(&reply);
            assert_miss(&by_cookie.get(target));
        }
    }
    for target in ["/p2/p1/l/", "/p2/p1/l;x", "/p2/p%20q/l%20m"] {
        assert_eq!(decision(&by_path.get(target)), "personalised", "{target}");
    }
    let asked = by_path.users.asked.lock().unwrap();
    assert_eq!(asked.len(), 3, "{asked:?}");
}

#[test]
fn a_format_behind_an_id_in_the_path_is_no_part_of_the_id() {
    let app = app();
    let upstream = format!("[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n", app.address());
    let route = |id: &str, keys: &str| {
        let path = format!("/f/{id}.{{format:json|xml}}");
        format!("{upstream}[[route]]\npath = \"{path}\"\nto = \"upstream:o\"\n{keys}\n")
    };
    let served = serve(&route("{id}", "personalise = { user = \"path:2\" }"));
    for (target, id) in [
        ("/f/p1.json", "p1"),
        ("/f/p1.xml", "p1"),
        ("/f/p1", "p1"),
        ("/f/p.1.xml", "p.1"),
        ("/f/p%201%2Exml", "p 1"),
    ] {
        assert_eq!(decision(&served.get(target)), "personalised", "{target}");
        let asked = served.users.asked.lock().unwrap();
        assert_eq!(asked.last().map(Vec::as_slice), Some(id.as_bytes()), "{target}");
    }
    let url = format!("http://{}/f/x.xml", served.address);
    let question = ExplainRequest { url, user: Some("p1".to_owned()), ..ExplainRequest::default() };
    let explained = served.gateway.explain(&question).unwrap();
    assert_eq!(explained.target, "/f/p1.xml");
    assert_eq!(explained.user.unwrap().id.as_deref(), Some("p1"));
    let keys = "cache = { ttl = \"60s\" }\npersonalise = { user = \"cookie:sid\" }";
    let by_cookie = serve(&route("{id}", keys));
    by_cookie.users.broken.store(true, Ordering::SeqCst);
    by_cookie.get_with("/f/p1.json", &[("Cookie", "sid=p1")]);
    assert_miss(&by_cookie.get("/f/p1.json"));
}

#[test]
fn a_change_is_sent_with_all_that_identifies_whoever_asks() {
    let app = app();
    let served = before(&app, NAMED);
    let reply = Client::post(served.address, "/cart?user=u42", "x").header("X-User", "u42").send();
    assert_eq!((decision(&reply), reply.text()), ("anonymous", "/cart?user=u42 u42 -"));
}

#[test]
fn a_purge_of_a_url_that_names_a_user_meets_everybodys_answer() {
    let app = app();
    let served = before(&app, NAMED);
    served.get("/list?a=1&user=u42");
    let urls = vec!["/list?a=1&user=u43".to_owned()];
    let purge = crate::PurgeRequest { urls, ..crate::PurgeRequest::default() };
    assert_eq!(served.gateway.purge(&purge).unwrap().entries, 1);
}

#[test]
fn a_wrong_place_of_a_user_is_told_with_the_way_out() {
    let said = |line: &str| {
        let (_, problems) = check(&format!(
            "[[route]]\npath = \"/users/{{id}}\"\nto = \"model:news\"\ncache = {{}}\n{line}\n"
        ));
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    };
    let forms = "write `cookie:NAME`, `header:NAME`, `query:NAME` or `path:NUMBER`";
    for (line, expected) in [
        ("personalise = {}", "write where the user id is, such as `cookie:userId`".to_owned()),
        (
            "personalise = { user = \"cookie:u\", identifies = [\"querry:u\"] }",
            format!("`querry:u` names no part of a request; {forms}; did you mean `query:…`?"),
        ),
        (
            "personalise = { user = \"path:id\" }",
            format!("`path:id` names no part of a request; {forms}"),
        ),
        (
            "personalise = { user = \"path:3\" }",
            "`path:3`: no path that this route takes has so many segments; count them from 1"
                .to_owned(),
        ),
        (
            "key = { cookies = [\"uid\"] }\n\
             personalise = { user = \"cookie:u\", identifies = [\"cookie:uid\"] }",
            "the cookie `uid` names a user, so it may not be part of the key; leave it out of `key`"
                .to_owned(),
        ),
    ] {
        assert_eq!(said(line), [expected], "{line}");
    }
    assert!(said("personalise = { user = \"path:2\", identifies = [] }").is_empty());
    let same = "`path:1` is `users` on every path of this route, and so the id of nobody; count \
                segments from 1";
    assert_eq!(said("personalise = { user = \"path:1\", identifies = [] }"), [same]);
    let none = "write where the user id is, such as `cookie:userId`";
    assert_eq!(said("personalise = { user = [] }"), [none]);
}

/// A route whose users have their id in a cookie, in a header or in the query.
const ANYWHERE: &str = "cache = { ttl = \"60s\", per_user = true }\n\
     personalise = { user = [\"cookie:sid\", \"header:X-User\", \"query:user\"] }";

#[test]
fn a_user_may_be_named_in_any_of_several_places() {
    let app = app();
    let served = before(&app, ANYWHERE);
    let ask = |target: &str, fields: &[(&str, &str)]| {
        let reply = served.get_with(target, fields);
        (decision(&reply).to_owned(), reply.text().to_owned())
    };
    let own = |text: &str| ("personalised".to_owned(), text.to_owned());
    assert_eq!(ask("/list", &[("Cookie", "a=b; sid=p1")]), own("/list - sid=p1"));
    assert_eq!(ask("/list", &[("X-User", "p2")]), own("/list p2 -"));
    assert_eq!(ask("/list?user=p3", &[]), own("/list?user=p3 - -"));
    assert_eq!(ask("/list", &[("X-User", "p1"), ("Cookie", "sid=p1")]), own("/list p1 sid=p1"));
    let (two, text) = ask("/list?user=p3", &[("X-User", "p2"), ("Cookie", "sid=p1")]);
    assert_eq!((two.as_str(), text.as_str()), ("no-profile", "/list - -"), "they differ");
    assert_eq!(ask("/list", &[]), ("anonymous".to_owned(), "/list - -".to_owned()));
    assert_eq!(app.requests().len(), 5, "the last two share one answer");
}

#[test]
fn an_explanation_puts_the_user_where_the_url_has_none() {
    let app = app();
    let served = before(&app, ANYWHERE);
    let explain = |url: &str, fields: &[(String, String)]| {
        let (user, fields) = (Some("p1".to_owned()), fields.to_vec());
        let question =
            ExplainRequest { url: url.to_owned(), user, fields, ..ExplainRequest::default() };
        served.gateway.explain(&question)
    };
    let header = ("x-user".to_owned(), "p1".to_owned());
    for (url, fields) in [("/list", vec![]), ("/list?user=p1", vec![]), ("/list", vec![header])] {
        let explained = explain(url, &fields).unwrap();
        let user = explained.user.unwrap();
        assert_eq!((explained.decision.as_str(), user.id.as_deref()), ("personalised", Some("p1")));
        assert_eq!(user.source, "cookie:sid or header:x-user or query:user");
    }
    assert_eq!(explain("/list?user=p2", &[]).unwrap().decision, "no-profile");
}
