//! Claims about keys: what they cover, and that nothing else changes a shared response.

use testkit::{Client, Origin, OriginReply};

use super::{Served, assert_hit, assert_miss, before, check, eventually, route_to, serve};
use crate::purge_request::PurgeRequest;

/// An origin that answers with all that it sees of a request, storable for a minute.
fn mirror() -> Origin {
    Origin::start(|request| {
        let mut seen = vec![format!("{} {}", request.method, request.target)];
        let mut names: Vec<&str> =
            request.headers.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        for name in names.iter().filter(|name| !name.eq_ignore_ascii_case("x-request-id")) {
            seen.push(format!("{name}: {}", request.header(name).unwrap()));
        }
        OriginReply::ok(seen.join("\n")).header("Cache-Control", "max-age=60")
    })
}

fn keyed(origin: &Origin, rules: &str) -> Served {
    before(origin, &format!("cache = {{}}\nkey = {{ {rules} }}"))
}

#[test]
fn what_does_not_count_is_neither_in_the_key_nor_sent_on() {
    let origin = mirror();
    let rules = "sort = true, drop = [\"utm_*\", \"fbclid\"], cookies = [\"currency\"]";
    let served = keyed(&origin, rules);
    let ask =
        |target: &str, cookie: &str| served.get_with(target, &[("Host", "h"), ("Cookie", cookie)]);
    let first = ask("/x?b=1&utm_source=evil&a=2", "_ga=evil; currency=EUR");
    assert_miss(&first);
    assert!(first.text().starts_with("GET /x?a=2&b=1\n"), "{}", first.text());
    assert!(!first.text().contains("evil"), "{}", first.text());
    assert!(first.text().to_lowercase().contains("cookie: currency=eur\n"), "{}", first.text());
    for (target, cookie) in [
        ("/x?a=2&b=1", "currency=EUR"),
        ("/x?fbclid=1&a=2&b=1&utm_x", "other=1; currency=EUR; _ga=2"),
    ] {
        assert_hit(&ask(target, cookie));
    }
    for (target, cookie) in [
        ("/x?a=2&b=1", "currency=CHF"),
        ("/x?a=2&b=1", ""),
        ("/x?a=2&b=1&c", "currency=EUR"),
        ("/x?a=1&b=2", "currency=EUR"),
    ] {
        assert_miss(&ask(target, cookie));
    }
}

#[test]
fn a_url_is_purged_as_the_routes_rules_read_it() {
    let origin = mirror();
    let served = keyed(&origin, "sort = true, drop = [\"utm_*\"], headers = [\"x-tenant\"]");
    for tenant in ["a", "b"] {
        served.get_with("/x?b=1&a=2", &[("Host", "h"), ("X-Tenant", tenant)]);
    }
    let url = "http://h/x?utm_source=mail&b=1&a=2".to_owned();
    let wanted = PurgeRequest { urls: vec![url], ..PurgeRequest::default() };
    assert_eq!(served.gateway.purge(&wanted).unwrap().entries, 2);
}

#[test]
fn headers_that_override_the_request_reach_no_shared_answer() {
    let origin = mirror();
    let served = before(&origin, "cache = {}");
    for name in [
        "Forwarded",
        "Front-End-Https",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Scheme",
        "X-Forwarded-Server",
        "X-Forwarded-Ssl",
        "X-Host",
        "X-HTTP-Method",
        "X-HTTP-Method-Override",
        "X-Method-Override",
        "X-Original-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Forwarded-Path",
        "X-HTTP-Host-Override",
        "X-URL-Scheme",
    ] {
        let target = format!("/{name}");
        let poisoning = served.get_with(&target, &[("Host", "h"), (name, "evil.example")]);
        assert_miss(&poisoning);
        let victim = served.get_with(&target, &[("Host", "h")]);
        assert_hit(&victim);
        assert!(!victim.text().contains("evil"), "{}", victim.text());
    }
    // A response that is not stored may depend on any field.
    let post = Client::post(served.address, "/x", "").header("X-Original-Host", "mine").send();
    assert!(post.text().contains("mine"), "{}", post.text());
}

