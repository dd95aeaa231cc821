//! Leaves out the addresses to which this machine has no route, such as IPv6 where there is none.
//!
//! RFC 6724 §6 (rule 1) puts them last; as servers they would only refuse. Invariant: if there is a
//! route to none, all are kept, so that an error says why. Nothing is sent: to connect a socket for
//! datagrams only looks the route up. Never here: whether anybody listens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use crate::known::{Family, Found};

/// Any port will do; this one is for what is thrown away (RFC 863).
const DISCARD: u16 = 9;

/// Returns what was found without the addresses that cannot be reached.
pub(crate) fn reachable(found: Found, has_route: impl Fn(IpAddr) -> bool) -> Found {
    let with_route = |family: &Family| match family {
        Family::Addresses(addresses, ttl) => {
            let left = addresses.iter().copied().filter(|address| has_route(*address));
            let left: Vec<IpAddr> = left.collect();
            match left.is_empty() {
                true => Family::Empty,
                false => Family::Addresses(left, *ttl),
            }
        }
        other => other.clone(),
    };
    let left = Found(with_route(&found.0), with_route(&found.1));
    let has_any = |found: &Found| {
        [&found.0, &found.1].iter().any(|family| matches!(family, Family::Addresses(..)))
    };
    if has_any(&left) { left } else { found }
}

/// Whether this machine has a route to an address; loopback counts as one.
pub(crate) fn has_route(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    address.is_loopback()
        || UdpSocket::bind((any, 0)).is_ok_and(|socket| socket.connect((address, DISCARD)).is_ok())
}
