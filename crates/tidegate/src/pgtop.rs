//! Runs `tidegate pgtop`: puts options and files together, and shows servers, a recording, or one
//! frame.
//!
//! The crate `pgtop` reads, counts and draws; here are its files, threads, terminal, HTTP and the
//! audit trail. Invariants: the command line wins over the configuration file, and that over the
//! environment. Data goes to stdout, notes to stderr. No password is printed, and none stays in
//! the list of processes (`pgtop/password.rs`).
//! Never here: SQL, and what keys do.

mod batch;
mod password;
mod settings;

use anyhow::Result;

use crate::cli::PgtopArgs;

/// Runs `tidegate pgtop`.
///
/// # Errors
/// When a setting is none, a server cannot be reached, or there is no terminal.
pub(crate) fn command(args: &PgtopArgs) -> Result<()> {
    let settings = settings::read(args)?;
    batch::run(&settings)
}

/// The time of day on this machine, such as `14:05:09`.
fn time_of_day(time_us: i64) -> String {
    let Some((_, time)) = stdx::local_time(time_us.div_euclid(1_000_000)) else {
        return "-".to_owned();
    };
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}
