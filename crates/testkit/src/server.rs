//! Real programs as fixtures: nginx, varnishd, our own binary.
//!
//! Invariant: a [`Server`] that exists has accepted a connection. Its process is gone once it is
//! dropped: it is asked to end first, and killed when it does not.
//! Refuses: programs that go to the background.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::FIXTURE_TIMEOUT;

const POLL: Duration = Duration::from_millis(10);

/// Where Debian puts daemons, which an ordinary user's search path leaves out.
const DAEMON_DIRS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// What to do when a program is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Say so on stdout and return `None`: the test returns early.
    Skip,
    Panic,
}

/// Returns where the program is, or does with its absence as told.
pub fn require(program: &str, absent: Absent) -> Option<PathBuf> {
    let found = find(program);
    if found.is_none() {
        let text = format!("`{program}` is not installed; `cargo xtask setup --test` installs it");
        match absent {
            Absent::Panic => panic!("{text}"),
            Absent::Skip => skip(&text),
        }
    }
    found
}

fn find(program: &str) -> Option<PathBuf> {
    let script = format!("PATH=\"$PATH:{DAEMON_DIRS}\"; command -v -- \"$1\"");
    let output = Command::new("sh").args(["-c", &script, "sh", program]).output().ok()?;
    let path = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| PathBuf::from(path.trim()))
}

/// Says why a test cannot run here: a skipped test must never be silent, and `cargo xtask ci`
/// counts these lines.
pub fn skip(text: &str) {
    notice(&format!("SKIPPED: {text}"));
}

/// Says what a run has shown. Writes past the capture of the test runner, on a line of its own.
pub fn notice(text: &str) {
    drop(writeln!(io::stdout(), "\n{text}"));
}

/// A running program that listens on loopback.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    stdout: Captured,
    stderr: Captured,
}

impl Server {
    /// Starts the program and waits until the address accepts a connection.
    ///
    /// The program must stay in the foreground.
    ///
    /// # Errors
    /// The program could not be started, ended, or did not listen within [`FIXTURE_TIMEOUT`]. The
    /// error holds what it wrote to stderr.
    pub fn spawn(mut command: Command, address: SocketAddr) -> io::Result<Server> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            let program = command.get_program().to_string_lossy();
            io::Error::new(e.kind(), format!("starting `{program}`: {e}"))
        })?;
        let stdout = Captured::from(child.stdout.take());
        let stderr = Captured::from(child.stderr.take());
        let mut server = Server { child, address, stdout, stderr };
        server.wait_until_listening()?;
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what the program has written to stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns what the program has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until stderr holds the text; panics after [`FIXTURE_TIMEOUT`].
    pub fn wait_for_stderr(&self, text: &str) {
        self.stderr.wait_for(text);
    }

    /// Sends a signal by name: `TERM`, `HUP`, `KILL`, `STOP`.
    ///
    /// # Errors
    /// The process is gone, or there is no such signal.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.child.id().to_string();
        let mut kill = Command::new("kill");
        let status = kill.args(["-s", name, &process]).stderr(Stdio::null()).status()?;
        let sent = status.success();
        sent.then_some(()).ok_or_else(|| io::Error::other(format!("signal `{name}` not sent")))
    }

    /// Waits for the program to end by itself, at most [`FIXTURE_TIMEOUT`].
    ///
    /// # Errors
    /// It still runs.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_at_most(FIXTURE_TIMEOUT)
    }

    fn wait_at_most(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the program still runs"));
            }
            std::thread::sleep(POLL);
        }
    }

    fn wait_until_listening(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        while TcpStream::connect_timeout(&self.address, FIXTURE_TIMEOUT).is_err() {
            let ended = self.child.try_wait()?;
            if ended.is_some() || Instant::now() >= deadline {
                let state = ended.map_or("does not listen".to_owned(), |status| status.to_string());
                let (address, stderr) = (self.address, self.stderr.whole());
                return Err(io::Error::other(format!("{state}, `{address}`: {stderr}")));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Once waited for, its id may be another process's.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // A master process that is killed outright leaves its workers behind, so ask it first.
        let asked = self.signal("TERM").is_ok();
        if !asked || self.wait_at_most(Duration::from_secs(3)).is_err() {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

/// A stream of a child, read by a thread so that the child never blocks on a full pipe.
#[derive(Debug)]
struct Captured {
    shared: Arc<(Mutex<String>, Condvar)>,
    reading: Option<JoinHandle<()>>,
}

impl Captured {
    fn from(stream: Option<impl Read + Send + 'static>) -> Captured {
        let shared = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let captured = Arc::clone(&shared);
        let reading = stream.map(|stream| {
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream);
                let mut line = Vec::new();
                while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let mut text = captured.0.lock().unwrap_or_else(PoisonError::into_inner);
                    text.push_str(&String::from_utf8_lossy(&line));
                    captured.1.notify_all();
                    line.clear();
                }
            })
        });
        Captured { shared, reading }
    }

    fn text(&self) -> String {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns everything, if the child has ended; a grandchild may still hold the stream open.
    fn whole(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.reading.as_ref().is_some_and(|reading| !reading.is_finished())
            && Instant::now() < deadline
        {
            std::thread::sleep(POLL);
        }
        self.text()
    }

    fn wait_for(&self, wanted: &str) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        let mut text = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !text.contains(wanted) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "`{wanted}` was not written, but:\n{text}");
            let woken = self.shared.1.wait_timeout(text, left);
            text = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests;
