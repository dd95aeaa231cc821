//! Holds that a function takes at most five values beside `self`, counted through tuples.
//!
//! A tuple counts its elements, for its values can be swapped as parameters can. The functions of
//! an `impl Trait for` are the trait's. Closures and tests do not count. Limits stand in the
//! ratchet under `arity`: how many functions of a crate take more.

use crate::crates::Crate;
use crate::finding::Finding;
use crate::ratchet::Ratchet;

const ARITY_MAX: usize = 5;

/// A function that takes more.
#[derive(Debug)]
pub(crate) struct Wide<'a> {
    pub file: &'a str,
    /// Counts from 0.
    pub line: usize,
    pub name: &'a str,
    pub arity: usize,
}

pub(super) fn check(crates: &[Crate], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for of in crates {
        let wide = measure(of);
        if wide.is_empty() {
            continue;
        }
        let limit = ratchet.measure(&format!("arity {}", of.name), wide.len()).unwrap_or(0);
        if wide.len() > limit {
            let counts = format!("{} such functions in `{}`, limit {limit}", wide.len(), of.name);
            findings.extend(wide.iter().map(|function| found(function, &counts)));
        }
    }
    findings
}

fn found(function: &Wide, counts: &str) -> Finding {
    let Wide { file, line, name, arity } = function;
    let what = format!("`{name}` takes {arity} values, at most {ARITY_MAX} ({counts})");
    let mend = "name what belongs together: a struct with a meaning of its own";
    Finding::at(file, *line, what, mend)
}

/// Returns the functions of the crate that take too much.
pub(crate) fn measure<'a>(of: &'a Crate) -> Vec<Wide<'a>> {
    let all = of.modules.values().flat_map(|placed| {
        placed.module.functions.iter().map(|function| Wide {
            file: placed.file,
            line: function.line,
            name: &function.name,
            arity: function.arity,
        })
    });
    all.filter(|function| function.arity > ARITY_MAX).collect()
}

#[cfg(test)]
mod tests;
