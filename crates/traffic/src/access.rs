//! Makes views of what is one exchange a line: Tidegate's journal, access logs, varnishlog-json.
//!
//! What a format does not say stays absent, so that no 0 and no `none` is shown for it. Combined
//! has no times of its own and no cache; LTSV has times if it says so.
//! The journal has three headers of a request: `Host`, `User-Agent` and `Referer`. A line of `/tap`
//! may have all. Their status 0, of a client that left, is none.
//! From varnishlog-json only the client's side is an exchange, as from varnishlog.
//! Never here: decoding, which `exchange` does, but for varnishlog-json.

use std::borrow::Cow;
use std::net::IpAddr;

use exchange::{CacheResult, Exchange};
use serde_json::Value;

use crate::guess::InputFormat;
use crate::view::{Headers, ShownHeader, View, ViewBytes, ViewIds, ViewTimes};

/// The member of a line of `/tap` that has all headers of a request.
const ALL_HEADERS: &[u8] = b"\"request_headers\":";

/// The headers of a request that a line has.
pub(crate) fn listed<'a>(exchange: &'a Exchange<'_>, line: &[u8]) -> Vec<ShownHeader<'a>> {
    if memchr::memmem::find(line, ALL_HEADERS).is_some()
        && let Ok(line) = serde_json::from_slice::<Value>(line)
        && let Some(pairs) = line["request_headers"].as_array()
    {
        let bytes =
            |text: &Value| Cow::Owned(text.as_str().unwrap_or_default().as_bytes().to_vec());
        return pairs.iter().map(|pair| (bytes(&pair[0]), bytes(&pair[1]))).collect();
    }
    let header = |name: &'static str, value: &'a Option<Cow<'_, [u8]>>| {
        let value = value.as_deref()?;
        Some((Cow::Borrowed(name.as_bytes()), Cow::Borrowed(value)))
    };
    let headers = [
        header("Host", &exchange.host),
        header("User-Agent", &exchange.user_agent),
        header("Referer", &exchange.referer),
    ];
    headers.into_iter().flatten().collect()
}

/// What a line shows.
pub(crate) fn view<'a>(
    exchange: &'a Exchange<'a>,
    headers: &'a [ShownHeader<'a>],
    format: InputFormat,
) -> View<'a> {
    let is_ours = format == InputFormat::Tidegate;
    let total_us = Some(exchange.total_us).filter(|total| is_ours || *total > 0);
    let (handling, is_hit) = if is_ours { cache(exchange.cache) } else { (None, None) };
    View {
        times: ViewTimes { time_us: Some(exchange.time_us), total_us, ready_us: total_us },
        method: Cow::Borrowed(exchange.method.as_bytes()),
        host: exchange.host.as_deref().map(Cow::Borrowed),
        url: url(exchange),
        protocol: protocol(&exchange.version),
        status: Some(exchange.status).filter(|status| *status != 0),
        reason: Cow::Borrowed(stdx::reason_phrase(exchange.status).as_bytes()),
        client: exchange.client_ip.map_or(Cow::Borrowed(b"-"), text_of),
        handling,
        is_hit,
        decision: is_ours.then(|| exchange.decision.name()),
        bytes: ViewBytes {
            bytes_in: Some(exchange.bytes_in).filter(|_| is_ours),
            bytes_out: Some(exchange.bytes_out),
        },
        headers: Headers::Listed { request: headers, response: &[] },
        line: is_ours.then_some(exchange),
        ..View::default()
    }
}

fn cache(result: CacheResult) -> (Option<&'static str>, Option<bool>) {
    let is_hit = matches!(result, CacheResult::Hit | CacheResult::Stale | CacheResult::Collapsed);
    (Some(result.name()), Some(is_hit))
}

fn url<'a>(exchange: &'a Exchange<'_>) -> Cow<'a, [u8]> {
    let Some(query) = &exchange.query else { return Cow::Borrowed(&exchange.path) };
    Cow::Owned([&exchange.path, &b"?"[..], query].concat())
}

fn protocol(version: &str) -> Cow<'static, [u8]> {
    match version {
        "" => Cow::Borrowed(b""),
        "1.1" => Cow::Borrowed(b"HTTP/1.1"),
        other => Cow::Owned([&b"HTTP/"[..], other.as_bytes()].concat()),
    }
}

fn text_of(address: IpAddr) -> Cow<'static, [u8]> {
    Cow::Owned(address.to_string().into_bytes())
}

/// One line of varnishlog-json.
pub(crate) struct JsonLine {
    document: Value,
    request: Vec<ShownHeader<'static>>,
    response: Vec<ShownHeader<'static>>,
}

impl JsonLine {
    /// Reads a line; nothing if it is no object.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(line).ok()?;
        document.as_object()?;
        let request = headers(&document["req"]["headers"]);
        let response = headers(&document["resp"]["headers"]);
        Some(Self { document, request, response })
    }

    /// What it shows; nothing of a fetch.
    pub(crate) fn view(&self) -> Option<View<'_>> {
        let document = &self.document;
        if document["side"] != "client" {
            return None;
        }
        let text = |value: &Value| Cow::Owned(value.as_str().unwrap_or_default().into());
        let handling = document["handling"].as_str();
        let known = ["hit", "miss", "pass", "pipe", "synth"];
        let handling = known.into_iter().find(|known| Some(*known) == handling);
        let (began, ended) = (self.moment(&["Start"]), self.moment(&["Resp", "PipeSess"]));
        let since = |time: Option<u64>| Some(time?.saturating_sub(began?));
        let total_us = since(ended);
        let (request, response) = (&document["req"], &document["resp"]);
        Some(View {
            ids: ViewIds { vxid: document["id"].as_u64(), ..ViewIds::default() },
            times: ViewTimes {
                time_us: began,
                total_us,
                ready_us: since(self.moment(&["Process", "Pipe"])).or(total_us),
            },
            method: text(&request["method"]),
            url: text(&request["url"]),
            protocol: text(&request["proto"]),
            status: number(&response["status"]).and_then(|status| status.try_into().ok()),
            reason: text(&response["reason"]),
            client: text(&document["client"]["rAddr"]),
            handling,
            is_hit: Some(handling == Some("hit")),
            bytes: ViewBytes {
                bytes_in: number(&request["bodyBytes"]),
                bytes_out: number(&response["bodyBytes"]),
            },
            headers: Headers::Listed { request: &self.request, response: &self.response },
            ..View::default()
        })
    }

    /// When the first step of these names was, in microseconds.
    fn moment(&self, names: &[&str]) -> Option<u64> {
        let steps = self.document["timeline"].as_array()?;
        let is_meant = |step: &&Value| names.iter().any(|name| step["name"] == *name);
        let seconds = steps.iter().find(is_meant)?["timestamp"].as_f64()?;
        (seconds >= 0.0).then(|| (seconds * 1e6).round() as u64)
    }
}

/// A number, which older versions write as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Headers of an object by name, or of a list of objects with `name` and `value`.
fn headers(value: &Value) -> Vec<ShownHeader<'static>> {
    let owned = |text: &str| Cow::Owned(text.as_bytes().to_vec());
    let mut headers = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values.iter().filter_map(Value::as_str) {
            headers.push((owned(name), owned(value)));
        }
    }
    for header in value.as_array().into_iter().flatten() {
        if let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) {
            headers.push((owned(name), owned(value)));
        }
    }
    headers
}

#[cfg(test)]
mod tests;
