//! Claims about upstreams: the choice of server and connection, timeouts and retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::{Client, Gate, Origin, OriginReply, free_port};

use super::{before, cache_status, eventually, route_to, serve};

fn named(name: &'static str) -> Origin {
    Origin::start(move |_| OriginReply::ok(name))
}

#[test]
fn connections_are_kept_whatever_the_framing_of_their_answers() {
    let origin = Origin::start(|request| match request.path() {
        "/chunked" => OriginReply::ok("abc").chunked(2),
        "/empty" => OriginReply::ok(""),
        "/none" => OriginReply::status(204),
        "/large" => OriginReply::ok("x".repeat(300_000)),
        _ => OriginReply::ok("abc"),
    });
    let served = before(&origin, "");
    for target in ["/", "/chunked", "/empty", "/none", "/large", "/chunked", "/"] {
        served.get(target);
        Client::call(served.address, "HEAD", target).send();
    }
    assert_eq!(origin.connections(), 1);
    let cached = before(&origin, "cache = {}");
    for target in ["/", "/chunked", "/empty", "/none", "/large", "/chunked", "/"] {
        cached.get(target);
    }
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_kept_connection_that_the_server_closed_is_replaced() {
    let origin = Origin::start(|request| match request.path() {
        "/close" => OriginReply::ok("x").close(),
        // The server closes a kept connection when the next request comes. Every keep-alive has
        // this race; here it is certain.
        "/race" if request.connection == 1 => OriginReply::ok("").close_before_head(),
        _ => OriginReply::ok("x"),
    });
    let served = before(&origin, "");
    for target in ["/close", "/a", "/race", "/b"] {
        assert_eq!((served.get(target).status, target), (200, target));
    }
    assert_eq!(origin.count("/race"), 2);
    assert_eq!(origin.connections(), 3);
    assert_eq!(served.gateway.metrics.fetches.get(), 4);
}

#[test]
fn what_changes_something_is_never_sent_twice() {
    let origin = Origin::start(|request| match request.path() {
        "/warm" => OriginReply::ok("x"),
        _ => OriginReply::ok("").close_before_head(),
    });
    let served = serve(&route_to(&[&origin], "retry = { share = \"100%\" }", ""));
    served.get("/warm");
    assert_eq!(Client::post(served.address, "/change", "x").send().status, 502);
    assert_eq!(Client::post(served.address, "/change", "x").send().status, 502);
    assert_eq!(origin.count("/change"), 2);
}

#[test]
fn a_retry_goes_to_another_server_and_only_within_its_budget() {
    let (bad, good) = (Origin::start(|_| OriginReply::status(503)), named("good"));
    let retry = "retry = { share = \"0%\", min_per_second = 3 }";
    let served = serve(&route_to(&[&bad, &good], retry, ""));
    let statuses: Vec<u16> = (0..40).map(|_| served.get("/").status).collect();
    let retried = good.count("/") + bad.count("/") - 40;
    assert!((3..40).contains(&retried), "{retried} retries");
    assert!(statuses[..4].iter().all(|status| *status == 200));
    let plain = serve(&route_to(&[&bad, &good], "", ""));
    let failed = (0..10).filter(|_| plain.get("/").status == 503).count();
    assert_eq!(failed, 5, "without a budget nothing is retried");
}

#[test]
fn probes_take_a_server_out_and_bring_it_back() {
    let sick = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&sick);
    let a = Origin::start(move |request| match request.path() {
        "/ping" if own.load(Ordering::SeqCst) => OriginReply::status(500),
        _ => OriginReply::ok("a"),
    });
    let b = named("b");
    let health = "health = { path = \"/ping\", interval = \"5ms\", window = 3, threshold = 2 }";
    let served = serve(&route_to(&[&a, &b], health, ""));
    let servers = served.gateway.upstreams[0].servers();
    let healthy = |index: usize| servers[index].health.is_healthy();
    eventually("both healthy", || healthy(0) && healthy(1));
    assert!((0..10).any(|_| served.get("/").text() == "a"));
    sick.store(true, Ordering::SeqCst);
    eventually("a is out", || !healthy(0));
    assert!((0..10).all(|_| served.get("/").text() == "b"));
    sick.store(false, Ordering::SeqCst);
    eventually("a is back", || healthy(0));
    assert!((0..10).any(|_| served.get("/").text() == "a"));
}

