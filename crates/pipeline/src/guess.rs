//! Proposes the format of a log from its first lines.
//!
//! Each format by name is tried, alone and inside what may wrap it. The one that finds most fields
//! in all lines wins: `combined` also reads lines that have more, and one that a full disk cut. Of
//! such lines it is told how many have more, and what.
//! Invariant: nothing is proposed that reads less than half of the lines. A line of a web server
//! counts as read only if it has a path. One of syslog does only if a program has a name there.
//! Markers are looked for as the wrapper writes them.
//! `presets/tests/names.rs` asks for each name of `presets` in `CANDIDATES`. Never here: reading
//! lines.

use std::sync::Arc;

use exchange::{FieldName, Fields};

use crate::config::SourceConfig;
use crate::decode::{Decoder, Event, Format};
use crate::error::LineError;

/// A format to try.
struct Candidate {
    name: &'static str,
    /// What the text must contain, one of these.
    markers: &'static [&'static str],
    /// The field that a line must have.
    needs: Option<&'static str>,
}

/// The formats. Of two that find the same in as many lines, the earlier one wins. So a format that
/// reads all lines of another stands behind it.
const CANDIDATES: [Candidate; 22] = [
    access("ingress-nginx", &[""]),
    access("traefik", &[""]),
    access("vhost_combined", &[""]),
    access("combined", &[""]),
    access("common", &[""]),
    // Behind `combined`, which finds as much in a line without a host.
    access("lighttpd", &[""]),
    access("haproxy", &[""]),
    access("envoy", &[""]),
    access("squid", &[""]),
    access("alb", &[""]),
    access("s3", &[""]),
    access("cloudfront", &["x-edge-"]),
    access("iis", &["#Software: Microsoft", "sc-win32-status", " s-ip"]),
    access("w3c", &["#Fields:"]),
    access("caddy", &["\"request\""]),
    access("traefik-json", &["\"RequestPath\""]),
    access("tidegate", &["\"total_us\""]),
    access("ltsv", &["\t"]),
    Candidate { name: "docker", markers: &["\"log\":"], needs: None },
    Candidate { name: "json", markers: &["{"], needs: None },
    Candidate { name: "logfmt", markers: &["="], needs: None },
    Candidate { name: "cri", markers: &[" std"], needs: None },
];
const SYSLOG: Candidate = Candidate { name: "syslog", markers: &[":"], needs: Some("var.program") };
/// Formats whose lines may go on, and the same up to their end.
const OPEN: [(&str, &str); 2] = [
    ("common", "$remote_addr $ident $remote_user [$time_local] \"$request\" $status $bytes"),
    (
        "combined",
        "$remote_addr $ident $remote_user [$time_local] \"$request\" $status $bytes \
         \"$http_referer\" \"$http_user_agent\"",
    ),
];
/// What may be around a line; the empty name stands for nothing.
const WRAPPERS: [&str; 4] = ["", "docker", "cri", "syslog"];
/// What is shown of what a line has behind the format.
const TAIL_CHARS: usize = 60;
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

const fn access(name: &'static str, markers: &'static [&'static str]) -> Candidate {
    Candidate { name, markers, needs: Some("path") }
}

/// The format that a log is likely to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatGuess {
    /// Its name.
    pub format: &'static str,
    /// What each line is wrapped in, if anything.
    pub wrapper: Option<&'static str>,
    /// Lines that it reads.
    pub read: usize,
    /// Lines there are, without directives and pieces of lines.
    pub lines: usize,
    /// Lines that go on behind the format, which passes over it.
    pub longer: usize,
    /// What the first of these has there.
    pub tail: String,
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
    best.map(|(_, guess)| with_tail(guess, text))
}

/// Reads the text by a format; returns how many fields it found, too.
fn tried(
    candidate: &Candidate,
    wrapper: &'static str,
    text: &[u8],
) -> Option<(usize, FormatGuess)> {
    let is_there = |marker: &&str| {
        let escaped = marker.replace('"', "\\\"").replace('\t', "\\t");
        let written = if wrapper == "docker" { &escaped } else { *marker };
        memchr::memmem::find(text, written.as_bytes()).is_some()
    };
    candidate.markers.iter().find(|marker| is_there(marker))?;
    let wrapper = Some(wrapper).filter(|name| !name.is_empty());
    let config = SourceConfig {
        format: Some(candidate.name.to_owned()),
        wrapper: wrapper.map(str::to_owned),
        ..SourceConfig::default()
    };
    let names: Vec<FieldName> = FIELDS.iter().filter_map(|name| name.parse().ok()).collect();
    let needed: Option<FieldName> = candidate.needs.and_then(|name| name.parse().ok());
    let (mut read, mut lines, mut fields) = (0, 0, 0);
    let mut decoder = Decoder::new(&Format::parse(&config).ok()?, Arc::default());
    decoder.each(text, |_, _, outcome| {
        lines += 1;
        let is_one = |event: &&Event<'_>| needed.as_ref().is_none_or(|name| has(event, name));
        if let Some(event) = outcome.ok().filter(is_one) {
            read += 1;
            fields += names.iter().filter(|name| event.field(name).is_some()).count();
        }
    });
    let (format, longer, tail) = (candidate.name, 0, String::new());
    Some((fields, FormatGuess { format, wrapper, read, lines, longer, tail }))
}

/// Whether the line has a field; a program has a name with a letter, unlike an address.
fn has(event: &Event<'_>, name: &FieldName) -> bool {
    let text = event.field(name).map(|value| value.to_string());
    text.is_some_and(|text| *name == FieldName::Path || text.contains(char::is_alphabetic))
}

/// Adds what lines have behind the format.
fn with_tail(mut guess: FormatGuess, text: &[u8]) -> FormatGuess {
    let Some((_, whole)) = OPEN.iter().find(|(name, _)| *name == guess.format) else {
        return guess;
    };
    let config = |format: &str| SourceConfig {
        format: Some(format.to_owned()),
        wrapper: guess.wrapper.map(str::to_owned),
        ..SourceConfig::default()
    };
    let formats = [guess.format, whole].map(|format| Format::parse(&config(format)));
    let [Ok(open), Ok(whole)] = formats else { return guess };
    let mut is_read = Vec::new();
    Decoder::new(&open, Arc::default()).each(text, |_, _, outcome| is_read.push(outcome.is_ok()));
    let mut is_read = is_read.into_iter();
    Decoder::new(&whole, Arc::default()).each(text, |_, line, outcome| {
        let (Some(true), Err(LineError::Decode(error))) = (is_read.next(), outcome) else { return };
        guess.longer += 1;
        if guess.tail.is_empty() {
            let rest = line.get(error.offset..).filter(|_| guess.wrapper.is_none());
            let rest = String::from_utf8_lossy(rest.unwrap_or_default());
            let tail = rest.split_once(' ').map_or("", |(_, tail)| tail);
            guess.tail = tail.chars().filter(|c| !c.is_control()).take(TAIL_CHARS).collect();
        }
    });
    guess
}

#[cfg(test)]
pub(crate) mod tests;
