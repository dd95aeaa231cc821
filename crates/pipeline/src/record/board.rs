//! Says how the record process is, as one JSON document: its pipelines with counts, rates and
//! state.
//!
//! The document goes to whoever connects to the status port. It also goes to stdout once a second,
//! for the edge process that started this one. There it must be one line; `record/status.rs` takes
//! 10 s without one for an alarm. Only the port's has `alarms`: the edge process makes its own.
//! Invariant: a reader that is slow, or does not read at all, holds no pipeline up. It holds up
//! others on the port for at most 1 s a write, and stdout only the samples.
//! Each document has the losses whose file does not take them, after another try to write them.
//! Rates are taken over up to the last ten samples. A port that is taken is tried again every 2 s.
//! `record/status.rs`, `tidegate/src/events/status.rs`, `bench` and tools of operators read it by
//! the names of its keys. The words for the state are shown to operators as they are. A field of
//! `StatusReport` comes in by itself.
//! Never here: counting (`crate::status`), and reading the document.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::status::document_alarms;
use crate::losses::LossBook;
use crate::status::{Status, StatusReport};

/// How often counts are sampled for rates, and the document is written to stdout.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Rates are taken over this many samples.
const SAMPLES: usize = 10;
/// How long a reader of the status port may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);
/// When a taken port is tried again: two processes on one machine may share a configuration.
const BIND_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// One pipeline on the board.
pub struct BoardEntry {
    /// Its source.
    pub source: String,
    /// Its sink.
    pub sink: String,
    /// Its counts.
    pub status: Arc<Status>,
}

/// All pipelines of the process.
pub struct StatusBoard {
    node: String,
    started: Instant,
    pipelines: Vec<BoardEntry>,
    /// How the last build of profiles went, where that is done in this process.
    profile_build: Box<dyn Fn() -> Value + Send + Sync>,
    /// Alarms beside those that follow from the counts.
    more_alarms: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    losses: Arc<LossBook>,
    samples: Mutex<VecDeque<RateSample>>,
}

struct RateSample {
    at: Instant,
    /// Lines and bytes of each pipeline.
    counts: Vec<(u64, u64)>,
}

impl StatusBoard {
    /// A board for these pipelines of `node`. `profile_build` gives what is said of the last build
    /// of profiles, and `more_alarms` those beside what the counts say. What `losses` cannot write
    /// is told.
    pub fn new(
        node: &str,
        pipelines: Vec<BoardEntry>,
        profile_build: impl Fn() -> Value + Send + Sync + 'static,
        more_alarms: impl Fn() -> Vec<String> + Send + Sync + 'static,
        losses: Arc<LossBook>,
    ) -> Arc<Self> {
        Arc::new(Self {
            node: node.to_owned(),
            started: Instant::now(),
            pipelines,
            profile_build: Box::new(profile_build),
            more_alarms: Box::new(more_alarms),
            losses,
            samples: Mutex::default(),
        })
    }

    /// Samples for ever in another thread, and writes each document to stdout if `to_stdout`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn sample_for_ever(self: &Arc<Self>, to_stdout: bool) -> io::Result<()> {
        let board = Arc::clone(self);
        let work = move || {
            loop {
                board.sample(Instant::now());
                if to_stdout && writeln!(io::stdout(), "{}", board.document()).is_err() {
                    // Nobody listens any more; the end of stdin says the same.
                    return;
                }
                std::thread::sleep(SAMPLE_INTERVAL);
            }
        };
        std::thread::Builder::new().name("board".to_owned()).spawn(work).map(drop)
    }

    /// Serves the document at `address`, in another thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn serve(self: &Arc<Self>, address: SocketAddr) -> io::Result<()> {
        let board = Arc::clone(self);
        let work = move || {
            for stream in bind(address).incoming().flatten() {
                board.answer(stream);
            }
        };
        std::thread::Builder::new().name("status".to_owned()).spawn(work).map(drop)
    }

    /// Everything at this moment.
    pub fn document(&self) -> Value {
        let rates = self.rates(Instant::now());
        let pipelines = self.pipelines.iter().zip(rates).map(|(entry, rates)| {
            let report = entry.status.report(stdx::unix_micros());
            pipeline_document(entry, &report, rates)
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"), "node": self.node, "pid": std::process::id(),
            "uptime_s": self.started.elapsed().as_secs(),
            "pipelines": pipelines.collect::<Vec<_>>(),
            "learned": (self.profile_build)(),
            "unkept_losses": self.losses.keep(),
        })
    }

    fn counts(&self) -> Vec<(u64, u64)> {
        let counts = self.pipelines.iter().map(|entry| {
            let report = entry.status.report(0);
            (report.lines, report.bytes)
        });
        counts.collect()
    }

    fn sample(&self, now: Instant) {
        let sample = RateSample { at: now, counts: self.counts() };
        let mut samples = self.samples.lock();
        samples.push_back(sample);
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    /// Lines and bytes per second of each pipeline, since the oldest sample.
    fn rates(&self, now: Instant) -> Vec<(f64, f64)> {
        let counts = self.counts();
        let samples = self.samples.lock();
        let Some(oldest) = samples.front() else { return vec![(0.0, 0.0); counts.len()] };
        let seconds = (now - oldest.at).as_secs_f64().max(1e-3);
        let rate = |new: u64, old: u64| (new.saturating_sub(old)) as f64 / seconds;
        let pairs = counts.iter().zip(&oldest.counts);
        pairs.map(|(new, old)| (rate(new.0, old.0), rate(new.1, old.1))).collect()
    }

    fn answer(&self, mut stream: TcpStream) {
        // A client that has gone, or does not read, is its own loss.
        let _ = stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let mut document = self.document();
        document["alarms"] = json!([document_alarms(&document), (self.more_alarms)()].concat());
        let _ = stream.write_all(format!("{document:#}\n").as_bytes());
    }
}

fn pipeline_document(
    entry: &BoardEntry,
    report: &StatusReport,
    (lines, bytes): (f64, f64),
) -> Value {
    let state = match report {
        report if report.stands_by => "standing by",
        report if report.last_error.is_some() => "failing",
        report if report.bytes_behind.is_none() => "starting",
        report if report.bytes_behind > Some(0) => "behind",
        report if report.unreadable_files > 0 => "caught up with what can be read",
        _ => "caught up",
    };
    let mut document = json!({
        "source": entry.source, "sink": entry.sink, "state": state,
        "lines_per_second": lines.round(), "bytes_per_second": bytes.round(),
    });
    if let (Some(document), Ok(Value::Object(counts))) =
        (document.as_object_mut(), serde_json::to_value(report))
    {
        document.extend(counts);
    }
    document
}

fn bind(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return listener,
            Err(error) => tracing::warn!(%address, %error, "no status port, trying again"),
        }
        std::thread::sleep(BIND_RETRY_INTERVAL);
    }
}

#[cfg(test)]
mod tests;
