//! Opens the files of a model's directory, and reads the keys of its JSON files.
//!
//! Invariants: no more than its bound is read of a file that is read whole; settings have 1 MiB.
//! What is no regular file is a problem, and opening never waits, as that of a fifo would.
//! Every problem names the file within the directory, and the key where there is one. It never
//! names the directory itself, which a fuzz target checks. A path in `modules.json` that leads
//! upwards or is absolute is refused. Symbolic links are followed, also out of the directory.
//! A missing file or key, and a key that is `null`, is `None` where the caller may do without, else
//! a problem. A missing flag is off.
//! What keys mean is in `settings.rs`. `open` has no bound: `embed/tensors.rs` checks what it
//! reads.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};
use stdx::plain_file;

use crate::error::Problem;

/// Bytes of a file of settings.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// A folder as its user names it, or one within it.
#[derive(Debug, Clone)]
pub(super) struct ModelDir {
    path: PathBuf,
    /// What stands before the name of a file: nothing, or `1_Pooling/`.
    within: String,
}

/// The keys of a JSON file that is one object.
#[derive(Debug)]
pub(super) struct JsonObject {
    file: String,
    values: Map<String, Value>,
}

impl ModelDir {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), within: String::new() }
    }

    /// Returns the folder that `path` names within this one.
    pub(super) fn within(&self, path: &str) -> Result<Self, Problem> {
        let trimmed = path.trim_end_matches('/');
        let parts = Path::new(trimmed).components();
        let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !parts.clone().all(stays) {
            return Err(Problem::new("modules.json", format!("`{path}` leads out of the folder")));
        }
        let kept: PathBuf = parts.filter(|part| matches!(part, Component::Normal(_))).collect();
        let within = match kept.as_os_str().is_empty() {
            true => self.within.clone(),
            false => format!("{}{}/", self.within, kept.display()),
        };
        Ok(Self { path: self.path.join(kept), within })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Returns the name of a file as problems give it.
    pub(super) fn name(&self, file: &str) -> String {
        format!("{}{file}", self.within)
    }

    /// Opens a file that must be there, and returns its length.
    pub(super) fn open(&self, file: &str) -> Result<(File, u64), Problem> {
        let found = self.open_if_there(file)?;
        found.ok_or_else(|| Problem::new(self.name(file), "is not in the folder"))
    }

    /// Reads a whole file, or `None` where there is none.
    pub(super) fn read(&self, file: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Problem> {
        let Some((opened, length)) = self.open_if_there(file)? else { return Ok(None) };
        if length > bytes_max {
            let reason = format!("is {length} bytes, at most {bytes_max} are read");
            return Err(Problem::new(self.name(file), reason));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let read = opened.take(bytes_max).read_to_end(&mut bytes);
        read.map_err(|error| Problem::new(self.name(file), error.to_string()))?;
        Ok(Some(bytes))
    }

    /// Reads the settings of a file, or `None` where there is none.
    pub(super) fn keys(&self, file: &str) -> Result<Option<JsonObject>, Problem> {
        let Some(value) = self.json(file)? else { return Ok(None) };
        match value {
            Value::Object(values) => Ok(Some(JsonObject { file: self.name(file), values })),
            _ => Err(Problem::new(self.name(file), "is no JSON object")),
        }
    }

    /// Reads a small JSON file, or `None` where there is none.
    pub(super) fn json(&self, file: &str) -> Result<Option<Value>, Problem> {
        let Some(bytes) = self.read(file, SETTINGS_BYTES_MAX)? else { return Ok(None) };
        let parsed = serde_json::from_slice(&bytes);
        parsed.map(Some).map_err(|error| Problem::new(self.name(file), error.to_string()))
    }

    fn open_if_there(&self, file: &str) -> Result<Option<(File, u64)>, Problem> {
        let problem = |error: std::io::Error| Problem::new(self.name(file), error.to_string());
        match plain_file::open(&self.path.join(file)) {
            Ok(opened) => {
                let length = opened.metadata().map_err(problem)?.len();
                Ok(Some((opened, length)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(problem(error)),
        }
    }
}

impl JsonObject {
    /// Returns a count that must be there.
    pub(super) fn count(&self, key: &str, range: RangeInclusive<usize>) -> Result<usize, Problem> {
        let found = self.count_if_there(key, range)?;
        found.ok_or_else(|| self.problem(key, "is missing"))
    }

    /// Returns a count, or `None` where the key is missing or null.
    pub(super) fn count_if_there(
        &self,
        key: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        match count.filter(|count| range.contains(count)) {
            Some(count) => Ok(Some(count)),
            None => {
                let (least, most) = (range.start(), range.end());
                let reason = format!("is {value}, must be a whole number from {least} to {most}");
                Err(self.problem(key, reason))
            }
        }
    }

    /// Returns a number, or `None` where the key is missing or null.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_f64();
        number.map(Some).ok_or_else(|| self.problem(key, format!("is {value}, must be a number")))
    }

    /// Returns a text, or `None` where the key is missing or null.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Problem> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = value.as_str();
        text.map(Some).ok_or_else(|| self.problem(key, format!("is {value}, must be a text")))
    }

    /// Returns a flag; a missing one is off.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Problem> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => Err(self.problem(key, format!("is {value}, must be true or false"))),
        }
    }

    /// Returns the keys that begin so.
    pub(super) fn beginning(&self, start: &str) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).filter(move |key| key.starts_with(start))
    }

    pub(super) fn problem(&self, key: &str, reason: impl Into<String>) -> Problem {
        Problem::new(format!("{}: `{key}`", self.file), reason)
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }
}
