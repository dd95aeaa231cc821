//! Where a server is, as whom to connect, and how the connection is encrypted: plain data.
//!
//! Invariant: neither `Debug` nor `Display` shows a password.

use std::fmt;
use std::path::PathBuf;

/// PostgreSQL's own port.
pub(super) const PORT: u16 = 5432;

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

impl PgAddress {
    /// Returns the host, and the port where it is not PostgreSQL's own: which server it is.
    pub fn server(&self) -> String {
        match self.port {
            PORT => self.host.clone(),
            port if self.host.contains(':') => format!("[{}]:{port}", self.host),
            port => format!("{}:{port}", self.host),
        }
    }
}

impl fmt::Display for PgAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}
