//! Claims about flights: one fetch for many requests, and its failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chassis::Drain;
use exchange::CacheResult;
use testkit::{Client, Gate, Origin, OriginReply, Reply};

use super::{before, cache_status, eventually, route_to, serve, start_core};

const CACHED: &str = "cache = {}";

fn storable(text: &str) -> OriginReply {
    OriginReply::ok(text).header("Cache-Control", "max-age=60")
}

fn texts(replies: &[Reply]) -> Vec<(u16, &str)> {
    replies.iter().map(|reply| (reply.status, reply.text())).collect()
}

#[test]
fn many_misses_are_one_fetch() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| storable("x").after(&own));
    let served = before(&origin, CACHED);
    let asking: Vec<_> = (0..30).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(29);
    gate.open();
    let replies: Vec<Reply> = asking.into_iter().map(|asked| asked.join().unwrap()).collect();
    assert!(replies.iter().all(|reply| reply.text() == "x"));
    let collapsed = replies.iter().filter(|r| cache_status(r).contains("; collapsed")).count();
    let stored = replies.iter().filter(|r| cache_status(r).contains("; stored")).count();
    assert_eq!((collapsed, stored, origin.count("/")), (29, 1, 1));
    assert_eq!((served.gateway.flights.count(), served.gateway.flights.waiting()), (0, 0));
    let records = served.journal.wait_for(30);
    let leader = records.iter().find(|it| it.cache == CacheResult::Miss).unwrap();
    let waiters = records.iter().filter(|it| it.fetched_by == Some(leader.id)).count();
    assert_eq!((waiters, leader.fetched_by), (29, None));
}

#[test]
fn requests_under_way_at_once_each_get_their_own_cookie() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        storable("x").header("Set-Cookie", &format!("session={}", request.nth)).after(&own)
    });
    let served = before(&origin, CACHED);
    let asking: Vec<_> = (0..5).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(4);
    gate.open();
    let replies: Vec<Reply> = asking.into_iter().map(|asked| asked.join().unwrap()).collect();
    let mut cookies: Vec<_> = replies.iter().filter_map(|r| r.header("set-cookie")).collect();
    cookies.sort_unstable();
    cookies.dedup();
    assert_eq!((cookies.len(), origin.count("/")), (5, 5));
}

#[test]
fn head_waits_on_the_flight_of_get() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| storable("body").after(&own));
    let served = before(&origin, CACHED);
    let first = served.ask("/", &[]);
    origin.wait_for("/", 1);
    let address = served.address;
    let head = std::thread::spawn(move || Client::call(address, "HEAD", "/").send());
    served.wait_for_waiters(1);
    gate.open();
    assert_eq!(first.join().unwrap().text(), "body");
    assert_eq!(head.join().unwrap().header("content-length"), Some("4"));
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn the_leaders_client_may_leave_and_the_waiters_are_served() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| storable("x").after(&own));
    let served = before(&origin, CACHED);
    let mut leader = Client::connect(served.address).unwrap();
    leader.write_raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    origin.wait_for("/", 1);
    let waiter = served.ask("/", &[("Host", "a")]);
    served.wait_for_waiters(1);
    drop(leader);
    gate.open();
    assert_eq!(waiter.join().unwrap().text(), "x");
    assert_eq!(origin.count("/"), 1);
}

/// Sends one leader and five waiters. The first response breaks as `reply` makes it, the second is
/// sound. Returns the replies and the number of fetches.
fn first_breaks(reply: fn(OriginReply) -> OriginReply, more: &str) -> (Vec<Reply>, usize) {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.nth {
        0 => reply(storable("truncated").after(&own)),
        _ => storable("whole"),
    });
    let served = before(&origin, &format!("{CACHED}\n{more}"));
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 1);
    let waiters: Vec<_> = (0..5).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(5);
    gate.open();
    let replies = [leader].into_iter().chain(waiters);
    let replies: Vec<Reply> = replies.map(|reply| reply.join().unwrap()).collect();
    assert_eq!(served.get("/").text(), "whole", "nothing truncated is stored");
    served.wait_for_landing();
    (replies, origin.count("/"))
}

#[test]
fn when_the_origin_closes_early_the_leader_is_told_at_once_and_one_waiter_takes_over() {
    for breaks in [
        |reply: OriginReply| reply.close_mid_body(3),
        |reply: OriginReply| reply.close_before_head(),
        |reply: OriginReply| reply.chunked(4).close_mid_body(12),
        |reply: OriginReply| reply.raw("no http at all\r\n\r\n"),
    ] {
        let (replies, fetches) = first_breaks(breaks, "");
        assert_eq!(replies[0].status, 502);
        assert_eq!(replies[0].header("retry-after"), Some("1"));
        assert_eq!(texts(&replies[1..]), [(200, "whole"); 5]);
        assert_eq!(fetches, 2);
    }
}

