//! Finds the client of a request behind proxies that are trusted, and what they say of it.
//!
//! Proxies name the client, scheme and host that they saw in `X-Forwarded-For`, `X-Forwarded-Proto`
//! and `X-Forwarded-Host`, or in `Forwarded` (RFC 7239). A client may send these too. So the chain
//! is read from the right, where the nearest proxy has written, as long as what wrote is trusted.
//! Invariant: with a peer that is not trusted, nothing is believed. With one that is, the client is
//! the first address from the right that is not trusted. What stands before it changes nothing, so
//! no client chooses its address. A member that is no address ends the walk at the last one that
//! is; so do `unknown` and obfuscated names (RFC 7239 §6).
//! One of the two kinds of header is believed, and the other one not looked at: proxies pass on
//! what they do not write. Scheme and host are what the farthest believed member of `Forwarded`
//! says, or the last of the list in `X-Forwarded-*`.
//! Bound: [`MEMBERS_MAX`] members from the right; what is before them is not read.
//! Never here: who decides by an address, what goes to upstreams (`gateway::fetch::forwarded`), the
//! configuration (the binary). `fuzz/src/targets/forwarded.rs` walks a second time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use stdx::Network;

use crate::host::host_is_valid;
use crate::placed::PlacedFields;

/// Members of a chain that are looked at.
pub const MEMBERS_MAX: usize = 32;

/// Bytes of a host that is believed; a name in DNS has fewer.
const HOST_BYTES_MAX: usize = 255;

/// How a client has asked, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// `http`
    #[default]
    Http,
    /// `https`: a proxy in front has removed TLS.
    Https,
}

/// The headers in which the trusted proxies say for whom they ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientHeaders {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The proxies whose word about a client is taken; by default there are none.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies {
    networks: Arc<[Network]>,
    headers: ClientHeaders,
}

/// What is believed of a request from a trusted proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Believed<'b> {
    pub client: IpAddr,
    pub scheme: Scheme,
    pub host: Option<&'b str>,
    pub request_id: Option<u128>,
    pub headers: ClientHeaders,
    /// Addresses of the chain that are believed, counted from the right.
    addresses: usize,
}

/// A member of a chain: what one proxy says of who asked it.
#[derive(Debug, Clone, Copy, Default)]
struct Member<'b> {
    /// `None` for an obfuscated name, and for what is no address.
    address: Option<IpAddr>,
    scheme: Option<Scheme>,
    host: Option<&'b str>,
}

impl Scheme {
    /// Returns its name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the end of a host that names the default port, such as `:80`.
    pub fn default_port(self) -> &'static str {
        match self {
            Self::Http => ":80",
            Self::Https => ":443",
        }
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let schemes = [Self::Http, Self::Https];
        schemes.into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme.as_str().as_bytes()))
    }
}

impl TrustedProxies {
    /// Returns the proxies of these networks, which write `headers`.
    pub fn new(networks: &[Network], headers: ClientHeaders) -> Self {
        Self { networks: networks.into(), headers }
    }

    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Returns the networks.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// Returns which headers they write.
    pub fn headers(&self) -> ClientHeaders {
        self.headers
    }

    pub fn has(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.has(address))
    }
}

impl<'b> Believed<'b> {
    /// Returns what is believed; `None` if the peer is not trusted.
    pub(crate) fn of(
        peer: IpAddr,
        fields: PlacedFields<'b>,
        trusted: &TrustedProxies,
    ) -> Option<Self> {
        let client = peer.to_canonical();
        if !trusted.has(client) {
            return None;
        }
        let headers = trusted.headers;
        let request_id = request_id(fields);
        let scheme = Scheme::Http;
        let mut found = Self { client, scheme, host: None, request_id, headers, addresses: 0 };
        for member in members(fields, headers) {
            let Some(member) = member else { break };
            // A proxy that is trusted wrote this member, whomever it names.
            found.scheme = member.scheme.unwrap_or(found.scheme);
            found.host = member.host.or(found.host);
            let Some(address) = member.address else { break };
            found.client = address;
            found.addresses += 1;
            if !trusted.has(address) {
                break;
            }
        }
        if headers == ClientHeaders::XForwarded {
            let scheme = last(fields, "x-forwarded-proto").and_then(Scheme::parse);
            found.scheme = scheme.unwrap_or_default();
            found.host = last(fields, "x-forwarded-host").and_then(host);
        }
        Some(found)
    }

    /// Returns the addresses before the peer, from the nearest to the client.
    pub(crate) fn addresses(
        &self,
        fields: PlacedFields<'b>,
    ) -> impl Iterator<Item = IpAddr> + use<'b> {
        let members = members(fields, self.headers).take(self.addresses);
        members.filter_map(|member| member?.address)
    }
}

