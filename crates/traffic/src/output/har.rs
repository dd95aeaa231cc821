//! Writes an exchange as an entry of an HTTP Archive 1.2, which browsers and proxies read.
//!
//! Fields of our own begin with `_`: `_cache`, `_decision`, `_vxid`. Bodies are never there, and
//! sizes of heads are -1, as the format has it for what is not known. All time is `wait` until the
//! answer was ready, and then `receive`.
//! Bytes that are not UTF-8 become U+FFFD.

use exchange::write_rfc3339;
use serde_json::{Value, json};

use super::options::{OutputOptions, each_shown};
use crate::view::{Side, View};

pub(super) const HEAD: &[u8] = concat!(
    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"tidegate\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"},\"entries\":[\n"
)
.as_bytes();
pub(super) const TAIL: &[u8] = b"\n]}}\n";

pub(super) fn write(view: &View<'_>, options: &OutputOptions, out: &mut Vec<u8>) {
    let mut started = Vec::new();
    write_rfc3339(view.times.time_us.unwrap_or(0), &mut started);
    let milliseconds = |micros: u64| micros as f64 / 1000.0;
    let total = view.times.total_us.unwrap_or(0);
    let ready = view.times.ready_us.unwrap_or(total).min(total);
    let host = view.host().unwrap_or(b"unknown");
    // Where the request had no target that could be read, there is the host alone.
    let is_absolute = !view.url.starts_with(b"/") && !view.url.is_empty();
    let origin = if is_absolute { String::new() } else { format!("http://{}", lossy(host)) };
    let entry = json!({
        "startedDateTime": lossy(&started),
        "time": milliseconds(total),
        "request": {
            "method": lossy(&view.method),
            "url": format!("{origin}{}", lossy(&view.url)),
            "httpVersion": lossy(&view.protocol),
            "cookies": [],
            "headers": headers(view, Side::Request, options),
            "queryString": query(view),
            "headersSize": -1,
            "bodySize": view.bytes.bytes_in.map_or(-1, |bytes| bytes as i64),
        },
        "response": {
            "status": view.status.unwrap_or(0),
            "statusText": lossy(&view.reason),
            "httpVersion": lossy(&view.protocol),
            "cookies": [],
            "headers": headers(view, Side::Response, options),
            "content": {
                "size": view.bytes.bytes_out.unwrap_or(0),
                "mimeType": content_type(view),
            },
            "redirectURL": response_header(view, b"location"),
            "headersSize": -1,
            "bodySize": view.bytes.bytes_out.map_or(-1, |bytes| bytes as i64),
        },
        "cache": {},
        "timings": {
            "send": 0,
            "wait": milliseconds(ready),
            "receive": milliseconds(total - ready),
        },
        "_client": lossy(&view.client),
        "_cache": view.handling,
        "_decision": view.decision,
        "_vxid": view.ids.vxid,
    });
    out.extend_from_slice(entry.to_string().as_bytes());
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn headers(view: &View<'_>, side: Side, options: &OutputOptions) -> Vec<Value> {
    let mut headers = Vec::new();
    each_shown(view, side, options, |name, value| {
        headers.push(json!({ "name": lossy(name), "value": lossy(value) }));
    });
    headers
}

fn query(view: &View<'_>) -> Vec<Value> {
    let pairs = view.query().unwrap_or_default().split(|byte| *byte == b'&');
    let pairs = pairs.filter(|pair| !pair.is_empty()).map(|pair| {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let name = lossy(parts.next().unwrap_or_default());
        json!({ "name": name, "value": lossy(parts.next().unwrap_or_default()) })
    });
    pairs.collect()
}

fn content_type(view: &View<'_>) -> String {
    match response_header(view, b"content-type") {
        found if found.is_empty() => "application/octet-stream".to_owned(),
        found => found,
    }
}

fn response_header(view: &View<'_>, wanted: &[u8]) -> String {
    let mut found = String::new();
    view.each_header(Side::Response, |name, value| {
        if name.eq_ignore_ascii_case(wanted) {
            found = lossy(value);
        }
    });
    found
}