#[test]
fn an_override_that_is_part_of_the_key_is_sent_on_and_told_apart() {
    let origin = mirror();
    let served = keyed(&origin, "headers = [\"X-Original-Host\"]");
    let ask = |host: &str| served.get_with("/x", &[("Host", "h"), ("X-Original-Host", host)]);
    assert!(ask("a.example").text().contains("a.example"));
    assert!(ask("b.example").text().contains("b.example"));
    assert_hit(&ask("a.example"));
    let none = served.get_with("/x", &[("Host", "h")]);
    assert_miss(&none);
    assert!(!none.text().contains("example"), "{}", none.text());
}

#[test]
fn a_vary_on_what_the_key_tells_or_hides_does_not_split_entries() {
    for (rules, fields) in [
        ("cookies = [\"c\"]", ["c=1; x=1", "x=2; c=1"].map(|cookie| ("Cookie", cookie))),
        ("strip_cookies = [\"_ga*\"]", ["c=1; _ga=1", "_gat=2; c=1"].map(|c| ("Cookie", c))),
        ("cookies = []", ["c=1", "c=2"].map(|cookie| ("Cookie", cookie))),
        ("sort = true", ["a", "b"].map(|host| ("X-Forwarded-Host", host))),
        (
            "segments = [{ from = \"header:x-device\", values = [\"m\"], default = \"d\" }]",
            ["x", "y"].map(|device| ("X-Device", device)),
        ),
        (
            "segments = [{ from = \"cookie:g\", values = [\"m\"], default = \"d\" }]",
            ["g=1; c=1", "c=1; g=2"].map(|cookie| ("Cookie", cookie)),
        ),
    ] {
        let origin = Origin::start(|_| {
            let reply = OriginReply::ok("x").header("Cache-Control", "max-age=60");
            reply.header("Vary", "Cookie, X-Device, X-Forwarded-Host")
        });
        let served = keyed(&origin, rules);
        assert_miss(&served.get_with("/", &[("Host", "h"), fields[0]]));
        assert_hit(&served.get_with("/", &[("Host", "h"), fields[1]]));
    }
    let origin = Origin::start(|_| {
        OriginReply::ok("x").header("Cache-Control", "max-age=60").header("Vary", "Cookie")
    });
    let served = keyed(&origin, "strip_cookies = [\"_ga*\"]");
    assert_miss(&served.get_with("/", &[("Host", "h"), ("Cookie", "_ga=1; c=1")]));
    assert_miss(&served.get_with("/", &[("Host", "h"), ("Cookie", "_ga=1; c=2")]));
    assert_miss(&served.get_with("/", &[("Host", "h"), ("Cookie", "_ga=1")]));
    assert_hit(&served.get_with("/", &[("Host", "h")]));
}

#[test]
fn segments_stand_in_for_varying_by_cookie() {
    let origin = mirror();
    let rules = "cookies = [], segments = [{ from = \"cookie:plan\", \
                 values = [\"free\", \"paid\"] }]";
    let served = keyed(&origin, rules);
    let ask = |cookie: &str| served.get_with("/x", &[("Host", "h"), ("Cookie", cookie)]);
    let paid = ask("id=17; plan=paid");
    assert_miss(&paid);
    assert!(paid.text().contains("plan=paid") && !paid.text().contains("id=17"), "{}", paid.text());
    assert_hit(&ask("plan=paid; id=18"));
    let free = ask("plan=<script>");
    assert_miss(&free);
    assert!(free.text().contains("plan=free"), "{}", free.text());
    assert_hit(&ask("plan=free"));
    assert_hit(&ask(""));
}

