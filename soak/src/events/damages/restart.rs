//! How the processes come back after a damage, and what the sink and the quarantine hold of them.
//!
//! The order is drawn. A record process may see the damaged journal before the writer has repaired
//! it. Or the writer comes and goes before a record process sees it at all. Refuses: to judge.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::{FIXTURE_TIMEOUT, free_port};

use crate::dice::Dice;
use crate::events::served::{Place, wait_for};

/// Who comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comeback {
    /// Writer and record process at once.
    Together,
    /// The writer, some times, without an event.
    IdleWriter(u64),
    /// The writer, some times, with events.
    Writer(u64),
    /// A record process alone, then the writer beside it.
    Record,
}

impl Comeback {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        match dice.below(10) {
            0..5 => Self::Together,
            5..7 => Self::IdleWriter(1 + dice.below(2)),
            7 => Self::Writer(1 + dice.below(2)),
            _ => Self::Record,
        }
    }
}

/// A record process without a writer; killed when dropped.
pub(super) struct Record(Child);

impl Record {
    /// Starts one, and waits until it has asked the sink and looked at the journal.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(place: &Place, config: &str) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let config = format!("{config}\n[events]\nstatus = \"{address}\"\n");
        fs::write(place.dir.join("tidegate.toml"), config)?;
        let mut command = place.command(&["events", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let record = Self(command.spawn()?);
        wait_for("the record process to know where it goes on", || {
            let Ok(mut stream) = TcpStream::connect(address) else { return Ok(false) };
            stream.set_read_timeout(Some(FIXTURE_TIMEOUT))?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            let document: Value = serde_json::from_str(&text)?;
            Ok(document["pipelines"][0]["bytes_behind"].is_u64())
        })?;
        Ok(record)
    }

    /// Tells it to end, and waits.
    ///
    /// # Errors
    /// When it does not end well.
    pub(super) fn end(&mut self) -> Result<()> {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::TERM,
        )?;
        let status = self.0.wait()?;
        ensure!(status.success(), "told to end, `events run` ended by {status}");
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The offset up to which the sink has the journal.
pub(super) fn place(database: &Path) -> Result<u64> {
    let database = rusqlite::Connection::open(database)?;
    let ask = "SELECT position FROM tidegate_checkpoints WHERE source = 'journal'";
    let position: String = database.query_row(ask, [], |row| row.get(0))?;
    let offset = position.split('-').next().context("an empty position")?;
    offset.parse().with_context(|| format!("the position `{position}`"))
}

/// Where the lines stand that are in quarantine, in the order in which they came there.
pub(super) fn quarantined(dir: &Path) -> Result<Vec<u64>> {
    let Ok(text) = fs::read_to_string(dir.join("data/quarantine/journal-main.ndjson")) else {
        return Ok(Vec::new());
    };
    // Any bytes may be in the line, which no parser of JSON takes as text.
    let offset = |line: &str| {
        let behind = line.split_once("\"offset\":").context("no offset")?.1;
        behind.split(',').next().context("no number")?.parse().context("no number")
    };
    text.lines().map(offset).collect()
}
