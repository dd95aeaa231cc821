//! Claims about interim responses: sent at once, only to the client whose request began the fetch,
//! never stored, and bounded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use testkit::{Client, FIXTURE_TIMEOUT, Gate, Origin, OriginReply};

use super::{Served, assert_hit, before, eventually, route_to, serve};

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-Hint: own\r\n\r\n";

fn hinting(gate: &Gate) -> Origin {
    let gate = gate.clone();
    Origin::start(move |request| match request.path() {
        "/plain" => OriginReply::ok("plain"),
        _ => OriginReply::ok("answer")
            .header("Cache-Control", "max-age=60")
            .early(HINTS)
            .after(&gate),
    })
}

fn asks(served: &Served, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn get(served: &Served, target: &str) -> BufReader<TcpStream> {
    asks(served, &format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"))
}

fn head(from: &mut BufReader<TcpStream>) -> Vec<String> {
    from.lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect()
}

/// Returns the status lines of all replies up to the one with `body`, after which all is quiet.
fn statuses(mut from: BufReader<TcpStream>, body: &str) -> Vec<String> {
    let mut statuses = Vec::new();
    while statuses.last().is_none_or(|status: &String| status.starts_with("HTTP/1.1 1")) {
        statuses.push(head(&mut from)[0].clone());
    }
    let mut read = vec![0; body.len()];
    from.read_exact(&mut read).unwrap();
    assert_eq!(read, body.as_bytes());
    statuses
}

#[test]
fn hints_reach_the_client_before_the_upstream_has_answered_whatever_the_route() {
    let routes = ["", "cache = {}", "cache = {}\ncoalesce = \"off\"", "coalesce = \"strict\""];
    for route in routes {
        let gate = Gate::new();
        let origin = hinting(&gate);
        let served = before(&origin, route);
        let mut stream = get(&served, "/");
        let fields = ["HTTP/1.1 103 Early Hints", "link: </a.css>", "x-hint: own"];
        assert_eq!(head(&mut stream), fields, "{route}");
        gate.wait_for(1);
        gate.open();
        let answer = head(&mut stream);
        assert_eq!(answer[0], "HTTP/1.1 200 OK", "{route}");
        assert!(!answer.iter().any(|field| field.starts_with("x-hint")), "{route}: {answer:?}");
    }
}

#[test]
fn nothing_of_them_is_stored() {
    let gate = Gate::new();
    gate.open();
    let origin = hinting(&gate);
    let served = before(&origin, "cache = {}");
    assert_eq!(statuses(get(&served, "/"), "answer").len(), 2);
    assert_eq!(statuses(get(&served, "/"), "answer"), ["HTTP/1.1 200 OK"]);
    let hit = served.get_with("/", &[("Host", "a")]);
    assert_hit(&hit);
    assert_eq!((hit.header("x-hint"), hit.header("link")), (None, None));
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn only_the_request_that_leads_a_flight_gets_them() {
    let gate = Gate::new();
    let origin = hinting(&gate);
    let served = before(&origin, "cache = {}");
    let mut leader = get(&served, "/");
    head(&mut leader);
    let waiters: Vec<_> = (0..3).map(|_| get(&served, "/")).collect();
    served.wait_for_waiters(3);
    gate.open();
    assert_eq!(statuses(leader, "answer"), ["HTTP/1.1 200 OK"]);
    for waiter in waiters {
        assert_eq!(statuses(waiter, "answer"), ["HTTP/1.1 200 OK"]);
    }
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn clients_of_http_1_0_get_none() {
    let gate = Gate::new();
    gate.open();
    let origin = hinting(&gate);
    for route in ["", "cache = {}"] {
        let served = before(&origin, route);
        let stream = asks(&served, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
        assert_eq!(statuses(stream, "answer"), ["HTTP/1.1 200 OK"]);
    }
}

#[test]
fn a_client_that_left_does_not_hinder_the_flight_it_began() {
    let gate = Gate::new();
    let origin = hinting(&gate);
    let served = before(&origin, "cache = {}");
    let mut leader = get(&served, "/");
    head(&mut leader);
    drop(leader);
    gate.open();
    eventually("the answer is stored", || served.gateway.flights.count() == 0);
    assert_hit(&served.get_with("/", &[("Host", "a")]));
}

#[test]
fn several_pass_in_order_but_100_and_fields_of_the_connection_do_not() {
    let early = "HTTP/1.1 100 Continue\r\n\r\n\
                 HTTP/1.1 102 Processing\r\nConnection: x-mine\r\nX-Mine: 1\r\n\
                 Content-Length: 9\r\nTransfer-Encoding: chunked\r\nUpgrade: x\r\n\r\n\
                 HTTP/1.1 199 Whatever\r\nX-Two: 2\r\n\r\n";
    let origin = Origin::start(move |_| OriginReply::ok("x").early(early));
    for route in ["", "cache = {}"] {
        let served = before(&origin, route);
        let mut stream = get(&served, "/");
        assert_eq!(head(&mut stream), ["HTTP/1.1 102 Processing"]);
        assert_eq!(head(&mut stream), ["HTTP/1.1 199 ", "x-two: 2"]);
        assert_eq!(head(&mut stream)[0], "HTTP/1.1 200 OK");
    }
}

#[test]
fn an_upstream_that_sends_too_many_is_given_up() {
    let flood = |count: usize| "HTTP/1.1 102 Processing\r\n\r\n".repeat(count);
    let large = format!("HTTP/1.1 103 Early Hints\r\nX: {}\r\n\r\n", "x".repeat(9000)).repeat(8);
    let origin = Origin::start(move |request| match request.path() {
        "/few" => OriginReply::ok("x").early(flood(64)),
        "/many" => OriginReply::ok("x").early(flood(65)),
        "/endless" => OriginReply::ok("x").early(flood(1_000_000)).stall(),
        "/large" => OriginReply::ok("x").early(large.clone()),
        _ => OriginReply::ok("plain"),
    });
    for route in ["", "cache = { ttl = \"60s\" }"] {
        let served = serve(&route_to(&[&origin], "", route));
        for (target, status) in [("/few", 200), ("/many", 502), ("/endless", 502), ("/large", 502)]
        {
            assert_eq!((served.get(target).status, target), (status, target), "{route}");
        }
        assert_eq!(served.get("/plain").text(), "plain");
        assert_eq!(Client::get(served.address, "/many").send().status, 502, "nothing was stored");
    }
}
