//! Declares errors that end a command with an exit code of their own.
//!
//! `Exit` is for a command that has printed everything already; nothing more is printed. `Misuse`
//! is wrong usage that clap cannot see, exit code 2. `main.rs` finds both by their types, so a
//! caller may not wrap them as text.
//! Never here: `WrongConfig`, exit code 78, which is in `wrong_config.rs`.

use std::fmt;

/// An exit code; nothing more is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(pub u8);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Wrong usage that the parser of arguments cannot see: exit code 2.
#[derive(Debug)]
pub(crate) struct Misuse(pub anyhow::Error);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Misuse {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
