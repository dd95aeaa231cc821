//! Keeps the record process running: starts it, starts it again after every end, and ends it.
//!
//! This process holds one end each of the child's stdin and stdout. When it is gone, the child
//! reads the end of its stdin and ends in order; `tidegate/src/events/run.rs` does so under
//! `--supervised`, which `tidegate/src/record.rs` passes. What the child writes is read by a thread
//! that nobody waits for.
//! Invariant: one child at a time, and no end of it ends this process. Pauses between children grow
//! from 50 ms to 10 s by default, with jitter, and begin anew after a child that ran 30 s. A child
//! that does not end within `end_timeout` of a stop is killed; [`RecordSupervisor::stop`] waits for
//! that.
//! Never here: what the child does, the pipelines' own restarts (`supervise`), and what is known of
//! it (`status`).

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stdx::Backoff;

use super::status::RecordStatus;
use crate::stop::StopSignal;

/// How often the child and the stop are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How patient a supervisor is.
#[derive(Debug, Clone, Copy)]
pub struct SupervisorOptions {
    /// The pause after the first end; the ones that follow double. 100 ms.
    pub first_pause: Duration,
    /// The longest pause; 10 s.
    pub pause_max: Duration,
    /// A child that ran this long is taken to have been well; 30 s.
    pub well_after: Duration,
    /// How long a child may take to end once it is to; then it is killed. 10 s.
    pub end_timeout: Duration,
}

impl Default for SupervisorOptions {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(100),
            pause_max: Duration::from_secs(10),
            well_after: Duration::from_secs(30),
            end_timeout: Duration::from_secs(10),
        }
    }
}

/// A record process that is kept running.
pub struct RecordSupervisor {
    stop: StopSignal,
    status: Arc<RecordStatus>,
    thread: JoinHandle<()>,
}

impl RecordSupervisor {
    /// Starts what `command` makes, and starts it again whenever it ends. Its stdin and stdout are
    /// pipes to here.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        options: SupervisorOptions,
        command: impl Fn() -> Command + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, status) = (StopSignal::default(), Arc::<RecordStatus>::default());
        let runner = ChildRunner { options, stop: stop.clone(), status: Arc::clone(&status) };
        let thread = std::thread::Builder::new().name("record".to_owned());
        let thread = thread.spawn(move || runner.run(command))?;
        Ok(Self { stop, status, thread })
    }

    /// What is known of the process, at any time.
    pub fn status(&self) -> Arc<RecordStatus> {
        Arc::clone(&self.status)
    }

    /// Has the process deliver what it has and end; waits for that.
    pub fn stop(self) {
        self.stop.request();
        if self.thread.join().is_err() {
            tracing::error!("the thread that keeps the record process panicked");
        }
    }
}

/// The work of the thread.
struct ChildRunner {
    options: SupervisorOptions,
    stop: StopSignal,
    status: Arc<RecordStatus>,
}

impl ChildRunner {
    fn run(&self, command: impl Fn() -> Command) {
        let SupervisorOptions { first_pause, pause_max, well_after, .. } = self.options;
        let mut backoff = Backoff::new(first_pause, pause_max, u64::from(std::process::id()));
        while !self.stop.is_requested() {
            let started = Instant::now();
            let end = self.run_once(command()).unwrap_or_else(|error| error);
            if self.stop.is_requested() {
                return;
            }
            tracing::error!(end, "the record process ended, starting it again");
            self.status.ended(end);
            if started.elapsed() > well_after {
                backoff.reset();
            }
            let deadline = Instant::now() + backoff.delay();
            while Instant::now() < deadline && !self.stop.is_requested() {
                std::thread::sleep(LOOK_INTERVAL);
            }
        }
    }

    /// Runs one child to its end. Says how it ended, or what cannot be done.
    fn run_once(&self, mut command: Command) -> Result<String, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(cannot("start the record process"))?;
        let stdout = child.stdout.take().ok_or("the record process has no stdout")?;
        let status = Arc::clone(&self.status);
        std::thread::Builder::new()
            .name("record-says".to_owned())
            .spawn(move || status.follow(stdout))
            .map_err(cannot("start a thread"))
            .inspect_err(|_| drop(child.kill()))?;
        self.status.started(child.id());
        let end = self.wait(&mut child);
        self.status.stopped();
        end
    }

    fn wait(&self, child: &mut Child) -> Result<String, String> {
        let mut deadline = None;
        loop {
            let ended = child.try_wait().map_err(cannot("wait for the record process"))?;
            if let Some(status) = ended {
                return Ok(status.to_string());
            }
            if self.stop.is_requested() {
                // The end of its stdin has the child end.
                drop(child.stdin.take());
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + self.options.end_timeout) {
                    tracing::warn!("the record process does not end, killing it");
                    child.kill().map_err(cannot("kill the record process"))?;
                }
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

fn cannot(what: &'static str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

#[cfg(test)]
mod tests;
