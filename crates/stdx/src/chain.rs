//! Prints an error with its sources on one line.
//!
//! Invariant: each source stands there once, because no error of ours prints its own source.
//! Refuses: to say where an error arose.

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
