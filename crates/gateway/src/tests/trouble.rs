//! Claims about servers in trouble: those that take no connection, and those that fail requests.

use std::time::Duration;

use testkit::{Client, Origin, OriginReply, free_port};

use super::{Served, cache_status, check, eventually, route_to_addresses, serve, serve_plan};

fn address(port: u16) -> std::net::SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// Returns what is wrong with the first server.
fn trouble(served: &Served) -> Option<String> {
    served.gateway.upstreams[0].servers()[0].trouble.text()
}

#[test]
fn a_refused_connection_is_trouble_until_the_server_takes_one_though_nobody_asks() {
    let port = free_port();
    let served = serve(&route_to_addresses(&[address(port)], "", ""));
    assert_eq!(trouble(&served), None);
    assert!(served.gateway.upstreams[0].is_healthy(), "it was not tried yet");
    for _ in 0..5 {
        assert_eq!(cache_status(&served.get("/")), "tidegate; detail=connect");
    }
    let said = trouble(&served).unwrap();
    assert!(said.starts_with("takes no connections (Connection refused"), "{said}");
    assert!(!served.gateway.upstreams[0].is_healthy());
    let back = Origin::start_on(port, |_| OriginReply::ok("back"));
    eventually("the server to be reached", || served.gateway.upstreams[0].is_healthy());
    assert_eq!(trouble(&served), None);
    assert_eq!(back.requests().len(), 0, "a connection is enough");
    assert_eq!(served.get("/").text(), "back");
}

/// Serves, and looks at the servers at this interval.
fn serve_looking(text: &str, interval: Duration) -> Served {
    let (mut plan, problems) = check(text);
    assert!(problems.is_empty(), "{problems:?}");
    plan.upstreams.iter_mut().for_each(|upstream| upstream.look_interval = interval);
    serve_plan(plan)
}

#[test]
fn servers_that_die_while_no_request_comes_are_noticed_and_so_is_their_return() {
    let [one, other] =
        [Origin::start(|_| OriginReply::ok("")), Origin::start(|_| OriginReply::ok(""))];
    let both = [one.address(), other.address()];
    let served = serve_looking(&route_to_addresses(&both, "", ""), Duration::from_millis(5));
    let is_healthy = || served.gateway.upstreams[0].is_healthy();
    assert!(is_healthy());
    eventually("a request at each", || {
        served.get("/");
        !one.requests().is_empty() && !other.requests().is_empty()
    });
    assert!(is_healthy());
    drop((one, other));
    eventually("the servers to be missed", || !is_healthy());
    let back = Origin::start_on(both[1].port(), |_| OriginReply::ok("back"));
    eventually("the server to be reached", is_healthy);
    assert_eq!(back.requests().len(), 0, "a connection is enough");
}

#[test]
fn a_server_that_answers_requests_is_not_looked_at() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let servers = [origin.address()];
    let served = serve(&route_to_addresses(&servers, "", ""));
    let trouble = &served.gateway.upstreams[0].servers()[0].trouble;
    assert!(!trouble.take_answered(), "there was no request");
    served.get("/");
    assert!(trouble.take_answered(), "so the next look is not due");
    assert!(!trouble.take_answered(), "the one after it is");
}

#[test]
fn a_server_that_takes_no_connection_is_left_out_while_there_is_another() {
    let good = Origin::start(|_| OriginReply::ok("good"));
    for balance in ["", "balance = \"consistent-hash\""] {
        let servers = [address(free_port()), good.address()];
        let served = serve(&route_to_addresses(&servers, balance, "cache = {}"));
        let failed = (0..20).filter(|n| served.get(&format!("/{n}")).status != 200).count();
        assert_eq!(failed, 1, "only who found out got no answer");
    }
}

#[test]
fn failures_in_a_row_leave_a_server_out_while_there_is_another() {
    let bad = Origin::start(|_| OriginReply::ok("").close_before_head());
    let good = Origin::start(|_| OriginReply::ok("good"));
    let both = [bad.address(), good.address()];
    let passive = "passive = { failures = 2, pause = \"1h\" }";
    let served = serve(&route_to_addresses(&both, passive, ""));
    let failed = (0..20).filter(|_| served.get("/").status == 502).count();
    assert_eq!((failed, bad.count("/")), (2, 2));
    let said = trouble(&served).unwrap();
    assert!(said.starts_with("the last 2 requests failed (the upstream closed"), "{said}");
    let alone = serve(&route_to_addresses(&both[..1], passive, ""));
    assert!((0..5).all(|_| alone.get("/").status == 502));
    assert_eq!(bad.count("/"), 7, "the last server is asked all the same");
    let off = serve(&route_to_addresses(&both, "passive = { failures = 0 }", ""));
    assert_eq!((0..20).filter(|_| off.get("/").status == 502).count(), 10);
    assert_eq!(trouble(&off), None);
}

