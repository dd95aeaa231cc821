//! Tells an upstream for whom a request is made: client, scheme and host, as they are believed.
//!
//! Every fetch from an upstream has `X-Forwarded-For` and `-Proto`, and `-Host` if the request has
//! a host, all written anew; probes have none. With a peer that is not trusted they hold its own
//! address, `http` and `Host`. With one that is, they hold what `http1::forwarded` believes. The
//! first address is always that of the client; the last one is that of the peer. Python workers
//! take the first (`python/tidegate/workers/addresses.py`). `Forwarded` goes along only where
//! trusted proxies write it, with the same content. Invariant: nothing that a client wrote in these
//! fields goes on. A fetch whose response may be stored has scheme and host as the key has them
//! (`key`). Its addresses are not in the key: a response that varies by them is not stored
//! (`freshness`). Never here: whom to believe (`http1`).

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use http1::{Head, Scheme};
use smallvec::SmallVec;

use crate::key;
use chassis::ClientId;

/// For whom a request is made.
#[derive(Debug, Clone, Default)]
pub(super) struct ForwardedFor {
    /// From the client to the peer; the same address if nobody is between.
    chain: SmallVec<[IpAddr; 2]>,
    scheme: Scheme,
    /// The host of which trusted proxies speak.
    host: Option<Box<str>>,
    /// The request id of a trusted proxy.
    pub request_id: Option<u128>,
    /// Whether trusted proxies write `Forwarded`.
    is_forwarded: bool,
}

impl ForwardedFor {
    pub(super) fn of(head: &Head<'_>) -> Self {
        let mut chain: SmallVec<[IpAddr; 2]> = head.chain().collect();
        chain.reverse();
        Self {
            chain,
            scheme: head.scheme(),
            host: head.forwarded_host().map(Into::into),
            request_id: head.request_id(),
            is_forwarded: head.is_forwarded(),
        }
    }

    /// Returns the client, as bounds know it.
    pub(super) fn client(&self) -> ClientId {
        self.chain.first().copied().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).into()
    }

    /// Returns a host as the key of the request has it, and puts its own host in that form.
    pub(super) fn keep_to_key(&mut self, host: &str) -> Box<str> {
        let in_key = |host: &str| key::canonical_host(host, self.scheme).to_ascii_lowercase();
        self.host = self.host.take().map(|host| in_key(&host).into());
        in_key(host).into()
    }

    /// Appends the lines; `sent` is the host of the request.
    pub(super) fn append(&self, sent: &str, out: &mut Vec<u8>) {
        let (scheme, host) = (self.scheme.as_str(), self.host.as_deref().unwrap_or(sent));
        out.extend_from_slice(b"x-forwarded-for: ");
        for (place, address) in self.chain.iter().enumerate() {
            out.extend_from_slice(if place == 0 { b"" } else { b", " });
            write_address(*address, out);
        }
        out.extend_from_slice(b"\r\nx-forwarded-proto: ");
        out.extend_from_slice(scheme.as_bytes());
        // A request under HTTP/1.0 may have no host.
        if !host.is_empty() {
            out.extend_from_slice(b"\r\nx-forwarded-host: ");
            out.extend_from_slice(host.as_bytes());
        }
        if self.is_forwarded {
            self.append_forwarded(scheme, host, out);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends the line `Forwarded` (RFC 7239 §4). Its first element has the client's scheme and
    /// host.
    fn append_forwarded(&self, scheme: &str, host: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\nforwarded: ");
        for (place, address) in self.chain.iter().enumerate() {
            // Writing to a vector cannot fail.
            drop(match address {
                IpAddr::V4(v4) => write!(out, "for={v4}"),
                IpAddr::V6(v6) => write!(out, "for=\"[{v6}]\""),
            });
            if place == 0 {
                drop(write!(out, ";proto={scheme}"));
                // Quoted, because of its port or brackets; no byte of a host needs an escape.
                if !host.is_empty() {
                    drop(write!(out, ";host=\"{host}\""));
                }
            }
            out.extend_from_slice(if place + 1 == self.chain.len() { b"" } else { b", " });
        }
    }
}

fn write_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(v4) => {
            for (place, octet) in v4.octets().into_iter().enumerate() {
                out.extend_from_slice(if place == 0 { b"" } else { b"." });
                out.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
            }
        }
        // Writing to a vector cannot fail.
        IpAddr::V6(v6) => drop(write!(out, "{v6}")),
    }
}
