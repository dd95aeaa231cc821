//! A wall clock that only the tested processes see, by Debian's `faketime`; the machine's stays.
//!
//! The library reads how far to be off from a file, each time it is asked. Invariant: only the wall
//! clock is faked. The monotonic one and the dates of files are the system's; who writes files sets
//! their dates by this clock. Refuses: to run without the library.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::dice::Dice;

const DAY_S: i64 = 86_400;
/// Where Debian's package `libfaketime` has its library, by machine.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// How far it may be off the machine's.
const OFF_MAX_S: i64 = 400 * DAY_S;

/// How far a date may be off that was taken a moment ago.
const NEAR_S: i64 = 20;

/// A clock that is set by a file.
#[derive(Debug)]
pub(super) struct FakedClock {
    file: PathBuf,
    library: PathBuf,
    /// Seconds that it is before the machine's.
    off_s: i64,
}

impl FakedClock {
    /// A clock that is right at first; its file is in `dir`.
    ///
    /// # Errors
    /// When the library is not installed.
    pub(super) fn new(dir: &Path) -> Result<Self> {
        let libraries = fs::read_dir("/usr/lib").context("list `/usr/lib`")?;
        let mut libraries = libraries.filter_map(|entry| Some(entry.ok()?.path().join(LIBRARY)));
        let library = libraries
            .find(|library| library.exists())
            .context("`faketime` is not installed; `cargo xtask setup --test` installs it")?;
        let clock = Self { file: dir.join("clock"), library, off_s: 0 };
        clock.write()?;
        Ok(clock)
    }

    /// What a process must have in its environment to see this clock.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![
            ("LD_PRELOAD", text(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", text(&self.file)),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
        ]
    }

    /// The time that it shows.
    pub(super) fn now(&self) -> SystemTime {
        shifted(SystemTime::now(), self.off_s)
    }

    /// Sets it back or forward, by hours or days, to just before midnight, or right again; says
    /// which.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn step(&mut self, dice: &mut Dice) -> Result<String> {
        let sign = if dice.chance(50) { 1 } else { -1 };
        let before_s = self.off_s;
        let words = match dice.below(10) {
            0..4 => {
                self.off_s += sign * (1 + dice.below(23) as i64) * 3600;
                "by hours"
            }
            4..6 => {
                self.off_s += sign * (1 + dice.below(90) as i64) * DAY_S;
                "by days"
            }
            6..8 => {
                self.off_s += sign * DAY_S + DAY_S - 2 - self.now_s() % DAY_S;
                "to two seconds before midnight"
            }
            8 => {
                self.off_s += sign * (60 + dice.below(600) as i64);
                "by minutes"
            }
            _ => {
                self.off_s = 0;
                "right"
            }
        };
        self.off_s = self.off_s.clamp(-OFF_MAX_S, OFF_MAX_S);
        self.write()?;
        Ok(format!("{words}: {:+} s", self.off_s - before_s))
    }

    /// Whether a date, in seconds since the Unix epoch, is what it shows, or showed a moment ago.
    pub(super) fn is_now(&self, date_s: i64) -> bool {
        (self.now_s() - date_s).abs() < NEAR_S
    }

    /// The time that it shows, in seconds since the Unix epoch.
    pub(super) fn now_s(&self) -> i64 {
        let now = self.now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |now| now.as_secs() as i64)
    }

    /// Gives a file that was written just now the date that it would have by this clock.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn date(&self, file: &File) -> Result<()> {
        Ok(file.set_modified(self.now())?)
    }

    /// Replaces the file, which is read at any moment.
    fn write(&self) -> Result<()> {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{:+}\n", self.off_s))?;
        Ok(fs::rename(new, &self.file)?)
    }
}

fn shifted(time: SystemTime, by_s: i64) -> SystemTime {
    let by = Duration::from_secs(by_s.unsigned_abs());
    if by_s < 0 { time - by } else { time + by }
}
