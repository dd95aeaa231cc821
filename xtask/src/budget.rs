//! Holds the seconds of CPU that each package may cost a cold `cargo xtask ci`: `xtask/budget.txt`.
//!
//! It reads the budgets, adds up what was spent, and makes the table. CPU and not the clock: what
//! else the machine does is not a package's fault. A package without a line may cost one second to
//! compile and one to test. What it cost to compile is as it was compiled last.
//! Refuses: to fail. `ci.rs` does, and only with `--budget`. Elsewhere: measuring (`cpu.rs`,
//! `compile.rs`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::checkout::root;

const FILE: &str = "xtask/budget.txt";
/// What a package without a line may cost; so a new one wants a line soon.
const UNNAMED: Cost = Cost { compile: 1.0, test: 1.0 };

/// Seconds of CPU: to compile and lint all targets, and to run their tests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    compile: f64,
    test: f64,
}

/// What each package may cost.
#[derive(Debug)]
pub(crate) struct Budget(BTreeMap<String, Cost>);

/// What each package has cost.
#[derive(Debug, Default)]
pub(crate) struct Spent(BTreeMap<String, Cost>);

impl Budget {
    pub(crate) fn read() -> Result<Budget> {
        let text =
            fs::read_to_string(root().join(FILE)).with_context(|| format!("reading `{FILE}`"))?;
        parse(&text)
    }

    /// Returns the seconds that the package's tests may take.
    pub(crate) fn test_seconds(&self, package: &str) -> f64 {
        self.0.get(package).unwrap_or(&UNNAMED).test
    }
}

impl Spent {
    pub(crate) fn tested(&mut self, package: &str, seconds: f64) {
        self.0.entry(package.to_owned()).or_default().test += seconds;
    }

    /// Takes what packages cost when they were last compiled.
    pub(crate) fn compiled(&mut self, seconds: BTreeMap<String, f64>) {
        for (package, seconds) in seconds {
            self.0.entry(package).or_default().compile = seconds;
        }
    }

    /// Returns a table for a reader, and the packages that cost more than they may.
    pub(crate) fn against(&self, budget: &Budget) -> (String, Vec<String>) {
        let mut table = format!(
            "{:<26} {:>8} {:>7} {:>8} {:>7}   seconds of CPU, as last compiled and now tested\n",
            "package", "compile", "budget", "test", "budget"
        );
        let mut over = Vec::new();
        for (package, cost) in &self.0 {
            let line = budget.0.get(package);
            let may = line.copied().unwrap_or(UNNAMED);
            let is_over = cost.compile > may.compile || cost.test > may.test;
            if line.is_none() && !is_over {
                continue;
            }
            let Cost { compile, test } = cost;
            let mark = if is_over { "OVER" } else { "" };
            let row = format!(
                "{package:<26} {compile:>8.1} {:>7.0} {test:>8.1} {:>7.0}   {mark}",
                may.compile, may.test
            );
            let _ = writeln!(table, "{}", row.trim_end());
            if is_over {
                over.push(package.clone());
            }
        }
        let whole = |of: fn(&Cost) -> f64| self.0.values().map(of).sum::<f64>();
        let (compile, test) = (whole(|cost| cost.compile), whole(|cost| cost.test));
        let _ = writeln!(table, "{:<26} {compile:>8.1} {:>7} {test:>8.1}", "all", "");
        (table, over)
    }
}

/// Reads lines of a package, its seconds to compile, and its seconds to test.
fn parse(text: &str) -> Result<Budget> {
    let mut budget = BTreeMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        ensure!(words.len() == 3, "{FILE}: `{line}` is not a package and two numbers");
        let number = |word: &str| {
            word.parse::<f64>().with_context(|| format!("{FILE}: `{word}` is no number"))
        };
        let cost = Cost { compile: number(words[1])?, test: number(words[2])? };
        let earlier = budget.insert(words[0].to_owned(), cost);
        ensure!(earlier.is_none(), "{FILE}: `{}` has two lines", words[0]);
    }
    Ok(Budget(budget))
}

#[cfg(test)]
mod tests;
