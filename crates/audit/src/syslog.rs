//! Writes each entry to syslog, too, as an independent witness: facility `auth`, severity `info`.
//!
//! A datagram reads:
//! `<38>Mar 30 10:48:05 tidegate: Running purge url=/x by 127.0.0.1: done [audit 17 3fa9c01b22de]`.
//! Behind `audit` are the number of the entry and the first 12 digits of its hash.
//! `tidegate: Running COMMAND` is a form that scripts know. Invariants: one line, with what
//! does not print as escapes. The end in brackets is never cut. The command is cut at 1,000 bytes,
//! who did it and the result at 400 each. So the whole is at most [`BYTES_MAX`]: RFC 3164 allows
//! 1,024, and syslog servers take 8 KB. Where none listens, or it takes nothing for a second, that
//! is said once.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stdx::calendar::{CivilDate, TimeOfDay, civil_from_days};

use crate::entry::cut;

/// `auth` (4) times 8, and `info` (6).
const PRIORITY: u8 = 38;
/// Bytes of a datagram.
pub(crate) const BYTES_MAX: usize = 2000;
const COMMAND_BYTES_MAX: usize = 1000;
const WHO_BYTES_MAX: usize = 400;
const RESULT_BYTES_MAX: usize = 400;
/// Digits of a hash in a witness.
pub(crate) const WITNESS_DIGITS: usize = 12;
const SEND_TIMEOUT: Duration = Duration::from_secs(1);
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What a line says.
#[derive(Debug)]
pub(crate) struct SyslogEntry<'a> {
    /// The action and what it is done to.
    pub command: &'a str,
    /// Who does it.
    pub who: &'a str,
    /// The result, once there is one.
    pub result: Option<&'a str>,
    /// Number and hash of the entry; nothing where it could not be written.
    pub written: Option<(u64, &'a str)>,
}

/// A socket of syslog.
#[derive(Debug)]
pub(crate) struct Syslog {
    path: PathBuf,
    is_failure_reported: AtomicBool,
}

impl Syslog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, is_failure_reported: AtomicBool::new(false) }
    }

    /// Sends a line, unless nobody listens.
    pub(crate) fn send(&self, entry: &SyslogEntry<'_>, micros: u64) {
        let seconds = (micros / 1_000_000) as i64;
        let text = line(entry, stdx::local_time(seconds).unwrap_or_else(|| utc(seconds)));
        match send(&self.path, text.as_bytes()) {
            Ok(()) => self.is_failure_reported.store(false, Ordering::Relaxed),
            Err(error) if !self.is_failure_reported.swap(true, Ordering::Relaxed) => {
                let socket = self.path.display();
                match error.kind() {
                    io::ErrorKind::NotFound => {
                        tracing::info!(target: "audit", %socket, "no syslog listens");
                    }
                    _ => {
                        tracing::warn!(target: "audit", %socket, %error, "syslog takes no entries")
                    }
                }
            }
            Err(_) => {}
        }
    }
}

fn send(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // For each line anew: a syslog that was restarted has another socket there.
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    socket.send_to(bytes, path).map(drop)
}

/// Returns the datagram.
pub(crate) fn line(entry: &SyslogEntry<'_>, (date, time): (CivilDate, TimeOfDay)) -> String {
    let month = MONTHS[(date.month as usize).clamp(1, MONTHS.len()) - 1];
    let TimeOfDay { hour, minute, second } = time;
    let begin =
        format!("<{PRIORITY}>{month} {:>2} {hour:02}:{minute:02}:{second:02} tidegate: ", date.day);
    let end = match entry.written {
        Some((number, hash)) => format!(" [audit {number} {}]", &hash[..WITNESS_DIGITS]),
        None => " [audit not written]".to_owned(),
    };
    let mut text = format!("Running {}", cut(&escaped(entry.command), COMMAND_BYTES_MAX));
    text += &format!(" by {}", cut(&escaped(entry.who), WHO_BYTES_MAX));
    if let Some(result) = entry.result {
        text += &format!(": {}", cut(&escaped(result), RESULT_BYTES_MAX));
    }
    let line = begin + &text + &end;
    debug_assert!(line.len() <= BYTES_MAX, "each part is bounded");
    line
}

/// Text with what does not print as escapes, such as `\n` and `\u{202e}`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '\'' | '"' => out.push(letter),
            _ => out.extend(letter.escape_debug()),
        }
    }
    out
}

/// Where the machine knows no time of its own.
fn utc(seconds: i64) -> (CivilDate, TimeOfDay) {
    let of_day = seconds.rem_euclid(86_400) as u32;
    let time = TimeOfDay { hour: of_day / 3600, minute: of_day / 60 % 60, second: of_day % 60 };
    (civil_from_days(seconds.div_euclid(86_400)), time)
}

#[cfg(test)]
mod tests;
