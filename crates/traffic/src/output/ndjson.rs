//! Writes an exchange as one line of JSON.
//!
//! The first nine keys are always there, `null` where the source does not say. The others stand
//! where there is something to say: `query`, `protocol`, `reason`, `client_ip`, `bytes_in`, and of
//! Varnish `vxid`, `parent` and `esi`. Scripts read these names. Bytes that are no UTF-8 become
//! U+FFFD: the journal's escapes for them are refused by some readers.

use exchange::{escape_json, write_rfc3339};

use crate::varnish::VarnishRecord;
use crate::view::View;

pub(super) fn write(view: &View<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":");
    match view.times.time_us {
        Some(time) => {
            out.push(b'"');
            write_rfc3339(time, out);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    text("method", some(&view.method), out);
    text("host", view.host(), out);
    text("path", some(view.path()), out);
    number("status", view.status.map(u64::from), out);
    text("cache", view.handling.map(str::as_bytes), out);
    text("decision", view.decision.map(str::as_bytes), out);
    number("bytes_out", view.bytes.bytes_out, out);
    number("total_us", view.times.total_us, out);
    let query = view.query();
    for (name, value) in [
        ("query", query),
        ("protocol", some(&view.protocol)),
        ("reason", some(&view.reason)),
        ("client_ip", some(&view.client).filter(|client| *client != b"-")),
    ] {
        if value.is_some() {
            text(name, value, out);
        }
    }
    for (name, value) in
        [("bytes_in", view.bytes.bytes_in), ("vxid", view.ids.vxid), ("parent", view.ids.parent)]
    {
        if value.is_some() {
            number(name, value, out);
        }
    }
    if view.ids.is_esi {
        out.extend_from_slice(b",\"esi\":true");
    }
    out.extend_from_slice(b"}\n");
}

/// A record: `vxid`, `tag`, `side` and `data`.
pub(super) fn write_record(record: &VarnishRecord<'_>, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"vxid\":");
    out.extend_from_slice(itoa::Buffer::new().format(record.vxid).as_bytes());
    text("tag", Some(record.tag.name().as_bytes()), out);
    text("side", Some(&[record.side]), out);
    text("data", Some(data), out);
    out.extend_from_slice(b"}\n");
}

fn some(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty()).then_some(text)
}

fn key(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(name: &str, value: Option<&[u8]>, out: &mut Vec<u8>) {
    key(name, out);
    match value {
        Some(value) => {
            out.push(b'"');
            escape_json(String::from_utf8_lossy(value).as_bytes(), out);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
}

fn number(name: &str, value: Option<u64>, out: &mut Vec<u8>) {
    key(name, out);
    match value {
        Some(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}
