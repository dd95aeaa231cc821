//! The record process as the edge process keeps it: started, watched, started again, ended.
//!
//! Invariant: neither can take the other down. The edge holds both ends of two pipes: when it is
//! gone, however it went, the child reads the end of its stdin and ends in order; what the child
//! says of itself comes on its stdout, once a second, and nobody waits for it.
//! Refuses: to read what is recorded; the journal's files are the only way for that.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde_json::{Value, json};
use stdx::Backoff;

/// This program, whatever stands at its path by now.
const SELF: &str = "/proc/self/exe";
const GLANCE: Duration = Duration::from_millis(20);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A child that ran this long is taken to have been well.
const WELL_AFTER: Duration = Duration::from_secs(30);
/// How long a child that was told to end may take.
const GRACE: Duration = Duration::from_secs(10);
/// How long a death is an alarm when the next child lives.
const ALARM: Duration = Duration::from_secs(60);
/// A child that says nothing for so long is an alarm.
const SILENCE: Duration = Duration::from_secs(10);
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

/// A record process that is kept running.
pub(crate) struct RecordProcess {
    watch: Arc<Watch>,
    thread: JoinHandle<()>,
}

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    ends: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    pid: Option<u32>,
    restarts: u64,
    /// Why the last one ended, and when.
    end: Option<(String, Instant)>,
    /// What the one that runs said last, and when.
    said: Option<(Value, Instant)>,
}

impl RecordProcess {
    /// Starts `tidegate events run` with the configuration `file`, and keeps it running.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(file: &Path) -> Result<Self> {
        let watch = Arc::<Watch>::default();
        let keeper = Keeper { file: file.to_owned(), watch: Arc::clone(&watch) };
        let thread = std::thread::Builder::new().name("record".to_owned());
        let thread = thread.spawn(move || keeper.keep()).context("start a thread")?;
        Ok(Self { watch, thread })
    }

    /// What is known of it, at any time.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Tells it to deliver what it has and to end; waits for that.
    pub(crate) fn stop(self) {
        self.watch.ends.store(true, Ordering::Relaxed);
        if self.thread.join().is_err() {
            tracing::error!("the thread that keeps the record process panicked");
        }
    }
}

impl Watch {
    /// For the status page.
    pub(crate) fn status(&self) -> Value {
        let known = self.known.lock();
        json!({
            "running": known.pid.is_some(), "pid": known.pid, "restarts": known.restarts,
            "last_end": known.end.as_ref().map(|(why, _)| why),
            "last_end_s_ago": known.end.as_ref().map(|(_, at)| at.elapsed().as_secs()),
            "said_s_ago": known.said.as_ref().map(|(_, at)| at.elapsed().as_secs_f64()),
            "said": known.said.as_ref().map(|(said, _)| said),
        })
    }

    /// The outcome of its last build of profiles; null when it said nothing of one.
    pub(crate) fn learned(&self) -> Value {
        let known = self.known.lock();
        known.said.as_ref().map_or(Value::Null, |(said, _)| said["learned"].clone())
    }

    /// What an operator should look at.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let known = self.known.lock();
        let mut alarms = Vec::new();
        if let Some((why, at)) = &known.end
            && (known.pid.is_none() || at.elapsed() < ALARM)
        {
            let now = if known.pid.is_some() { "runs again" } else { "is not running" };
            alarms.push(format!("the record process ended by {why}, and {now}"));
        }
        if let Some((said, at)) = &known.said {
            if known.pid.is_some() && at.elapsed() > SILENCE {
                let seconds = at.elapsed().as_secs();
                alarms.push(format!("the record process has said nothing for {seconds} s"));
            }
            let pipelines = said["pipelines"].as_array().into_iter().flatten();
            alarms.extend(pipelines.filter_map(|pipeline| {
                let word = |name: &str| pipeline[name].as_str();
                let error = word("last_error")?;
                Some(format!("{} to {}: {error}", word("source")?, word("sink")?))
            }));
        }
        alarms
    }
}

struct Keeper {
    file: PathBuf,
    watch: Arc<Watch>,
}

impl Keeper {
    fn keep(&self) {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, u64::from(std::process::id()));
        while !self.ends() {
            let started = Instant::now();
            let end = self.one_life().unwrap_or_else(|error| format!("{error:#}"));
            if self.ends() {
                return;
            }
            tracing::error!(end, "the record process ended, starting it again");
            {
                let mut known = self.watch.known.lock();
                known.end = Some((end, Instant::now()));
                known.restarts += 1;
            }
            if started.elapsed() > WELL_AFTER {
                backoff.reset();
            }
            let until = Instant::now() + backoff.delay();
            while Instant::now() < until && !self.ends() {
                std::thread::sleep(GLANCE);
            }
        }
    }

    fn ends(&self) -> bool {
        self.watch.ends.load(Ordering::Relaxed)
    }

    /// Starts a child and waits for its end; returns how that came.
    fn one_life(&self) -> Result<String> {
        let mut command = Command::new(SELF);
        command.arg0("tidegate").args(["events", "run", "--supervised", "--config"]);
        // A group of its own: the interrupt of a terminal comes to the edge, which ends the child.
        command.arg(&self.file).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("start the record process")?;
        let stdout = child.stdout.take().context("the record process has no stdout")?;
        let watch = Arc::clone(&self.watch);
        std::thread::Builder::new()
            .name("record-says".to_owned())
            .spawn(move || listen(stdout, &watch))
            .context("start a thread")
            .inspect_err(|_| drop(child.kill()))?;
        self.watch.known.lock().pid = Some(child.id());
        let end = self.wait(&mut child);
        let mut known = self.watch.known.lock();
        (known.pid, known.said) = (None, None);
        end
    }

    fn wait(&self, child: &mut Child) -> Result<String> {
        let mut kill_at = None;
        loop {
            if let Some(status) = child.try_wait().context("wait for the record process")? {
                return Ok(status.to_string());
            }
            if self.ends() {
                // The end of its stdin tells it.
                drop(child.stdin.take());
                let kill_at = *kill_at.get_or_insert(Instant::now() + GRACE);
                if Instant::now() >= kill_at {
                    tracing::warn!("the record process does not end, killing it");
                    child.kill().context("kill the record process")?;
                }
            }
            std::thread::sleep(GLANCE);
        }
    }
}

/// Keeps the last document that was said.
fn listen(stdout: ChildStdout, watch: &Watch) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = stdout.by_ref().take(DOCUMENT_BYTES_MAX).read_until(b'\n', &mut line);
        if matches!(read, Ok(0) | Err(_)) {
            return;
        }
        if let Ok(said) = serde_json::from_slice::<Value>(&line) {
            let mut known = watch.known.lock();
            let is_its = known.pid.map(Value::from).as_ref() == Some(&said["pid"]);
            if is_its {
                known.said = Some((said, Instant::now()));
            }
        }
    }
}