#[test]
fn with_every_server_down_the_stale_answer_serves_and_else_503() {
    let sick = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&sick);
    let origin = Origin::start(move |request| match request.path() {
        "/ping" if own.load(Ordering::SeqCst) => OriginReply::status(500),
        _ => OriginReply::ok("old").header("Cache-Control", "max-age=1").header("Age", "10"),
    });
    let health = "health = { path = \"/ping\", interval = \"5ms\", window = 3, threshold = 2 }";
    let served =
        serve(&route_to(&[&origin], health, "cache = { stale = \"0s\", stale_if_error = \"1h\" }"));
    let server = Arc::clone(&served.gateway.upstreams[0].servers()[0]);
    assert_eq!(served.get("/known").text(), "old");
    sick.store(true, Ordering::SeqCst);
    eventually("the server is out", || !server.health.is_healthy());
    for _ in 0..3 {
        assert_eq!(served.get("/known").text(), "old");
    }
    let unknown = served.get("/unknown");
    assert_eq!((unknown.status, unknown.header("retry-after")), (503, Some("1")));
    assert_eq!(cache_status(&unknown), "tidegate; detail=unhealthy");
    assert_eq!((origin.count("/known"), origin.count("/unknown")), (1, 0));
}

#[test]
fn the_least_loaded_server_is_asked_and_equal_ones_in_turn() {
    let gate = Gate::new();
    let own = gate.clone();
    let a = Origin::start(move |request| match request.path() {
        "/held" => OriginReply::ok("a").after(&own),
        _ => OriginReply::ok("a"),
    });
    let b = named("b");
    let served = serve(&route_to(&[&a, &b], "", ""));
    let texts: Vec<String> = (0..6).map(|_| served.get("/").text().to_owned()).collect();
    assert_eq!(texts.iter().filter(|text| *text == "a").count(), 3);
    let mut held = Vec::new();
    while a.count("/held") == 0 {
        let seen = b.count("/held") + 1;
        held.push(served.ask("/held", &[]));
        eventually("the request", || a.count("/held") == 1 || b.count("/held") == seen);
    }
    assert!((0..6).all(|_| served.get("/").text() == "b"));
    gate.open();
    held.into_iter().for_each(|reply| drop(reply.join().unwrap()));
}

#[test]
fn consistent_hashing_sends_a_key_to_one_server_and_moves_few_when_it_goes() {
    let origins = [named("a"), named("b"), named("c")];
    let [a, b, c] = &origins;
    let hashed = "balance = \"consistent-hash\"\n\
                  health = { path = \"/ping\", interval = \"60s\", window = 1, threshold = 1 }";
    // The cache key is hashed, and requests of a route without a cache have none.
    let served = serve(&route_to(&[a, b, c], hashed, "cache = {}"));
    let all = || -> Vec<String> {
        (0..60).map(|n| served.get(&format!("/{n}")).text().to_owned()).collect()
    };
    let first = all();
    assert_eq!(first, all());
    for name in ["a", "b", "c"] {
        assert!(first.iter().filter(|text| *text == name).count() > 5, "{first:?}");
    }
    let upstream = &served.gateway.upstreams[0];
    upstream.note(&upstream.servers()[2], false);
    for (before, after) in first.iter().zip(all()) {
        assert!(after != "c" && (before == "c" || *before == after));
    }
}

#[test]
fn each_phase_of_a_fetch_has_its_own_time_limit() {
    let origin = Origin::start(|request| match request.path() {
        "/head" => OriginReply::ok("").stall(),
        "/body" => OriginReply::ok("abcdef").stall_mid_body(3),
        _ => OriginReply::ok("x"),
    });
    let limits = "answer_timeout = \"300ms\"\npiece_timeout = \"300ms\"";
    for route in ["cache = { ttl = \"60s\" }", ""] {
        let served = serve(&route_to(&[&origin], limits, route));
        let head = served.get("/head");
        assert_eq!((head.status, head.header("retry-after")), (504, Some("1")));
        let body = Client::get(served.address, "/body").try_send();
        match route {
            "" => assert!(body.is_err(), "a stream that stalls breaks off"),
            _ => assert_eq!(body.unwrap().status, 504),
        }
        assert_eq!(served.get("/").text(), "x");
    }
}

