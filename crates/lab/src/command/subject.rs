//! Holds a command to benchmark, with what is run around it: setup, preparation, conclusion,
//! cleanup.
//!
//! Plain data. The binary puts parameters into the programs; here they are only named, for results.

use super::parameters::ParameterValues;
use super::program::{CommandOutput, Program};

/// A command to benchmark.
#[derive(Debug, Clone)]
pub struct Subject {
    /// What it is called in results.
    pub name: String,
    /// What is run.
    pub program: Program,
    /// The parameters that were put into it.
    pub parameters: ParameterValues,
    /// Run once before its runs.
    pub setup: Option<Program>,
    /// Run before each run.
    pub prepare: Option<Program>,
    /// Run after each run.
    pub conclude: Option<Program>,
    /// Run once after its runs.
    pub cleanup: Option<Program>,
    /// Where its output goes.
    pub output: CommandOutput,
}
