//! Claims about the shares of clients, and that the table does not grow with who came.

use std::net::IpAddr;

use metrics::Registry;

use super::{ClientBudgets, ClientId};
use crate::inflight::{Charge, Inflight};

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
    let budgets = ClientBudgets::new(Inflight::new(1000, &Registry::default()), 0.25);
    let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
    let mut held = budgets.charge(one);
    assert!(held.try_add(200));
    assert!(!budgets.charge(one).try_add(51), "a client has one budget, whatever it opens");
    assert!(budgets.charge(one).try_add(50));
    let mut others: Vec<Charge> = (0..4).map(|_| budgets.charge(other)).collect();
    assert!(others[0].try_add(250));
    assert!(!others[1].try_add(1));
    assert_eq!(budgets.whole().bytes(), 450);
    drop((held, others));
    assert_eq!(budgets.whole().bytes(), 0);
}

#[test]
fn clients_that_hold_nothing_do_not_fill_the_table() {
    let budgets = ClientBudgets::new(Inflight::new(1000, &Registry::default()), 0.25);
    for n in 0..100_000_u32 {
        drop(budgets.charge(ClientId::V4(n.to_be_bytes())));
    }
    assert!(budgets.parts.lock().len() < 5000, "{}", budgets.parts.lock().len());
}
