//! Logs that a web server writes by a faked clock: they grow, rotate and are packed.
//!
//! Every line has an id, which no other line has. Files have the dates that they would have by that
//! clock. Rotated files are called by number or by date, as logrotate does, whichever name is free.
//! Invariant: no file is deleted, and what was begun in a rotated file is ended in it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use stdx::calendar::civil_from_days;

use super::faked::FakedClock;
use crate::dice::Dice;

const NAMES: [&str; 3] = ["access.log", "b/access.log", "other.log"];
const LINES: u64 = 40;

/// The logs of a directory.
#[derive(Debug)]
pub(super) struct Logs {
    dir: PathBuf,
    /// The next id.
    pub next: u64,
    pub rotations: u64,
    /// A file that was rotated, and the rest of a line that is still to come in it.
    begun: Option<(File, String)>,
}

impl Logs {
    /// No logs yet.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn new(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir.join("b"))?;
        Ok(Self { dir: dir.to_owned(), next: 0, rotations: 0, begun: None })
    }

    /// Writes some lines to a log, which may be new.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn grow(&mut self, clock: &FakedClock, dice: &mut Dice) -> Result<()> {
        let mut file = self.open(dice.pick(&NAMES))?;
        let count = 1 + dice.below(LINES);
        let text: String = (0..count).map(|_| self.line(clock)).collect();
        file.write_all(text.as_bytes())?;
        clock.date(&file)
    }

    /// Rotates a log, and perhaps packs it.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn rotate(&mut self, clock: &FakedClock, dice: &mut Dice) -> Result<()> {
        let path = self.dir.join(dice.pick(&NAMES));
        if !path.exists() {
            return self.grow(clock, dice);
        }
        let old = self.free_name(&path, clock, dice.chance(50))?;
        fs::rename(&path, &old)?;
        self.rotations += 1;
        if dice.chance(50) {
            let status = Command::new("gzip").arg("-n").arg(&old).status()?;
            ensure!(status.success(), "gzip ended by {status}");
        }
        Ok(())
    }

    /// Rotates a log whose writer has half a line in it, and goes on with it later.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn begin(&mut self, clock: &FakedClock, dice: &mut Dice) -> Result<()> {
        self.end(clock)?;
        let name = dice.pick(&NAMES);
        let mut file = self.open(name)?;
        let line = self.line(clock);
        let (begun, rest) = line.split_at(1 + dice.below(line.len() as u64 - 1) as usize);
        file.write_all(begun.as_bytes())?;
        clock.date(&file)?;
        let path = self.dir.join(name);
        fs::rename(&path, self.free_name(&path, clock, dice.chance(50))?)?;
        self.rotations += 1;
        self.begun = Some((file, rest.to_owned()));
        Ok(())
    }

    /// Ends the line that was begun, if one was.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn end(&mut self, clock: &FakedClock) -> Result<()> {
        if let Some((mut file, rest)) = self.begun.take() {
            file.write_all(rest.as_bytes())?;
            clock.date(&file)?;
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Result<File> {
        Ok(OpenOptions::new().create(true).append(true).open(self.dir.join(name))?)
    }

    fn free_name(&self, path: &Path, clock: &FakedClock, by_date: bool) -> Result<PathBuf> {
        let name = |ending: String| PathBuf::from(format!("{}{ending}", path.display()));
        let is_free = |path: &PathBuf| {
            !path.exists() && !PathBuf::from(format!("{}.gz", path.display())).exists()
        };
        // As logrotate's `dateext` has it.
        let date = civil_from_days(clock.now_s().div_euclid(86_400));
        let dated = name(format!("-{}{:02}{:02}", date.year, date.month, date.day));
        let numbered = (1..1000).map(|number| name(format!(".{number}")));
        let mut names = std::iter::once(dated).filter(|_| by_date).chain(numbered);
        names.find(is_free).context("no name is free")
    }

    /// The line of the next id.
    fn line(&mut self, clock: &FakedClock) -> String {
        let id = self.next;
        self.next += 1;
        let date = httpdate::fmt_http_date(clock.now());
        let words: Vec<&str> = date.split(' ').collect();
        format!(
            "192.0.2.7 - - [{}/{}/{}:{} +0000] \"GET /p?item={id} HTTP/1.1\" 200 5 \"-\" \"-\"\n",
            words[1], words[2], words[3], words[4]
        )
    }
}
