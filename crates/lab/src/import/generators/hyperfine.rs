//! Reads hyperfine's JSON (`--export-json`), which `lab bench` writes, too: the times of the first
//! two commands.
//!
//! One command is a series; of several the first two are compared as two samples, and a note says
//! so from three on. Exit codes and peak memory are attributes: a run that failed is a row like
//! others.
//! Failure: a file without commands is an error, and so is one of the first two without times.
//! Commands are measured in `command.rs`. The fields read here are fields of `BenchResult`
//! (`command/outcome.rs`), under the same names.

use serde::Deserialize;
use verdicts::Series;

use super::super::options::ReadOptions;
use super::super::rows::{CallRow, SeriesBuilder};
use crate::error::LabError;

#[derive(Debug, Deserialize)]
struct Results {
    results: Vec<Benchmark>,
}

#[derive(Debug, Deserialize)]
struct Benchmark {
    command: String,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    memory_usage_byte: Vec<u64>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

/// Reads the commands.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<Vec<Series>, LabError> {
    let file = |reason: String| LabError::File { file: name.to_owned(), reason };
    let found: Results = serde_json::from_slice(bytes)
        .map_err(|error| file(format!("hyperfine's JSON: {error}")))?;
    let count = found.results.len();
    let mut all = Vec::new();
    for benchmark in found.results.into_iter().take(2) {
        if benchmark.times.is_empty() {
            return Err(file(format!("`{}` has no times", benchmark.command)));
        }
        let mut rows = SeriesBuilder::new(name, options);
        for (at, second) in benchmark.times.iter().enumerate() {
            let code = benchmark.exit_codes.get(at).copied().flatten();
            let code = code.map_or(String::new(), |code| code.to_string());
            let peak = benchmark.memory_usage_byte.get(at);
            let peak = peak.map_or(String::new(), u64::to_string);
            let attributes = vec![("exit code", code.as_str()), ("peak memory", peak.as_str())];
            let row = CallRow { total_ms: second * 1e3, attributes, ..CallRow::default() };
            rows.push(&row, at as u64 + 1)?;
        }
        if count > 2 {
            rows.note(format!("the file has {count} commands; the first two are compared"));
        }
        all.push(Series { name: benchmark.command, ..rows.into_series()? });
    }
    match all.is_empty() {
        true => Err(file("no command".to_owned())),
        false => Ok(all),
    }
}
