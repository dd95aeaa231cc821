//! Reads access logs with timings, as nginx and others write them.
//!
//! | form | example |
//! |---|---|
//! | combined, and named times | `… "agent" rt=0.012 uct="0.000" uht="0.011" urt="0.012"` |
//! | combined, and times in order | `… "agent" 0.012 0.012 0.000 0.011` |
//! | LTSV | `time:[…]<tab>status:200<tab>reqtime:0.012<tab>apptime:0.012` |
//! | JSON, an object a line | `{"request_time": 0.012, "upstream_response_time": "0.012", …}` |
//!
//! In order they are those of request, upstream, connection and header. Those have three decimals
//! at least, as nginx writes seconds: bytes, ratios and microseconds do not.
//! Times are seconds since the request began, but for `reqtime_microsec`. So the steps are
//! `connect` to the upstream, `wait` until its header, `transfer` until its end; or `upstream`
//! where only that is logged. `verdicts` knows `wait` by its name.
//! What a server says of itself by `Server-Timing` becomes steps inside `wait`, if it is logged
//! (`server_timing.rs`).
//! Several upstreams in one text (`0.001, 0.002 : 0.003`) count together, quoted or not. The time
//! of a line is the end of its request. `\x22` and the like are nginx's escapes of a byte.
//! Invariant: the steps are at most the upstream time, and that at most the request's. A line
//! without a request time is bad.
//! Filters see what `exchange` decodes, or what `exchange_of` here fills in. `total` is the
//! request's time, and `var.NAME` any field of the line. An answer of 5xx counts as an error of the
//! server. A new name goes into docs/lab/report-inputs.md, too.

use std::borrow::Cow;

use exchange::{Exchange, FieldName, FieldValue, Fields};

use crate::error::LabError;

use super::rows::{CallRow, SeriesBuilder};
use super::server_timing;
use super::value::{Moment, moment};
use crate::probe::server_times;

/// Names that logs give to a request's time in seconds.
const REQUEST: [&str; 8] = [
    "request_time",
    "reqtime",
    "rt",
    "request_time_s",
    "duration_s",
    "elapsed",
    "response_time",
    "latency",
];
const ABSENT: &str = "absent: add `rt=$request_time urt=$upstream_response_time` to nginx's log";
/// Names that logs give to it in microseconds, as Apache's `%D` counts.
const REQUEST_MICROS: [&str; 2] = ["reqtime_microsec", "request_time_us"];
const RESPONSE: [&str; 5] =
    ["upstream_response_time", "urt", "apptime", "upstream_time", "upstream_resp_time"];
const CONNECT: [&str; 2] = ["upstream_connect_time", "uct"];
const HEADER: [&str; 2] = ["upstream_header_time", "uht"];
const MOMENTS: [&str; 8] =
    ["time", "time_iso8601", "time_local", "msec", "@timestamp", "timestamp", "ts", "datetime"];

/// Returns whether a line is one of an access log: LTSV, or combined.
pub(super) fn is_access_log(line: &[u8]) -> bool {
    exchange::decode_ltsv(line).is_ok()
        || is_named(line)
        || exchange::decode_combined(line).is_ok()
        || combined_end(line).is_some_and(|end| exchange::decode_combined(&line[..end]).is_ok())
}

/// Returns whether a line is named fields between tabs, with the time of a request among them.
fn is_named(line: &[u8]) -> bool {
    let mut names = line.split(|byte| *byte == b'\t').map(|part| {
        let colon = part.iter().position(|byte| *byte == b':')?;
        std::str::from_utf8(&part[..colon]).ok()
    });
    line.contains(&b'\t')
        && names.clone().all(|name| name.is_some())
        && names.any(|name| name.is_some_and(is_request))
}

fn is_request(name: &str) -> bool {
    REQUEST.contains(&name) || REQUEST_MICROS.contains(&name)
}

/// Reads lines.
pub(super) fn read(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let found = match line[0] {
            b'{' => json(line),
            _ if line.contains(&b'\t')
                && (is_named(line) || exchange::decode_ltsv(line).is_ok()) =>
            {
                Ok(ltsv(line))
            }
            _ => combined(line),
        };
        match found {
            Ok(found) => push(found, number, rows)?,
            Err(reason) => rows.bad(number, "", reason, "the line")?,
        }
    }
    Ok(())
}

/// A line as names and texts, and what it says of the exchange.
struct TimedLine<'a> {
    fields: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    exchange: Option<Exchange<'a>>,
}

