//! Logs what Python processes print, line by line, and keeps the last 20 lines to explain their
//! end.
//!
//! Invariant: nothing that is printed stops the printer or this process. Control characters but
//! tabs become U+FFFD, as does what is not UTF-8, so no line steers a terminal.
//! Bounds: a line is cut after 8 KiB, and says by how much. Above 100 lines a second of one stream,
//! after a burst of 500, lines are counted instead of logged. They are kept all the same.
//! Frames of our own code and of frozen modules in a crash dump are left out of both. They are
//! known by the name `tidegate.pyz`, which `dir.rs` gives. `supervise/obituary.rs` looks in the
//! kept lines for where a worker hung.
//! Never here: who prints (`supervise/listen.rs` and `supervise/spawn.rs` know), and what lines
//! mean.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

const LINE_BYTES_MAX: usize = 8 << 10;
const LINES_KEPT: usize = 20;
/// Frames of a thread in a dump of Python's `faulthandler`; it prints the innermost first.
const FRAMES_KEPT: usize = 8;
const LINES_A_SECOND: f64 = 100.0;
const LINES_AT_ONCE: f64 = 500.0;

/// The last lines of one process.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    kept: Mutex<TailLines>,
}

#[derive(Debug, Default)]
struct TailLines {
    lines: VecDeque<String>,
    /// Frames of the dump that is being printed.
    frames: usize,
}

impl Tail {
    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.kept.lock().lines.iter().cloned().collect()
    }

    fn keep(&self, line: &str) {
        let mut kept = self.kept.lock();
        kept.frames = if is_frame(line) { kept.frames + 1 } else { 0 };
        // The outer frames are the server's; they would push out where the app is.
        if kept.frames > FRAMES_KEPT {
            return;
        }
        if kept.lines.len() == LINES_KEPT {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line.to_owned());
    }
}

/// The process whose output it is.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    /// Its pool.
    pub pool: Arc<str>,
    /// `worker 7`, `preload`.
    pub process: Arc<str>,
    /// Its number.
    pub pid: i32,
}

/// Logs lines from `from` until its end, and keeps the last ones in `tail`.
pub(crate) async fn follow(mut from: impl AsyncRead + Unpin, printer: Printer, tail: Rc<Tail>) {
    let mut lines = LineLogger::new(printer, tail);
    let mut piece = vec![0; LINE_BYTES_MAX];
    // A connection that breaks is a process that ended.
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        lines.take(&piece[..read], Instant::now());
        // A process that prints without end must not keep the others waiting.
        tokio::task::yield_now().await;
    }
    lines.end(Instant::now());
}

struct LineLogger {
    printer: Printer,
    tail: Rc<Tail>,
    begun: Vec<u8>,
    /// Bytes of the line that were cut off.
    cut: usize,
    credit: f64,
    refilled: Instant,
    dropped: u64,
}

impl LineLogger {
    fn new(printer: Printer, tail: Rc<Tail>) -> Self {
        let (begun, refilled) = (Vec::new(), Instant::now());
        Self { printer, tail, begun, cut: 0, credit: LINES_AT_ONCE, refilled, dropped: 0 }
    }

    /// Takes bytes that came at `now`.
    fn take(&mut self, mut bytes: &[u8], now: Instant) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            self.finish(now);
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.begun.len();
        let fitting = &bytes[..room.min(bytes.len())];
        self.begun.extend_from_slice(fitting);
        self.cut += bytes.len() - fitting.len();
    }

    fn finish(&mut self, now: Instant) {
        let mut line = harmless(&self.begun);
        if self.cut > 0 {
            line.push_str(&format!(" … ({} bytes more)", self.cut));
        }
        self.begun.clear();
        self.cut = 0;
        if is_frame_of_ours(&line) {
            return;
        }
        self.tail.keep(&line);
        if !self.may_log(now) {
            self.dropped += 1;
            return;
        }
        self.log_dropped();
        let Printer { pool, process, pid } = &self.printer;
        tracing::info!(target: "workers::output", %pool, %process, pid, "{line}");
    }

    fn end(&mut self, now: Instant) {
        if !self.begun.is_empty() {
            self.finish(now);
        }
        self.log_dropped();
    }

    fn may_log(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.refilled);
        self.refilled = now;
        let gained = passed.as_secs_f64() * LINES_A_SECOND;
        self.credit = (self.credit + gained).min(LINES_AT_ONCE);
        let may = self.credit >= 1.0;
        self.credit -= if may { 1.0 } else { 0.0 };
        may
    }

    fn log_dropped(&mut self) {
        if self.dropped > 0 {
            let Printer { pool, process, pid } = &self.printer;
            let dropped = self.dropped;
            tracing::warn!(%pool, %process, pid, dropped, "lines left out of the log");
            self.dropped = 0;
        }
    }
}

/// Whether it is a line of Python's `faulthandler`. A normal traceback has a comma before `in`.
fn is_frame(line: &str) -> bool {
    line.starts_with("  File \"") && !line.contains(", in ")
}

/// Whether it is a frame of our own code, which says nothing of the app.
fn is_frame_of_ours(line: &str) -> bool {
    is_frame(line) && (line.contains("/tidegate.pyz/") || line.contains("\"<frozen "))
}

/// The text, without what a terminal would obey.
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.trim_end_matches('\r').chars().map(visible).collect()
}

#[cfg(test)]
mod tests;
