//! Claims about the shield in the whole binary; its details are tested in the gateway's crate.

use std::thread;

use testkit::{Client, Gate, Origin, OriginReply};

use crate::running::{Running, until};

fn config(origin: &Origin) -> String {
    format!(
        "[[upstream]]\nname = \"backend\"\nservers = [\"{}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:backend\"\ncache = {{}}\n",
        origin.address()
    )
}

#[test]
fn fifty_clients_on_one_cold_key_cost_one_fetch_over_all_cores() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_| {
        OriginReply::ok("body").header("cache-control", "max-age=60").after(&held)
    });
    let server = Running::start(&config(&origin), |_| {});
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..50).map(|_| scope.spawn(|| Client::get(server.public, "/cold").send())).collect();
        origin.wait_for("/cold", 1);
        until("49 waiters", || server.status()["flights"]["waiters"] == 49);
        gate.open();
        for client in clients {
            let reply = client.join().unwrap();
            assert_eq!((reply.status, reply.text()), (200, "body"));
        }
    });
    assert_eq!(origin.count("/cold"), 1);
    let hit = server.get("/cold");
    assert!(hit.header("cache-status").unwrap().starts_with("tidegate; hit"));
}

#[test]
fn a_drain_lets_the_request_under_way_finish() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("late").after(&held));
    let mut server = Running::start(&config(&origin), |_| {});
    thread::scope(|scope| {
        let public = server.public;
        let client = scope.spawn(move || Client::get(public, "/slow").send());
        origin.wait_for("/slow", 1);
        server.server.signal("TERM").unwrap();
        server.server.wait_for_stderr("draining");
        gate.open();
        assert_eq!(client.join().unwrap().text(), "late");
    });
    assert!(server.server.wait().unwrap().success());
}

#[test]
fn an_upstream_that_is_gone_is_502_and_readiness_tells_of_it_without_probes() {
    let origin = Origin::start(|_| OriginReply::ok(""));
    let text = config(&origin);
    drop(origin);
    let server = Running::start(&text, |_| {});
    let reply = server.get("/x");
    assert_eq!(reply.status, 502);
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert!(reply.text().contains("refused the connection"), "{}", reply.text());
    assert_eq!(Client::get(server.admin, "/health/ready").send().status, 503);
}