impl TimedLine<'_> {
    fn get(&self, names: &[&str]) -> Option<&str> {
        let find = |name: &&str| self.fields.iter().find(|(field, _)| field == name);
        names.iter().find_map(find).map(|(_, text)| &**text)
    }

    fn seconds_ms(&self, names: &[&str]) -> Option<f64> {
        self.get(names).and_then(summed_ms)
    }

    /// The time of the request.
    fn total_ms(&self) -> Option<f64> {
        let micros = || self.get(&REQUEST_MICROS)?.parse::<f64>().ok();
        self.seconds_ms(&REQUEST).or_else(|| micros().map(|micros| micros / 1e3))
    }
}

/// An exchange with every field of its line, as `var.NAME`.
struct LoggedExchange<'l> {
    exchange: &'l Exchange<'l>,
    line: &'l TimedLine<'l>,
}

impl Fields for LoggedExchange<'_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        match name {
            FieldName::Variable(name) => self.line.get(&[name]).map(FieldValue::from),
            name => self.exchange.field(name),
        }
    }
}

fn push(
    mut line: TimedLine<'_>,
    number: u64,
    rows: &mut SeriesBuilder<'_>,
) -> Result<(), LabError> {
    let total_ms = line.total_ms();
    let mut exchange = line.exchange.take().unwrap_or_else(|| exchange_of(&line));
    if let Some(total_ms) = total_ms {
        exchange.total_us = (total_ms * 1e3).round() as u64;
    }
    let logged = LoggedExchange { exchange: &exchange, line: &line };
    if rows.options().filter.as_ref().is_some_and(|filter| !filter.matches(&logged)) {
        rows.filtered_out();
        return Ok(());
    }
    let Some(total_ms) = total_ms else {
        let Some(text) = line.get(&REQUEST).or_else(|| line.get(&REQUEST_MICROS)) else {
            return rows.bad(number, "request_time", ABSENT, "the time of the request");
        };
        return rows.bad(number, "request_time", "not a number", &format!("`{text}`"));
    };
    let line = &line;
    let mut row = CallRow { total_ms, phases: phases(line, total_ms), ..CallRow::default() };
    if let Some(Moment::Absolute(ended)) = line.get(&MOMENTS).and_then(|text| moment(text, None)) {
        row.began_ms = Some(ended - total_ms);
    }
    let is_time = |name: &str| {
        let times = [&RESPONSE[..], &CONNECT, &HEADER, &MOMENTS, &server_timing::NAMES];
        is_request(name) || times.iter().any(|set| set.contains(&name))
    };
    let attributes = line.fields.iter().filter(|(name, _)| !is_time(name));
    row.attributes = attributes.map(|(name, text)| (&**name, &**text)).collect();
    let server_times = line.get(&server_timing::NAMES).map(server_times).unwrap_or_default();
    if exchange.status >= 500 {
        rows.push_error(&row, server_times, number)
    } else {
        rows.push_timed(&row, server_times, number)
    }
}

fn phases(line: &TimedLine<'_>, total_ms: f64) -> Vec<(&'static str, f64)> {
    let Some(response) = line.seconds_ms(&RESPONSE) else { return Vec::new() };
    // Clocks are read at different moments: a part may seem longer than the whole by a tick.
    let response = response.min(total_ms);
    let (connect, header) = (line.seconds_ms(&CONNECT), line.seconds_ms(&HEADER));
    if connect.is_none() && header.is_none() {
        return vec![("upstream", response)];
    }
    let header = header.unwrap_or(response).min(response);
    let connect = connect.unwrap_or(0.0).min(header);
    vec![("connect", connect), ("wait", header - connect), ("transfer", response - header)]
}

/// Seconds of several upstreams together, in milliseconds.
fn summed_ms(text: &str) -> Option<f64> {
    let mut parts = text.split([',', ':']).map(str::trim).filter(|part| !matches!(*part, "" | "-"));
    let first: f64 = parts.next()?.parse().ok()?;
    let mut sum = first;
    for part in parts {
        sum += part.parse::<f64>().ok()?;
    }
    Some(sum * 1000.0)
}

fn json(line: &[u8]) -> Result<TimedLine<'_>, &'static str> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(line).map_err(|_| "no JSON object")?;
    let texts = object.into_iter().filter_map(|(name, value)| {
        let text = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            serde_json::Value::Bool(is) => is.to_string(),
            _ => return None,
        };
        Some((Cow::Owned(name), Cow::Owned(text)))
    });
    Ok(TimedLine { fields: texts.collect(), exchange: None })
}

