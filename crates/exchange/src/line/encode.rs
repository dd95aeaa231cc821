//! Writes an exchange as the journal's line, whole or brief; the format stands in `line.rs`.
//!
//! Invariant: what is appended is one JSON object and one line feed, at its end. It cannot fail. It
//! allocates what the buffer needs to grow, and a copy of an item id that has escapes.
//! Up to `status`, each piece begins with the closing quote of the text before it. Numbers have
//! none to close. From `client_ip` on, each piece closes its own quotes, braces and brackets. The
//! order of fields changes only how fast `pipeline` reads.
//! Never here: shortening of addresses and hashing of users, which callers do before.
//! A new field is written here, read in `line/decode.rs`, and described in `line.rs`. The delivery
//! reads it by `JOURNAL` in `pipeline/src/decode/meaning.rs`, and `events verify` by `known_key` in
//! `recount/src/variable.rs`. `encode_brief` leaves it out unless it is written there, too.

use std::io::Write;
use std::net::IpAddr;

use crate::exchange::ExchangeRef;
use crate::model::Impression;
use crate::outcome::CacheResult;
use crate::phase::Phase;
use crate::{text, time};

/// Appends `exchange` as one complete line.
pub fn encode(exchange: &ExchangeRef<'_>, out: &mut Vec<u8>) {
    let mut line = LineWriter(out);
    line.open(exchange);
    line.text(b"\",\"method\":\"", exchange.method.as_bytes());
    line.text_unless_empty(b"\",\"scheme\":\"", exchange.scheme);
    line.optional(b"\",\"host\":\"", exchange.host);
    line.text(b"\",\"path\":\"", exchange.path);
    line.optional(b"\",\"query\":\"", exchange.query);
    line.text_unless_empty(b"\",\"version\":\"", exchange.version);
    line.number(b"\",\"status\":", exchange.status.into());
    line.number(b",\"bytes_in\":", exchange.bytes_in);
    line.number(b",\"bytes_out\":", exchange.bytes_out);
    if let Some(address) = exchange.client_ip {
        line.address(address);
    }
    line.closed_optional(b",\"user\":\"", exchange.user);
    line.closed_optional(b",\"user_agent\":\"", exchange.user_agent);
    line.closed_optional(b",\"referer\":\"", exchange.referer);
    line.outcome(exchange);
    line.closed_optional(b",\"upstream\":\"", exchange.upstream.map(str::as_bytes));
    line.id(b",\"ranked_by\":\"", exchange.ranked_by);
    line.id(b",\"fetched_by\":\"", exchange.fetched_by);
    line.number(b",\"total_us\":", exchange.total_us);
    line.phases(&exchange.phases);
    if let Some(impression) = exchange.impression {
        line.impression(impression);
    }
    line.close();
}

/// Appends `exchange` as one complete brief line.
pub fn encode_brief(exchange: &ExchangeRef<'_>, out: &mut Vec<u8>) {
    let mut line = LineWriter(out);
    line.open(exchange);
    line.text(b"\",\"method\":\"", exchange.method.as_bytes());
    line.text(b"\",\"path\":\"", exchange.path);
    line.number(b"\",\"status\":", exchange.status.into());
    line.number(b",\"bytes_out\":", exchange.bytes_out);
    line.closed_optional(b",\"user\":\"", exchange.user);
    line.outcome(exchange);
    line.id(b",\"ranked_by\":\"", exchange.ranked_by);
    line.number(b",\"total_us\":", exchange.total_us);
    line.close();
}

struct LineWriter<'a>(&'a mut Vec<u8>);

impl LineWriter<'_> {
    fn open(&mut self, exchange: &ExchangeRef<'_>) {
        // Enough for a usual line, so that the appends below rarely grow the buffer.
        self.0.reserve(768);
        self.0.extend_from_slice(b"{\"time\":\"");
        time::write(exchange.time_us, self.0);
        self.0.extend_from_slice(b"\",\"id\":\"");
        self.0.extend_from_slice(&hex(exchange.id));
    }

    #[inline]
    fn text(&mut self, before: &[u8], value: &[u8]) {
        self.0.extend_from_slice(before);
        text::write(value, self.0);
    }

    #[inline]
    fn text_unless_empty(&mut self, before: &[u8], value: &str) {
        if !value.is_empty() {
            self.text(before, value.as_bytes());
        }
    }

    #[inline]
    fn optional(&mut self, before: &[u8], value: Option<&[u8]>) {
        if let Some(value) = value {
            self.text(before, value);
        }
    }

    #[inline]
    fn closed_optional(&mut self, before: &[u8], value: Option<&[u8]>) {
        if let Some(value) = value {
            self.text(before, value);
            self.0.push(b'"');
        }
    }

    #[inline]
    fn number(&mut self, before: &[u8], value: u64) {
        self.0.extend_from_slice(before);
        self.0.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn address(&mut self, address: IpAddr) {
        self.0.extend_from_slice(b",\"client_ip\":\"");
        match address {
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                self.number(b"", a.into());
                self.number(b".", b.into());
                self.number(b".", c.into());
                self.number(b".", d.into());
            }
            IpAddr::V6(v6) => write!(self.0, "{v6}").expect("a Vec takes every write"),
        }
        self.0.push(b'"');
    }

    fn outcome(&mut self, exchange: &ExchangeRef<'_>) {
        self.closed_optional(b",\"route\":\"", exchange.route.map(str::as_bytes));
        self.0.extend_from_slice(b",\"decision\":\"");
        self.0.extend_from_slice(exchange.decision.name().as_bytes());
        self.optional(b"\",\"decision_detail\":\"", exchange.decision_detail.map(str::as_bytes));
        if exchange.cache != CacheResult::None {
            self.0.extend_from_slice(b"\",\"cache\":\"");
            self.0.extend_from_slice(exchange.cache.name().as_bytes());
        }
        self.0.push(b'"');
    }

    fn id(&mut self, before: &[u8], id: Option<u128>) {
        if let Some(id) = id {
            self.0.extend_from_slice(before);
            self.0.extend_from_slice(&hex(id));
            self.0.push(b'"');
        }
    }

    fn phases(&mut self, phases: &[u32; Phase::COUNT]) {
        let mut before: &[u8] = b",\"phases\":{\"";
        for (phase, micros) in Phase::ALL.into_iter().zip(phases) {
            if *micros > 0 {
                self.0.extend_from_slice(before);
                self.0.extend_from_slice(phase.name().as_bytes());
                self.number(b"\":", (*micros).into());
                before = b",\"";
            }
        }
        if before.len() == 2 {
            self.0.push(b'}');
        }
    }

    fn impression(&mut self, impression: &Impression<'_>) {
        self.text(b",\"impression\":{\"model\":\"", impression.model.as_bytes());
        self.text(b"\",\"version\":\"", impression.version.as_bytes());
        self.0.push(b'"');
        if impression.propensity.is_finite() {
            self.0.extend_from_slice(b",\"propensity\":");
            let mut digits = zmij::Buffer::new();
            self.0.extend_from_slice(digits.format_finite(impression.propensity).as_bytes());
        }
        self.0.extend_from_slice(b",\"items\":[");
        let mut before: &[u8] = b"\"";
        for item in impression.items.iter() {
            self.text(before, item.as_bytes());
            self.0.push(b'"');
            before = b",\"";
        }
        self.0.extend_from_slice(b"]}");
    }

    fn close(&mut self) {
        self.0.extend_from_slice(b"}\n");
    }
}

/// The 32 lowercase hexadecimal digits of an id.
fn hex(id: u128) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (pair, byte) in text.chunks_exact_mut(2).zip(id.to_be_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}
