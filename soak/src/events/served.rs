//! A real `tidegate serve` with its record process, which takes events and is ended or killed.
//!
//! Every event is a line of the journal, which is durable once it is answered (`sync = "always"`).
//! Invariant: a stop returns only when the record process has ended too, so that nobody writes to
//! the directory afterwards. Every wait is bounded. Refuses: to judge what was delivered.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use testkit::{Client, FIXTURE_TIMEOUT, Server, free_port};

use crate::dice::Dice;

const GLANCE: Duration = Duration::from_millis(2);
/// Bytes of a query beyond its id.
const PADDING_BYTES: u64 = 1500;

/// Where the program is, and where it runs.
#[derive(Debug)]
pub(super) struct Place {
    /// The program.
    pub binary: PathBuf,
    /// Its directory.
    pub dir: PathBuf,
    /// What its environment has beside ours.
    pub environment: Vec<(&'static str, String)>,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Served {
    /// Where events go.
    public: SocketAddr,
    /// Where operators go.
    admin: SocketAddr,
    server: Server,
    has_record: bool,
}

impl Place {
    /// Starts `serve` with this configuration, on ports of its own. With a rollup it also waits for
    /// the record process.
    ///
    /// # Errors
    /// When it does not listen.
    pub(super) fn serve(&self, config: &str) -> Result<Served> {
        let address = || SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let (public, admin) = (address(), address());
        let text = format!(
            "cores = {{ edge = 1, work = 1 }}\n{config}\n[listen]\npublic = \"{public}\"\n\
             admin = \"{admin}\"\n"
        );
        fs::write(self.dir.join("tidegate.toml"), text)?;
        let server = Server::spawn(self.command(&["serve"]), admin).context("starting")?;
        let has_record = config.contains("[[rollup]]");
        let served = Served { public, admin, server, has_record };
        if has_record {
            wait_for("the record process", || Ok(served.record()?.is_some()))?;
        }
        Ok(served)
    }

    /// The program, about to run in the directory.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        command.args(words).current_dir(&self.dir).envs(environment);
        command
    }

    /// Runs a command of `events` to its end, and returns what it printed.
    ///
    /// # Errors
    /// When it does not end well.
    pub(super) fn events(&self, words: &[&str]) -> Result<String> {
        let ended = self.command(&["events"]).args(words).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (output, error) = (text(&ended.stdout), text(&ended.stderr));
        ensure!(ended.status.success(), "`events {}`: {output}{error}", words.join(" "));
        Ok(output)
    }
}

impl Served {
    /// Sends an event for each id, and has each answered.
    ///
    /// # Errors
    /// When one is not taken.
    pub(super) fn write(&self, ids: std::ops::Range<u64>, dice: &mut Dice) -> Result<()> {
        let mut client = Client::connect(self.public)?;
        for id in ids {
            let reply = client.request("POST", &target(id, dice)).body("").try_send()?;
            ensure!(reply.status == 204, "an event was answered by {}", reply.status);
        }
        Ok(())
    }

    /// Sends an event of a user.
    ///
    /// # Errors
    /// When it is not taken.
    pub(super) fn write_of(&self, user: &str, id: u64) -> Result<()> {
        let call = Client::post(self.public, &format!("/read?item={id}"), "");
        let reply = call.header("cookie", &format!("userId={user}")).try_send()?;
        ensure!(reply.status == 204, "an event was answered by {}", reply.status);
        Ok(())
    }

    /// Sends an event without waiting for its answer.
    ///
    /// # Errors
    /// When nobody listens.
    pub(super) fn write_unanswered(&self, id: u64, dice: &mut Dice) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(self.public)?;
        let target = target(id, dice);
        let head = format!("POST {target} HTTP/1.1\r\nhost: soak\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        Ok(stream)
    }

    /// The status page.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn status(&self) -> Result<Value> {
        let reply = Client::get(self.admin, "/status").try_send().context("reading `/status`")?;
        Ok(serde_json::from_slice(&reply.body)?)
    }

    /// The alarms about losses that nobody has acknowledged, by their ids.
    ///
    /// # Errors
    /// When the status cannot be read.
    pub(super) fn alarms(&self) -> Result<Vec<String>> {
        let status = self.status()?;
        let alarms = status["alarms"].as_array().context("no alarms")?.iter();
        let id = |alarm: &Value| Some(alarm.as_str()?.split_once("losses --ack ")?.1.to_owned());
        Ok(alarms.filter_map(id).collect())
    }

    /// The record process.
    fn record(&self) -> Result<Option<u64>> {
        Ok(self.status()?["record"]["pid"].as_u64())
    }

    /// Kills the record process; the server starts another.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn kill_record(&self) -> Result<()> {
        let first = self.record()?.context("no record process")?;
        let id = first.to_string();
        // It may be gone already.
        Command::new("kill").args(["-s", "KILL", &id]).status()?;
        wait_for("another record process", || {
            Ok(self.record()?.is_some_and(|record| record != first))
        })
    }

    /// Ends it with a signal (`TERM` or `KILL`), and waits until both processes are gone.
    ///
    /// # Errors
    /// When they run on, or do not end well.
    pub(super) fn stop(mut self, signal: &str) -> Result<()> {
        let record = if self.has_record { self.record()? } else { None };
        self.server.signal(signal)?;
        let status = self.server.wait().context("waiting for its end")?;
        if signal == "TERM" && !status.success() {
            bail!("told to end, it ended by {status}: {}", self.server.stderr());
        }
        let Some(record) = record else { return Ok(()) };
        // A process that has ended and was not waited for has no command line.
        let line = PathBuf::from(format!("/proc/{record}/cmdline"));
        wait_for("the end of the record process", || {
            Ok(!fs::read(&line).is_ok_and(|line| !line.is_empty()))
        })
    }

    /// What it wrote to its standard error.
    pub(super) fn stderr(&self) -> String {
        let text = self.server.stderr();
        let from = text.len().saturating_sub(3000);
        text.get(from..).unwrap_or(&text).to_owned()
    }
}

fn target(id: u64, dice: &mut Dice) -> String {
    let padding = dice.below(PADDING_BYTES) as usize;
    let noise: String = (0..padding / 16).map(|_| format!("{:016x}", dice.number())).collect();
    format!("/read?item={id}&pad={noise}")
}

/// Waits until `done`.
///
/// # Errors
/// When patience runs out, or `done` fails.
pub(super) fn wait_for(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + FIXTURE_TIMEOUT;
    while !done()? {
        ensure!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// How often each event was counted into the SQLite file of a rollup by `query.item`.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn counted(database: &Path, rollup: &str) -> Result<Vec<(u64, u64)>> {
    if !database.exists() {
        return Ok(Vec::new());
    }
    let database = rusqlite::Connection::open(database)?;
    database.busy_timeout(FIXTURE_TIMEOUT)?;
    let ask = format!("SELECT query_item, SUM(count) FROM {rollup} GROUP BY 1");
    let mut rows = match database.prepare(&ask) {
        Ok(rows) => rows,
        // No batch has come.
        Err(error) if error.to_string().contains("no such table") => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let mut counted = Vec::new();
    for row in rows {
        let (item, count) = row?;
        let id = item.parse().with_context(|| format!("`{item}` was counted, and never sent"))?;
        counted.push((id, count.unsigned_abs()));
    }
    Ok(counted)
}
