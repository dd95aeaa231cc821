//! Reads the `combined` access log format of nginx and Apache, and the older `common` one.
//!
//! The format is `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent
//! "$http_referer" "$http_user_agent"` (nginx.org, ngx_http_log_module); `common` ends after the
//! bytes. `vhost_combined` of Apache begins with the host and its port; where the first word is no
//! address and the second is one, it is that.
//! Quoted parts and the user have nginx's escapes `\xXX` or Apache's `\"` and `\\`; another
//! backslash stands for itself. User, referer and user agent are absent where they are `-` or
//! empty, and so is a host name in place of the address. Bytes that are no number are 0, and so is
//! the id, which the format lacks. A request that is no request line becomes the path; two spaces
//! are none. The identity, and what follows the last known part, are ignored.
//! Refuses: a line without address, identity, time, request or status, and a quote that does not
//! close. The error names the byte, or the end of the line.
//! Only `lab`, tests and fuzzing call `decode`. `lab` takes a log for an access log if its first
//! line decodes, here or in `ltsv.rs`. The delivery reads the format in
//! `pipeline/src/decode/combined.rs`, `events verify` in `recount/src/formats.rs`. All three
//! readers use `unescaped` and `parse_time`, so `events verify` sees no mistake in these. They cut
//! a request alike, each by its own code: here `split_request`, there `set_request` of
//! `pipeline/src/decode/event.rs` and `request` of `recount/src/texts.rs`. `ltsv.rs` uses what is
//! `pub(crate)`.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use stdx::calendar::{CivilDate, TimeOfDay, unix_seconds};

use crate::exchange::Exchange;
use crate::line::{DecodeError, DecodeReason};
use crate::time::{epoch_seconds, number, offset_seconds};

/// Reads one line, with or without its line feed.
///
/// # Errors
/// The first place that is not as the format wants it.
pub fn decode(line: &[u8]) -> Result<Exchange<'_>, DecodeError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut reader = Reader { line, at: 0 };
    let mut exchange = Exchange::default();
    let address = reader.word("the client's address")?;
    exchange.client_ip = std::str::from_utf8(address).ok().and_then(|text| text.parse().ok());
    let identity = reader.word("the identity")?;
    if exchange.client_ip.is_none()
        && let Some(client) = std::str::from_utf8(identity).ok().and_then(|text| text.parse().ok())
    {
        exchange.host = Some(Cow::Borrowed(without_port(address)));
        exchange.client_ip = Some(client);
        reader.word("the identity")?;
    }
    let user = reader.up_to(b" [", "the time in brackets")?;
    exchange.user = present(unescaped(user));
    let start = reader.at;
    let time = reader.up_to(b"] \"", "the request in quotes")?;
    exchange.time_us = parse_time(time).ok_or(DecodeError {
        offset: start,
        reason: DecodeReason::Expected("a time like 21/Nov/2026:03:54:12 +0000"),
    })?;
    let request = reader.quoted()?;
    fill_request(request, &mut exchange);
    reader.space("the status")?;
    exchange.status = reader.number("a status")?;
    let bytes = reader.word_or_end();
    exchange.bytes_out = parse(bytes).unwrap_or(0);
    if reader.next_is_quote() {
        exchange.referer = present(reader.quoted()?);
    }
    reader.at += usize::from(reader.line.get(reader.at) == Some(&b' '));
    if reader.next_is_quote() {
        exchange.user_agent = present(reader.quoted()?);
    }
    Ok(exchange)
}

/// The host of `shop.example:443`.
fn without_port(host: &[u8]) -> &[u8] {
    let digits = host.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (name, port) = host.split_at(host.len() - digits);
    name.strip_suffix(b":").filter(|_| !port.is_empty()).unwrap_or(host)
}

/// Fills method, path, query and version from a request line; one that is none becomes the path.
pub(crate) fn fill_request<'a>(request: Cow<'a, [u8]>, exchange: &mut Exchange<'a>) {
    let (method, target, version) = match &request {
        Cow::Borrowed(text) => {
            let (method, target, version) = split_request(text);
            (Cow::Borrowed(method), Cow::Borrowed(target), Cow::Borrowed(version))
        }
        Cow::Owned(text) => {
            let (method, target, version) = split_request(text);
            (Cow::Owned(method.into()), Cow::Owned(target.into()), Cow::Owned(version.into()))
        }
    };
    exchange.method = lossy(method);
    exchange.version = lossy(version);
    fill_target(target, exchange);
}

/// Fills path and query from a request target.
pub(crate) fn fill_target<'a>(target: Cow<'a, [u8]>, exchange: &mut Exchange<'a>) {
    let Some(mark) = memchr(b'?', &target) else {
        exchange.path = target;
        return;
    };
    match target {
        Cow::Borrowed(target) => {
            exchange.path = Cow::Borrowed(&target[..mark]);
            exchange.query = Some(Cow::Borrowed(&target[mark + 1..]));
        }
        Cow::Owned(mut path) => {
            let query = path.split_off(mark + 1);
            path.truncate(mark);
            exchange.path = Cow::Owned(path);
            exchange.query = Some(Cow::Owned(query));
        }
    }
}

