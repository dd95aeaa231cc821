//! Claims about clients that leave before the response: which fetches end, and which go on.

use std::io::Read;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::{Client, Gate, Origin, OriginReply};

use super::raw::{Line, RawOrigin, connect, head, rest, say};
use super::{assert_hit, assert_miss, before, eventually, route_to_addresses, serve};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
const DROP: &str = "client_gone = \"drop\"\n";
const ALONE: &str = "coalesce = \"off\"\ncache = {}\n";
const CACHE: &str = "cache = {}\n";

/// Waits for the gateway to close the connection.
fn until_closed(line: &mut Line) {
    let _ = line.read_to_end(&mut Vec::new());
}

fn gated(gate: &Gate) -> Origin {
    let gate = gate.clone();
    Origin::start(move |_| OriginReply::ok("x").header("Cache-Control", "max-age=60").after(&gate))
}

#[test]
fn what_is_fetched_for_one_client_alone_ends_with_it() {
    for (route, request) in [("", GET), ("", POST), (CACHE, POST), (ALONE, GET)] {
        let origin = RawOrigin::start(|_, line| {
            until_closed(line);
            false
        });
        let route = format!("{route}{DROP}");
        let served = serve(&route_to_addresses(&[origin.address], "", &route));
        let line = connect(served.address, request);
        eventually("the origin is asked", || !origin.asked().is_empty());
        drop(line);
        let record = served.journal.wait_for(1).remove(0);
        assert_eq!((record.status, record.bytes_out), (0, 0));
        // An exchange is counted after it is recorded.
        eventually("it is counted", || {
            served.registry.sum("tidegate_statuses_total", &[("status", "0xx")]) == 1
        });
        origin.wait_for_ends(1);
    }
}

#[test]
fn what_could_not_be_stored_before_is_fetched_for_one_client_alone() {
    let knows = AtomicBool::new(false);
    let origin = RawOrigin::start(move |_, line| {
        if knows.swap(true, Ordering::SeqCst) {
            until_closed(line);
            return false;
        }
        say(line, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\nx");
        true
    });
    let served = serve(&route_to_addresses(&[origin.address], "", &format!("{CACHE}{DROP}")));
    assert_eq!(served.get_with("/", &[("Host", "a")]).status, 200);
    let line = connect(served.address, GET);
    eventually("the origin is asked again", || origin.asked().len() == 2);
    drop(line);
    assert_eq!(served.journal.wait_for(2)[1].status, 0);
    origin.wait_for_ends(1);
}

#[test]
fn an_answer_that_comes_slowly_ends_with_its_client() {
    let origin = RawOrigin::start(|_, line| {
        say(line, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
        until_closed(line);
        false
    });
    let served = serve(&route_to_addresses(&[origin.address], "", DROP));
    let mut line = connect(served.address, GET);
    head(&mut line);
    drop(line);
    origin.wait_for_ends(1);
    assert_eq!(served.journal.wait_for(1)[0].status, 200);
}

#[test]
fn a_flight_goes_on_without_its_clients_and_its_answer_is_stored() {
    let gate = Gate::new();
    let origin = gated(&gate);
    let served = before(&origin, &format!("{CACHE}{DROP}"));
    let leader = connect(served.address, GET);
    origin.wait_for("/", 1);
    let waiter = connect(served.address, GET);
    served.wait_for_waiters(1);
    drop(waiter);
    served.wait_for_waiters(0);
    drop(leader);
    let records = served.journal.wait_for(2);
    assert!(records.iter().all(|record| record.status == 0), "{records:?}");
    assert_eq!(served.gateway.flights.count(), 1);
    gate.open();
    served.wait_for_landing();
    assert_hit(&served.get_with("/", &[("Host", "a")]));
    assert_eq!(origin.count("/"), 1);
}

#[test]
fn a_request_that_is_sent_meanwhile_is_answered_in_its_turn() {
    for route in [DROP.to_owned(), format!("{CACHE}{DROP}")] {
        let gate = Gate::new();
        let origin = gated(&gate);
        let served = before(&origin, &route);
        let mut client = Client::connect(served.address).unwrap();
        client.write_raw(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        origin.wait_for("/first", 1);
        client.write_raw(b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        gate.open();
        for _ in 0..2 {
            assert_eq!(client.read_reply("GET").unwrap().text(), "x");
        }
        let asked: Vec<String> = origin.requests().iter().map(|it| it.target.clone()).collect();
        assert_eq!(asked, ["/first", "/second"]);
    }
}

#[test]
fn a_client_that_stops_sending_is_answered_unless_the_route_says_that_it_has_left() {
    for route in ["", CACHE] {
        for more in ["", DROP] {
            let gate = Gate::new();
            let origin = gated(&gate);
            let served = before(&origin, &format!("{route}{more}"));
            let mut line = connect(served.address, GET);
            line.get_ref().shutdown(Shutdown::Write).unwrap();
            if more == DROP {
                assert_eq!(rest(&mut line), "");
                assert_eq!(served.journal.wait_for(1)[0].status, 0);
                gate.open();
            } else {
                origin.wait_for("/", 1);
                gate.open();
                assert!(rest(&mut line).starts_with("HTTP/1.1 200 "));
            }
        }
    }
}

#[test]
fn a_stored_answer_is_sent_to_a_client_that_stopped_sending() {
    let gate = Gate::new();
    gate.open();
    let origin = gated(&gate);
    let served = before(&origin, &format!("{CACHE}{DROP}"));
    assert_miss(&served.get_with("/", &[("Host", "a")]));
    let mut line = connect(served.address, GET);
    line.get_ref().shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut line).starts_with("HTTP/1.1 200 "));
}

#[test]
fn an_event_is_forwarded_and_recorded_though_its_sender_has_left() {
    let gate = Gate::new();
    let origin = gated(&gate);
    let served = before(&origin, &format!("collect = \"also\"\n{DROP}"));
    let line = connect(served.address, POST);
    origin.wait_for("/", 1);
    drop(line);
    gate.open();
    let record = served.journal.wait_for(1).remove(0);
    assert_eq!((record.status, record.durably), (200, true));
}

#[test]
fn what_a_client_that_left_may_have_changed_is_fetched_anew() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match &*request.method {
        "POST" => OriginReply::ok("x").after(&own),
        _ => OriginReply::ok("x").header("Cache-Control", "max-age=60"),
    });
    let served = before(&origin, &format!("{CACHE}{DROP}"));
    assert_miss(&served.get_with("/", &[("Host", "a")]));
    assert_hit(&served.get_with("/", &[("Host", "a")]));
    let line = connect(served.address, POST);
    gate.wait_for(1);
    drop(line);
    assert_eq!(served.journal.wait_for(3)[2].status, 0);
    assert_miss(&served.get_with("/", &[("Host", "a")]));
    gate.open();
}
