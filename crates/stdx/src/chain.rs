//! Prints an error with all of its sources on one line, separated by `: `.
//!
//! Invariant: each error of the chain is printed once, in order, and nothing is compared or
//! removed. So a text stands there twice if an error prints its own source, which ours must not do
//! (docs/STYLE.md).
//! Never here: where an error arose, and hints, which the binary's `hint.rs` splits off.

use std::error::Error;
use std::fmt;

/// Displays an error followed by its sources, separated by `: `.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
