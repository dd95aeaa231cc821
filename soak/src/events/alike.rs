//! Logs that begin alike, on one node and on two, rotated, copied and packed, some packs damaged.
//!
//! Each trial draws what happens between deliveries by `--once`. All lines of a step are the
//! same in all logs, so only how many are counted tells logs apart.
//! Invariant held against the process: the sink counts every line of every log once, but for those
//! that are in a damaged pack alone. As long as there is one, every delivery ends with 1 and names
//! it; once it is good, all lines are counted. `events verify` agrees at the end.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testkit::TempDir;

use super::options::Options;
use crate::dice::Dice;

const TRIALS: u64 = 40;
const STEPS: u64 = 12;
const NODES: [&str; 2] = ["one", "two"];
const LOGS: [&str; 3] = ["a.log", "b.log", "c/access.log"];
const CONFIG: &str = r#"
[[source]]
name = "web"
files = ["log/**/*.log*"]

[[rollup]]
name = "lines"
by = ["path"]

[[sink]]
name = "main"
url = "sqlite:../sink.db"
flush = "10ms"
"#;

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    trials: u64,
    lines: u64,
    rotations: u64,
    damages: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trials, lines, rotations, damages } = self;
        write!(
            f,
            "  {trials} times six logs that are the same on two nodes, {rotations} rotations, \
             {damages} damaged packs: {lines} lines, 0 lost, 0 doubled, 0 silent"
        )
    }
}

/// Runs the trials.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options) -> Result<Tally> {
    let mut tally = Tally::default();
    let binary = fs::canonicalize(&options.binary)?;
    for trial in 0..TRIALS {
        let mut dir = TempDir::new()?;
        let dice = Dice::new(options.seed, trial);
        let path = dir.path().to_owned();
        let done = Trial { dir: path, binary: &binary, dice, written: 0 }.run(&mut tally);
        done.with_context(|| {
            dir.disable_cleanup(true);
            let (seed, dir) = (options.seed, dir.path().display());
            format!("alike trial {trial} of seed {seed}; what is left is in `{dir}`")
        })?;
        tally.trials += 1;
    }
    Ok(tally)
}

struct Trial<'t> {
    dir: PathBuf,
    binary: &'t Path,
    dice: Dice,
    written: u64,
}

impl Trial<'_> {
    fn run(mut self, tally: &mut Tally) -> Result<()> {
        for node in NODES {
            let config = format!("node = \"{node}\"\n{CONFIG}");
            fs::create_dir_all(self.dir.join(node).join("log/c"))?;
            fs::write(self.dir.join(node).join("tidegate.toml"), config)?;
        }
        for step in 0..STEPS {
            let (node, log) = (self.dice.pick(&NODES), self.dice.pick(&LOGS));
            let path = self.dir.join(node).join("log").join(log);
            match self.dice.below(6) {
                0..=2 => self.write_all(step)?,
                3 => self.deliver(node)?,
                4 => tally.rotations += u64::from(rotate(&path, self.dice.chance(50))?),
                _ => tally.damages += u64::from(self.damage(node, &path)?),
            }
        }
        for node in NODES {
            self.deliver(node)?;
        }
        let counted = self.counted()?;
        ensure!(counted == self.written, "{counted} of {} lines are counted", self.written);
        for node in NODES {
            let (code, output) = self.events(node, &["verify"])?;
            ensure!(code == Some(0), "verify on `{node}` ended by {code:?}: {output}");
        }
        tally.lines += self.written;
        Ok(())
    }

    /// Writes as many lines to every log, so that all stay the same as long as none rotates.
    fn write_all(&mut self, step: u64) -> Result<()> {
        let count = 1 + self.dice.below(40);
        let line = format!(
            "192.0.2.7 - - [21/Nov/2026:10:{step:02}:00 +0000] \"GET /health HTTP/1.1\" 200 5 \
             \"-\" \"-\"\n"
        );
        for node in NODES {
            for log in LOGS {
                let path = self.dir.join(node).join("log").join(log);
                let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                file.write_all(line.repeat(count as usize).as_bytes())?;
                self.written += count;
            }
        }
        Ok(())
    }

    /// Rotates and packs a log, damages the pack, and has it delivered so; then mends it.
    fn damage(&mut self, node: &str, path: &Path) -> Result<bool> {
        if !rotate(path, true)? {
            return Ok(false);
        }
        let packed = rotated(path, ".gz");
        let good = fs::read(&packed)?;
        let mut bad = good.clone();
        match self.dice.chance(50) {
            true => bad.truncate(2 + self.dice.below(good.len() as u64 - 3) as usize),
            // Behind the header, whose time and name mean nothing.
            false => {
                let at = 10 + self.dice.below(good.len() as u64 - 10) as usize;
                bad[at] ^= 1 << self.dice.below(8);
            }
        }
        fs::write(&packed, bad)?;
        // A few bits of padding mean nothing.
        let checked = Command::new("gzip").args(["-q", "-t"]).arg(&packed).output()?;
        if checked.status.success() {
            return Ok(false);
        }
        let (code, output) = self.events(node, &["run", "--once"])?;
        let name = packed.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ensure!(code == Some(1) && output.contains(name), "ended by {code:?}: {output}");
        let counted = self.counted()?;
        ensure!(counted <= self.written, "{counted} of {} lines are counted", self.written);
        fs::write(&packed, good)?;
        self.deliver(node)?;
        Ok(true)
    }

    fn deliver(&self, node: &str) -> Result<()> {
        let (code, output) = self.events(node, &["run", "--once"])?;
        ensure!(code == Some(0), "`{node}` ended by {code:?}: {output}");
        Ok(())
    }

    fn events(&self, node: &str, what: &[&str]) -> Result<(Option<i32>, String)> {
        let mut command = Command::new(self.binary);
        command.arg("events").args(what).current_dir(self.dir.join(node));
        let ended = command.output().context("start the program")?;
        let output = String::from_utf8_lossy(&ended.stderr).into_owned();
        Ok((ended.status.code(), output + &String::from_utf8_lossy(&ended.stdout)))
    }

    fn counted(&self) -> Result<u64> {
        let database = rusqlite::Connection::open(self.dir.join("sink.db"))?;
        let sum = "SELECT COALESCE(SUM(count), 0) FROM lines";
        let counted: i64 = database.query_row(sum, [], |row| row.get(0)).unwrap_or_default();
        Ok(counted.unsigned_abs())
    }
}

fn rotated(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.push(ending);
    PathBuf::from(name)
}

/// Rotates a log that was not rotated yet, and packs it with gzip, as logrotate does; false when
/// there is nothing to rotate.
fn rotate(path: &Path, packs: bool) -> Result<bool> {
    let old = rotated(path, "");
    if !path.exists() || old.exists() || rotated(path, ".gz").exists() {
        return Ok(false);
    }
    fs::rename(path, &old)?;
    if packs {
        let status = Command::new("gzip").arg("-n").arg(&old).status()?;
        ensure!(status.success(), "gzip ended by {status}");
    }
    Ok(true)
}
