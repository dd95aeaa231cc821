//! Which address is called.

use std::net::TcpListener;

use super::{Target, first_that_accepts};
use crate::LoadError;

#[test]
fn of_several_addresses_the_first_that_accepts_is_called() {
    let listens = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listens.local_addr().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(first_that_accepts(&[closed, open]), Some(open));
    assert_eq!(first_that_accepts(&[closed, closed]), Some(closed));
    assert_eq!(first_that_accepts(&[]), None);
}

#[test]
fn a_single_address_is_not_tried_beforehand() {
    let listens = TcpListener::bind("127.0.0.1:0").unwrap();
    listens.set_nonblocking(true).unwrap();
    let target = Target::reachable(&listens.local_addr().unwrap().to_string()).unwrap();
    assert_eq!(target, Target::Tcp(listens.local_addr().unwrap()));
    assert!(listens.accept().is_err());
}

#[test]
fn a_name_without_an_address_is_told_from_what_is_none() {
    assert!(matches!(Target::reachable("nobody.invalid:80"), Err(LoadError::Lookup { .. })));
    assert!(matches!(Target::reachable("nowhere"), Err(LoadError::Target(_))));
}