#[test]
fn paths_count_byte_for_byte_and_reach_the_upstream_as_sent() {
    let origin = mirror();
    let served = before(&origin, "cache = { ttl = \"60s\" }");
    let spellings = [
        "/a/b",
        "/a//b",
        "/a/b/",
        "/A/b",
        "/a/%62",
        "/a%2fb",
        "/a%2Fb",
        "/a/b;x",
        "/a/b%3fc",
        "/a/b?",
        "/a/b?c",
        "/a/b?C",
        "/a/b%00",
        "/a/b.css",
        "/a/b;.css",
        "/a/b%0a",
        "/a/b?x=%26y&z",
    ];
    for spelling in spellings {
        let reply = served.get_with(spelling, &[("Host", "h")]);
        assert_miss(&reply);
        assert!(reply.text().starts_with(&format!("GET {spelling}\n")), "{}", reply.text());
    }
    for spelling in spellings {
        let again = served.get_with(spelling, &[("Host", "h")]);
        assert_hit(&again);
        assert!(again.text().starts_with(&format!("GET {spelling}\n")), "{}", again.text());
    }
}

#[test]
fn answers_to_paths_that_may_be_read_as_others_are_not_stored() {
    let origin = mirror();
    let text = route_to(&[&origin], "", "cache = { ttl = \"60s\" }")
        .replace("/{*rest}", "/static/{*rest}");
    let served = serve(&text);
    for path in [
        "/static/../account",
        "/static/..%2faccount",
        "/static/%2e%2e/account",
        "/static/..%5caccount",
        "/static/..;/account",
        "/static/x/%252e%252e/account",
    ] {
        for _ in 0..2 {
            let reply = served.get_with(path, &[("Host", "h")]);
            assert_miss(&reply);
            assert!(reply.text().starts_with(&format!("GET {path}\n")), "{}", reply.text());
        }
        assert_eq!(origin.count(path), 2, "{path}");
    }
    assert_eq!(served.gateway.store.entries(), 0);
}

#[test]
fn what_a_condition_lets_through_is_not_for_those_it_does_not() {
    let (inside, outside) = (mirror(), mirror());
    let text = format!(
        "[[upstream]]\nname = \"in\"\nservers = [\"{}\"]\n\
         [[upstream]]\nname = \"out\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:in\"\ncache = {{}}\n\
         when = 'header.x-beta == \"1\"'\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:out\"\ncache = {{}}\n",
        inside.address(),
        outside.address()
    );
    let served = serve(&text);
    for _ in 0..2 {
        served.get_with("/x", &[("Host", "h"), ("X-Beta", "1")]);
        served.get_with("/x", &[("Host", "h")]);
    }
    assert_eq!((inside.count("/x"), outside.count("/x")), (1, 1));
    let wanted = PurgeRequest { urls: vec!["http://h/x".to_owned()], ..PurgeRequest::default() };
    assert_eq!(served.gateway.purge(&wanted).unwrap().entries, 2);
}

#[test]
fn spellings_of_one_host_are_one_and_the_upstream_sees_one() {
    let origin = mirror();
    let served = before(&origin, "cache = {}");
    let first = served.get_with("/x", &[("Host", "A.Example.:80")]);
    assert_miss(&first);
    assert!(first.text().to_lowercase().contains("host: a.example\n"), "{}", first.text());
    for host in ["a.example", "A.EXAMPLE", "a.example:80", "a.example."] {
        assert_hit(&served.get_with("/x", &[("Host", host)]));
    }
    for host in ["a.example:8080", "b.example", "a.example:443", "x.a.example", "a.example.b"] {
        let other = served.get_with("/x", &[("Host", host)]);
        assert_miss(&other);
        assert!(other.text().contains(host), "{}", other.text());
    }
    let absolute = served.get_with("http://A.example:80/x", &[("Host", "evil.example")]);
    assert_hit(&absolute);
}

