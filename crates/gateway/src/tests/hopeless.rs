//! Claims about keys whose responses cannot be stored: requests wait in vain at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::{Gate, Origin, OriginReply, Reply};

use super::{Served, assert_hit, before, cache_status};

const CACHED: &str = "cache = {}";
const DETAIL: &str = "tidegate; fwd=miss; detail=hit-for-miss";

/// An origin whose responses are storable while the switch is on.
fn switched(gate: &Gate) -> (Origin, Arc<AtomicBool>) {
    let storable = Arc::new(AtomicBool::new(false));
    let (own, gate) = (Arc::clone(&storable), gate.clone());
    let origin = Origin::start(move |request| {
        let said = if own.load(Ordering::SeqCst) { "max-age=60" } else { "no-store" };
        let reply = OriginReply::ok(format!("{}", request.nth)).header("Cache-Control", said);
        if request.nth == 0 { reply } else { reply.after(&gate) }
    });
    (origin, storable)
}

fn ask_many(served: &Served, count: usize) -> Vec<std::thread::JoinHandle<Reply>> {
    (0..count).map(|_| served.ask("/", &[("Host", "h")])).collect()
}

fn join(asked: Vec<std::thread::JoinHandle<Reply>>) -> Vec<Reply> {
    asked.into_iter().map(|asked| asked.join().unwrap()).collect()
}

#[test]
fn thirty_clients_of_a_remembered_key_take_one_round_to_the_origin() {
    let gate = Gate::new();
    let (origin, _) = switched(&gate);
    let served = before(&origin, CACHED);
    let first = "tidegate; fwd=uri-miss; detail=unstored-no-store";
    assert_eq!(cache_status(&served.get_with("/", &[("Host", "h")])), first);
    let asked = ask_many(&served, 30);
    // All are at the origin before it has answered one, so none waits for another.
    gate.wait_for(30);
    assert_eq!(served.gateway.flights.waiting(), 0);
    gate.open();
    let replies = join(asked);
    assert!(replies.iter().all(|reply| cache_status(reply) == DETAIL), "{replies:?}");
    assert_eq!(origin.count("/"), 31);
}

#[test]
fn a_storable_answer_ends_it() {
    let gate = Gate::new();
    let (origin, storable) = switched(&gate);
    let served = before(&origin, CACHED);
    served.get_with("/", &[("Host", "h")]);
    storable.store(true, Ordering::SeqCst);
    let asked = ask_many(&served, 3);
    gate.wait_for(3);
    gate.open();
    for reply in join(asked) {
        assert!(cache_status(&reply).starts_with(&format!("{DETAIL}; stored")));
    }
    assert_hit(&served.get_with("/", &[("Host", "h")]));
    served.gateway.store.clear_memory();
    let before = origin.count("/");
    assert!(cache_status(&served.get_with("/", &[("Host", "h")])).starts_with("tidegate; fwd=uri"));
    assert_eq!(origin.count("/"), before + 1);
}

/// Sends the first request of a key, then two at once; returns whether one of these waits.
fn two_wait(route: &str, first: OriginReply, headers: &'static [(&str, &str)]) -> bool {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.nth {
        0 => first.clone(),
        _ => OriginReply::ok("x").header("Cache-Control", "no-store").after(&own),
    });
    let served = before(&origin, route);
    served.get_with("/", headers);
    let asked: Vec<_> = (0..2).map(|_| served.ask("/", &[])).collect();
    super::eventually("two requests", || {
        served.gateway.flights.waiting() + origin.count("/") - 1 == 2
    });
    let waits = served.gateway.flights.waiting() == 1;
    gate.open();
    join(asked);
    waits
}

#[test]
fn only_what_tells_of_the_next_answer_is_remembered() {
    let unstorable = || OriginReply::ok("x").header("Cache-Control", "no-store");
    assert!(!two_wait(CACHED, unstorable(), &[]));
    assert!(!two_wait("cache = {}\nhit_for_miss = \"1m\"", unstorable(), &[]));
    assert!(two_wait("cache = {}\nhit_for_miss = \"0s\"", unstorable(), &[]));
    // A failure says nothing about the next response, nor does a response to credentials.
    assert!(two_wait(CACHED, OriginReply::status(503).body("x"), &[]));
    assert!(two_wait(CACHED, OriginReply::ok("x").close_before_head(), &[]));
    assert!(two_wait(CACHED, unstorable(), &[("Authorization", "Bearer x")]));
    assert!(two_wait("coalesce = \"strict\"", unstorable(), &[]));
}
