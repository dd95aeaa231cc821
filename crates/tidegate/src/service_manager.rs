//! Tells the service manager, such as systemd, how this process is (sd_notify(3)).
//!
//! `serve`, `statsd` and `events run` are ready once they can be reached. A reload is announced
//! where a configuration is read again, and the stop when it begins. `STATUS=` is one line for
//! people. Without `NOTIFY_SOCKET` nothing is sent.
//! Invariant: nothing that fails here stops a server; it is logged. The watchdog is answered only
//! while every edge thread gets on: each counts beats on its own runtime. Half of the time that the
//! service manager gives is left for that. A thread that has ended is not waited for.
//! It is written out, for it is one datagram: docs/decisions/project.md.
//! Never here: sockets that are passed (`passed.rs`), secrets (`credentials.rs`), and the variables
//! themselves (`environment.rs`).

use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

use crate::environment;

/// Whether the service manager knows that this process is ready.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Says that the process can be reached, and where.
pub(crate) fn ready(status: &str) {
    IS_READY.store(true, Ordering::Relaxed);
    notify(&format!("READY=1\nSTATUS={status}"));
}

/// Says that a configuration is read again, while `read` does so.
pub(crate) fn reloading<T>(read: impl FnOnce() -> T) -> T {
    if !IS_READY.load(Ordering::Relaxed) {
        return read();
    }
    let now = clock_gettime(ClockId::Monotonic);
    let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    let done = read();
    notify("READY=1");
    done
}

/// Says that the process begins to end.
pub(crate) fn stopping(status: &str) {
    notify(&format!("STOPPING=1\nSTATUS={status}"));
}

fn notify(state: &str) {
    let Some(socket) = environment::notify_socket() else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, socket, "the service manager cannot be told how this process is");
    }
}

/// Sends one datagram to a path, or to a name without one, which begins with `@`.
fn send(socket: &str, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address(socket)?)?;
    Ok(())
}

fn address(socket: &str) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(socket)
}

/// What answers the service manager's watchdog.
pub(crate) struct Watchdog {
    interval: Duration,
    hearts: Vec<(Weak<AtomicU64>, u64)>,
}

/// The beats of one edge thread.
pub(crate) struct Heart {
    beats: Arc<AtomicU64>,
    interval: Duration,
}

impl Watchdog {
    /// Returns one, where the service manager wants to hear from this process.
    pub(crate) fn wanted() -> Option<Self> {
        // Half of it is what sd_watchdog_enabled(3) proposes.
        let interval = environment::watchdog()? / 2;
        Some(Self { interval, hearts: Vec::new() })
    }

    /// Watches one thread more.
    pub(crate) fn heart(&mut self) -> Heart {
        let beats = Arc::new(AtomicU64::new(0));
        self.hearts.push((Arc::downgrade(&beats), 0));
        Heart { beats, interval: self.interval / 4 }
    }

    /// Answers from now on, until the process ends.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(mut self) -> Result<()> {
        let thread = std::thread::Builder::new().name("watchdog".to_owned());
        let run = move || {
            loop {
                std::thread::sleep(self.interval);
                if self.all_beat() {
                    notify("WATCHDOG=1");
                } else {
                    tracing::error!("a thread that serves connections does not get on");
                }
            }
        };
        thread.spawn(run).map(drop).context("start a thread")
    }

    /// Whether each thread that has not ended has counted on.
    fn all_beat(&mut self) -> bool {
        let mut all = true;
        for (heart, seen) in &mut self.hearts {
            if let Some(beats) = heart.upgrade() {
                let beats = beats.load(Ordering::Relaxed);
                all &= beats != std::mem::replace(seen, beats);
            }
        }
        all
    }
}

impl Heart {
    /// Beats for ever, on the runtime whose tasks it shows to get on.
    pub(crate) async fn beat(self) {
        loop {
            self.beats.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.interval).await;
        }
    }
}

#[cfg(test)]
mod tests;
