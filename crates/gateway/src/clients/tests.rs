//! Claims about the shares of clients, and that who holds nothing takes no place.

use std::net::IpAddr;

use chassis::{ClientId, Inflight};
use metrics::Registry;

use super::Clients;
use crate::tests::check;

fn clients(limits: &str, budget: usize) -> Clients {
    let (plan, problems) = check(&format!("[limits]\n{limits}"));
    assert!(problems.is_empty(), "{problems:?}");
    Clients::new(&plan.limits, Inflight::new(budget, &Registry::default()))
}

fn client(address: &str) -> ClientId {
    address.parse::<IpAddr>().unwrap().into()
}

#[test]
fn clients_that_hold_nothing_are_forgotten() {
    let clients = clients("", 1000);
    for n in 0..100_000_u32 {
        let client = ClientId::V4(n.to_be_bytes());
        drop(clients.tunnel(client, 0, 10));
        drop(clients.bypass(client, b"key"));
    }
    assert!(clients.tunnels.0.lock().is_empty());
    assert!(clients.bypasses.0.lock().is_empty() && clients.bypassed.0.lock().is_empty());
}

#[test]
fn reads_past_the_cache_are_bounded_by_client_and_by_key() {
    let clients = clients("bypass_per_client_max = 2\nbypass_per_key_max = 3", 1000);
    let of = |n: u8| ClientId::V4([n; 4]);
    let one = (clients.bypass(of(1), b"a"), clients.bypass(of(1), b"b"));
    assert!(one.0.is_some() && one.1.is_some());
    assert!(clients.bypass(of(1), b"c").is_none());
    let others = (clients.bypass(of(2), b"a"), clients.bypass(of(3), b"a"));
    assert!(others.0.is_some() && others.1.is_some());
    assert!(clients.bypass(of(4), b"a").is_none());
    assert!(clients.bypass(of(4), b"c").is_some());
    drop(one);
    assert!(clients.bypass(of(1), b"a").is_some());
}

#[test]
fn one_client_has_a_share_of_the_tunnels_and_always_one() {
    let clients = clients("", 1000);
    let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
    let held = (clients.tunnel(one, 0, 3), clients.tunnel(one, 0, 3));
    assert!(held.0.is_some() && held.1.is_some());
    assert!(clients.tunnel(one, 0, 3).is_none());
    assert!(clients.tunnel(one, 1, 3).is_some(), "of each upstream");
    assert!(clients.tunnel(other, 0, 1).is_some());
}
