//! Reads what is probed from what a user writes: URLs, `tcp:`, `dns:`, `icmp:`, `exec:`.
//!
//! [`ProbeTarget`] prints itself as it is written in reports; that text is also the name of its
//! series in files of `--save`. Text without a scheme is an error that proposes one.
//! Invariant: hosts are not empty, ports are 1 to 65,535, paths are ASCII without blanks. Whether a
//! type of DNS records exists is told by `dns.rs`, and whether anything answers by the call.
//! Refuses: logins in addresses, and types of records other than A without a name server. Redirects
//! and proxies are followed nowhere; `load_test/address.rs` reads the URLs of load tests.
//! A new kind also goes into `callers.rs`, `pin.rs`, the text of `SCHEMES`, the help
//! (`cli/lab/probe.rs`) and the table of docs/lab/probe.md.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::LabError;

/// What a call goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeTarget {
    /// `http://HOST[:PORT]/PATH` or `https://…`: one request; `{n}` in the path is a number.
    Http(Url),
    /// `tcp://HOST:PORT`: a connection that is opened and closed.
    Tcp(Endpoint),
    /// `dns:NAME[@SERVER[:PORT]][?type=TYPE]`: one question; `{n}` in the name is a number.
    Dns(Question),
    /// `icmp:HOST`: an echo request and its reply.
    Icmp(String),
    /// `exec:CMD ARGS` or words: a program that runs to its end.
    Command(Vec<String>),
}

/// A host and a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// A name or an address; of IPv6 without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Where it is called, whatever the resolver says; nothing where the resolver is asked.
    pub addresses: Vec<IpAddr>,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether it is `https`.
    pub is_tls: bool,
    /// The server.
    pub place: Endpoint,
    /// The server as the `Host` field names it: as written.
    pub authority: String,
    /// Path and query, beginning with a slash.
    pub path: String,
}

/// What is asked of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name.
    pub name: String,
    /// The name server; the system's resolver answers without one.
    pub server: Option<Endpoint>,
    /// `A`, `AAAA`, `MX` …; the system's resolver asks for addresses only.
    pub kind: String,
}

const SCHEMES: &str = "write http://, https://, tcp://HOST:PORT, dns:NAME, icmp:HOST, exec:COMMAND, \
                       or -- COMMAND";

impl ProbeTarget {
    /// Returns a program with its arguments as a target.
    ///
    /// # Errors
    /// When there is not even a program.
    pub fn command(words: &[String]) -> Result<Self, LabError> {
        match words.first().is_some_and(|program| !program.is_empty()) {
            true => Ok(Self::Command(words.to_vec())),
            false => Err(wrong("", "there is no command")),
        }
    }
}

impl FromStr for ProbeTarget {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let Some((scheme, rest)) = text.split_once(':') else { return Err(bare(text)) };
        let read = match scheme.to_ascii_lowercase().as_str() {
            "http" => url(rest, false).map(Self::Http),
            "https" => url(rest, true).map(Self::Http),
            "tcp" => place(rest.strip_prefix("//").unwrap_or(rest), None).map(Self::Tcp),
            "dns" => question(rest).map(Self::Dns),
            "icmp" | "ping" => host(rest.strip_prefix("//").unwrap_or(rest)).map(Self::Icmp),
            "exec" => words(rest).map(Self::Command),
            _ => return Err(bare(text)),
        };
        read.map_err(|reason| wrong(text, reason))
    }
}

impl fmt::Display for ProbeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(url) => {
                let scheme = if url.is_tls { "https" } else { "http" };
                write!(f, "{scheme}://{}{}", url.authority, url.path)?;
                pinned(&url.place, f)
            }
            Self::Tcp(place) => {
                write!(f, "tcp://{place}")?;
                pinned(place, f)
            }
            Self::Dns(question) => {
                write!(f, "dns:{}", question.name)?;
                if let Some(server) = &question.server {
                    write!(f, "@{server}")?;
                }
                if question.kind != "A" {
                    write!(f, "?type={}", question.kind)?;
                }
                Ok(())
            }
            Self::Icmp(host) => write!(f, "icmp:{host}"),
            Self::Command(words) => {
                let quoted = shlex::try_join(words.iter().map(String::as_str));
                f.write_str(&quoted.unwrap_or_else(|_| words.join(" ")))
            }
        }
    }
}

