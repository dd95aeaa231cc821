//! Reads libpq's files: `.pgpass`, and service files.
//!
//! Invariant: a password file that others may read is not believed, as in libpq, and nothing of it
//! is repeated in an error. A service file is that of `PGSERVICEFILE`, else `~/.pg_service.conf`,
//! then `pg_service.conf` of `PGSYSCONFDIR`.
//! Refuses: services that point to LDAP.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use stdx::plain_file;

use super::place::PgAddress;

/// The longest file that is read.
const BYTES_MAX: u64 = 1 << 20;
/// Where Debian has the system's service file.
const SYSTEM_DIR: &str = "/etc/postgresql-common";

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is not there, or not readable.
    #[error("read `{file}`")]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line is none of such a file.
    #[error("`{file}:{line}`: expected {wanted}")]
    Line {
        /// Which file.
        file: PathBuf,
        /// The number of the line, from 1 on.
        line: usize,
        /// What belongs there.
        wanted: &'static str,
    },
}

/// The password that a file has for an address; nothing where there is none.
pub(super) fn password_of(file: &Path, address: &PgAddress) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    // libpq passes over a file that is open to others, too.
    if !about.is_file() || about.permissions().mode() & 0o077 != 0 {
        return None;
    }
    let text = plain_file::read_text(file, BYTES_MAX).ok()?;
    let port = address.port.to_string();
    // A socket's directory stands there as `localhost`.
    let host = if address.host.starts_with('/') { "localhost" } else { &address.host };
    let wanted = [host, &port, &address.database, &address.user];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields = fields_of(line);
        let [keys @ .., password] = &fields[..] else { continue };
        let is_it = keys.len() == wanted.len()
            && keys.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        if is_it {
            return Some(password.clone());
        }
    }
    None
}

/// At most five fields between `:`; `\` escapes `:` and itself.
fn fields_of(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => field.extend(characters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

/// The settings of a service; nothing where no file defines it.
pub(super) fn service_of(
    name: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<BTreeMap<String, String>>, FileError> {
    let file = variable("PGSERVICEFILE").map(PathBuf::from);
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".pg_service.conf"));
    let system = variable("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_DIR.to_owned());
    let system = PathBuf::from(system).join("pg_service.conf");
    for file in file.or(home).into_iter().chain([system]) {
        let text = match plain_file::read_text(&file, BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            read => read.map_err(|source| FileError::Unreadable { file: file.clone(), source })?,
        };
        if let Some(found) = section(&file, &text, name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn section(
    file: &Path,
    text: &str,
    name: &str,
) -> Result<Option<BTreeMap<String, String>>, FileError> {
    let mut found = None;
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            // The first section of a name counts.
            is_inside = title == name && found.is_none();
            if is_inside {
                found = Some(BTreeMap::new());
            }
        } else if is_inside {
            let wanted = "NAME=VALUE";
            let wrong = || FileError::Line { file: file.to_owned(), line: at + 1, wanted };
            let (key, value) = line.split_once('=').ok_or_else(wrong)?;
            let settings = found.as_mut().expect("it is made with the section");
            settings.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    Ok(found)
}
