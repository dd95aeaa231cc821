//! Prints what the code measures, crate by crate, for newcomers and reports.
//!
//! The measures are those of the rules that count for a crate, whether they are within their limits
//! or not. Sizes, cones and the wall clock are not among them.
//! The table comes first. For crates and documents that are named, what they would have to mend
//! follows each row. The lists and the table are made of the same mentions, so they agree. A name
//! of neither is an error.

mod columns;
mod mentions;

use std::fmt::Write;

use anyhow::{Result, ensure};

use crate::crates;
use crate::tree::Tree;
use mentions::{Column, row_of};

/// Returns the table, with the lists of the crates and documents that are `chosen`.
pub(crate) fn run(tree: &Tree, chosen: &[&str]) -> Result<String> {
    let crates = crates::of(&tree.graph, &tree.sources);
    let columns = columns::of(tree, &crates)?;
    let mut rows: Vec<&str> = crates.iter().map(|of| of.name.as_str()).collect();
    for row in columns.iter().flat_map(Column::rows) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let chosen: Vec<&str> = chosen.iter().map(|name| row_of(name)).collect();
    for name in &chosen {
        ensure!(rows.contains(name), "`{name}` is no crate, and no document with findings");
    }
    rows.retain(|row| chosen.is_empty() || chosen.contains(row));
    let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut text = head(width, &columns);
    for row in rows {
        write!(text, "{row:<width$}")?;
        for column in &columns {
            write!(text, "  {:>1$}", column.sum(row), column.name.len())?;
        }
        text.push('\n');
        if !chosen.is_empty() {
            list(&mut text, row, &columns)?;
        }
    }
    for Column { name, meaning, .. } in &columns {
        writeln!(text, "{name:<10} {meaning}")?;
    }
    Ok(text)
}

fn head(width: usize, columns: &[Column]) -> String {
    let names = columns.iter().map(|column| format!("  {}", column.name));
    format!("{:width$}{}\n", "", names.collect::<String>())
}

fn list(text: &mut String, row: &str, columns: &[Column]) -> Result<()> {
    for column in columns {
        for mention in column.mentions(row).iter().filter(|mention| !mention.what.is_empty()) {
            writeln!(text, "    {}: {}", column.name, mention.what)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
