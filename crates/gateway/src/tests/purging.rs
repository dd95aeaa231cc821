//! Claims about purges: what they cover, soft and hard, at rest and in flight.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use testkit::{Client, Gate, Origin, OriginReply};

use super::{Served, assert_hit, assert_miss, before, cache_status, route_to, serve};
use crate::purge_request::PurgeRequest;

const CACHED: &str = "cache = {}";

/// An origin that answers with the number of the request. Some paths have tags or vary.
fn numbered() -> Origin {
    Origin::start(|request| {
        let reply = OriginReply::ok(format!("{}", request.nth));
        let reply = reply.header("Cache-Control", "max-age=60, stale-while-revalidate=60");
        match request.path() {
            "/tagged" => reply.header("Surrogate-Key", "a b").header("Cache-Tag", "c, d e"),
            "/other" => reply.header("Surrogate-Key", "b"),
            "/vary" => reply.header("Vary", "X-Kind"),
            _ => reply,
        }
    })
}

impl Served {
    fn purge(&self, wanted: &PurgeRequest) -> usize {
        self.gateway.purge(wanted).unwrap().entries
    }
}

fn url(url: &str) -> PurgeRequest {
    PurgeRequest { urls: vec![url.to_owned()], ..PurgeRequest::default() }
}

fn prefix(prefix: &str) -> PurgeRequest {
    PurgeRequest { prefixes: vec![prefix.to_owned()], ..PurgeRequest::default() }
}

fn tag(tag: &str) -> PurgeRequest {
    PurgeRequest { tags: vec![tag.to_owned()], ..PurgeRequest::default() }
}

fn soft(wanted: PurgeRequest) -> PurgeRequest {
    PurgeRequest { soft: true, ..wanted }
}

#[test]
fn a_purged_url_is_fetched_anew_and_others_are_not() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    let host = [("Host", "A.example:8080")];
    for target in ["/x", "/x?q=1", "/y"] {
        served.get_with(target, &host);
    }
    assert_eq!(served.purge(&url("https://a.example:8080/x")), 1);
    assert_eq!(served.purge(&url("https://a.example:8080/x")), 0);
    assert_eq!(served.purge(&url("http://a.example/x?q=1")), 0, "another port");
    assert_miss(&served.get_with("/x", &host));
    assert_hit(&served.get_with("/x?q=1", &host));
    assert_hit(&served.get_with("/y", &host));
    assert_eq!(served.purge(&url("/x?q=1")), 1, "on every host");
    assert_miss(&served.get_with("/x?q=1", &host));
}

#[test]
fn a_url_is_purged_with_every_variant_arm_and_user() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    for kind in ["a", "b", "c"] {
        served.get_with("/vary", &[("X-Kind", kind), ("Host", "h")]);
    }
    assert_eq!(served.purge(&url("http://h/vary")), 3);
    assert_eq!((served.gateway.store.entries(), served.gateway.store.bytes()), (0, 0));
    assert_miss(&served.get_with("/vary", &[("X-Kind", "b"), ("Host", "h")]));

    for source in ["cookie", "query"] {
        let text = format!(
            "[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n[[route]]\npath = \"/own\"\n\
             to = [{{ to = \"upstream:o\", share = \"50%\" }}, {{ to = \"upstream:o\" }}]\n\
             cache = {{ ttl = \"60s\", per_user = true }}\n\
             personalise = {{ user = \"{source}:u\" }}\n",
            origin.address()
        );
        let served = serve(&text);
        for user in 0..20 {
            let target = if source == "query" { format!("/own?u=p{user}") } else { "/own".into() };
            let cookie = format!("u=p{user}");
            assert_miss(&served.get_with(&target, &[("Cookie", &cookie), ("Host", "h")]));
            assert_hit(&served.get_with(&target, &[("Cookie", &cookie), ("Host", "h")]));
        }
        assert_eq!(served.purge(&url("http://h/own")), 20, "{source}");
        assert_eq!(served.gateway.store.entries(), 0);
    }
}

#[test]
fn tags_of_either_field_are_purged_and_kept_from_clients() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    for (name, purged) in [("a", 1), ("b", 2), ("c", 1), ("d e", 1), ("d", 0), ("e", 0)] {
        for target in ["/tagged", "/other", "/plain"] {
            let reply = served.get(target);
            assert_eq!((reply.header("surrogate-key"), reply.header("cache-tag")), (None, None));
        }
        assert_eq!(served.purge(&tag(name)), purged, "{name}");
    }
    assert_hit(&served.get("/plain"));
    assert_hit(&served.get("/other"));
    let forwarding = before(&origin, "cache = { forward_tags = true }");
    let missed = forwarding.get("/tagged");
    let hit = forwarding.get("/tagged");
    assert_hit(&hit);
    for reply in [missed, hit] {
        assert_eq!(reply.header("surrogate-key"), Some("a b"));
    }
    assert_eq!(forwarding.purge(&tag("a")), 1);
    let passing = before(&origin, "");
    assert_eq!(passing.get("/tagged").header("cache-tag"), Some("c, d e"));
}

