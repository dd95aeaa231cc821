//! Asks for a password on the terminal, without showing it.
//!
//! Invariant: the terminal shows again what is typed, however this ends.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Shows again what is typed, when dropped.
struct Echo<'t>(&'t File, Termios);

impl Drop for Echo<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing undone.
        let _ = tcsetattr(self.0, OptionalActions::Now, &self.1);
    }
}

/// Asks for a password.
///
/// # Errors
/// When there is no terminal.
pub(super) fn ask() -> Result<String> {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    let terminal = terminal.context("ask for the password: there is no terminal")?;
    let modes = tcgetattr(&terminal).context("ask for the password")?;
    let mut silent = modes.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let echo = Echo(&terminal, modes);
    tcsetattr(&terminal, OptionalActions::Flush, &silent).context("ask for the password")?;
    (&terminal).write_all(b"Password: ").context("ask for the password")?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line).context("ask for the password")?;
    drop(echo);
    (&terminal).write_all(b"\n").context("ask for the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
