//! Says where a server is, and as whom to connect: from options, a configuration file, libpq's
//! environment and service files, and pgtop's defaults.
//!
//! Each setting comes from the first that has it. First is the command line, then the service that
//! it names. Then come the configuration file, the service of `PGSERVICE`, the environment, and
//! pgtop's defaults. A service wins over single variables, as in libpq ("The Connection Service
//! File"). The password comes last from `.pgpass` ("The Password File").
//! Invariant: a password appears in no error, no `Debug` and no name of a server.
//! Refuses: the environment itself, which the caller looks up; client certificates, Kerberos.

mod files;
mod place;
mod settings;

pub use files::FileError;
pub(crate) use place::PgEncryption;
pub use place::{PgAddress, PgPassword};
pub use settings::{AddressError, ConnectionSettings};

#[cfg(test)]
mod tests;
