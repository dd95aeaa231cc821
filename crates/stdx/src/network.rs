//! Reads a network, an address with the number of its first bits that count, and tells who is in.
//!
//! Invariant: an address means the same in every spelling. An IPv4 address that is written as IPv6
//! (`::ffff:10.0.0.1`, RFC 4291 §2.5.5.2) counts as IPv4, in networks and in questions. So `::/0`
//! has no IPv4 address. A network has no bit set behind its prefix. A text that sets one is an
//! error, which holds the network that was meant for callers that take it.
//! Notation: RFC 4632 §3.1 and RFC 4291 §2.3. Refuses: names of machines, and zones such as
//! `%eth0`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bits of an IPv4 address that is written as IPv6, before its own.
const MAPPED_BITS: u8 = 96;

/// An address, and how many of its first bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// The reason why a text is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// No address before the `/`, or at all.
    #[error("is no address and no network; write one such as 10.0.0.0/8 or 2001:db8::/32")]
    Address,
    /// What follows the `/` is no length of a prefix.
    #[error("has no prefix length from 0 to {most} behind its `/`")]
    Bits {
        /// The longest prefix of such an address.
        most: u8,
    },
    /// A bit behind the prefix is set.
    #[error("has bits set behind its prefix; write {meant} for that network")]
    HostBits {
        /// The network of the prefix alone.
        meant: Network,
    },
}

impl Network {
    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or a single address.
    ///
    /// # Errors
    /// When the text is neither, when the prefix is too long, or when a bit behind it is set.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let sent: IpAddr = address.parse().map_err(|_| NetworkError::Address)?;
        let most = if sent.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &&str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let read = |bits: &str| bits.parse().ok().filter(|bits| *bits <= most);
        let bits = match bits {
            None => most,
            Some(bits) => {
                Some(bits).filter(is_number).and_then(read).ok_or(NetworkError::Bits { most })?
            }
        };
        let network = match sent.to_canonical() {
            address @ IpAddr::V4(_) if sent.is_ipv6() && bits >= MAPPED_BITS => {
                Self { address, bits: bits - MAPPED_BITS }
            }
            _ => Self { address: sent, bits },
        };
        let meant = network.without_host_bits();
        if network == meant { Ok(network) } else { Err(NetworkError::HostBits { meant }) }
    }

    /// Whether an address is in it.
    pub fn has(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(other)) => {
                (network.to_bits() ^ other.to_bits()) & mask_v4(self.bits) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(other)) => {
                (network.to_bits() ^ other.to_bits()) & mask_v6(self.bits) == 0
            }
            _ => false,
        }
    }

    /// Whether it has every address of its family.
    pub fn is_everything(&self) -> bool {
        self.bits == 0
    }

    fn without_host_bits(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & mask_v4(self.bits)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & mask_v6(self.bits)).into(),
        };
        Self { address, ..self }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

fn mask_v4(bits: u8) -> u32 {
    !u32::MAX.checked_shr(bits.into()).unwrap_or(0)
}

fn mask_v6(bits: u8) -> u128 {
    !u128::MAX.checked_shr(bits.into()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