#[test]
fn when_the_origin_stalls_the_lease_ends_and_one_waiter_takes_over() {
    for stalls in [|reply: OriginReply| reply.stall(), |reply: OriginReply| reply.stall_mid_body(3)]
    {
        let (replies, fetches) = first_breaks(stalls, "lease = \"400ms\"");
        assert_eq!((replies[0].status, replies[0].header("retry-after")), (504, Some("1")));
        assert_eq!(texts(&replies[1..]), [(200, "whole"); 5]);
        assert_eq!(fetches, 2);
    }
}

#[test]
fn an_origin_that_stays_down_is_asked_twice_and_all_are_told() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("").after(&own).close_before_head());
    let served = before(&origin, CACHED);
    let asking: Vec<_> = (0..6).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(5);
    gate.open();
    for reply in asking {
        let reply = reply.join().unwrap();
        assert_eq!((reply.status, reply.header("retry-after")), (502, Some("1")));
    }
    assert_eq!(origin.count("/"), 2);
    served.wait_for_landing();
    assert_eq!(served.get("/").status, 502, "the key is not poisoned: it is fetched anew");
    assert_eq!(origin.count("/"), 3);
}

#[test]
fn who_waits_is_told_at_its_deadline_and_so_is_who_takes_over() {
    let origin = Origin::start(|_| OriginReply::ok("").stall());
    let served = before(&origin, &format!("{CACHED}\nlease = \"400ms\"\nwait_timeout = \"600ms\""));
    let leader = served.ask("/", &[]);
    origin.wait_for("/", 1);
    let waiters: Vec<_> = (0..3).map(|_| served.ask("/", &[])).collect();
    served.wait_for_waiters(3);
    let leader = leader.join().unwrap();
    assert_eq!((leader.status, cache_status(&leader)), (504, "tidegate; detail=timeout"));
    for reply in waiters {
        let reply = reply.join().unwrap();
        assert_eq!((reply.status, reply.header("retry-after")), (504, Some("1")));
        assert_eq!(cache_status(&reply), "tidegate; detail=waited-too-long");
    }
    assert_eq!(origin.count("/"), 2);
    served.wait_for_landing();
}

#[test]
fn an_answer_that_may_not_be_stored_is_the_leaders_alone_and_the_others_fetch_in_parallel() {
    for field in [("Cache-Control", "no-store"), ("Set-Cookie", "a=b"), ("X", "no lifetime")] {
        let (first, others) = (Gate::new(), Gate::new());
        let own = (first.clone(), others.clone());
        let origin = Origin::start(move |request| {
            let gate = if request.nth == 0 { &own.0 } else { &own.1 };
            OriginReply::ok(format!("{}", request.nth)).header(field.0, field.1).after(gate)
        });
        let served = before(&origin, CACHED);
        let asking: Vec<_> = (0..6).map(|_| served.ask("/", &[])).collect();
        served.wait_for_waiters(5);
        first.open();
        // All five requests are at the origin at once, so none waits for another.
        others.wait_for(5);
        others.open();
        let replies = asking.into_iter().map(|reply| reply.join().unwrap().text().to_owned());
        let mut replies: Vec<String> = replies.collect();
        replies.sort();
        assert_eq!(replies, ["0", "1", "2", "3", "4", "5"], "{field:?}");
    }
}

#[test]
fn requests_whose_answers_vary_do_not_share_one() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| {
        storable(request.header("x-kind").unwrap_or("-")).header("Vary", "X-Kind").after(&own)
    });
    let served = before(&origin, CACHED);
    let kinds = ["a", "b", "c", "a", "b", "c"];
    let asking: Vec<_> = kinds.iter().map(|kind| served.ask("/", &[("X-Kind", kind)])).collect();
    served.wait_for_waiters(5);
    gate.open();
    for (kind, reply) in kinds.iter().zip(asking) {
        assert_eq!(reply.join().unwrap().text(), *kind);
    }
    assert_eq!(origin.count("/"), 3);
}

#[test]
fn two_users_never_share_a_personalised_answer_not_even_in_flight() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin =
        Origin::start(move |request| storable(request.header("cookie").unwrap_or("-")).after(&own));
    let per_user = "cache = { per_user = true }\npersonalise = { user = \"cookie:u\" }";
    for (route, fetches) in [(per_user, 2), (&per_user.replace("true", "false"), 4)] {
        let before_all = origin.count("/");
        let served = before(&origin, route);
        let users = ["u=p1", "u=p2", "u=p1", "u=p2"];
        let asking: Vec<_> =
            users.iter().map(|user| served.ask("/", &[("Cookie", user), ("Host", "a")])).collect();
        eventually("fetches", || origin.count("/") - before_all == fetches);
        served.wait_for_waiters(4 - fetches);
        gate.open();
        for (user, reply) in users.iter().zip(asking) {
            assert_eq!(reply.join().unwrap().text(), *user);
        }
        assert_eq!(origin.count("/") - before_all, fetches, "{route}");
    }
}

