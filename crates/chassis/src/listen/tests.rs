//! Claims about listeners that share an address, and those that must not.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::{bind, share};

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

#[test]
fn each_core_has_a_passed_socket_and_each_passed_socket_a_core() {
    let passed: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let wanted: Vec<_> = passed.iter().map(|socket| socket.local_addr().unwrap()).collect();
    let listeners = share(&passed, 3).unwrap();
    let addresses: Vec<_> = listeners.iter().map(|it| it.address().unwrap()).collect();
    assert_eq!(addresses, [wanted[0], wanted[1], wanted[0]]);
    let error = share(&passed, 1).unwrap_err().to_string();
    assert_eq!(error, "2 sockets are more than threads that serve connections (1)");
}

#[test]
fn a_passed_socket_that_is_none_of_tcp_is_refused() {
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (unix, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    for socket in [std::os::fd::OwnedFd::from(udp), unix.into()] {
        assert!(share(&[TcpListener::from(socket)], 1).is_err());
    }
}