#[test]
fn a_routes_lifetime_keeps_no_answer_to_cookies_that_are_not_part_of_the_key() {
    let origin = Origin::start(|request| {
        let reply = OriginReply::ok(request.header("cookie").unwrap_or("-"));
        match request.path() {
            "/public" => reply.header("Cache-Control", "public"),
            "/stated" => reply.header("Cache-Control", "max-age=5"),
            "/guess" => reply.header("Last-Modified", "Thu, 01 Jan 2015 00:00:00 GMT"),
            "/zero" => reply.header("Cache-Control", "max-age=0"),
            _ => reply,
        }
    });
    let is_stored = |route: &str, target: &str| {
        let served = before(&origin, route);
        let cookie = [("Host", "h"), ("Cookie", "session=secret")];
        assert_miss(&served.get_with(target, &cookie));
        let next = served.get_with(target, &[("Host", "h")]);
        served.gateway.store.entries() == 1 && next.text() == "session=secret"
    };
    let ttl = "cache = { ttl = \"60s\" }";
    assert!(!is_stored(ttl, "/silent") && !is_stored(ttl, "/zero") && !is_stored(ttl, "/guess"));
    assert!(!is_stored("cache = {}", "/guess"));
    assert!(is_stored(ttl, "/public") && is_stored(ttl, "/stated"));
    assert!(is_stored("cache = {}", "/stated"));

    // If no cookie is forwarded, the response is the same for everyone.
    let served = before(&origin, &format!("{ttl}\nkey = {{ cookies = [] }}"));
    assert_eq!(served.get_with("/silent", &[("Cookie", "session=x"), ("Host", "h")]).text(), "-");
    assert_hit(&served.get_with("/silent", &[("Cookie", "session=y"), ("Host", "h")]));
    let served = before(&origin, &format!("{ttl}\nkey = {{ strip_cookies = [\"_ga*\"] }}"));
    served.get_with("/silent", &[("Cookie", "_ga=x"), ("Host", "h")]);
    assert_hit(&served.get_with("/silent", &[("Cookie", "_ga=y"), ("Host", "h")]));
    // A client with cookies gets the stored response too.
    assert_hit(&served.get_with("/silent", &[("Cookie", "session=x"), ("Host", "h")]));
}

#[test]
fn clients_with_cookies_that_wait_in_vain_do_not_keep_the_others_from_waiting() {
    let gate = testkit::Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.nth {
        0 => OriginReply::ok("first"),
        _ => OriginReply::ok("x").after(&own),
    });
    let served = before(&origin, "cache = { ttl = \"60s\" }");
    served.get_with("/", &[("Host", "h"), ("Cookie", "s=1")]);
    let with: Vec<_> =
        (0..3).map(|_| served.ask("/", &[("Host", "h"), ("Cookie", "s=1")])).collect();
    gate.wait_for(3);
    let without: Vec<_> = (0..3).map(|_| served.ask("/", &[("Host", "h")])).collect();
    served.wait_for_waiters(2);
    eventually("the fetches", || origin.count("/") == 1 + 3 + 1);
    gate.open();
    with.into_iter().chain(without).for_each(|asked| assert_eq!(asked.join().unwrap().text(), "x"));
}

#[test]
fn a_users_own_answer_is_asked_for_with_what_is_in_its_key_and_nothing_else() {
    let origin = mirror();
    let route = "cache = { ttl = \"60s\", per_user = true }\n\
                 personalise = { user = \"query:u\" }\n\
                 key = { sort = true, drop = [\"utm_*\"], cookies = [\"currency\"] }";
    let served = before(&origin, route);
    let ask =
        |target: &str, cookie: &str| served.get_with(target, &[("Host", "h"), ("Cookie", cookie)]);
    let own = ask("/x?u=p1&utm_x=1&b=1&a=1", "session=1; currency=EUR");
    assert!(own.text().starts_with("GET /x?a=1&b=1&u=p1\n"), "{}", own.text());
    let text = own.text();
    assert!(text.contains("currency=EUR") && !text.contains("session"), "{text}");
    assert_hit(&ask("/x?a=1&b=1&u=p1", "session=2; currency=EUR"));
    assert_miss(&ask("/x?a=1&b=1&u=p2", "session=1; currency=EUR"));
    assert_miss(&ask("/x?a=1&b=1&u=p1", "session=1; currency=CHF"));
    assert_miss(&ask("/x?a=1&b=1&%75=p1", "session=1; currency=EUR"));
    let everybodys = ask("/x?u=nobody&b=1&a=1", "session=1; currency=EUR");
    let text = everybodys.text();
    assert!(text.starts_with("GET /x?a=1&b=1\n"), "{text}");
    assert!(text.contains("currency=EUR") && !text.contains("session"), "{text}");
    assert_hit(&ask("/x?a=1&b=1", "currency=EUR"));
}

