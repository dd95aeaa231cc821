//! Writes an exchange as vlogdump does: two lines, then the headers that are asked for.
//!
//! ```text
//! printf "%15s => %s %s %s %s\n", client, method, URL, protocol, HIT or MISS
//! printf "%15s <= %-59s %10.3f ms\n", "", status and reason, milliseconds
//! ```
//!
//! Tools read these lines, so they stay byte for byte. A pipe is `(pipe)`, as vlogdump4 has it.
//! What is not known is `-`: what the cache did, the client, a time.

use std::io::Write;

use super::escape::escape;
use super::options::{OutputOptions, each_shown};
use crate::varnish::VarnishRecord;
use crate::view::{Side, View};

/// How wide the client is, and the status.
const CLIENT_COLUMNS: usize = 15;
const STATUS_COLUMNS: usize = 59;
/// From here on a time is red.
const SLOW_US: u64 = 1_000_000;

const GREEN: &str = "1;32";
const RED: &str = "1;31";
const ORANGE: &str = "1;33";

pub(super) fn write(view: &View<'_>, options: &OutputOptions, out: &mut Vec<u8>) {
    let start = out.len();
    let client: &[u8] = if view.client.is_empty() { b"-" } else { &view.client };
    escape(client, out);
    let width = String::from_utf8_lossy(&out[start..]).chars().count();
    let padding = [b' '; CLIENT_COLUMNS];
    let missing = CLIENT_COLUMNS.saturating_sub(width);
    out.splice(start..start, padding[..missing].iter().copied());
    out.extend_from_slice(b" => ");
    for part in [&view.method, &view.url, &view.protocol] {
        escape(part, out);
        out.push(b' ');
    }
    let (label, colour) = match (view.is_hit, view.handling) {
        (Some(true), _) => ("HIT", GREEN),
        (_, Some("pipe")) => ("(pipe)", ORANGE),
        (Some(false), _) => ("MISS", RED),
        (None, _) => ("-", ""),
    };
    painted(label, colour, options, out);
    out.push(b'\n');
    answer(view, options, out);
    for (side, is_shown) in
        [(Side::Request, options.request_headers), (Side::Response, options.response_headers)]
    {
        if is_shown {
            headers(view, side, options, out);
        }
    }
}

/// `printf "%10u %-14s %c %s\n"`
pub(super) fn write_record(record: &VarnishRecord<'_>, data: &[u8], out: &mut Vec<u8>) {
    let (vxid, tag, side) = (record.vxid, record.tag.name(), char::from(record.side));
    write!(out, "{vxid:>10} {tag:<14} {side} ").expect("a vector takes whatever is written");
    escape(data, out);
    out.push(b'\n');
}

/// The second line.
fn answer(view: &View<'_>, options: &OutputOptions, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b' '; CLIENT_COLUMNS]);
    out.extend_from_slice(b" <= ");
    let start = out.len();
    if let Some(status) = view.status {
        out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
        if !view.reason.is_empty() {
            out.push(b' ');
            escape(&view.reason, out);
        }
    }
    let width = String::from_utf8_lossy(&out[start..]).chars().count();
    out.extend(std::iter::repeat_n(b' ', STATUS_COLUMNS.saturating_sub(width)));
    out.push(b' ');
    let (time, colour) = match view.times.total_us {
        Some(total) => {
            let time = format!("{:>6}.{:03}", total / 1000, total % 1000);
            (time, if total < SLOW_US { GREEN } else { RED })
        }
        None => (format!("{:>10}", "-"), ""),
    };
    painted(&time, colour, options, out);
    out.extend_from_slice(b" ms\n");
}

/// The headers of a side, and a blank line.
fn headers(view: &View<'_>, side: Side, options: &OutputOptions, out: &mut Vec<u8>) {
    each_shown(view, side, options, |name, value| {
        out.extend_from_slice(side.prefix());
        escape(name, out);
        out.extend_from_slice(b" = ");
        escape(value, out);
        out.push(b'\n');
    });
    out.push(b'\n');
}

fn painted(text: &str, colour: &str, options: &OutputOptions, out: &mut Vec<u8>) {
    let written = if options.colour && !colour.is_empty() {
        write!(out, "\x1b[{colour}m{text}\x1b[0m")
    } else {
        write!(out, "{text}")
    };
    written.expect("a vector takes whatever is written");
}
