//! Ports for programs that must be told one.

use std::net::{Ipv4Addr, TcpListener};

/// Returns a loopback port that was free a moment ago.
///
/// Another process may take it in between; what can listen on port 0 should do so instead.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound listener has an address").port()
}
