//! Shortens a client's address to its network: 24 bits of IPv4, 48 bits of IPv6.
//!
//! Most providers put many households into such a network. One that gives a household a whole `/48`
//! still shows it.
//! Never here: whether to shorten, which the configuration says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the network of `address`: the first 24 bits of IPv4, the first 48 bits of IPv6.
///
/// An IPv4 address mapped into IPv6 (`::ffff:a.b.c.d`) is shortened as IPv4.
pub fn truncate_ip(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & !0xff)),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !((1 << 80) - 1))),
    }
}

#[cfg(test)]
mod tests;