/// Where a place is called, if that is not left to the resolver.
fn pinned(place: &Endpoint, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, address) in place.addresses.iter().enumerate() {
        write!(f, "{} {address}", if at == 0 { " at" } else { "," })?;
    }
    Ok(())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// What has no scheme that is known; where one was forgotten, the likeliest is proposed.
fn bare(text: &str) -> LabError {
    match !text.contains("://") && url(&format!("//{text}"), false).is_ok() {
        true => wrong(text, &format!("is http://{text} meant? {SCHEMES}")),
        false => wrong(text, SCHEMES),
    }
}

fn wrong(text: &str, reason: &str) -> LabError {
    LabError::Target { text: text.to_owned(), reason: reason.to_owned() }
}

fn url(rest: &str, is_tls: bool) -> Result<Url, &'static str> {
    let rest = rest.strip_prefix("//").ok_or("after the scheme come two slashes")?;
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("a login belongs into --header 'Authorization: …'");
    }
    if path.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || !byte.is_ascii()) {
        return Err("write spaces and letters beyond ASCII as %XX");
    }
    let place = place(authority, Some(if is_tls { 443 } else { 80 }))?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Url { is_tls, place, authority: authority.to_owned(), path })
}

/// `HOST:PORT`, `[IPV6]:PORT`; the port may be left out where it has a usual value.
fn place(text: &str, usual: Option<u16>) -> Result<Endpoint, &'static str> {
    let text = text.trim_end_matches('/');
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, behind) = rest.split_once(']').ok_or("a `[` without its `]`")?;
            (name, behind.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((name, _)) if name.contains(':') => {
                return Err("write an IPv6 address in brackets: [::1]:80");
            }
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port > 0),
        None => usual,
    };
    let port = port.ok_or("the port is a number from 1 to 65535")?;
    Ok(Endpoint { host: host(name)?, port, ..Endpoint::default() })
}

fn host(text: &str) -> Result<String, &'static str> {
    let text = text.trim_end_matches('/');
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/?#@{}".contains(c);
    match bare.is_empty() || bare.contains(is_odd) {
        true => Err("the host is missing or has letters that no host has"),
        false => Ok(bare.to_owned()),
    }
}

fn question(rest: &str) -> Result<Question, &'static str> {
    let (rest, kind) = match rest.split_once('?') {
        Some((rest, query)) => (rest, query.strip_prefix("type=").ok_or("after `?` comes type=")?),
        None => (rest, "A"),
    };
    let (name, server) = match rest.split_once('@') {
        Some((name, server)) => (name, Some(server)),
        None => (rest, None),
    };
    let is_short = name.split('.').all(|label| label.len() <= 63) && name.len() <= 253;
    if name.is_empty() || !is_short || name.contains(char::is_whitespace) {
        return Err("that is no name that a name server knows");
    }
    let server = match server {
        // An address of IPv6 alone, without brackets, has no port.
        Some(bare) if bare.parse::<std::net::Ipv6Addr>().is_ok() => {
            Some(Endpoint { host: bare.to_owned(), port: 53, ..Endpoint::default() })
        }
        Some(server) => Some(place(server, Some(53))?),
        None => None,
    };
    let kind = kind.to_ascii_uppercase();
    if server.is_none() && kind != "A" {
        return Err(
            "the system's resolver is asked for addresses only; name a server: dns:NAME@SERVER",
        );
    }
    Ok(Question { name: name.to_owned(), server, kind })
}

fn words(rest: &str) -> Result<Vec<String>, &'static str> {
    let words = shlex::split(rest).ok_or("a quotation mark is not closed")?;
    match words.is_empty() {
        true => Err("there is no command"),
        false => Ok(words),
    }
}

#[cfg(test)]
mod tests;
