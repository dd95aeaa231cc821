//! Writes and reads the position of files as text: JSON, one entry for each log that may go on, one
//! string for each that rests.
//!
//! Invariant: reading gives back how far each log that was begun is read, and from which file. A
//! log that rests takes one short string, without its name and with its first points only. So the
//! text grows with the
//! files that are there, not with what was read; docs/operating/events.md says how large it gets.
//! A log stands there only as long as a file with its content is there, which `scan` sees to. A
//! mark that cannot be read makes the whole position an error. Sinks hold texts of older versions,
//! which must stay readable. `ranged` puts the text into its own.

use serde::{Deserialize, Serialize};
use stdx::FileIdentity;

use super::log::{Log, LogFile};
use super::mark::Mark;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    /// Logs that may go on.
    logs: Vec<ActiveLog>,
    /// Logs that were read to their end, as `mark`, `mark|packed` or `mark|packed|file`. What is
    /// not known is empty; older versions wrote no `file`, and pass over it.
    done: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ActiveLog {
    /// Its last path, for messages and to notice a rename.
    name: String,
    mark: String,
    /// How long it was known to be; absent: read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<u64>,
    /// Device, inode and birth time: hints.
    file: [u64; 3],
}

impl Position {
    /// The position of these logs, each with whether its file is open.
    pub(super) fn of<'l>(logs: impl Iterator<Item = (&'l Log, bool)>) -> Self {
        let mut position = Self::default();
        for (log, is_open) in logs.filter(|(log, _)| log.mark.offset > 0) {
            match log.file.hint {
                Some(hint) if log.is_active(is_open) => position.logs.push(ActiveLog {
                    name: log.file.name.clone(),
                    mark: log.mark.to_text(true),
                    seen: (log.seen > log.mark.offset).then_some(log.seen),
                    file: [hint.device, hint.inode, hint.created_us],
                }),
                _ => {
                    let mark = log.mark.to_text(false);
                    let packed = log.packed.map(|(len, hash)| format!("{len:x}.{hash:x}"));
                    let packed = packed.unwrap_or_default();
                    position.done.push(match log.file.hint {
                        Some(FileIdentity { device, inode, created_us }) => {
                            format!("{mark}|{packed}|{device:x}.{inode:x}.{created_us:x}")
                        }
                        None => format!("{mark}|{packed}"),
                    });
                }
            }
        }
        position
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are JSON")
    }

    /// Reads what [`Position::to_text`] wrote.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The logs it speaks of.
    ///
    /// # Errors
    /// Which mark makes no sense.
    pub(super) fn logs(self) -> Result<Vec<Log>, String> {
        let mut logs = Vec::with_capacity(self.logs.len() + self.done.len());
        for active in self.logs {
            let mark = mark(&active.mark)?;
            let [device, inode, created_us] = active.file;
            let seen = active.seen.unwrap_or(mark.offset);
            let hint = Some(FileIdentity { device, inode, created_us });
            let log = Log::new(mark);
            let file = LogFile { name: active.name, hint, ..log.file };
            logs.push(Log { seen, file, ..log });
        }
        for text in self.done {
            let mut parts = text.split('|');
            let log = Log::new(mark(parts.next().unwrap_or_default())?);
            let packed = match *numbers(parts.next()) {
                [len, hash] => Some((len, hash)),
                _ => None,
            };
            let hint = match *numbers(parts.next()) {
                [device, inode, created_us] => Some(FileIdentity { device, inode, created_us }),
                _ => None,
            };
            logs.push(Log { packed, file: LogFile { hint, ..log.file }, ..log });
        }
        Ok(logs)
    }
}

/// The hexadecimal numbers of a part of a text; none where it is no such part.
fn numbers(part: Option<&str>) -> Vec<u64> {
    let numbers = part.unwrap_or_default().split('.').map(|part| u64::from_str_radix(part, 16));
    numbers.collect::<Result<_, _>>().unwrap_or_default()
}

fn mark(text: &str) -> Result<Mark, String> {
    Mark::from_text(text).ok_or_else(|| format!("`{text}` is no mark"))
}
