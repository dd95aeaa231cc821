//! Writes the fields of a request, and reads what the fields of an answer say of its call.
//!
//! Attributes are `server`, `cache-status`, `x-cache` and the fields that the user asked for. The
//! user's names come here in lower case, which `lab/probe/plan.rs` of the binary sees to. A further
//! fixed one goes into docs/lab/probe.md and the help, too.
//! `Cache-Status` is cut to the name and the outcome of each cache. Metrics of `Server-Timing` are
//! parts of `wait` (`timing.rs`), and a redirect's `Location` is noted.
//! Invariant: a field that becomes an attribute has both values if it comes twice. A field of the
//! user replaces ours of the same name. `Content-Length` is not written here: `http.rs` does, when
//! `{n}` has its number. The command line refuses `Content-Length` and `Transfer-Encoding` from a
//! user.
//! Failure: an answer of more than 128 fields has no attributes from here. `ReplyReader` of `load`
//! refuses such an answer first, so both bounds go together.
//! Never here: bodies.

use std::fmt::Write as _;

use crate::probe::call::CallDetails;
use crate::probe::plan::HttpOptions;
use crate::probe::target::Url;
use crate::probe::timing::{self, pieces};

/// Fields that always become attributes.
const TELLING: [&str; 3] = ["server", "cache-status", "x-cache"];
const FIELDS_MAX: usize = 128;
/// Statuses that send a client elsewhere (RFC 9110 §15.4).
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// Returns the head of a request but its length and its end; `{n}` is still in it.
pub(super) fn head(url: &Url, options: &HttpOptions) -> String {
    let mut head = format!("{} {} HTTP/1.1\r\n", options.method, url.path);
    let has = |name: &str| options.fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut field = |name: &str, value: &str| {
        write!(head, "{name}: {value}\r\n").expect("writing to a string cannot fail");
    };
    if !has("host") {
        field("Host", &url.authority);
    }
    if !has("user-agent") {
        field("User-Agent", concat!("tidegate/", env!("CARGO_PKG_VERSION")));
    }
    if !has("accept") {
        field("Accept", "*/*");
    }
    if !options.keeps_alive && !has("connection") {
        field("Connection", "close");
    }
    for (name, value) in &options.fields {
        field(name, value);
    }
    head
}

/// Returns what the head of an answer says of its call. That is the fields of [`TELLING`], those of
/// `wanted`, and the metrics of `Server-Timing`, which lie inside `wait`.
pub(super) fn attributes(head: &[u8], wanted: &[String]) -> CallDetails {
    let mut made = CallDetails { around: "wait", ..CallDetails::default() };
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut answer = httparse::Response::new(&mut fields);
    if answer.parse(head).is_err() {
        return made;
    }
    for field in answer.headers.iter() {
        let name = field.name.to_ascii_lowercase();
        let value = String::from_utf8_lossy(field.value);
        let value = value.trim();
        if name == "location" && answer.code.is_some_and(|code| REDIRECTS.contains(&code)) {
            made.elsewhere = Some(value.to_owned());
        }
        if name == "server-timing" {
            timing::read(value, &mut made);
        } else if TELLING.contains(&name.as_str()) || wanted.contains(&name) {
            let short = if name == "cache-status" { outcome(value) } else { value.to_owned() };
            join(&mut made, name, short);
        }
    }
    made
}

/// A field that comes twice has both values.
fn join(made: &mut CallDetails, name: String, value: String) {
    match made.names.iter_mut().find(|(known, _)| *known == name) {
        Some((_, values)) => *values = format!("{values}, {value}"),
        None => made.names.push((name, value)),
    }
}

/// `Cache-Status` (RFC 9211) without what differs from call to call. Of each cache it keeps the
/// name, and whether it was a hit or the reason for which it was not.
fn outcome(value: &str) -> String {
    let cache = |member: &str| {
        let mut parameters = pieces(member, ';').map(str::trim);
        let name = parameters.next().unwrap_or_default().to_owned();
        let telling = parameters.filter(|p| *p == "hit" || p.starts_with("fwd="));
        telling.fold(name, |text, parameter| format!("{text}; {parameter}"))
    };
    pieces(value, ',').map(|member| cache(member.trim())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
