//! Claims about clients behind proxies: who is believed, what upstreams get, what keys tell apart.

use chassis::Underscores;
use http1::{ClientHeaders, TrustedProxies};
use stdx::Network;
use testkit::{Client, Origin, OriginReply};

use super::{Served, assert_hit, assert_miss, before, check, eventually, route_to, serve_plan};

const ID: &str = "0123456789abcdef0123456789abcdef";

/// Serves behind a proxy on loopback, as every client of these tests is.
fn behind_proxy(text: &str, headers: ClientHeaders) -> Served {
    let (mut plan, problems) = check(text);
    assert!(problems.is_empty(), "{problems:?}");
    let networks = ["127.0.0.0/8", "10.0.0.0/8"].map(|text| Network::parse(text).unwrap());
    plan.limits.connections.trusted = TrustedProxies::new(&networks, headers);
    serve_plan(plan)
}

fn trusting(origin: &Origin, route: &str) -> Served {
    behind_proxy(&route_to(&[origin], "", route), ClientHeaders::XForwarded)
}

/// An origin whose answer is storable, and that sends clients of `http` to `https`.
fn enforcer() -> Origin {
    Origin::start(|request| {
        let reply = match request.header("x-forwarded-proto") {
            Some("https") => OriginReply::ok("secret"),
            _ => OriginReply::status(301).header("Location", "https://h/x"),
        };
        reply.header("Cache-Control", "max-age=60")
    })
}

const SPOOFED: [(&str, &str); 7] = [
    ("Host", "h"),
    ("X-Forwarded-For", "6.6.6.6, 192.0.2.7, 10.0.0.2"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "Public.Example:8443"),
    ("Forwarded", "for=6.6.6.6;proto=https;host=evil"),
    ("X-Request-Id", ID),
    ("X-Kept", "kept"),
];

#[test]
fn what_a_trusted_proxy_says_reaches_upstream_and_journal() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let served = trusting(&origin, "");
    served.get_with("/", &SPOOFED);
    let seen = &origin.requests()[0];
    for (name, value) in [
        ("host", Some("h")),
        ("x-forwarded-for", Some("192.0.2.7, 10.0.0.2, 127.0.0.1")),
        ("x-forwarded-proto", Some("https")),
        ("x-forwarded-host", Some("Public.Example:8443")),
        ("forwarded", None),
        ("x-request-id", Some(ID)),
        ("x-kept", Some("kept")),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
        assert!(seen.headers.all(name).count() <= 1, "{name}");
    }
    let record = &served.journal.wait_for(1)[0];
    assert_eq!(record.client_ip, Some("192.0.2.7".parse().unwrap()));
    assert_eq!((record.scheme.as_str(), format!("{:032x}", record.id)), ("https", ID.to_owned()));
}

#[test]
fn what_anybody_else_says_is_replaced() {
    let origin = Origin::start(|_| OriginReply::ok("x").header("Cache-Control", "max-age=60"));
    let key = "cache = {}\nkey = { headers = [\"x-forwarded-proto\", \"x-forwarded-host\"] }\n\
               forward = [\"x-forwarded-*\", \"forwarded\", \"x-request-id\"]";
    for route in ["", "cache = {}", key] {
        let served = before(&origin, route);
        served.get_with("/", &SPOOFED);
        let seen = origin.requests().pop().unwrap();
        for (name, value) in [
            ("x-forwarded-for", Some("127.0.0.1")),
            ("x-forwarded-proto", Some("http")),
            ("x-forwarded-host", Some("h")),
            ("forwarded", None),
        ] {
            assert_eq!(seen.header(name), value, "{name} with `{route}`");
            assert!(seen.headers.all(name).count() <= 1, "{name} with `{route}`");
        }
        assert_ne!(seen.header("x-request-id"), Some(ID));
        let record = &served.journal.wait_for(1)[0];
        assert_eq!(record.client_ip, Some("127.0.0.1".parse().unwrap()));
        assert_eq!(record.scheme, "http");
        // What counts for nothing does not split entries either.
        if !route.is_empty() {
            assert_hit(&served.get_with("/", &[("Host", "h")]));
        }
    }
}

#[test]
fn a_name_that_passes_for_one_of_ours_is_left_out_where_others_are_kept() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let (mut plan, _) = check(&route_to(&[&origin], "", ""));
    plan.limits.connections.underscores = Underscores::Keep;
    let served = serve_plan(plan);
    let names = ["X_Forwarded_For", "x-forwarded_proto", "X_FORWARDED_HOST", "X_Request_Id"];
    let mut fields = names.map(|name| (name, "evil")).to_vec();
    fields.push(("X_Kept", "kept"));
    served.get_with("/", &fields);
    let seen = &origin.requests()[0];
    assert!(names.iter().all(|name| seen.header(name).is_none()), "{seen:?}");
    assert_eq!(seen.header("X_Kept"), Some("kept"));
}

