//! Claims about listeners that share an address, and those that must not.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::bind;

#[test]
fn the_listeners_of_all_cores_share_the_port_that_was_chosen() {
    let listeners = bind("127.0.0.1:0".parse().unwrap(), 3).unwrap();
    let addresses: Vec<_> = listeners.iter().map(|it| it.address().unwrap()).collect();
    assert_eq!(addresses, vec![addresses[0]; 3]);
    assert_ne!(addresses[0].port(), 0);
}

#[test]
fn an_address_is_shared_with_nobody_else() {
    let ours = bind("127.0.0.1:0".parse().unwrap(), 2).unwrap();
    let others = TcpListener::bind("127.0.0.1:0").unwrap();
    for taken in [ours[0].address().unwrap(), others.local_addr().unwrap()] {
        assert_eq!(bind(taken, 1).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
    let address = ours[0].address().unwrap();
    drop(ours);
    bind(address, 2).unwrap();
}
