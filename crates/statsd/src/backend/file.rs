//! Appends each flush to a file, as the Perl port does: a kind, a name and a number, between tabs.
//!
//! | kind | is | number |
//! |---|---|---|
//! | `c` | a counter | its sum, without its fraction |
//! | `t` | a timer | its mean, or 0 without one; the port writes the address of a list here |
//! | `g` | a gauge | its value |
//! | `s` | a set | its members, between `;`; none where they became a sketch |
//!
//! All flavours write the same. Left out are names that begin with the server's own prefix, and
//! events and checks. The mean is found by its name, `mean` (`statistics.rs`).
//! The file is opened for each flush, so it may be moved away. A flush that cannot be written is
//! lost and counted (`worker.rs`).

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::delivery::{PartSink, Render, Transport};
use crate::figures;
use crate::flush::Flush;
use crate::plain_file;
use crate::plan::Plan;
use crate::status::BackendStatus;

/// Appends flushes.
#[derive(Debug, Clone)]
pub(super) struct Appender {
    path: PathBuf,
    self_prefix: String,
}

impl Appender {
    /// Appends to a file, which is opened for each flush: it may be moved away at any time.
    pub(super) fn new(path: &Path, plan: &Plan) -> Self {
        Self { path: path.to_owned(), self_prefix: format!("{}.", plan.self_prefix) }
    }

    fn line(&self, kind: u8, name: &str, value: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        if name.starts_with(&self.self_prefix) {
            return;
        }
        out.extend_from_slice(&[kind, b'\t']);
        out.extend_from_slice(name.as_bytes());
        out.push(b'\t');
        value(out);
        out.push(b'\n');
    }
}

impl Render for Appender {
    fn parts(&self, flush: &Flush, _: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        let mut text = Vec::new();
        for (name, sum) in &flush.counters {
            self.line(b'c', name, |out| figures::whole(*sum, out), &mut text);
        }
        for timer in &flush.timers {
            let mean = timer.statistics.iter().find(|(name, _)| name == "mean");
            let mean = mean.map_or(0.0, |(_, mean)| *mean);
            self.line(b't', &timer.name, |out| figures::six_places(mean, out), &mut text);
        }
        for (name, value) in &flush.gauges {
            self.line(b'g', name, |out| figures::six_places(*value, out), &mut text);
        }
        for (name, members) in &flush.sets {
            let mut members: Vec<&[u8]> = members.iter().map(|member| &**member).collect();
            members.sort_unstable();
            self.line(b's', name, |out| out.extend(members.join(&b';')), &mut text);
        }
        if text.is_empty() { Ok(()) } else { each(&text) }
    }
}

impl Transport for Appender {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        plain_file::append(&self.path)?.write_all(part)
    }
}

#[cfg(test)]
mod tests;