#[test]
fn two_schemes_share_no_answer_and_one_scheme_does() {
    let origin = enforcer();
    for route in [
        "cache = {}",
        "cache = { ttl = \"60s\" }\nforward = [\"accept\"]",
        "cache = {}\nkey = { headers = [\"x-forwarded-proto\"] }",
    ] {
        let served = trusting(&origin, route);
        let ask = |scheme: &str, client: &str| {
            let fields =
                [("Host", "h"), ("X-Forwarded-Proto", scheme), ("X-Forwarded-For", client)];
            served.get_with("/x", &fields)
        };
        let redirect = ask("http", "192.0.2.1");
        assert_miss(&redirect);
        assert_eq!(redirect.status, 301);
        let answer = ask("https", "192.0.2.2");
        assert_miss(&answer);
        assert_eq!((answer.status, answer.text()), (200, "secret"));
        for (scheme, client, status) in [
            ("http", "192.0.2.3", 301),
            ("HTTPS", "192.0.2.4", 200),
            ("gopher", "192.0.2.5", 301),
            ("https", "nonsense", 200),
        ] {
            let again = ask(scheme, client);
            assert_hit(&again);
            assert_eq!(again.status, status, "{scheme}");
        }
    }
}

#[test]
fn a_default_port_belongs_to_its_scheme() {
    let origin = enforcer();
    let served = trusting(&origin, "cache = {}");
    let ask = |host: &str, scheme: &str| {
        served.get_with("/x", &[("Host", host), ("X-Forwarded-Proto", scheme)])
    };
    assert_miss(&ask("h", "https"));
    assert_hit(&ask("H:443", "https"));
    assert_miss(&ask("h:80", "https"));
    assert_miss(&ask("h:80", "http"));
    assert_hit(&ask("h", "http"));
}

#[test]
fn a_host_that_a_proxy_forwards_is_sent_on_and_told_apart() {
    let origin = Origin::start(|request| {
        let seen = request.header("x-forwarded-host").unwrap_or("-").to_owned();
        let reply = OriginReply::ok(format!("{} {seen}", request.header("host").unwrap()));
        reply.header("Cache-Control", "max-age=60").header("Vary", "X-Forwarded-Host")
    });
    let served = trusting(&origin, "cache = {}");
    let ask = |public: &str| served.get_with("/", &[("Host", "h"), ("X-Forwarded-Host", public)]);
    for (public, body) in [("a.example", "h a.example"), ("b.example", "h b.example"), ("h", "h h")]
    {
        let reply = ask(public);
        assert_miss(&reply);
        assert_eq!(reply.text(), body);
    }
    for (public, body) in
        [("A.Example:80", "h a.example"), ("H", "h h"), ("not/a host", "h h"), ("", "h h")]
    {
        let reply = ask(public);
        assert_hit(&reply);
        assert_eq!(reply.text(), body);
    }
    assert_hit(&served.get_with("/", &[("Host", "h")]));
}

#[test]
fn a_forwarded_host_chooses_no_route() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let text = route_to(&[&origin], "", "host = \"h\"");
    let served = behind_proxy(&text, ClientHeaders::XForwarded);
    let ask = |host: &str, public: &str| {
        served.get_with("/", &[("Host", host), ("X-Forwarded-Host", public)]).status
    };
    assert_eq!((ask("h", "other"), ask("other", "h")), (200, 404));
}

#[test]
fn models_answer_both_schemes_from_one_entry() {
    let route = "[[route]]\npath = \"/rank\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n";
    let served = behind_proxy(route, ClientHeaders::XForwarded);
    assert_miss(&served.get_with("/rank", &[("Host", "h"), ("X-Forwarded-Proto", "http")]));
    assert_hit(&served.get_with("/rank", &[("Host", "h"), ("X-Forwarded-Proto", "https")]));
}

#[test]
fn a_change_takes_the_answers_of_every_scheme_and_forwarded_host() {
    let origin = Origin::start(|request| match &*request.method {
        "POST" => OriginReply::status(303).header("Location", "https://public.example/other"),
        _ => OriginReply::ok("x").header("Cache-Control", "max-age=60"),
    });
    let served = trusting(&origin, "cache = {}");
    let kinds = [("http", "h"), ("https", "h"), ("https", "public.example")];
    let ask = |target: &str, (scheme, public): (&str, &str)| {
        let fields = [("Host", "h"), ("X-Forwarded-Proto", scheme), ("X-Forwarded-Host", public)];
        served.get_with(target, &fields)
    };
    for target in ["/x", "/other"] {
        kinds.iter().for_each(|kind| assert_miss(&ask(target, *kind)));
        kinds.iter().for_each(|kind| assert_hit(&ask(target, *kind)));
    }
    let post = Client::post(served.address, "/x", "").header("Host", "h");
    post.header("X-Forwarded-Host", "public.example").header("X-Forwarded-Proto", "https").send();
    for target in ["/x", "/other"] {
        kinds.iter().for_each(|kind| assert_miss(&ask(target, *kind)));
    }
}