#[test]
fn a_body_that_breaks_off_or_hangs_is_a_failure_though_its_head_was_good() {
    let good = Origin::start(|_| OriginReply::ok("good"));
    type Way = (&'static str, fn() -> OriginReply);
    let ways: [Way; 3] = [
        ("the upstream closed", || OriginReply::ok("x".repeat(200)).close_mid_body(2)),
        ("the upstream closed", || OriginReply::ok("x".repeat(9)).chunked(3).close_mid_body(8)),
        ("there was no answer in time", || OriginReply::ok("x".repeat(200)).stall_mid_body(2)),
    ];
    for (reason, way) in ways {
        for route in ["", "cache = { ttl = \"60s\" }"] {
            let bad = Origin::start(move |_| way());
            let passive = "passive = { failures = 2, pause = \"1h\" }\npiece_timeout = \"100ms\"";
            let served =
                serve(&route_to_addresses(&[bad.address(), good.address()], passive, route));
            let got = |n| Client::get(served.address, &format!("/{n}")).try_send();
            let is_good = |n: &i32| got(*n).is_ok_and(|reply| reply.text() == "good");
            let failed = (0..20).filter(|n| !is_good(n)).count();
            assert_eq!((failed, bad.requests().len()), (2, 2), "{reason} {route}");
            let said = trouble(&served).unwrap();
            assert!(said.starts_with(&format!("the last 2 requests failed ({reason}")), "{said}");
        }
    }
}

#[test]
fn a_body_that_its_client_left_says_nothing_of_the_server() {
    let origin = Origin::start(|request| match request.path() {
        "/bad" => OriginReply::ok("").close_before_head(),
        _ => OriginReply::ok(vec![b'x'; 20_000_000]),
    });
    let leave = |served: &Served, count: usize| {
        let mut client = Client::connect(served.address).unwrap();
        client.write_raw(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        origin.wait_for("/long", count);
        drop(client);
        served.journal.wait_for(count);
    };
    let once = "passive = { failures = 1 }";
    let served = serve(&route_to_addresses(&[origin.address()], once, ""));
    leave(&served, 1);
    assert_eq!(trouble(&served), None, "it is no failure");
    let twice = "passive = { failures = 2 }";
    let served = serve(&route_to_addresses(&[origin.address()], twice, ""));
    served.get("/bad");
    leave(&served, 2);
    served.get("/bad");
    assert!(trouble(&served).is_some(), "nor is it an answer");
}

#[test]
fn a_stream_of_events_is_an_answer_when_it_begins() {
    let origin = Origin::start(|request| match request.path() {
        "/bad" => OriginReply::ok("").close_before_head(),
        _ => OriginReply::ok("data: 1\n\n more")
            .header("Content-Type", "text/event-stream")
            .close_mid_body(9),
    });
    let passive = "passive = { failures = 2 }";
    let served = serve(&route_to_addresses(&[origin.address()], passive, ""));
    for _ in 0..3 {
        served.get("/bad");
        assert!(Client::get(served.address, "/events").try_send().is_err());
    }
    assert_eq!(trouble(&served), None, "never two in a row");
}

#[test]
fn offers_to_change_the_protocol_count_as_requests() {
    let origin = Origin::start(|request| match request.path() {
        "/closed" => OriginReply::ok("").close_before_head(),
        "/other" => OriginReply::ok("").raw("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        _ => OriginReply::ok("x".repeat(200)).close_mid_body(2),
    });
    let route = "upgrade = [\"websocket\"]";
    for target in ["/closed", "/other", "/broken"] {
        let passive = "passive = { failures = 2 }";
        let served = serve(&route_to_addresses(&[origin.address()], passive, route));
        for _ in 0..2 {
            assert_eq!(trouble(&served), None);
            let offer = Client::get(served.address, target).header("Upgrade", "websocket");
            drop(offer.header("Connection", "Upgrade").try_send());
        }
        assert!(trouble(&served).is_some(), "{target}");
    }
}

#[test]
fn an_answer_ends_the_trouble_and_begins_the_count_anew() {
    let origin = Origin::start(|request| match request.path() {
        "/bad" => OriginReply::ok("").close_before_head(),
        _ => OriginReply::status(500),
    });
    let passive = "passive = { failures = 2 }";
    let served = serve(&route_to_addresses(&[origin.address()], passive, ""));
    for _ in 0..3 {
        served.get("/bad");
        assert_eq!(served.get("/").status, 500, "an answer, whatever it says");
    }
    assert_eq!(trouble(&served), None, "never two in a row");
    served.get("/bad");
    served.get("/bad");
    assert!(trouble(&served).is_some());
    served.get("/");
    assert_eq!(trouble(&served), None);
}

#[test]
fn a_route_for_a_healthy_upstream_is_passed_by_while_nothing_takes_connections() {
    let spare = Origin::start(|_| OriginReply::ok("spare"));
    let dead = address(free_port());
    let text = route_to_addresses(&[dead], "", "if_healthy = true")
        + &route_to_addresses(&[spare.address()], "", "name = \"spare\"")
            .replace("\"o\"", "\"s\"")
            .replace("upstream:o", "upstream:s");
    let served = serve(&text);
    assert_eq!(served.get("/").status, 502, "who finds out");
    assert_eq!(served.get("/").text(), "spare");
}

#[test]
fn a_wrong_pause_is_told() {
    let servers = [address(1)];
    let passive = "passive = { failures = 2, pause = 5 }";
    let (_, problems) = check(&route_to_addresses(&servers, passive, ""));
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("a length of time, such as \"5s\""), "{said:?}");
}
