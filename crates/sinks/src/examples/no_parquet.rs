//! Stands in for `examples/parquet.rs` in a build without drivers: `new` always fails.
//!
//! Its methods have the signatures of the real ones, so callers compile with either build.

use std::convert::Infallible;
use std::io::{self, Write};
use std::marker::PhantomData;

use training::Example;

use crate::DriverLeftOut;

/// A file that this build cannot write.
pub struct ParquetExamples<W> {
    never: Infallible,
    out: PhantomData<W>,
}

impl<W: Write + Send> ParquetExamples<W> {
    /// Says that this build leaves out the driver.
    ///
    /// # Errors
    /// Always.
    pub fn new(_out: W) -> io::Result<Self> {
        Err(io::Error::other(DriverLeftOut { engine: "Parquet" }))
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn add(&mut self, _example: &Example<'_>) -> io::Result<()> {
        match self.never {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn finish(self) -> io::Result<()> {
        match self.never {}
    }
}
