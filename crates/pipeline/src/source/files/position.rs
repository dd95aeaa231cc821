//! The position of files as text: JSON, one entry for each log that may go on.
//!
//! Logs that were read to their end and rest take one short string each, and only as long as a
//! file with their content is there; so the text stays small however long the source runs.

use serde::{Deserialize, Serialize};
use stdx::FileIdentity;

use super::logs::Log;
use super::mark::Mark;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    /// Logs that may go on.
    logs: Vec<Active>,
    /// Logs that were read to their end, as `mark` or `mark|packed`.
    done: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Active {
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
    pub(super) fn of<'l>(logs: impl Iterator<Item = &'l Log>) -> Self {
        let mut position = Self::default();
        for log in logs.filter(|log| log.mark.offset > 0) {
            match log.hint {
                Some(hint) if log.is_active() => position.logs.push(Active {
                    name: log.name.clone(),
                    mark: log.mark.to_text(true),
                    seen: (log.seen > log.mark.offset).then_some(log.seen),
                    file: [hint.device, hint.inode, hint.created_us],
                }),
                _ => {
                    let mark = log.mark.to_text(false);
                    position.done.push(match log.packed {
                        Some((len, hash)) => format!("{mark}|{len:x}.{hash:x}"),
                        None => mark,
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

    /// The logs it speaks of, as far as they make sense.
    pub(super) fn logs(self) -> Result<Vec<Log>, String> {
        let mut logs = Vec::with_capacity(self.logs.len() + self.done.len());
        for active in self.logs {
            let mark = mark(&active.mark)?;
            let [device, inode, created_us] = active.file;
            let seen = active.seen.unwrap_or(mark.offset);
            let hint = Some(FileIdentity { device, inode, created_us });
            logs.push(Log { name: active.name, seen, hint, ..Log::new(mark) });
        }
        for text in self.done {
            let (text, packed) = text.split_once('|').unwrap_or((&text, ""));
            let hex = |part| u64::from_str_radix(part, 16).ok();
            let packed =
                packed.split_once('.').and_then(|(len, hash)| Some((hex(len)?, hex(hash)?)));
            logs.push(Log { packed, ..Log::new(mark(text)?) });
        }
        Ok(logs)
    }
}

fn mark(text: &str) -> Result<Mark, String> {
    Mark::from_text(text).ok_or_else(|| format!("`{text}` is no mark"))
}
