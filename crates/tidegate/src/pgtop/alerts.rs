//! Appends slow queries to a log and posts them, on a thread of its own.
//!
//! A post is tried again, with growing pauses, at most `TRIES` times. It ends when the webhook
//! answers 2xx, or says that it never will (4xx but 408 and 429). The log is written first, once.
//! Invariants: whoever watches never waits for this. The webhook's address, which is a secret, is
//! in no message. Bound: `QUEUE_MAX` queries wait; what comes then is dropped and counted.
//! What remains: a webhook that takes a post and answers too late gets it again.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::pgtop::SlowQuery;
use anyhow::{Context, Result};
use stdx::{Backoff, plain_file};

const QUEUE_MAX: usize = 1000;
const TRIES: u32 = 12;
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long the end waits for what is still to be posted.
const END_TIME: Duration = Duration::from_secs(2);

/// Where slow queries go.
pub(super) struct AlertSender {
    queue: Option<SyncSender<SlowQuery>>,
    thread: Option<JoinHandle<()>>,
    end: SyncSender<()>,
    progress: Arc<Mutex<AlertProgress>>,
}

#[derive(Debug, Default)]
struct AlertProgress {
    dropped: u64,
    /// What is wrong, until it is not any more.
    trouble: Option<String>,
    /// That which was given up.
    given_up: u64,
}

struct AlertThread {
    log: Option<PathBuf>,
    webhook: Option<String>,
    agent: ureq::Agent,
    end: Receiver<()>,
    progress: Arc<Mutex<AlertProgress>>,
}

impl AlertSender {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(log: Option<PathBuf>, webhook: Option<String>) -> Result<Self> {
        let (queue, queued) = mpsc::sync_channel(QUEUE_MAX);
        let (end, ending) = mpsc::sync_channel(1);
        let progress = Arc::new(Mutex::new(AlertProgress::default()));
        let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT));
        let agent = config.http_status_as_error(false).build().into();
        let thread =
            AlertThread { log, webhook, agent, end: ending, progress: Arc::clone(&progress) };
        let builder = thread::Builder::new().name("alerts".to_owned());
        let thread = builder.spawn(move || thread.run(&queued)).context("start a thread")?;
        Ok(Self { queue: Some(queue), thread: Some(thread), end, progress })
    }

    /// Takes a query that has become slow; never waits.
    pub(super) fn send(&self, query: SlowQuery) {
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(query) {
            lock(&self.progress).dropped += 1;
        }
    }

    /// Returns what is wrong, if anything.
    pub(super) fn trouble(&self) -> Option<String> {
        let progress = lock(&self.progress);
        let lost = progress.dropped + progress.given_up;
        let lost = (lost > 0).then(|| format!("{lost} alerts are lost"));
        progress.trouble.clone().or(lost)
    }
}

impl Drop for AlertSender {
    fn drop(&mut self) {
        self.queue = None;
        let begun = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if begun.elapsed() > END_TIME {
                // It stands in a call, or in a pause, which this ends.
                let _ = self.end.try_send(());
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl AlertThread {
    fn run(&self, queued: &Receiver<SlowQuery>) {
        while let Ok(query) = queued.recv() {
            if let Some(log) = &self.log
                && let Err(error) = append(log, &query)
            {
                lock(&self.progress).trouble = Some(format!("the log of slow queries: {error:#}"));
            }
            if let Some(webhook) = &self.webhook
                && !self.post(webhook, &query.payload())
            {
                lock(&self.progress).given_up += 1;
            }
        }
    }

    /// Posts, and returns whether it arrived.
    fn post(&self, webhook: &str, payload: &str) -> bool {
        let mut pauses = Backoff::new(PAUSE_FIRST, PAUSE_MAX, u64::from(std::process::id()));
        for _ in 0..TRIES {
            let request = self.agent.post(webhook).header("Content-Type", "application/json");
            let trouble = match request.send(payload) {
                Ok(answer) if answer.status().is_success() => {
                    lock(&self.progress).trouble = None;
                    return true;
                }
                Ok(answer) => {
                    let status = answer.status();
                    let is_final =
                        status.is_client_error() && ![408, 429].contains(&status.as_u16());
                    lock(&self.progress).trouble = Some(format!("the webhook answers {status}"));
                    if is_final {
                        return false;
                    }
                    continue_after(&self.end, pauses.delay())
                }
                Err(error) => {
                    lock(&self.progress).trouble = Some(format!("the webhook: {}", short(&error)));
                    continue_after(&self.end, pauses.delay())
                }
            };
            if !trouble {
                return false;
            }
        }
        false
    }
}

/// Appends a line. Queries are for the eyes of who watches, and a link may lead anywhere.
fn append(log: &Path, query: &SlowQuery) -> Result<()> {
    let now = stdx::unix_micros() / 1_000_000;
    let now = i64::try_from(now).ok().and_then(stdx::local_time);
    let line = query.log_line(now.context("there is no local time")?);
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = plain_file::open_with(log, &options, flags)
        .with_context(|| format!("append to `{}`", log.display()))?;
    file.write_all(line.as_bytes())?;
    Ok(())
}

/// Waits; returns whether to go on after it.
fn continue_after(end: &Receiver<()>, pause: Duration) -> bool {
    matches!(end.recv_timeout(pause), Err(RecvTimeoutError::Timeout))
}

/// An error without the address, which is a secret.
fn short(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.kind().to_string(),
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "its host is not found".to_owned(),
        _ => "it cannot be posted to".to_owned(),
    }
}

fn lock(progress: &Mutex<AlertProgress>) -> std::sync::MutexGuard<'_, AlertProgress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
