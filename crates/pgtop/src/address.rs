//! Says where a server is, and as whom to connect: from options, a configuration file, libpq's
//! environment and service files, and pgtop's defaults.
//!
//! Each setting comes from the first that has it: the command line, the service that it names, the
//! configuration file, `PG*` of the environment. Then come the service of `PGSERVICE` and pgtop's
//! defaults. The password comes last from `.pgpass`. Files read as libpq's documentation has them
//! ("The Password File", "The Connection Service File").
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
