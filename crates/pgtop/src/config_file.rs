//! Reads pgtop's configuration file: `key = value` lines, `#` comments.
//!
//! Keys are pgtop's, in upper or lower case. All that is wrong comes out at once, each with its
//! file and line. A key of mytop that means nothing here is named, and passed over.
//! Invariant: the value of `pass` is in no error.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::address::ConnectionSettings;
use crate::filter::FieldMatch;
use crate::view::PgView;

/// What the seconds between two frames can be.
const DELAYS_S: RangeInclusive<f64> = 0.2..=86_400.0;

/// Known to pgtop or mytop, and without a meaning here.
const PASSED_OVER: [&str; 4] = ["long_nums", "resolve", "long", "slow"];

/// What a file sets.
#[derive(Clone, Default)]
pub struct TopConfig {
    /// How to connect.
    pub connection: ConnectionSettings,
    /// Seconds between two frames.
    pub delay_s: Option<f64>,
    /// Whether one frame is printed.
    pub is_batch: Option<bool>,
    /// Whether the header is shown.
    pub has_header: Option<bool>,
    /// Whether colours are used.
    pub has_colour: Option<bool>,
    /// Whether idle sessions are shown.
    pub shows_idle: Option<bool>,
    /// Whether a password is asked for.
    pub asks_password: Option<bool>,
    /// The view to begin with.
    pub view: Option<PgView>,
    /// Whether the least comes first.
    pub ascends: Option<bool>,
    /// Seconds from which a query is slow.
    pub slow_threshold_s: Option<f64>,
    /// Where alerts are posted.
    pub webhook: Option<String>,
    /// Filters by user, database and host.
    pub filters: [Option<FieldMatch>; 3],
    /// What was passed over, each with its place.
    pub notes: Vec<String>,
    socket: Option<PathBuf>,
}

/// Lines that are wrong: mend them.
#[derive(Debug, thiserror::Error)]
pub struct ConfigLines(pub Vec<String>);

impl fmt::Display for ConfigLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl TopConfig {
    /// Reads a file's text.
    ///
    /// # Errors
    /// All lines that are wrong.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigLines> {
        let mut config = Self::default();
        let mut wrong = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let place = format!("{}:{}", file.display(), at + 1);
            let taken = match pair(line) {
                Some((key, value)) => config.take((&key, value), &place),
                None => Err("expected `key = value`".to_owned()),
            };
            if let Err(reason) = taken {
                wrong.push(format!("{place}: {reason}"));
            }
        }
        // The port in a socket's name is the one that counts.
        config.socket.take().iter().for_each(|socket| config.connection.set_socket(socket));
        if wrong.is_empty() { Ok(config) } else { Err(ConfigLines(wrong)) }
    }

    /// Returns where the file is, if none was named: `.pgtop` in `home`, else `.mytop`.
    pub fn usual_file(home: &Path) -> Option<PathBuf> {
        [".pgtop", ".mytop"].into_iter().map(|name| home.join(name)).find(|file| file.is_file())
    }

    fn take(&mut self, (key, value): (&str, &str), place: &str) -> Result<(), String> {
        if value.is_empty() {
            return Ok(());
        }
        let owned = || Some(value.to_owned());
        let seconds = || match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => Err(format!("`{key}` is a number of seconds, not `{value}`")),
        };
        let switch = || match value {
            "1" | "yes" | "on" | "true" => Ok(Some(true)),
            "0" | "no" | "off" | "false" => Ok(Some(false)),
            _ => Err(format!("`{key}` is 0 or 1, not `{value}`")),
        };
        let filter =
            || FieldMatch::parse(value).map_err(|error| format!("`{key}`: `{value}`: {error}"));
        match key {
            "host" => self.connection.set_host(value),
            "db" => self.connection.set("dbname", owned()),
            "user" => self.connection.set("user", owned()),
            "pass" => self.connection.set("password", owned()),
            "port" => match value.parse::<u16>() {
                Ok(1..) => self.connection.set("port", owned()),
                _ => return Err("`port` is 1 to 65535".to_owned()),
            },
            "socket" => self.socket = Some(PathBuf::from(value)),
            "delay" => self.delay_s = Some(delay_s(value)?),
            "slow_threshold" => self.slow_threshold_s = seconds()?,
            "batchmode" => self.is_batch = switch()?,
            "header" => self.has_header = switch()?,
            "color" => self.has_colour = switch()?,
            "idle" => self.shows_idle = switch()?,
            "prompt" => self.asks_password = switch()?,
            "sort" => self.ascends = switch()?,
            "mode" => match PgView::named(value) {
                Some(view) => self.view = Some(view),
                None => return Err(format!("`mode` is {}, not `{value}`", PgView::names())),
            },
            "slack_webhook" => self.webhook = owned(),
            "filter_user" => self.filters[0] = filter()?,
            "filter_db" => self.filters[1] = filter()?,
            "filter_host" => self.filters[2] = filter()?,
            known if PASSED_OVER.contains(&known) => {
                self.notes.push(format!("{place}: `{known}` has no effect"));
            }
            unknown => self.notes.push(format!("{place}: `{unknown}` is unknown; passed over")),
        }
        Ok(())
    }
}

/// Reads the seconds between two frames, wherever they come from.
///
/// # Errors
/// When it is no number, too small or too large.
pub fn delay_s(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|seconds| DELAYS_S.contains(seconds)).ok_or_else(|| {
        let (least, most) = DELAYS_S.into_inner();
        format!("a delay is {least} to {most} seconds, not `{text}`")
    })
}

/// The word before `=` and the first one after it, as pgtop reads them; an empty value sets
/// nothing.
fn pair(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.split_whitespace().next_back()?;
    let value = value.split_whitespace().next().unwrap_or_default();
    Some((key.to_lowercase(), value))
}

#[cfg(test)]
mod tests;
