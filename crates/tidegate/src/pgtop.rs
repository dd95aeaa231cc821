//! Runs `tidegate pgtop`: puts options and files together, and shows servers, a recording, or one
//! frame.
//!
//! The crate `pgtop` reads, counts and draws; here are its files, threads, terminal, HTTP and the
//! audit trail. Invariants: the command line wins over the configuration file, and that over the
//! environment. Data goes to stdout, notes to stderr. No password is printed, and none stays in
//! the list of processes (`pgtop/secrecy.rs`).
//! Never here: SQL, and what keys do.

mod alerts;
mod batch;
mod counts;
mod full_screen;
mod names;
mod password;
mod replay;
mod secrecy;
mod settings;
mod time;
mod trail;
mod watching;

use anyhow::Result;

use crate::cli::PgtopArgs;

/// Runs `tidegate pgtop`.
///
/// # Errors
/// When a setting is none, a server cannot be reached, or there is no terminal.
pub(crate) fn command(args: &PgtopArgs) -> Result<()> {
    let whole = secrecy::arguments(args)?;
    let args = whole.as_deref().unwrap_or(args);
    let settings = settings::read(args)?;
    settings::expect_sense(args, &settings)?;
    match args.output.replay {
        Some(_) => full_screen::replay(args, &settings),
        None if settings.is_batch => batch::run(&settings),
        None => full_screen::watch(args, settings),
    }
}
