//! What the record process says of itself, as one JSON document: to whoever connects to its
//! status port, and once a second on stdout to the edge process that started it.
//!
//! Invariant: whoever reads slowly, or not at all, holds no pipeline up.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use pipeline::{Status, StatusReport};
use serde_json::{Value, json};

use crate::learn::Learned;

/// How often counts are sampled for rates, and the document is written to stdout.
const EVERY: Duration = Duration::from_secs(1);
/// Rates are taken over this many samples.
const SAMPLES: usize = 10;
/// How long a reader of the status port may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// When a taken port is tried again: two processes on one machine may share a configuration.
const AGAIN: Duration = Duration::from_secs(2);

/// One pipeline on the board.
pub(super) struct Shown {
    /// Its source.
    pub source: String,
    /// Its sink.
    pub sink: String,
    /// Its counts.
    pub status: Arc<Status>,
}

/// All pipelines of the process.
pub(super) struct Board {
    node: String,
    started: Instant,
    lines: Vec<Shown>,
    learned: Option<Arc<Learned>>,
    samples: Mutex<VecDeque<Sample>>,
}

struct Sample {
    at: Instant,
    /// Lines and bytes of each pipeline.
    counts: Vec<(u64, u64)>,
}

impl Board {
    /// A board for these pipelines, and for the building of profiles where that is done here.
    pub(super) fn new(node: &str, lines: Vec<Shown>, learned: Option<Arc<Learned>>) -> Arc<Self> {
        let (node, started) = (node.to_owned(), Instant::now());
        Arc::new(Self { node, started, lines, learned, samples: Mutex::default() })
    }

    /// Samples for ever, in a thread of its own; `tells` also writes each document to stdout.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn keep(self: &Arc<Self>, tells: bool) -> Result<()> {
        let board = Arc::clone(self);
        let work = move || {
            loop {
                board.sample();
                if tells && writeln!(std::io::stdout(), "{}", board.document()).is_err() {
                    // Nobody listens any more; the end of stdin says the same.
                    return;
                }
                std::thread::sleep(EVERY);
            }
        };
        std::thread::Builder::new()
            .name("board".to_owned())
            .spawn(work)
            .context("start a thread")?;
        Ok(())
    }

    /// Serves the document at `address`, in a thread of its own.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn serve(self: &Arc<Self>, address: SocketAddr) -> Result<()> {
        let board = Arc::clone(self);
        let work = move || {
            for stream in bound(address).incoming().flatten() {
                board.answer(stream);
            }
        };
        let thread = std::thread::Builder::new().name("status".to_owned());
        thread.spawn(work).context("start a thread")?;
        Ok(())
    }

    /// Everything at this moment.
    pub(super) fn document(&self) -> Value {
        let now = Instant::now();
        let samples = self.samples.lock();
        let oldest = samples.front();
        let pipelines = self.lines.iter().enumerate().map(|(at, line)| {
            let report = line.status.report(stdx::unix_micros());
            let (lines, bytes) = oldest.map_or((0.0, 0.0), |sample| {
                let seconds = (now - sample.at).as_secs_f64().max(1e-3);
                let rate = |new: u64, old: u64| (new.saturating_sub(old)) as f64 / seconds;
                let (lines, bytes) = sample.counts[at];
                (rate(report.lines, lines), rate(report.bytes, bytes))
            });
            shown(line, &report, lines, bytes)
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"), "node": self.node, "pid": std::process::id(),
            "uptime_s": self.started.elapsed().as_secs(),
            "pipelines": pipelines.collect::<Vec<_>>(),
            "learned": self.learned.as_ref().map(|learned| learned.status()),
        })
    }

    fn sample(&self) {
        let counts = self.lines.iter().map(|line| {
            let report = line.status.report(0);
            (report.lines, report.bytes)
        });
        let sample = Sample { at: Instant::now(), counts: counts.collect() };
        let mut samples = self.samples.lock();
        samples.push_back(sample);
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    fn answer(&self, mut stream: TcpStream) {
        // A client that has gone, or does not read, is its own loss.
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let _ = stream.write_all(format!("{:#}\n", self.document()).as_bytes());
    }
}

fn shown(line: &Shown, report: &StatusReport, lines: f64, bytes: f64) -> Value {
    let state = match report {
        report if report.stands_by => "standing by",
        report if report.last_error.is_some() => "failing",
        report if report.bytes_behind > 0 => "behind",
        _ => "caught up",
    };
    let mut shown = json!({
        "source": line.source, "sink": line.sink, "state": state,
        "lines_per_second": lines.round(), "bytes_per_second": bytes.round(),
    });
    if let (Some(shown), Ok(Value::Object(counts))) =
        (shown.as_object_mut(), serde_json::to_value(report))
    {
        shown.extend(counts);
    }
    shown
}

fn bound(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return listener,
            Err(error) => tracing::warn!(%address, %error, "no status port, trying again"),
        }
        std::thread::sleep(AGAIN);
    }
}