#[test]
fn a_confirmed_answer_keeps_its_tags() {
    let origin = Origin::start(|request| match request.header("if-none-match") {
        None => OriginReply::ok("x")
            .header("ETag", "\"1\"")
            .header("Cache-Control", "max-age=0")
            .header("Surrogate-Key", "t"),
        Some(_) => OriginReply::status(304).header("Cache-Control", "max-age=60"),
    });
    let served = before(&origin, CACHED);
    served.get("/");
    served.get("/");
    assert_hit(&served.get("/"));
    assert_eq!(served.purge(&tag("t")), 1);
    assert_eq!(served.gateway.store.entries(), 0);
}

#[test]
fn a_prefix_covers_what_begins_so_on_its_host_or_on_all() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    let fill = || {
        for host in ["a", "b"] {
            for target in ["/n/1", "/n/2?x", "/n", "/m"] {
                served.get_with(target, &[("Host", host)]);
            }
        }
    };
    fill();
    assert_eq!(served.purge(&prefix("http://a/n/")), 2);
    assert_hit(&served.get_with("/n/1", &[("Host", "b")]));
    fill();
    assert_eq!(served.purge(&prefix("/n/")), 4);
    fill();
    assert_eq!(served.purge(&prefix("//b/")), 4);
    fill();
    assert_eq!(served.purge(&PurgeRequest { all: true, ..PurgeRequest::default() }), 8);
    assert_eq!((served.gateway.store.entries(), served.gateway.store.bytes()), (0, 0));
    assert_eq!(served.gateway.metrics.purged.get(), 18);
}

#[test]
fn what_is_purged_softly_answers_stale_and_is_fetched_anew() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    assert_eq!(served.get("/tagged").text(), "0");
    for (wanted, body) in [(url("/tagged"), "0"), (prefix("/t"), "1"), (tag("a"), "2")] {
        assert_hit(&served.get("/tagged"));
        let count = origin.count("/tagged");
        assert_eq!(served.purge(&soft(wanted)), 1);
        let stale = served.get("/tagged");
        assert_eq!(stale.text(), body);
        assert!(cache_status(&stale).contains("ttl=0") || cache_status(&stale).contains("ttl=-"));
        origin.wait_for("/tagged", count + 1);
        served.wait_for_landing();
    }
    assert_eq!(served.get("/tagged").text(), "3");
}

#[test]
fn an_entry_that_is_named_twice_counts_once() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    for is_soft in [true, false] {
        served.get("/tagged");
        served.wait_for_landing();
        let twice = PurgeRequest { soft: is_soft, prefixes: vec!["/".to_owned()], ..tag("a") };
        assert_eq!(served.purge(&twice), 1);
        served.get("/tagged");
        served.wait_for_landing();
    }
}

#[test]
fn what_may_not_answer_stale_is_fetched_at_once_behind_a_soft_purge() {
    let strict = Origin::start(|request| {
        let reply = OriginReply::ok(format!("{}", request.nth));
        reply.header("Cache-Control", "max-age=60, must-revalidate")
    });
    let served = before(&strict, CACHED);
    served.get("/");
    assert_eq!(served.purge(&soft(url("/"))), 1);
    let anew = served.get("/");
    assert_miss(&anew);
    assert_eq!(anew.text(), "1");
    assert_hit(&served.get("/"));
}

const FUTURE: &str = "Fri, 01 Jan 2100 00:00:00 GMT";

/// Purges while a fetch is under way. Returns the bodies for its leader, which came before the
/// purge, and for a waiter that came after it.
fn purged_in_flight(wanted: &PurgeRequest) -> (Origin, Served, [String; 2]) {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        let reply = OriginReply::ok(format!("{}", request.nth)).header("Surrogate-Key", "t");
        let reply = reply.header("Cache-Control", "max-age=60, stale-while-revalidate=60");
        if request.nth == 0 { reply.after(&own) } else { reply }
    });
    let served = before(&origin, CACHED);
    let leader = served.ask("/x", &[("Host", "h")]);
    origin.wait_for("/x", 1);
    assert_eq!(served.purge(wanted), 0, "there is nothing at rest");
    let waiter = served.ask("/x", &[("Host", "h")]);
    served.wait_for_waiters(1);
    gate.open();
    let leader = leader.join().unwrap();
    assert!(!cache_status(&leader).contains("; stored"), "{}", cache_status(&leader));
    let texts = [leader, waiter.join().unwrap()].map(|reply| reply.text().to_owned());
    (origin, served, texts)
}

