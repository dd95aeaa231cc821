//! Writes flushes in InfluxDB's line protocol: a measurement for each name, a field for each
//! statistic.
//!
//! The tag `metric_type` is `counter`, `timing`, `gauge` or `set`, as in Telegraf's statsd input.
//! Counters have the fields `value` and `rate`, gauges `value`, sets `count`, timers their
//! statistics. InfluxDB stores these names, and users' queries have them. Times are in nanoseconds,
//! so a line that is written twice is one point.
//! Left out are numbers that are not finite and lines without a field, because InfluxDB would
//! refuse the whole part. Left out are also events, checks, and a client's own tag `metric_type`.
//! Backslashes at the end of a name, a tag or a value are cut.
//! Bound: 5,000 lines a part. After an answer of 400, 413 or 422 a part is given up; after any
//! other failure it waits in the spool. docs/STATSD.md repeats both.
//! Never here: posting (`web.rs`), the precision of the URL (`config.rs`). Source: InfluxDB's
//! documentation, "Line protocol".

use std::io::{self, Write as _};

use super::delivery::{PartSink, Render};
use super::tags;
use crate::figures;
use crate::flush::Flush;
use crate::status::BackendStatus;

/// The tag that says what it is.
const KIND: &str = "metric_type";

/// InfluxDB's advice is 5,000 to 10,000 lines at once.
const LINES_AT_ONCE: usize = 5_000;

/// Writes lines.
#[derive(Debug)]
pub(super) struct LineProtocol;

impl Render for LineProtocol {
    fn parts(&self, flush: &Flush, _: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        let mut part =
            InfluxPart { text: Vec::new(), lines: 0, each, unix_s: flush.stored_unix_s() };
        for (name, sum) in &flush.counters {
            let fields = [("value", *sum), ("rate", flush.rate(*sum))];
            part.line(name, "counter", fields.into_iter())?;
        }
        for timer in &flush.timers {
            let fields = timer.statistics.iter().map(|(name, number)| (name.as_ref(), *number));
            part.line(&timer.name, "timing", fields)?;
        }
        for (name, value) in &flush.gauges {
            part.line(name, "gauge", [("value", *value)].into_iter())?;
        }
        for (name, members) in &flush.sets {
            part.line(name, "set", [("count", members.len() as f64)].into_iter())?;
        }
        part.end()
    }
}

/// Lines that are wrong stay so; a token, a bucket or room may come.
pub(super) fn may_try_again(status: u16) -> bool {
    !matches!(status, 400 | 413 | 422)
}

struct InfluxPart<'e> {
    text: Vec<u8>,
    lines: usize,
    each: PartSink<'e>,
    unix_s: u64,
}

impl InfluxPart<'_> {
    fn line<'f>(
        &mut self,
        name: &str,
        kind: &str,
        fields: impl Iterator<Item = (&'f str, f64)>,
    ) -> io::Result<()> {
        let start = self.text.len();
        let (key, tags) = tags::merged(name, |tag| tag);
        escape(key.trim_end_matches('\\'), b", ", &mut self.text);
        for (tag, value) in &tags {
            // A backslash at the end would escape what follows; nothing can be written instead.
            let (tag, value) = (tag.trim_end_matches('\\'), value.trim_end_matches('\\'));
            if tag == KIND || tag.is_empty() || value.is_empty() {
                continue;
            }
            self.text.push(b',');
            escape(tag, b",= ", &mut self.text);
            self.text.push(b'=');
            escape(value, b",= ", &mut self.text);
        }
        // Writing to a vector cannot fail.
        let _ = write!(self.text, ",{KIND}={kind}");
        let head = self.text.len();
        for (field, number) in fields.filter(|(_, number)| number.is_finite()) {
            self.text.push(if self.text.len() == head { b' ' } else { b',' });
            escape(field, b",= ", &mut self.text);
            self.text.push(b'=');
            figures::javascript(number, &mut self.text);
        }
        if self.text.len() == head {
            self.text.truncate(start);
            return Ok(());
        }
        let _ = writeln!(self.text, " {}000000000", self.unix_s);
        self.lines += 1;
        if self.lines == LINES_AT_ONCE { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.lines == 0 {
            return Ok(());
        }
        self.lines = 0;
        let text = std::mem::take(&mut self.text);
        (self.each)(&text)
    }
}

fn escape(text: &str, special: &[u8], out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\n' | b'\r' => out.push(b' '),
            _ if special.contains(&byte) => out.extend_from_slice(&[b'\\', byte]),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests;