/// What fields say of an exchange.
fn exchange_of(line: &TimedLine<'_>) -> Exchange<'static> {
    let bytes = |names: &[&str]| line.get(names).map(|text| Cow::Owned(text.as_bytes().to_vec()));
    Exchange {
        method: Cow::Owned(line.get(&["request_method", "method"]).unwrap_or_default().to_owned()),
        path: bytes(&["uri", "path", "request_uri"]).unwrap_or_default(),
        host: bytes(&["host", "http_host", "server_name"]),
        status: line.get(&["status"]).and_then(|text| text.parse().ok()).unwrap_or_default(),
        ..Exchange::default()
    }
}

fn ltsv(line: &[u8]) -> TimedLine<'_> {
    let parts = line.split(|byte| *byte == b'\t').map(String::from_utf8_lossy);
    let pairs = parts.filter_map(|part| {
        let (name, text) = part.split_once(':')?;
        Some((Cow::Owned(name.to_owned()), Cow::Owned(unescaped(text))))
    });
    let fields = pairs.collect();
    TimedLine { fields, exchange: exchange::decode_ltsv(line).ok() }
}

/// Combined, and after it times by name or in order.
fn combined(line: &[u8]) -> Result<TimedLine<'_>, &'static str> {
    let end = combined_end(line).ok_or("no line of an access log")?;
    let found = exchange::decode_combined(&line[..end]).map_err(|_| "no line of an access log")?;
    let rest = String::from_utf8_lossy(&line[end..]);
    let mut fields: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    let mut in_order =
        ["request_time", "upstream_response_time", "upstream_connect_time", "upstream_header_time"]
            .into_iter();
    for word in words(&rest) {
        let (name, text) = match word.split_once('=') {
            Some((name, text)) => (name.to_owned(), text),
            // No request lacks a time, so a `-` before it is something else.
            None if word == "-" && in_order.len() == 4 => continue,
            None if are_seconds(&word) => match in_order.next() {
                Some(name) => (name.to_owned(), word.as_str()),
                None => continue,
            },
            None => continue,
        };
        fields.push((Cow::Owned(name), Cow::Owned(unescaped(text))));
    }
    let lossy = |bytes: &[u8]| Cow::Owned(String::from_utf8_lossy(bytes).into_owned());
    fields.push(("status".into(), found.status.to_string().into()));
    fields.push(("method".into(), Cow::Owned(found.method.clone().into_owned())));
    fields.push(("path".into(), lossy(&found.path)));
    fields.push(("bytes".into(), found.bytes_out.to_string().into()));
    fields.extend(found.client_ip.map(|ip| ("client_ip".into(), ip.to_string().into())));
    let micros = found.time_us as f64 / 1000.0;
    fields.push(("timestamp".into(), micros.to_string().into()));
    Ok(TimedLine { fields, exchange: Some(found) })
}

/// Where the combined part of a line ends: after the quoted agent, or after the bytes.
fn combined_end(line: &[u8]) -> Option<usize> {
    let mut quotes = Vec::new();
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' => at += 1,
            b'"' => quotes.push(at),
            _ => {}
        }
        at += 1;
    }
    match quotes.len() {
        // Request, referer and agent.
        6.. if line[quotes[2] - 1] == b' ' && quotes[3] + 2 == quotes[4] => Some(quotes[5] + 1),
        2.. => {
            let spaces = line.iter().enumerate().skip(quotes[1]).filter(|(_, byte)| **byte == b' ');
            Some(spaces.map(|(at, _)| at).nth(2).unwrap_or(line.len()))
        }
        _ => None,
    }
}

/// Returns whether these are times as nginx writes them, of one upstream or several.
fn are_seconds(text: &str) -> bool {
    let is_time = |part: &str| {
        let decimals = part.split_once('.').map(|(_, decimals)| decimals.len());
        part == "-" || (decimals.is_some_and(|digits| digits >= 3) && part.parse::<f64>().is_ok())
    };
    text.split([',', ':']).map(str::trim).all(is_time)
}

/// Words between spaces, without quotes. A quoted text is one, and so is a list (`0.1, 0.2 : 0.3`).
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let (mut is_quoted, mut was_quoted, mut is_list) = (false, false, false);
    for character in text.chars().chain([' ']) {
        match character {
            '"' => (is_quoted, was_quoted) = (!is_quoted, true),
            ' ' if !is_quoted => {
                let word = std::mem::take(&mut word);
                let was_quoted = std::mem::take(&mut was_quoted);
                if word.is_empty() {
                    continue;
                }
                let is_separator = !was_quoted && word == ":";
                let goes_on = is_separator || (!was_quoted && word.ends_with(','));
                match words.last_mut().filter(|_| is_list || is_separator) {
                    Some(last) => *last = format!("{last} {word}"),
                    None => words.push(word),
                }
                is_list = goes_on;
            }
            _ => word.push(character),
        }
    }
    words
}

/// Text with nginx's escapes (`\x22`) read.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => {
                bytes.extend(b"\\x");
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
