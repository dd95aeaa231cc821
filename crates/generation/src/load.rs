//! Declares `Load`, what a loader offers: cheap checks on loading, and an optional full check
//! behind.
//!
//! `Failure` is any error, and `Stop` asks a full check to end early. A closure from a path is a
//! loader without a full check; those of `serving` are closures.
//! Implementers owe: a value from `load` can be used at once; `load` returns within a second;
//! `verify` ends soon after `Stop` is asked. Nothing here enforces it; `watched.rs` only catches
//! their panics. An error of `verify` after `Stop` counts for nothing. The text of a failure is
//! shown on the status page, and to clients in the index of models. `tidegate/src/admin.rs` puts
//! the path before a text that lacks it in backticks.
//! Never here: when a file is loaded, and what a failure does; `watched.rs` decides both.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a file was refused; the type is the loader's own.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Builds a value from a file.
///
/// A closure `Fn(&Path) -> Result<T, E>` is a loader without a full check.
pub trait Load<T>: Send + Sync {
    /// Returns the value of the file at `path`, checked well enough to be put to use; `last` is
    /// the value in use, to compare with.
    ///
    /// Runs on the polling thread: a second spent here delays every other watched file.
    ///
    /// # Errors
    /// Whatever makes the file unfit; the value in use then stays.
    fn load(&self, path: &Path, last: Option<&T>) -> Result<T, Failure>;

    /// Checks in full a value that is already in use, on a thread of its own, and may complete it
    /// behind interior mutability. Ought to return soon, with any result, once `stop` is asked.
    ///
    /// # Errors
    /// Whatever makes the value unfit; the last one that passed then comes back.
    fn verify(&self, _value: &T, _stop: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}

impl<T, E, F> Load<T> for F
where
    F: Fn(&Path) -> Result<T, E> + Send + Sync,
    E: Into<Failure>,
{
    fn load(&self, path: &Path, _last: Option<&T>) -> Result<T, Failure> {
        self(path).map_err(Into::into)
    }
}

/// Asks work that runs behind to end early.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end; cannot be taken back.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether the end has been asked for.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
