//! Claims about the shares of clients, and that who holds nothing takes no place.

use std::net::IpAddr;

use chassis::{Charge, Inflight};
use metrics::Registry;

use super::{ClientId, Clients};
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
fn a_client_is_an_ipv4_address_or_half_an_ipv6_address() {
    assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
    assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:0:1"));
    assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
}

#[test]
fn one_client_leaves_the_rest_of_the_budget_to_others() {
    let clients = clients("client_share = \"25%\"", 1000);
    let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
    let mut held = clients.charge(one);
    assert!(held.try_add(200));
    assert!(!clients.charge(one).try_add(51), "a client has one budget, whatever it opens");
    assert!(clients.charge(one).try_add(50));
    let mut others: Vec<Charge> = (0..4).map(|_| clients.charge(other)).collect();
    assert!(others[0].try_add(250));
    assert!(!others[1].try_add(1));
    assert_eq!(clients.budget().bytes(), 450);
    drop((held, others));
    assert_eq!(clients.budget().bytes(), 0);
}

#[test]
fn clients_that_hold_nothing_are_forgotten() {
    let clients = clients("", 1000);
    for n in 0..100_000_u32 {
        let client = ClientId::V4(n.to_be_bytes());
        drop(clients.charge(client));
        drop(clients.tunnel(client, 10));
        drop(clients.bypass(client, b"key"));
    }
    assert!(clients.budgets.lock().len() < 5000, "{}", clients.budgets.lock().len());
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
    let held = (clients.tunnel(one, 3), clients.tunnel(one, 3));
    assert!(held.0.is_some() && held.1.is_some());
    assert!(clients.tunnel(one, 3).is_none());
    assert!(clients.tunnel(other, 1).is_some());
}