#[test]
fn an_answer_that_was_on_its_way_is_not_stored_and_not_for_those_behind_the_purge() {
    for wanted in [url("http://h/x"), url("/x"), prefix("/"), tag("t"), soft(tag("t"))] {
        let (origin, served, texts) = purged_in_flight(&wanted);
        assert_eq!(texts, ["0", "1"], "{wanted:?}");
        let next = served.get_with("/x", &[("Host", "h")]);
        assert_hit(&next);
        assert_eq!((next.text(), origin.count("/x")), ("1", 2), "{wanted:?}");
    }
}

#[test]
fn a_purge_makes_nobody_share_what_needs_a_confirmation_or_sets_a_cookie() {
    for (name, value) in [("Cache-Control", "max-age=60, no-cache"), ("Set-Cookie", "id=1")] {
        let gate = Gate::new();
        let own = gate.clone();
        let origin = Origin::start(move |request| {
            let reply = OriginReply::ok(format!("{}", request.nth)).header("ETag", "\"1\"");
            let reply = reply.header(name, value);
            let reply = if name == "Set-Cookie" { reply.header("Expires", FUTURE) } else { reply };
            if request.nth == 0 { reply.after(&own) } else { reply }
        });
        let served = before(&origin, CACHED);
        let leader = served.ask("/", &[]);
        origin.wait_for("/", 1);
        let waiter = served.ask("/", &[]);
        served.wait_for_waiters(1);
        served.purge(&url("/"));
        gate.open();
        let texts = [leader, waiter].map(|asked| asked.join().unwrap().text().to_owned());
        assert_eq!(texts, ["0", "1"], "{name}");
    }
}

#[test]
fn a_purge_of_something_else_leaves_a_flight_alone() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| {
        OriginReply::ok("x").header("Cache-Control", "max-age=60").after(&own)
    });
    let served = before(&origin, CACHED);
    let leader = served.ask("/x", &[("Host", "h")]);
    origin.wait_for("/x", 1);
    for wanted in [url("/y"), prefix("/y"), tag("t")] {
        served.purge(&wanted);
    }
    let waiter = served.ask("/x", &[("Host", "h")]);
    served.wait_for_waiters(1);
    gate.open();
    assert!(cache_status(&leader.join().unwrap()).contains("; stored"));
    assert!(cache_status(&waiter.join().unwrap()).contains("; collapsed"));
    assert_eq!((origin.count("/x"), served.gateway.store.entries()), (1, 1));
}

#[test]
fn a_confirmation_on_its_way_does_not_bring_a_purged_answer_back() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin =
        Origin::start(move |request| match (request.header("if-none-match"), request.nth) {
            (Some(_), _) => {
                OriginReply::status(304).header("Cache-Control", "max-age=60").after(&own)
            }
            (None, nth) => OriginReply::ok(format!("{nth}"))
                .header("ETag", "\"1\"")
                .header("Cache-Control", "max-age=0, stale-if-error=60"),
        });
    let served = before(&origin, CACHED);
    served.get("/");
    let confirming = served.ask("/", &[]);
    origin.wait_for("/", 2);
    assert_eq!(served.purge(&url("/")), 1);
    gate.open();
    assert_eq!(confirming.join().unwrap().text(), "0", "it asked before the purge");
    assert_eq!(served.gateway.store.entries(), 0);
    assert_eq!(served.get("/").text(), "2");
}

#[test]
fn who_takes_a_flight_over_across_a_purge_does_not_have_the_purged_answer_confirmed() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        let reply = OriginReply::ok(format!("answer {}", request.nth));
        let fields = "max-age=60, must-revalidate";
        let reply = reply.header("ETag", "\"1\"").header("Cache-Control", fields);
        match (request.nth, request.header("if-none-match")) {
            // The response ends early behind its head, so nothing is stored.
            (1, _) => reply.after(&own).close_mid_body(3),
            (2.., Some(_)) => OriginReply::status(304).header("Cache-Control", fields),
            _ => reply,
        }
    });
    let served = before(&origin, CACHED);
    served.get("/");
    assert_eq!(served.purge(&soft(url("/"))), 1);
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 2);
    let waiter = served.ask("/", &[]);
    served.wait_for_waiters(1);
    assert_eq!(served.purge(&url("/")), 1);
    gate.open();
    assert_eq!(leader.join().unwrap().status, 502);
    assert_eq!(waiter.join().unwrap().text(), "answer 2");
    let asked = origin.requests();
    let conditions: Vec<_> = asked.iter().map(|asked| asked.header("if-none-match")).collect();
    assert_eq!(conditions, [None, Some("\"1\""), None]);
    let next = served.get("/");
    assert_hit(&next);
    assert_eq!(next.text(), "answer 2");
}

