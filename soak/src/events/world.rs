//! A directory with a log that grows, a configuration, and processes that deliver it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testkit::{FIXTURE_TIMEOUT, TempDir};

use super::lines;
use super::oracle;
use super::sink::{Server, Sink};

const GLANCE: Duration = Duration::from_millis(2);
const CONFIG: &str = r#"
node = "soak"

[[source]]
name = "web"
files = ["log/access.log*"]

[[rollup]]
name = "by_id"
by = ["query.id"]
sum = ["bytes_out"]

[[rollup]]
name = "by_second"
by = ["path", "second"]
sum = ["bytes_out"]
min = ["bytes_out"]
max = ["bytes_out"]
last = ["query.id"]
"#;

/// Everything of one run.
#[derive(Debug)]
pub(super) struct World {
    /// Where rows go.
    pub sink: Sink,
    binary: PathBuf,
    dir: TempDir,
}

impl World {
    /// A directory with a configuration and an empty log.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn new(binary: &Path, server: &Arc<Server>) -> Result<Self> {
        let dir = TempDir::new()?;
        let sink = Sink::new(server);
        let config = format!(
            "{CONFIG}\n[[sink]]\nname = \"main\"\nurl = \"{}\"\nflush = \"10ms\"\n",
            sink.url()
        );
        fs::write(dir.path().join("tidegate.toml"), config)?;
        fs::create_dir(dir.path().join("log"))?;
        let binary = fs::canonicalize(binary)
            .with_context(|| format!("finding the binary `{}`", binary.display()))?;
        let world = Self { sink, binary, dir };
        File::create(world.log())?;
        Ok(world)
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Keeps the directory for whoever looks into what went wrong, and says where it is.
    pub(super) fn keep(&mut self) -> String {
        self.dir.disable_cleanup(true);
        self.dir().display().to_string()
    }

    /// The log that grows.
    pub(super) fn log(&self) -> PathBuf {
        self.dir().join("log/access.log")
    }

    /// Appends the lines of these ids.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn append(&self, ids: std::ops::Range<u64>) -> Result<()> {
        let text: String = ids.map(lines::line).collect();
        Ok(OpenOptions::new().append(true).open(self.log())?.write_all(text.as_bytes())?)
    }

    /// Appends a line that is none.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn append_garbage(&self) -> Result<()> {
        let mut file = OpenOptions::new().append(true).open(self.log())?;
        Ok(file.write_all(lines::garbage(0).as_bytes())?)
    }

    /// A copy of everything, for a trial that spoils it.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn copy(&self) -> Result<Self> {
        let world = Self::new(&self.binary, &self.sink.server)?;
        copy_all(self.dir(), world.dir())?;
        Ok(world)
    }

    /// `tidegate events run`, behind `before` when that is not empty.
    pub(super) fn command(&self, before: &[&str], once: bool) -> Command {
        let mut command = match before.split_first() {
            None => Command::new(&self.binary),
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(&self.binary);
                command
            }
        };
        command.args(["events", "run"]).args(once.then_some("--once"));
        command.arg("-c").arg(self.dir().join("tidegate.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Starts it; its standard error goes to a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(&self, before: &[&str], once: bool) -> Result<Process> {
        let stderr = self.dir().join("stderr");
        let file = OpenOptions::new().create(true).append(true).open(&stderr)?;
        let child = self.command(before, once).stderr(file).spawn().context("starting")?;
        Ok(Process { child, stderr })
    }

    /// Delivers what is there, and checks that exactly the first `written` ids are held.
    ///
    /// # Errors
    /// When it does not end well, or the sink holds anything else.
    pub(super) fn settle(&self, written: u64) -> Result<()> {
        let mut process = self.start(&[], true)?;
        let status = process.wait(FIXTURE_TIMEOUT)?;
        ensure!(status.success(), "a clean run ended by {status}: {}", process.stderr());
        oracle::exact(&self.sink, self.dir(), written)
    }
}

/// A process; killed when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stderr: PathBuf,
}

impl Process {
    /// Kills it with SIGKILL and waits for its end.
    ///
    /// # Errors
    /// When it had ended by itself.
    pub(super) fn kill(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("it had ended by {status}: {}", self.stderr());
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Tells it to end and waits.
    ///
    /// # Errors
    /// When it does not end, or not well.
    pub(super) fn end(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-s", "TERM", &id]).status()?;
        let status = self.wait(FIXTURE_TIMEOUT)?;
        ensure!(status.success(), "told to end, it ended by {status}: {}", self.stderr());
        Ok(())
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// When it runs on after `limit`.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "it still runs: {}", self.stderr());
            std::thread::sleep(GLANCE);
        }
    }

    /// Returns the end of its standard error so far.
    pub(super) fn stderr(&self) -> String {
        let text = fs::read(&self.stderr).unwrap_or_default();
        String::from_utf8_lossy(&text[text.len().saturating_sub(2000)..]).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a directory with all that is in it, into one that is there.
///
/// # Errors
/// When the disk says no.
pub(super) fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
