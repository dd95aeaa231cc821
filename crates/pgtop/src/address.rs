//! Says where a server is, and as whom to connect: from options, a configuration file, libpq's
//! environment and service files, and pgtop's defaults.
//!
//! Each setting comes from the first that has it: the command line, the service that it names, the
//! configuration file, `PG*` of the environment, the service of `PGSERVICE`, pgtop's defaults. The
//! password comes last from `.pgpass`. Files read as libpq's documentation has them ("The Password
//! File", "The Connection Service File").
//! Invariant: a password appears in no error, no `Debug` and no name of a server.
//! Refuses: the environment itself, which the caller looks up; client certificates, Kerberos.

mod files;
mod settings;

use std::fmt;
use std::path::PathBuf;

pub use files::FileError;
pub use settings::ConnectionSettings;

/// How the connection is encrypted (libpq's `sslmode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PgEncryption {
    /// Not at all.
    Disable,
    /// Where the server can. `allow` counts as this.
    #[default]
    Prefer,
    /// Always, whoever answers.
    Require,
    /// Always, by a server with a certificate for its name. `verify-ca` counts as this.
    VerifyFull,
}

/// A password, which nothing prints.
#[derive(Clone, PartialEq, Eq)]
pub struct PgPassword(pub(crate) String);

impl fmt::Debug for PgPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PgPassword(…)")
    }
}

/// Where a server is, and as whom to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgAddress {
    /// A name, an address, or the directory of a socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// What the role proves itself with.
    pub password: Option<PgPassword>,
    /// How it is encrypted.
    pub encryption: PgEncryption,
    /// A file of authorities for certificates.
    pub root_certificates: Option<PathBuf>,
}

impl fmt::Display for PgAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}

/// Why there is no address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// A setting is none: mend it.
    #[error("`{text}` is no {wanted}")]
    Value {
        /// As it was written.
        text: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A file cannot be read: mend it.
    #[error(transparent)]
    File(#[from] FileError),
    /// No file defines the service: name another.
    #[error("no service file defines `{0}`")]
    NoService(String),
}

#[cfg(test)]
mod tests;