#[test]
fn filters_and_arms_go_by_the_client() {
    let [one, other] = ["one", "other"].map(|name| Origin::start(move |_| OriginReply::ok(name)));
    let text = format!(
        "[[upstream]]\nname = \"one\"\nservers = [\"{}\"]\n\
         [[upstream]]\nname = \"other\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/a\"\nname = \"mine\"\nwhen = 'client_ip == \"192.0.2.7\" and \
         scheme == \"https\" and header.x-forwarded-host == \"p\" and \
         header.x-forwarded-proto == \"https\"'\nto = \"upstream:one\"\n\
         [[route]]\npath = \"/a\"\nname = \"others\"\nto = \"upstream:other\"\n\
         [[route]]\npath = \"/arms\"\nto = [{{ to = \"upstream:one\", share = \"50%\" }}, \
         {{ to = \"upstream:other\" }}]\n",
        one.address(),
        other.address()
    );
    let served = behind_proxy(&text, ClientHeaders::XForwarded);
    let ask = |target: &str, client: &str, scheme: &str| {
        let fields =
            [("X-Forwarded-For", client), ("X-Forwarded-Proto", scheme), ("X-Forwarded-Host", "p")];
        served.get_with(target, &fields).text().to_owned()
    };
    assert_eq!(ask("/a", "192.0.2.7", "https"), "one");
    assert_eq!(ask("/a", "192.0.2.7", "http"), "other");
    assert_eq!(ask("/a", "192.0.2.7, 192.0.2.8", "https"), "other");
    let of_client = |last: u8| ask("/arms", &format!("192.0.2.{last}"), "http");
    let arms: Vec<String> = (0..32).map(of_client).collect();
    assert!(arms.iter().any(|arm| arm == "one") && arms.iter().any(|arm| arm == "other"));
    assert_eq!(arms, (0..32).map(of_client).collect::<Vec<_>>(), "a client stays on its arm");
}

#[test]
fn where_proxies_write_forwarded_it_is_written_for_the_upstream_too() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let served = behind_proxy(&route_to(&[&origin], "", ""), ClientHeaders::Forwarded);
    let sent = "for=6.6.6.6, for=\"[2001:db8::7]:4711\";proto=https;host=\"p:81\", for=10.0.0.2";
    let fields = [
        ("Host", "h"),
        ("Forwarded", sent),
        ("X-Forwarded-For", "6.6.6.6"),
        ("X-Forwarded-Proto", "gopher"),
        ("X-Forwarded-Host", "evil"),
    ];
    served.get_with("/", &fields);
    served.get_with("/", &[("Host", "h")]);
    let [one, other] = &origin.requests()[..] else { panic!("two requests") };
    let chain = "for=\"[2001:db8::7]\";proto=https;host=\"p:81\", for=10.0.0.2, for=127.0.0.1";
    for (name, value) in [
        ("forwarded", chain),
        ("x-forwarded-for", "2001:db8::7, 10.0.0.2, 127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "p:81"),
    ] {
        assert_eq!(one.header(name), Some(value));
        assert_eq!(one.headers.all(name).count(), 1, "{name}");
    }
    assert_eq!(other.header("forwarded"), Some("for=127.0.0.1;proto=http;host=\"h\""));
}

#[test]
fn the_id_of_a_ranking_is_ours_though_a_proxy_repeats_its_own() {
    let route = "[[route]]\npath = \"/rank\"\nto = \"model:news\"\n";
    let served = behind_proxy(route, ClientHeaders::XForwarded);
    for _ in 0..2 {
        served.get_with("/rank", &[("Host", "h"), ("X-Request-Id", ID)]);
    }
    let records = served.journal.wait_for(2);
    assert!(records.iter().all(|record| format!("{:032x}", record.id) == ID));
    let [one, other] = [&records[0], &records[1]].map(|record| record.ranked_by.unwrap());
    assert!(one != other && ![one, other].contains(&records[0].id), "{one:x} {other:x}");
}

#[test]
fn a_refresh_in_the_background_has_an_id_of_its_own() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let served = trusting(&origin, "cache = { ttl = \"0s\", stale = \"60s\" }");
    for _ in 0..2 {
        served.get_with("/", &[("Host", "h"), ("X-Request-Id", ID)]);
    }
    eventually("the refresh", || origin.count("/") == 2);
    let requests = origin.requests();
    assert_eq!(requests[0].header("x-request-id"), Some(ID));
    assert_ne!(requests[1].header("x-request-id"), Some(ID));
}
