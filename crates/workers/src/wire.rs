//! Defines and reads the messages of control connections: JSON, one message a line, both ways.
//!
//! [`Message`] is what Python says, [`Instruction`] what it is told;
//! `python/tidegate/workers/control.py` has the other side. A new field of a message needs a
//! default. A new message also needs an arm in `on_message` of `supervise/messages.rs`, which
//! ignores what it does not know. Python does so, too: `worker.py` and `family.py` beside
//! `control.py` obey instructions. `python/tests/conftest.py` plays this side by itself, so its
//! tests notice no change here.
//! Invariant: a line has at most 16 MiB. A longer one is an error, which `supervise/listen.rs`
//! takes for the end of the connection. A line that is not understood comes out as text, for the
//! caller to log and skip. A line without its end is dropped.
//! Refuses: to know who speaks.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// A message with the names of all files of a large app stays below this.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// What a Python process says.
#[derive(Debug, Deserialize)]
#[serde(tag = "say", rename_all = "lowercase")]
pub(crate) enum Message {
    /// First on each connection: who it is.
    Hello(Hello),
    /// It has done what it was started for.
    Ready(Ready),
    /// It cannot, and ends.
    Failed(Failed),
    /// A child of it has ended.
    Exited {
        /// Whose.
        pid: i32,
        /// As wait(2) gives it.
        status: i32,
    },
    /// A request that was abandoned has ended.
    Free,
    /// It got SIGTERM: it goes on until it is told to leave.
    Leaving,
    /// The app let an exception out; it was answered as 500.
    Error {
        /// In one line.
        reason: String,
        /// In full.
        traceback: Option<String>,
    },
    /// Answer to a ping.
    Pong {
        /// Its number.
        n: u64,
    },
}

/// Who speaks.
#[derive(Debug, Deserialize)]
pub(crate) struct Hello {
    /// What it is.
    pub role: ProcessKind,
    /// Its generation; a preload process has none.
    #[serde(default)]
    pub generation: Option<u64>,
    /// Its number, of a worker.
    #[serde(default)]
    pub id: Option<u64>,
    /// The version of Python.
    #[serde(default)]
    pub python: Option<String>,
}

/// What a Python process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProcessKind {
    /// Holds what is preloaded, forks parents.
    Preload,
    /// Holds the app, forks workers.
    Parent,
    /// Answers requests.
    Worker,
}

/// It has loaded, imported, or listens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ready {
    /// Files of the app that it has loaded.
    pub files: Vec<PathBuf>,
    /// How long that took.
    pub seconds: f64,
    /// Shared memory as it sees it.
    pub shm: Option<Shm>,
    /// What kind of app it found.
    pub kind: Option<String>,
    /// Where it listens.
    pub socket: Option<PathBuf>,
}

/// The file system at `/dev/shm`.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Shm {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes in all.
    pub size: u64,
}

/// Why it cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Failed {
    /// What it was doing: `config`, `preload`, `import`, `threads`, `lifespan`, `listen`, `serve`,
    /// `fork`; ours are `start`, `boot`, `canary` and `run`.
    pub stage: String,
    /// In one line.
    pub reason: String,
    /// What to do about it.
    #[serde(default)]
    pub hint: Option<String>,
    /// Python's own words.
    #[serde(default)]
    pub traceback: Option<String>,
    /// Files of the app that it had loaded by then.
    #[serde(default)]
    pub files: Vec<PathBuf>,
}

/// What it is told.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Instruction {
    /// Say that you live.
    Ping {
        /// To be given back.
        n: u64,
    },
    /// Fork a parent.
    Parent {
        /// Its generation.
        generation: u64,
    },
    /// Fork a worker.
    Worker {
        /// Its number.
        id: u64,
    },
    /// Finish, and end.
    Leave,
    /// End.
    Exit,
}

impl Instruction {
    /// As it is written, with the line feed.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("plain data becomes JSON");
        line.push(b'\n');
        line
    }
}

/// Reads messages.
#[derive(Debug)]
pub(crate) struct MessageReader<R> {
    from: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    /// Of this connection.
    pub(crate) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), line: Vec::new() }
    }

    /// The next message, or what was written instead of one; none at the end.
    ///
    /// # Errors
    /// When the connection breaks, or a line is longer than 16 MiB.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Result<Message, String>>> {
        self.line.clear();
        let mut bounded = (&mut self.from).take(LINE_BYTES_MAX);
        bounded.read_until(b'\n', &mut self.line).await?;
        if self.line.last() != Some(&b'\n') {
            // A torn line is nobody's message.
            return if self.line.len() as u64 == LINE_BYTES_MAX {
                Err(io::Error::new(io::ErrorKind::InvalidData, "a message has no end"))
            } else {
                Ok(None)
            };
        }
        Ok(Some(serde_json::from_slice(&self.line).map_err(|error| {
            let start: String = String::from_utf8_lossy(&self.line).chars().take(120).collect();
            format!("{error}: {}", start.trim_end())
        })))
    }
}

#[cfg(test)]
mod tests;
