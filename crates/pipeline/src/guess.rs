//! Proposes the format of a log from its first lines.
//!
//! Each format by name is tried, alone and inside what may wrap it. The one that finds most fields
//! in all lines wins: `combined` also reads lines that have more, and one that a full disk cut.
//! Invariant: nothing is proposed that reads less than half of the lines. A line of a web server
//! counts as read only if it has a path.
//! A new name in `presets` also goes into `CANDIDATES`. Never here: reading lines.

use std::sync::Arc;

use exchange::{FieldName, Fields};

use crate::config::SourceConfig;
use crate::decode::{Decoder, Event, Format};

/// A format to try.
struct Candidate {
    name: &'static str,
    /// What the text must contain.
    marker: &'static str,
    /// Its lines have a path.
    is_access: bool,
}

/// The formats, the more special ones first.
const CANDIDATES: [Candidate; 21] = [
    access("ingress-nginx", ""),
    access("traefik", ""),
    access("vhost_combined", ""),
    access("combined", ""),
    access("common", ""),
    access("haproxy", ""),
    access("envoy", ""),
    access("squid", ""),
    access("alb", ""),
    access("s3", ""),
    access("cloudfront", "x-edge-"),
    access("iis", "#Software: Microsoft"),
    access("w3c", "#Fields:"),
    access("caddy", "\"request\""),
    access("traefik-json", "\"RequestPath\""),
    access("tidegate", "\"total_us\""),
    access("ltsv", "\t"),
    Candidate { name: "docker", marker: "\"log\":", is_access: false },
    Candidate { name: "json", marker: "{", is_access: false },
    Candidate { name: "logfmt", marker: "=", is_access: false },
    Candidate { name: "cri", marker: " std", is_access: false },
];
const SYSLOG: Candidate = Candidate { name: "syslog", marker: ":", is_access: false };
/// What may be around a line; the empty name stands for nothing.
const WRAPPERS: [&str; 4] = ["", "docker", "cri", "syslog"];
/// Fields by which readings are compared.
const FIELDS: [&str; 14] = [
    "method",
    "path",
    "status",
    "client_ip",
    "host",
    "bytes_in",
    "bytes_out",
    "total",
    "upstream",
    "id",
    "user",
    "header.user-agent",
    "cache",
    "route",
];

const fn access(name: &'static str, marker: &'static str) -> Candidate {
    Candidate { name, marker, is_access: true }
}

/// The format that a log is likely to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatGuess {
    /// Its name.
    pub format: &'static str,
    /// What each line is wrapped in, if anything.
    pub wrapper: Option<&'static str>,
    /// Lines that it reads.
    pub read: usize,
    /// Lines there are, without directives and pieces of lines.
    pub lines: usize,
}

/// Proposes the format of a text; `None` when no format reads half of its lines. What stands behind
/// the last line feed is passed over.
pub fn guess_format(text: &[u8]) -> Option<FormatGuess> {
    let mut best: Option<((usize, usize), FormatGuess)> = None;
    for wrapper in WRAPPERS {
        let last = wrapper.is_empty().then_some(&SYSLOG);
        for candidate in CANDIDATES.iter().chain(last) {
            let Some((fields, guess)) = tried(candidate, wrapper, text) else { continue };
            let score = (fields, guess.read);
            let is_better = best.as_ref().is_none_or(|(best, _)| score > *best);
            if is_better && guess.read > 0 && guess.read * 2 >= guess.lines {
                best = Some((score, guess));
            }
        }
    }
    best.map(|(_, guess)| guess)
}

/// Reads the text by a format; returns how many fields it found, too.
fn tried(
    candidate: &Candidate,
    wrapper: &'static str,
    text: &[u8],
) -> Option<(usize, FormatGuess)> {
    memchr::memmem::find(text, candidate.marker.as_bytes())?;
    let wrapper = Some(wrapper).filter(|name| !name.is_empty());
    let config = SourceConfig {
        format: Some(candidate.name.to_owned()),
        wrapper: wrapper.map(str::to_owned),
        ..SourceConfig::default()
    };
    let names: Vec<FieldName> = FIELDS.iter().filter_map(|name| name.parse().ok()).collect();
    let (mut read, mut lines, mut fields) = (0, 0, 0);
    let mut decoder = Decoder::new(&Format::parse(&config).ok()?, Arc::default());
    decoder.each(text, |_, _, outcome| {
        lines += 1;
        let is_one =
            |event: &&Event<'_>| !candidate.is_access || event.field(&FieldName::Path).is_some();
        if let Some(event) = outcome.ok().filter(is_one) {
            read += 1;
            fields += names.iter().filter(|name| event.field(name).is_some()).count();
        }
    });
    Some((fields, FormatGuess { format: candidate.name, wrapper, read, lines }))
}

#[cfg(test)]
mod tests;
