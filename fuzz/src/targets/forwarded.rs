//! Clients behind proxies: whatever is sent, nobody chooses its address but by what is trusted.
//!
//! Held against a second walk over `X-Forwarded-For`, made of whole lists. `Forwarded` is asked
//! again with what a proxy adds.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use crate::reading::read_head;
use http1::forwarded::MEMBERS_MAX;
use http1::{ClientHeaders, Head, Scheme, TrustedProxies};
use stdx::Network;

pub(super) const TOKENS: &[&str] = &[
    "x-forwarded-for: ",
    "x-forwarded-proto: https\n",
    "x-forwarded-host: a\n",
    "x-request-id: 0123456789abcdef0123456789abcdef\n",
    "forwarded: ",
    "for=",
    ";proto=https",
    ";host=\"a:1\"",
    "by=_x",
    ", ",
    "\"",
    "\\\"",
    "10.0.0.1",
    "192.0.2.1",
    "[2001:db8::1]",
    "::ffff:10.0.0.1",
    ":80",
    "unknown",
];

/// Whom the proxies name that write behind what is sent.
const CLIENT: &str = "203.0.113.9";

/// The first line is 1 where proxies write `Forwarded`; the rest are fields.
pub(super) fn run(input: &[u8]) {
    let (settings, lines) = super::settings(input);
    let is_forwarded = super::number(settings, 0) == 1;
    believing(lines, is_forwarded, |head| {
        let chain: Vec<IpAddr> = head.chain().collect();
        let (client, proxies) = chain.split_last().expect("a peer");
        assert_eq!(*client, head.client(), "the chain ends at the client");
        assert!(proxies.iter().all(|proxy| has(*proxy)), "a proxy that is not trusted: {chain:?}");
        assert!(chain.len() <= MEMBERS_MAX + 1, "more members than the bound");
        let host = head.forwarded_host();
        assert!(host.is_none_or(|host| !host.is_empty() && !host.contains(['"', ',', ' ', '/'])));
        if !is_forwarded {
            assert_eq!(*client, walked(head), "a second walk differs: {}", lines.escape_ascii());
        }
    });
    let (name, added) = match is_forwarded {
        true => ("forwarded", format!("for=\"{CLIENT}:1\";proto=http, for=10.0.0.1")),
        false => ("x-forwarded-for", format!("{CLIENT}, 10.0.0.1")),
    };
    // As a line of its own, and at the end of the last line that there is.
    let separate = [lines, b"\n", name.as_bytes(), b": ", added.as_bytes()].concat();
    let joined = [b"\n", lines.trim_ascii_end(), b", ", added.as_bytes()].concat();
    let last = joined.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) + 1;
    let is_joined = joined[last..].to_ascii_lowercase().starts_with(format!("{name}:").as_bytes());
    for lines in [Some(separate), is_joined.then_some(joined)].into_iter().flatten() {
        believing(&lines, is_forwarded, |head| {
            assert_eq!(head.client().to_string(), CLIENT, "a client chose its address");
            let scheme = if is_forwarded { Scheme::Http } else { head.scheme() };
            assert_eq!(head.scheme(), scheme, "a client chose its scheme");
        });
    }
}

fn believing(lines: &[u8], is_forwarded: bool, look: impl FnOnce(&Head<'_>)) {
    read_head(&super::request(lines), |head| {
        if let Ok(Some((mut head, _))) = head {
            head.believe(trusted(is_forwarded));
            look(&head);
        }
    });
}

fn networks() -> [Network; 3] {
    let parse = |text| Network::parse(text).expect("a network");
    ["127.0.0.0/8", "10.0.0.0/8", "2001:db8::/32"].map(parse)
}

fn trusted(is_forwarded: bool) -> &'static TrustedProxies {
    static KINDS: [OnceLock<TrustedProxies>; 2] = [const { OnceLock::new() }; 2];
    let headers = if is_forwarded { ClientHeaders::Forwarded } else { ClientHeaders::XForwarded };
    KINDS[usize::from(is_forwarded)].get_or_init(|| TrustedProxies::new(&networks(), headers))
}

fn has(address: IpAddr) -> bool {
    networks().iter().any(|network| network.has(address))
}

/// Walks over all lines as one list.
fn walked(head: &Head<'_>) -> IpAddr {
    let lines: Vec<&[u8]> = head.all("x-forwarded-for").collect();
    let list = lines.join(&b","[..]);
    let mut client = head.peer().ip();
    // No address has a quote, so that commas between quotes are none makes no difference.
    let mut members: Vec<&[u8]> = list.split(|byte| *byte == b',').collect();
    if lines.is_empty() {
        members.clear();
    }
    for member in members.iter().rev().take(MEMBERS_MAX).map(|member| member.trim_ascii()) {
        if member.is_empty() {
            continue;
        }
        let Some(address) = std::str::from_utf8(member).ok().and_then(address) else { break };
        client = address;
        if !has(client) {
            break;
        }
    }
    client
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let bare = bare.filter(|inner| inner.contains(':')).unwrap_or(text);
    // A port has up to five digits, or an obfuscated name; only the address counts.
    let with_port = || {
        let (address, port) = text.rsplit_once(':')?;
        let is_digits =
            !port.is_empty() && port.len() <= 5 && port.chars().all(|c| c.is_ascii_digit());
        let name = port.strip_prefix('_').unwrap_or_default();
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        // The standard reader takes zones, such as `%1`.
        let is_plain = (is_digits || is_name) && !address.contains('%');
        is_plain.then(|| format!("{address}:1").parse::<SocketAddr>().ok())?
    };
    let address = bare.parse().ok().or_else(|| with_port().map(|address| address.ip()))?;
    Some(IpAddr::to_canonical(&address))
}