#[test]
fn what_a_victim_or_an_attacker_sends_beside_the_id_changes_no_stored_answer() {
    for (source, [victim, attacker]) in [
        (
            "cookie:userId",
            [("Cookie", "userId=palice; session=V"), ("Cookie", "userId=\"palice\"; session=A")],
        ),
        ("header:x-user", [("X-User", "palice"), ("X-User", " palice ")]),
    ] {
        let origin = mirror();
        let route = format!(
            "cache = {{ ttl = \"60s\", per_user = true }}\npersonalise = {{ user = \"{source}\" }}"
        );
        let served = before(&origin, &route);
        let secrets = [("Authorization", "Bearer V"), ("X-Session", "V"), ("X-Api-Key", "V")];
        let ask = |who: (&'static str, &'static str)| {
            served
                .get_with("/x", &[&[("Host", "h"), who, ("Accept", "a/b")], &secrets[..]].concat())
        };
        let first = ask(victim);
        assert_miss(&first);
        let text = first.text();
        assert!(!text.contains("V\n") && !text.contains("session"), "{text}");
        assert!(text.contains("palice") && text.contains("a/b"), "{text}");
        let second = ask(attacker);
        assert_hit(&second);
        assert_eq!(second.text(), text);
    }
}

#[test]
fn rules_that_contradict_each_other_are_errors() {
    for (rules, key) in [
        ("drop = [\"a\"], keep = [\"b\"]", "key.keep"),
        ("drop = [\"a*b\"]", "key.drop"),
        ("keep = [\"\"]", "key.keep"),
        ("cookies = [\"a\"], strip_cookies = [\"b\"]", "key.strip_cookies"),
        ("cookies = [\"a*\"]", "key.cookies"),
        ("headers = [\"a b\"]", "key.headers"),
        ("headers = [\"Cookie\"]", "key.headers"),
        ("headers = [\"Range\"]", "key.headers"),
        ("cookies = [\"u\"]", "key"),
        ("segments = [{ from = \"cookie:u\", values = [\"a\"] }]", "key"),
        ("segments = [{ from = \"query:x\", values = [\"a\"] }]", "key.segments.from"),
        ("segments = [{ from = \"header:host\", values = [\"a\"] }]", "key.segments.from"),
        ("segments = [{ from = \"cookie:x\" }]", "key.segments.values"),
        ("segments = [{ from = \"cookie:x\", values = [\"a;b\"] }]", "key.segments.values"),
        ("colour = true", "key.colour"),
    ] {
        let text = format!(
            "[[route]]\npath = \"/\"\nto = \"model:news\"\ncache = {{}}\n\
             personalise = {{ user = \"cookie:u\" }}\nkey = {{ {rules} }}\n"
        );
        let problems = check(&text).1;
        let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let wanted = format!("line 6: `route[0].{key}`");
        assert!(found.len() == 1 && found[0].contains(&wanted), "{rules}: {found:?}");
    }
    let text = "[[route]]\npath = \"/\"\nto = \"model:news\"\nkey = { sort = true }\n";
    assert!(check(text).1[0].to_string().contains("only a route with `cache` has keys"));
}
