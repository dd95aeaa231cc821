//! Claims about the share that one client has of the connections to a server.

use std::io::{Read, Write};
use std::net::SocketAddr;

use testkit::{Gate, Origin, OriginReply};

use super::raw::{Line, RawOrigin, connect_as, head, rest, say};
use super::{Served, cache_status, eventually, route_to, route_to_addresses, serve};

/// The client that takes what it can; all others come from 127.0.0.1.
const GREEDY: [u8; 4] = [127, 0, 0, 9];

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn greedy(to: SocketAddr, text: &str) -> Line {
    connect_as(GREEDY, to, text)
}

/// Asserts that the client is refused because it is at its share.
fn assert_refused(line: &mut Line) {
    let told = head(line);
    assert_eq!(told[0], "HTTP/1.1 503 Service Unavailable", "{told:?}");
    assert!(told.iter().any(|field| field.contains("detail=client-share")), "{told:?}");
}

fn refusals(served: &Served) -> u64 {
    served.registry.sum("tidegate_client_refusals_total", &[])
}

#[test]
fn a_client_with_many_slow_fetches_leaves_half_of_the_connections_to_others() {
    let gate = Gate::default();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/slow" => OriginReply::ok("slow").after(&own),
        _ => OriginReply::ok("ok"),
    });
    let served = serve(&route_to(&[&origin], "connections_max = 4", ""));
    let mut slow: Vec<_> = (0..2).map(|_| greedy(served.address, &get("/slow"))).collect();
    origin.wait_for("/slow", 2);
    for _ in 0..5 {
        assert_refused(&mut greedy(served.address, &get("/slow")));
    }
    assert_eq!(served.get("/").text(), "ok");
    assert_eq!(refusals(&served), 5);
    gate.open();
    for line in &mut slow {
        assert_eq!(head(line)[0], "HTTP/1.1 200 OK");
    }
    drop(slow);
    assert_eq!(head(&mut greedy(served.address, &get("/")))[0], "HTTP/1.1 200 OK");
}

#[test]
fn a_client_with_many_requests_under_way_leaves_half_of_them_to_others() {
    let gate = Gate::default();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/slow" => OriginReply::ok("slow").after(&own),
        _ => OriginReply::ok("ok"),
    });
    let served = serve(&(route_to(&[&origin], "", "") + "[limits]\npending_max = 4\n"));
    let slow: Vec<_> = (0..2).map(|_| greedy(served.address, &get("/slow"))).collect();
    origin.wait_for("/slow", 2);
    let mut third = greedy(served.address, &get("/slow"));
    assert_eq!(head(&mut third)[0], "HTTP/1.1 503 Service Unavailable");
    assert_eq!(served.get("/").text(), "ok");
    assert_eq!(refusals(&served), 1);
    gate.open();
    drop(slow);
}

#[test]
fn a_client_that_does_not_read_leaves_half_of_the_connections_to_others() {
    let origin = RawOrigin::start(|head, line| {
        let is_long = head.starts_with("GET /long ");
        let length = if is_long { 50_000_000 } else { 2 };
        say(line, format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
        // The write fails when the gateway has closed the connection.
        line.get_mut().write_all(&vec![b'o'; length]).is_ok()
    });
    let limits = "[limits]\ninflight_bytes = \"1MB\"\n";
    let upstream = "connections_max = 4";
    let served = serve(&(route_to_addresses(&[origin.address], upstream, "") + limits));
    let _unread: Vec<_> = (0..2)
        .map(|_| {
            let mut line = greedy(served.address, &get("/long"));
            assert_eq!(head(&mut line)[0], "HTTP/1.1 200 OK");
            line
        })
        .collect();
    assert_refused(&mut greedy(served.address, &get("/long")));
    assert_eq!(served.get("/").text(), "oo");
}

#[test]
fn a_client_whose_uploads_stall_leaves_half_of_the_uploads_to_others() {
    let origin = RawOrigin::start(|head, line| {
        if head.starts_with("POST /stalled") {
            let _ = line.read_to_end(&mut Vec::new());
            return false;
        }
        let mut body = vec![0; 2_000_000];
        line.read_exact(&mut body).unwrap();
        say(line, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        true
    });
    let upstream = "connections_max = 4";
    let served = serve(&route_to_addresses(&[origin.address], upstream, ""));
    let upload = |path: &str, length: usize| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        head + &"x".repeat(1_500_000)
    };
    let held = greedy(served.address, &upload("/stalled", 5_000_000));
    eventually("the upload", || !origin.heads().is_empty());
    let mut second = greedy(served.address, &upload("/stalled", 5_000_000));
    assert_refused(&mut second);
    let mut other = connect_as([127, 0, 0, 1], served.address, upload("/", 2_000_000));
    other.get_mut().write_all(&vec![b'x'; 500_000]).unwrap();
    assert_eq!(head(&mut other)[0], "HTTP/1.1 200 OK");
    drop(held);
}

#[test]
fn who_waits_on_a_fetch_whose_client_is_refused_fetches_instead() {
    let gates = [Gate::default(), Gate::default()];
    let own = gates.clone();
    let handler = move |request: &testkit::OriginRequest| match (request.path(), request.nth) {
        ("/slow", _) => OriginReply::ok("slow").after(&own[0]),
        ("/key", 0) => OriginReply::status(502).after(&own[1]),
        _ => OriginReply::ok("ok").header("Cache-Control", "max-age=60"),
    };
    let origins = [Origin::start(handler.clone()), Origin::start(handler)];
    let upstream = "connections_max = 2\nretry = {}";
    let served = serve(&route_to(&[&origins[0], &origins[1]], upstream, "cache = {}"));
    // It is at its share of one server, and leads a flight at the other, which fails.
    let _slow = greedy(served.address, &get("/slow"));
    eventually("the slow fetch", || origins.iter().any(|origin| origin.count("/slow") == 1));
    let mut leader = greedy(served.address, &get("/key"));
    eventually("the flight", || origins.iter().any(|origin| origin.count("/key") == 1));
    let waiter = served.ask("/key", &[("host", "a")]);
    served.wait_for_waiters(1);
    gates[1].open();
    assert_refused(&mut leader);
    let reply = waiter.join().unwrap();
    assert_eq!((reply.status, reply.text()), (200, "ok"), "{}", cache_status(&reply));
    gates[0].open();
    drop(rest(&mut greedy(served.address, "GET / HTTP/1.0\r\n\r\n")));
}
