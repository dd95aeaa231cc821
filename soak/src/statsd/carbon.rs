//! A carbon that is there, away, resets every connection, or hangs.
//!
//! It keeps the last value of each name and time, as whisper does. What comes by a connection is
//! kept when that ends well, and none of it otherwise. While it hangs it takes connections and
//! reads none. When that is over, every second one is reset, and the others are read late.

use std::collections::HashMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// What it does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It reads them to their end.
    There,
    /// Nobody listens.
    Away,
    /// It resets them when something has come.
    Resets,
    /// It takes them and does not read.
    Hangs,
}

/// A running carbon.
#[derive(Debug)]
pub(super) struct Carbon {
    /// Where it listens on loopback.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mode: Mutex<Mode>,
    stored: Mutex<HashMap<(u64, u64), f64>>,
    /// Connections that came while it hung.
    hung: AtomicU64,
}

impl Carbon {
    /// Starts one that is there.
    ///
    /// # Errors
    /// When there is no port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listening as carbon")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            mode: Mutex::new(Mode::There),
            stored: Mutex::default(),
            hung: AtomicU64::new(0),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || serving.serve(port, listener));
        Ok(Self { port, shared })
    }

    /// Changes what it does with the next connection.
    pub(super) fn set(&self, mode: Mode) {
        *locked(&self.shared.mode) = mode;
    }

    /// Connections that came while it hung.
    pub(super) fn hung(&self) -> u64 {
        self.shared.hung.load(Ordering::Relaxed)
    }

    /// The sum of each name over all times.
    pub(super) fn stored(&self) -> HashMap<u64, f64> {
        let mut sums = HashMap::new();
        for ((name, _), value) in locked(&self.shared.stored).iter() {
            if *value > 0.0 {
                *sums.entry(*name).or_default() += value;
            }
        }
        sums
    }
}

impl Shared {
    fn serve(&self, port: u16, listener: TcpListener) {
        let (mut listener, mut hanging) = (Some(listener), Vec::new());
        loop {
            let mode = *locked(&self.mode);
            if mode != Mode::Hangs {
                self.let_go(&mut hanging);
            }
            if mode == Mode::Away {
                listener = None;
            } else if listener.is_none() {
                // Connections of before may still be there for a moment.
                listener = TcpListener::bind(("127.0.0.1", port)).ok();
            }
            let accepted = listener.as_ref().and_then(|listener| {
                listener.set_nonblocking(true).ok()?;
                listener.accept().ok()
            });
            match accepted {
                Some((stream, _)) if mode == Mode::Hangs => {
                    self.hung.fetch_add(1, Ordering::Relaxed);
                    hanging.push(stream);
                }
                Some((stream, _)) => self.take(stream, mode),
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Ends the connections that hang: by turns with a reset, and as if it had only been slow.
    fn let_go(&self, hanging: &mut Vec<TcpStream>) {
        for (at, stream) in hanging.drain(..).enumerate() {
            self.take(stream, if at % 2 == 0 { Mode::Resets } else { Mode::There });
        }
    }

    fn take(&self, mut stream: TcpStream, mode: Mode) {
        let mut text = String::new();
        if stream.set_nonblocking(false).is_err() {
            return;
        }
        if mode == Mode::Resets {
            // Closing with something unread is a reset.
            drop(stream.peek(&mut [0]));
        } else if stream.read_to_string(&mut text).is_ok() {
            let mut stored = locked(&self.stored);
            text.lines().filter_map(count).for_each(|(at, value)| {
                stored.insert(at, value);
            });
        }
    }
}

/// Name and time of a count, and its value: `stats.counters.soak.n7.count 1 1700000000`.
fn count(line: &str) -> Option<((u64, u64), f64)> {
    let rest = line.strip_prefix("stats.counters.soak.n")?;
    let (name, rest) = rest.split_once(".count ")?;
    let (value, time) = rest.split_once(' ')?;
    Some(((name.parse().ok()?, time.parse().ok()?), value.parse().ok()?))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