#[test]
fn nobody_listening_is_502_and_another_server_is_tried() {
    let dead = format!("\"127.0.0.1:{}\"", free_port());
    let good = named("good");
    let text = route_to(&[&good], "", "");
    let alone = serve(&text.replace(&format!("\"{}\"", good.address()), &dead));
    let reply = alone.get("/");
    assert_eq!((reply.status, cache_status(&reply)), (502, "tidegate; detail=connect"));
    let both = text.replace("servers = [", &format!("retry = {{}}\nservers = [{dead}, "));
    let both = serve(&both);
    assert!((0..6).all(|_| both.get("/").text() == "good"));
}

#[test]
fn what_cannot_be_repeated_takes_no_connection_that_the_server_may_be_closing() {
    let origin = Origin::start(|request| OriginReply::ok(request.connection.to_string()));
    let served = serve(&route_to(&[&origin], "", ""));
    let first = served.get("/").text().to_owned();
    let answered = Instant::now();
    eventually("the connection to be idle for too long", || {
        answered.elapsed() > Duration::from_millis(1_100)
    });
    let posted = Client::post(served.address, "/", "x").send().text().to_owned();
    assert_ne!(posted, first);
    let read = served.get("/").text().to_owned();
    assert!(read == first || read == posted, "{read} is a third one");
}

#[test]
fn connections_to_a_server_are_bounded_and_more_requests_are_shed() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("x").after(&own));
    let all = "[limits]\nclient_share = \"100%\"\n";
    let served = serve(&(route_to(&[&origin], "connections_max = 2", "") + all));
    let held: Vec<_> = (0..2).map(|_| served.ask("/", &[])).collect();
    gate.wait_for(2);
    let shed = served.get("/");
    assert_eq!((shed.status, cache_status(&shed)), (503, "tidegate; detail=busy"));
    gate.open();
    held.into_iter().for_each(|reply| assert_eq!(reply.join().unwrap().text(), "x"));
    assert_eq!(served.get("/").text(), "x", "what ended gives its place back");
}

#[test]
fn an_answer_that_lies_about_its_length_never_runs_into_the_next() {
    let origin = Origin::start(|request| match request.path() {
        // Chunked decides. The contradicting length must not reach the client.
        "/both" => OriginReply::ok("0123456789").chunked(4).header("Content-Length", "3"),
        "/long" => OriginReply::ok("0123456789").claim_length(3),
        "/upgrade" => OriginReply::ok("").raw("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        _ => OriginReply::ok("next"),
    });
    for route in ["", "cache = { ttl = \"60s\" }"] {
        let served = before(&origin, route);
        let mut client = Client::connect(served.address).unwrap();
        assert_eq!(client.request("GET", "/both").send().text(), "0123456789");
        assert_eq!(client.request("GET", "/next").send().text(), "next");
        assert_eq!(client.request("GET", "/long").send().text(), "012");
        assert_eq!(client.request("GET", "/after").send().text(), "next");
        assert_eq!(client.request("GET", "/upgrade").send().status, 502);
    }
}

#[test]
fn the_host_may_be_set_and_bodies_and_queries_arrive_as_sent() {
    let origin = Origin::start(|request| {
        let host = request.header("host").unwrap_or("-");
        let body = String::from_utf8_lossy(&request.body).into_owned();
        OriginReply::ok(format!("{} {} {host} {body}", request.method, request.target))
    });
    let served = serve(&route_to(&[&origin], "host = \"inner\"", "body_bytes_max = \"1KB\""));
    let put = Client::call(served.address, "PUT", "/a%20b?x=%2F&y").body("body").send();
    assert_eq!(put.text(), "PUT /a%20b?x=%2F&y inner body");
    let long = Client::post(served.address, "/", "x".repeat(1001)).send();
    assert_eq!((long.status, origin.requests().len()), (413, 1));
}

#[test]
fn a_client_that_leaves_within_a_streamed_answer_frees_its_connection_and_place() {
    let origin = Origin::start(|request| match request.path() {
        "/long" => OriginReply::ok(vec![b'x'; 20_000_000]),
        _ => OriginReply::ok("x"),
    });
    let served =
        serve(&(route_to(&[&origin], "connections_max = 1", "") + "[limits]\npending_max = 1\n"));
    let left = AtomicUsize::new(0);
    for _ in 0..3 {
        let mut client = Client::connect(served.address).unwrap();
        client.write_raw(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        origin.wait_for("/long", left.fetch_add(1, Ordering::SeqCst) + 1);
        drop(client);
        eventually("the place is free", || served.get("/").status == 200);
    }
    served.wait_for_landing();
}
