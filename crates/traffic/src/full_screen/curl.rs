//! Makes requests again: as a command of curl for a shell, and as bytes for a replay.
//!
//! Invariants: whatever a client sent stands between single quotes, and has no control characters,
//! so no shell runs it and no terminal obeys it. Headers are left out if HTTP or curl would read
//! them in another way: names that are no tokens, values with control characters. A method or host
//! that is none is refused, and so is a request whose texts were cut. Secrets go along only where
//! they are shown.
//! Bodies are not known: a replay has none. Headers of the connection and of the body are left
//! out.

use std::fmt::Write;

use exchange::is_secret_header;

use crate::output::REDACTED;
use crate::owned::OwnedExchange;
use crate::view::Side;

/// Headers that belong to a connection, or to a body.
const UNSENT: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What of an exchange can be asked again.
struct Asked {
    method: String,
    /// Path and query, with all but visible ASCII encoded.
    target: String,
    host: Option<String>,
    scheme: &'static str,
    headers: Vec<(String, String)>,
}

impl Asked {
    fn new(exchange: &OwnedExchange, hides_secrets: bool) -> Result<Self, String> {
        if exchange.is_cut() {
            return Err("its texts were too long to be kept whole".to_owned());
        }
        let view = exchange.view();
        let method = token(&view.method).ok_or("its method is none")?;
        if !method.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Err("its method is none".to_owned());
        }
        let target = encoded(target_of(&view.url));
        if !target.starts_with('/') {
            return Err("its URL is no path".to_owned());
        }
        let mut headers = Vec::new();
        view.each_header(Side::Request, |name, value| {
            let is_hidden = is_secret_header(name) && (hides_secrets || value == REDACTED);
            let known = token(name).zip(plain(value)).filter(|_| !is_hidden);
            headers.extend(known.filter(|(name, _)| {
                !UNSENT.iter().any(|unsent| name.eq_ignore_ascii_case(unsent))
            }));
        });
        let is_secure = exchange.line().is_some_and(|line| line.scheme == "https");
        let scheme = if is_secure { "https" } else { "http" };
        Ok(Self { method, target, host: view.host().and_then(authority), scheme, headers })
    }
}

/// Returns a command of curl that makes the request again.
///
/// # Errors
/// Why there is none.
pub(super) fn command(exchange: &OwnedExchange, hides_secrets: bool) -> Result<String, String> {
    let asked = Asked::new(exchange, hides_secrets)?;
    let host = asked.host.ok_or("its host is not known")?;
    // `--globoff` and `--path-as-is`: the URL is what was asked, not a pattern.
    let mut out = "curl -i --globoff --path-as-is".to_owned();
    match asked.method.as_str() {
        "GET" => {}
        "HEAD" => out += " --head",
        method => write!(out, " -X {}", quoted(method)).expect("a string takes all"),
    }
    for (name, value) in asked.headers {
        let header = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        write!(out, " -H {}", quoted(&header)).expect("a string takes all");
    }
    out.push(' ');
    Ok(out + &quoted(&format!("{}://{host}{}", asked.scheme, asked.target)))
}

/// The names of secret headers that a command does without.
pub(super) fn left_out(exchange: &OwnedExchange, hides_secrets: bool) -> Vec<String> {
    let mut names = Vec::new();
    exchange.view().each_header(Side::Request, |name, value| {
        let is_hidden = is_secret_header(name) && (hides_secrets || value == REDACTED);
        names.extend(token(name).filter(|_| is_hidden));
    });
    names
}

/// A request that is sent once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// The number of the exchange.
    pub number: u64,
    /// Where to: `HOST:PORT`.
    pub address: String,
    /// The method.
    pub method: String,
    /// The request on the wire; it asks for the connection to be closed.
    pub bytes: Vec<u8>,
}

impl ReplayRequest {
    pub(super) fn new(
        (number, exchange): (u64, &OwnedExchange),
        address: &str,
        hides_secrets: bool,
    ) -> Result<Self, String> {
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let has_port = port.is_some_and(|(_, port)| port.parse::<u16>().is_ok_and(|it| it > 0));
        if !has_port || authority(address.as_bytes()).is_none() {
            return Err(format!("`{address}` is no HOST:PORT"));
        }
        let asked = Asked::new(exchange, hides_secrets)?;
        let host = asked.host.as_deref().unwrap_or(address);
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", asked.method, asked.target);
        for (name, value) in &asked.headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes all");
        }
        head += "Connection: close\r\n\r\n";
        let (address, bytes) = (address.to_owned(), head.into_bytes());
        Ok(Self { number, address, method: asked.method, bytes })
    }

    /// Whether the method changes nothing.
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

/// Path and query of a URL that may be absolute.
fn target_of(url: &[u8]) -> &[u8] {
    let after_scheme = url.strip_prefix(b"http://").or_else(|| url.strip_prefix(b"https://"));
    let Some(rest) = after_scheme else { return url };
    let path = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    if path == rest.len() { b"/" } else { &rest[path..] }
}

/// A URL of visible ASCII: whatever else there is, and `#`, is encoded.
fn encoded(target: &[u8]) -> String {
    let mut out = String::with_capacity(target.len());
    for byte in target {
        if byte.is_ascii_graphic() && *byte != b'#' {
            out.push(char::from(*byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes all");
        }
    }
    out
}

/// A token of HTTP (RFC 9110, section 5.6.2).
fn token(text: &[u8]) -> Option<String> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    (!text.is_empty() && text.iter().all(is_token)).then(|| as_text(text))
}

/// A value of visible ASCII and spaces.
fn plain(text: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    text.iter().all(is_plain).then(|| as_text(text))
}

/// A host with or without a port.
fn authority(text: &[u8]) -> Option<String> {
    let is_sound = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(byte);
    (!text.is_empty() && text.len() <= 255 && text.iter().all(is_sound)).then(|| as_text(text))
}

fn as_text(text: &[u8]) -> String {
    text.iter().map(|byte| char::from(*byte)).collect()
}

/// A word for a shell of POSIX.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