#[test]
fn waiters_beyond_the_caps_are_shed() {
    for limits in ["waiters_per_key_max = 3", "waiters_max = 3"] {
        let gate = Gate::new();
        let own = gate.clone();
        let origin = Origin::start(move |_| storable("x").after(&own));
        let text = route_to(&[&origin], "", CACHED) + "[limits]\n" + limits;
        let served = serve(&text);
        let leader = served.ask("/", &[]);
        origin.wait_for("/", 1);
        let waiters: Vec<_> = (0..3).map(|_| served.ask("/", &[])).collect();
        served.wait_for_waiters(3);
        let shed = served.get("/");
        assert_eq!((shed.status, shed.header("retry-after")), (503, Some("1")), "{limits}");
        assert_eq!(cache_status(&shed), "tidegate; detail=overloaded");
        gate.open();
        assert_eq!(leader.join().unwrap().status, 200);
        waiters.into_iter().for_each(|waiter| assert_eq!(waiter.join().unwrap().text(), "x"));
        assert_eq!(served.gateway.metrics.shed.get(), 1);
    }
}

#[test]
fn requests_beyond_the_cache_are_shed_at_their_bound_and_hits_never() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/held" => storable("held").after(&own),
        _ => storable("hit"),
    });
    let served = serve(
        &(route_to(&[&origin], "", CACHED)
            + "[limits]\npending_max = 2\nclient_share = \"100%\"\n"),
    );
    served.get("/hit");
    let asking: Vec<_> = (0..2).map(|_| served.ask("/held", &[])).collect();
    served.wait_for_waiters(1);
    let shed = served.get("/other");
    assert_eq!((shed.status, shed.header("retry-after")), (503, Some("1")));
    assert_eq!(served.get("/hit").text(), "hit");
    gate.open();
    asking.into_iter().for_each(|reply| assert_eq!(reply.join().unwrap().text(), "held"));
    assert_eq!(served.get("/other").status, 200);
}

#[test]
fn a_route_that_does_not_coalesce_fetches_for_each() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| storable("x").after(&own));
    let served = before(&origin, &format!("{CACHED}\ncoalesce = \"off\""));
    let asking: Vec<_> = (0..4).map(|_| served.ask("/", &[])).collect();
    gate.wait_for(4);
    gate.open();
    asking.into_iter().for_each(|reply| assert_eq!(reply.join().unwrap().text(), "x"));
}

#[test]
fn cores_share_their_flights_and_one_that_ends_strands_nobody() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| storable("x").after(&own));
    let served = before(&origin, CACHED);
    let drain = Drain::default();
    let (address, other) = start_core(&served.gateway, &served.journal, &drain);
    let mut leader = Client::connect(address).unwrap();
    leader.write_raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    origin.wait_for("/", 1);
    let waiters: Vec<_> = (0..3).map(|_| served.ask("/", &[("Host", "a")])).collect();
    served.wait_for_waiters(3);
    drain.begin(Duration::ZERO);
    other.join().unwrap();
    origin.wait_for("/", 2);
    gate.open();
    waiters.into_iter().for_each(|waiter| assert_eq!(waiter.join().unwrap().text(), "x"));
    assert_eq!(origin.count("/"), 2);
    served.wait_for_landing();
}

#[test]
fn cores_that_race_for_cold_keys_fetch_each_once() {
    let origin = Origin::start(|_| storable("x"));
    let served = before(&origin, CACHED);
    let drain = Drain::default();
    let (other, thread) = start_core(&served.gateway, &served.journal, &drain);
    let clients: Vec<_> = [served.address, other, served.address, other]
        .into_iter()
        .map(|address| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address).unwrap();
                for n in 0..200 {
                    let target = format!("/{n}");
                    let reply = client.request("GET", &target).header("Host", "a").send();
                    assert_eq!(reply.text(), "x");
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(origin.requests().len(), 200);
    assert_eq!((served.gateway.flights.count(), served.gateway.flights.waiting()), (0, 0));
    drain.begin(Duration::ZERO);
    thread.join().unwrap();
}

#[test]
fn a_model_that_panics_leaves_no_flight_behind() {
    let panics = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&panics);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains("told to panic") {
            return before(info);
        }
        own.fetch_add(1, Ordering::SeqCst);
    }));
    let served =
        serve("[[route]]\npath = \"/rank\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n");
    let reply = served.get("/rank?panic");
    assert_eq!((reply.status, cache_status(&reply)), (502, "tidegate; detail=abandoned"));
    served.wait_for_landing();
    assert_eq!(served.get("/rank?panic").status, 502);
    assert_eq!(served.get("/rank").status, 200);
    assert_eq!(panics.load(Ordering::SeqCst), 2);
}
