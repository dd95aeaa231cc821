//! Ports for programs that must be told one.
//!
//! They lie below the range from which the system gives ports to outgoing connections. One of those
//! would be taken by somebody's client before the program listens on it.
//! Invariant: a process gives each port once. Refuses: to keep a port; another process may take it.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;

/// Processes that run at once begin far apart.
static NEXT: LazyLock<AtomicU32> =
    LazyLock::new(|| AtomicU32::new(std::process::id().wrapping_mul(7919) % COUNT));

/// Returns a loopback port that was free a moment ago, each time another one.
///
/// Another process may take it in between; what can listen on port 0 should do so instead.
pub fn free_port() -> u16 {
    (0..COUNT)
        .map(|_| FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT)
        .map(|port| u16::try_from(port).expect("the range ends below 65536"))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("loopback has a free port")
}
