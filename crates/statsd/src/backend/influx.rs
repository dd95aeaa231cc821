//! InfluxDB's line protocol: a measurement for each name, its tags, and a field for each statistic.
//!
//! `metric_type` is a tag, as Telegraf's statsd input has it; counters have `value` and `rate`,
//! gauges `value`, sets `count`. Times are in nanoseconds; a line that is written twice is one
//! point.

use std::io::{self, Write as _};

use super::{Each, Render, Status};
use crate::flush::Flush;

/// InfluxDB's advice is 5,000 to 10,000 lines at once.
const LINES_AT_ONCE: usize = 5_000;

/// Writes lines.
#[derive(Debug)]
pub struct Lines;

impl Render for Lines {
    fn parts(&self, flush: &Flush, _: &Status, each: Each<'_>) -> io::Result<()> {
        let mut part = Part { text: Vec::new(), lines: 0, each, unix_s: flush.unix_s };
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

struct Part<'e> {
    text: Vec<u8>,
    lines: usize,
    each: Each<'e>,
    unix_s: u64,
}

impl Part<'_> {
    fn line<'f>(
        &mut self,
        name: &str,
        kind: &str,
        fields: impl Iterator<Item = (&'f str, f64)>,
    ) -> io::Result<()> {
        let mut parts = name.split(';');
        escape(parts.next().unwrap_or_default(), b", ", &mut self.text);
        for tag in parts {
            let (key, value) = tag.split_once('=').unwrap_or((tag, "true"));
            self.text.push(b',');
            escape(key, b",= ", &mut self.text);
            self.text.push(b'=');
            escape(value, b",= ", &mut self.text);
        }
        // Writing to a vector cannot fail.
        let _ = write!(self.text, ",metric_type={kind}");
        for (at, (field, number)) in fields.enumerate() {
            self.text.push(if at == 0 { b' ' } else { b',' });
            escape(field, b",= ", &mut self.text);
            let _ = write!(self.text, "={number}");
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
        if special.contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}