#[test]
fn a_stale_answer_that_stands_in_for_a_failure_is_not_for_those_behind_a_purge() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.nth {
        1 => OriginReply::status(503).after(&own),
        nth => OriginReply::ok(format!("{nth}"))
            .header("Cache-Control", "max-age=0, stale-if-error=60"),
    });
    let served = before(&origin, CACHED);
    served.get("/");
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 2);
    assert_eq!(served.purge(&url("/")), 1);
    let waiter = served.ask("/", &[]);
    served.wait_for_waiters(1);
    gate.open();
    let texts = [leader, waiter].map(|asked| asked.join().unwrap().text().to_owned());
    assert_eq!(texts, ["0", "2"]);
}

#[test]
fn the_index_keeps_step_with_evictions() {
    let origin = Origin::start(|request| {
        let tag = format!("even-{}", request.target.ends_with(['0', '2', '4', '6', '8']));
        OriginReply::ok(vec![b'x'; 1000])
            .header("Cache-Control", "max-age=60")
            .header("Surrogate-Key", &format!("all {tag}"))
    });
    let text = route_to(&[&origin], "", CACHED) + "[cache]\nbytes = \"64KB\"\n";
    let served = serve(&text);
    let mut client = Client::connect(served.address).unwrap();
    for n in 0..500 {
        client.request("GET", &format!("/{n}")).header("Host", "h").send();
    }
    let entries = served.gateway.store.entries();
    assert!(entries < 64, "{entries}");
    assert_eq!(served.gateway.store.indexed(), entries);
    let even = served.purge(&tag("even-true"));
    assert_eq!(served.purge(&tag("all")), entries - even);
    assert_eq!((served.gateway.store.entries(), served.gateway.store.indexed()), (0, 0));
}

#[test]
fn behind_a_purge_nobody_gets_what_was_there_before() {
    let version = Arc::new(AtomicUsize::new(1));
    let own = Arc::clone(&version);
    let origin = Origin::start(move |_| {
        // The version at the time when the origin began to answer.
        let body = format!("{}", own.load(Ordering::SeqCst));
        OriginReply::ok(body).header("Cache-Control", "max-age=60").header("Cache-Tag", "t")
    });
    let served = Arc::new(before(&origin, CACHED));
    let purged = Arc::new(Mutex::new(1));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (served, purged) = (Arc::clone(&served), Arc::clone(&purged));
            std::thread::spawn(move || {
                let mut client = Client::connect(served.address).unwrap();
                for _ in 0..500 {
                    let least: usize = *purged.lock().unwrap();
                    let reply = client.request("GET", "/").header("Host", "h").send();
                    let got: usize = reply.text().parse().unwrap();
                    assert!(got >= least, "got {got} behind the purge of {least}");
                }
            })
        })
        .collect();
    for n in 2..300 {
        version.store(n, Ordering::SeqCst);
        served.purge(&[tag("t"), url("http://h/"), prefix("/")][n % 3]);
        *purged.lock().unwrap() = n;
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn a_wish_that_names_nothing_no_url_or_all_beside_one_is_refused() {
    let origin = numbered();
    let served = before(&origin, CACHED);
    served.get("/x");
    let long = format!("/{}", "x".repeat(9000));
    for wrong in ["", "x", "a.example/x", "ftp://a/x", "http://", "http:///x", "/a b", &long] {
        for wanted in [url(wrong), prefix(wrong)] {
            let refused = served.gateway.purge(&wanted).unwrap_err();
            assert!(refused.contains("is no URL"), "{wrong}: {refused}");
        }
    }
    assert!(served.gateway.purge(&tag("")).is_err());
    assert!(served.gateway.purge(&PurgeRequest::default()).is_err());
    // `url=/x?a=1&all` has an `&` that was not escaped.
    let both = served.gateway.purge(&PurgeRequest { all: true, ..url("/y") }).unwrap_err();
    assert!(both.contains("%26"), "{both}");
    assert_hit(&served.get("/x"));
}

#[test]
fn what_a_client_has_an_origin_name_is_invalidated_on_its_route_alone() {
    let origin = Origin::start(|request| match &*request.method {
        "POST" => {
            OriginReply::status(303).header("Location", request.target.split('=').nth(1).unwrap())
        }
        _ => OriginReply::ok(format!("{}", request.nth)).header("Cache-Control", "max-age=60"),
    });
    let all = route_to(&[&origin], "", CACHED);
    let (upstream, all) = all.split_once("[[route]]").unwrap();
    let login =
        "[[route]]\nname = \"login\"\npath = \"/login/{*rest}\"\nto = \"upstream:o\"\ncache = {}\n";
    let served = serve(&format!("{upstream}{login}[[route]]{all}"));
    for target in ["/front", "/login/x"] {
        served.get(target);
        Client::post(served.address, &format!("/login/do?next={target}"), "x").send();
    }
    assert_hit(&served.get("/front"));
    assert_miss(&served.get("/login/x"));
}