/// Returns the members of the chain from the right, `None` for a malformed one.
fn members<'b>(
    fields: PlacedFields<'b>,
    headers: ClientHeaders,
) -> impl Iterator<Item = Option<Member<'b>>> + use<'b> {
    let name = match headers {
        ClientHeaders::XForwarded => "x-forwarded-for",
        ClientHeaders::Forwarded => "forwarded",
    };
    let members = fields.all(name).rev().flat_map(|line| from_right(line, b',')).take(MEMBERS_MAX);
    // An empty member of a list means nothing (RFC 9110 §5.6.1).
    let members = members.map(<[u8]>::trim_ascii).filter(|member| !member.is_empty());
    members.map(move |member| match headers {
        ClientHeaders::XForwarded => Some(Member { address: address(member), ..Member::default() }),
        ClientHeaders::Forwarded => Member::parse(member),
    })
}

/// Splits a list from the right, where no comma or semicolon between quotes counts.
///
/// From the right, because the left may be a client's. A quote that it leaves open would swallow
/// what a proxy has added.
fn from_right(list: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    list.rsplit(move |byte| {
        is_quoted ^= *byte == b'"';
        *byte == separator && !is_quoted
    })
}

impl<'b> Member<'b> {
    /// Reads a forwarded-element (RFC 7239 §4); `None` if it is malformed. Parameters other than
    /// `for`, `proto` and `host` are read and say nothing.
    fn parse(text: &'b [u8]) -> Option<Self> {
        let mut member = Self::default();
        let mut seen = [false; 3];
        for pair in from_right(text, b';').map(<[u8]>::trim_ascii) {
            if pair.is_empty() {
                continue;
            }
            let equals = memchr::memchr(b'=', pair)?;
            let (name, value) = (&pair[..equals], value(&pair[equals + 1..])?);
            let place = ["for", "proto", "host"]
                .iter()
                .position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            let Some(place) = place else { continue };
            // No parameter occurs twice in an element.
            if std::mem::replace(&mut seen[place], true) {
                return None;
            }
            match place {
                0 => member.address = address(value),
                1 => member.scheme = Scheme::parse(value),
                _ => member.host = host(value),
            }
        }
        Some(member)
    }
}

/// Returns a value without its quotes. An escape has no place in an address, a scheme or a host.
fn value(text: &[u8]) -> Option<&[u8]> {
    let inner = match text {
        [b'"', inner @ .., b'"'] => inner,
        _ => text,
    };
    (!inner.iter().any(|byte| matches!(byte, b'"' | b'\\'))).then_some(inner)
}

/// Reads an address, with or without a port; one of IPv6 stands in brackets before a port.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port): (IpAddr, &str) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.into(), port)
        }
        None => {
            let (address, port) = text.split_at(text.find(':')?);
            (address.parse::<Ipv4Addr>().ok()?.into(), port)
        }
    };
    let is_port = |port: &str| match port.strip_prefix('_') {
        // An obfuscated port (RFC 7239 §6.3).
        Some(name) => {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            !name.is_empty() && name.bytes().all(is_plain)
        }
        None => matches!(port.len(), 1..=5) && port.bytes().all(|b| b.is_ascii_digit()),
    };
    let is_plain = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    is_plain.then(|| address.to_canonical())
}

fn host(text: &[u8]) -> Option<&str> {
    let is_host = matches!(text.len(), 1..=HOST_BYTES_MAX) && host_is_valid(text);
    std::str::from_utf8(text).ok().filter(|_| is_host)
}

/// Returns the last member of a field, which the nearest proxy has written.
fn last<'b>(fields: PlacedFields<'b>, name: &str) -> Option<&'b [u8]> {
    let line = fields.all(name).next_back()?;
    line.rsplit(|byte| *byte == b',').next().map(<[u8]>::trim_ascii)
}

/// Reads the request id of a proxy: 32 hexadecimal digits, as nginx's `$request_id`, or a UUID.
fn request_id(fields: PlacedFields<'_>) -> Option<u128> {
    let mut lines = fields.all("x-request-id");
    let (line, None) = (lines.next()?, lines.next()) else { return None };
    let has_hyphens = match line.len() {
        32 => false,
        36 => true,
        _ => return None,
    };
    let mut id = 0;
    for (place, byte) in line.iter().enumerate() {
        if has_hyphens && matches!(place, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        id = id << 4 | u128::from(char::from(*byte).to_digit(16)?);
    }
    (id != 0).then_some(id)
}

#[cfg(test)]
mod tests;
