//! The record process alone, beside a gateway: it counts that gateway's journal into SQLite.
//!
//! It counts by path and minute. It runs on the core of the load generator under `SCHED_IDLE`, so
//! that it takes no time from the generator.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::tidegate::Tidegate;
use crate::machine::CLIENT_CORE;
use crate::process::{Cpu, server_cpu};
use crate::setup::{Setup, free_address};

/// What delivers one journal; a process of it can be started again and again.
pub(crate) struct Recorder {
    program: PathBuf,
    dir: PathBuf,
    status: SocketAddr,
}

/// A running one.
pub(crate) struct Running {
    child: Child,
    status: SocketAddr,
}

/// What it says of itself.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PipelineStatus {
    /// Lines read since its start.
    pub lines: u64,
    bytes_behind: u64,
    seconds_behind: f64,
    committed_s_ago: Option<f64>,
}

impl PipelineStatus {
    /// The age of the oldest line that is not committed, in seconds; none before the first batch.
    pub(crate) fn behind(&self) -> Option<f64> {
        self.committed_s_ago.map(|_| self.seconds_behind)
    }
}

impl Recorder {
    /// One for the journal of a gateway.
    pub(crate) fn new(setup: &Setup, gateway: &Tidegate) -> Result<Self> {
        let (dir, status) = (setup.dir("recorder")?, free_address()?);
        let config = format!(
            "[journal]\ndir = \"{}\"\n\n[events]\nstatus = \"{status}\"\n\n\
             [[rollup]]\nname = \"reads\"\nby = [\"path\", \"minute\"]\n\n\
             [[sink]]\nname = \"main\"\nurl = \"sqlite:events.db\"\nflush = \"1s\"\n",
            gateway.journal().display()
        );
        fs::write(dir.join("tidegate.toml"), config)?;
        Ok(Self { program: setup.tidegate()?, dir, status })
    }

    /// Starts it, and waits until it has read everything that is there.
    pub(crate) fn start(&self) -> Result<Running> {
        let log = fs::File::create(self.dir.join("log"))?;
        let core = CLIENT_CORE.to_string();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "taskset", "-c", &core, "chrt", "-i", "0"])
            .arg(&self.program)
            .args(["events", "run", "-c", "tidegate.toml"])
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start the record process")?;
        let running = Running { child, status: self.status };
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let status = running.status();
            if status
                .is_ok_and(|status| status.committed_s_ago.is_some() && status.bytes_behind == 0)
            {
                return Ok(running);
            }
            ensure!(Instant::now() < deadline, "the record process does not catch up");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The lines that are delivered.
    pub(crate) fn delivered(&self) -> Result<u64> {
        let database = rusqlite::Connection::open(self.dir.join("events.db"))?;
        let text = "SELECT sum(count) FROM reads";
        Ok(database.query_row(text, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }
}

impl Running {
    /// Asks it.
    pub(crate) fn status(&self) -> Result<PipelineStatus> {
        #[derive(Deserialize)]
        struct Document {
            pipelines: Vec<PipelineStatus>,
        }
        let mut text = String::new();
        TcpStream::connect(self.status)?.read_to_string(&mut text)?;
        let document: Document = serde_json::from_str(&text).context("read the status")?;
        document.pipelines.into_iter().next().context("read the status: no pipeline")
    }

    /// CPU time used so far.
    pub(crate) fn cpu(&self) -> Result<Cpu> {
        server_cpu(self.child.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended by itself; it delivers what it has, and ends.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