/// Reads `21/Nov/2026:03:54:12 +0100` as microseconds since the Unix epoch.
pub fn parse_time(text: &[u8]) -> Option<u64> {
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    if text.len() != 26 || text[20] != b' ' {
        return None;
    }
    let month = MONTHS.iter().position(|name| **name == text[3..6])? as u32 + 1;
    let date = CivilDate { year: number(&text[7..11])?, month, day: number(&text[0..2])? };
    let (hour, minute) = (number(&text[12..14])?, number(&text[15..17])?);
    let clock = TimeOfDay { hour, minute, second: number(&text[18..20])? };
    let east = offset_seconds(&text[22..24], &text[24..26])?;
    let east = match text[21] {
        b'+' => east,
        b'-' => -east,
        _ => return None,
    };
    epoch_seconds(unix_seconds(date, clock)? - east)?.checked_mul(1_000_000)
}

/// Returns text, or nothing for `-` and for the empty text.
pub(crate) fn present(text: Cow<'_, [u8]>) -> Option<Cow<'_, [u8]>> {
    (!text.is_empty() && *text != *b"-").then_some(text)
}

/// Undoes `\xXX`, `\"` and `\\`, and Apache's `\t`, `\n`, `\r`, `\b` and `\v`; any other backslash
/// stands for itself.
pub fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, taken) = match (first, tail) {
            (b'\\', [b'x', high, low, ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                _ => (first, 1),
            },
            (b'\\', [escaped @ (b'"' | b'\\'), ..]) => (*escaped, 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'b', ..]) => (8, 2),
            (b'\\', [b'v', ..]) => (11, 2),
            _ => (first, 1),
        };
        out.push(byte);
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

/// Reads what Rust reads from text: a number, or an address.
pub(crate) fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Turns bytes into text, with U+FFFD for what is not UTF-8.
pub(crate) fn lossy(text: Cow<'_, [u8]>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(text) => Cow::Owned(String::from_utf8_lossy(&text).into_owned()),
    }
}

/// Without a request lighttpd writes two spaces, and AWS `- http://HOST:80- -`.
fn split_request(text: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let Some(first) = memchr(b' ', text) else { return (b"", text, b"") };
    let (method, rest) = (&text[..first], &text[first + 1..]);
    match memchr::memmem::rfind(rest, b" HTTP/") {
        Some(last) => (method, &rest[..last], &rest[last + 6..]),
        None if rest == b" " => (method, b"", b""),
        None => (method, rest.strip_suffix(b" -").unwrap_or(rest), b""),
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

struct Reader<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn word(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let start = self.at;
        let word = self.up_to(b" ", what)?;
        if word.is_empty() { Err(self.error_at(start, what)) } else { Ok(word) }
    }

    fn up_to(&mut self, end: &[u8], what: &'static str) -> Result<&'a [u8], DecodeError> {
        let rest = &self.line[self.at..];
        let length = memchr::memmem::find(rest, end).ok_or_else(|| self.error_at(self.at, what))?;
        self.at += length + end.len();
        Ok(&rest[..length])
    }

    /// Takes a quoted part; `up_to` has taken the first opening quote, `next_is_quote` the others.
    fn quoted(&mut self) -> Result<Cow<'a, [u8]>, DecodeError> {
        let rest = &self.line[self.at..];
        let mut at = 0;
        loop {
            let Some(found) = memchr2(b'"', b'\\', rest.get(at..).unwrap_or_default()) else {
                return Err(DecodeError { offset: self.line.len(), reason: DecodeReason::Torn });
            };
            at += found;
            if rest[at] == b'"' {
                break;
            }
            at += 2;
        }
        self.at += at + 1;
        Ok(unescaped(&rest[..at]))
    }

    fn next_is_quote(&mut self) -> bool {
        let found = self.line.get(self.at) == Some(&b'"');
        self.at += usize::from(found);
        found
    }

    fn space(&mut self, what: &'static str) -> Result<(), DecodeError> {
        if self.line.get(self.at) != Some(&b' ') {
            return Err(self.error_at(self.at, what));
        }
        self.at += 1;
        Ok(())
    }

    fn number<T: std::str::FromStr>(&mut self, what: &'static str) -> Result<T, DecodeError> {
        let start = self.at;
        parse(self.word_or_end()).ok_or_else(|| self.error_at(start, what))
    }

    fn word_or_end(&mut self) -> &'a [u8] {
        let rest = &self.line[self.at..];
        let length = memchr(b' ', rest).unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.line.len());
        &rest[..length]
    }

    fn error_at(&self, offset: usize, what: &'static str) -> DecodeError {
        let torn = offset >= self.line.len();
        let reason = if torn { DecodeReason::Torn } else { DecodeReason::Expected(what) };
        DecodeError { offset, reason }
    }
}

#[cfg(test)]
mod tests;
