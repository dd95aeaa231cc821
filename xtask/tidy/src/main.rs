//! Holds the house rules as a program: `cargo xtask tidy`.
//!
//! It reads the tree of files, holds each rule of `rules`, and prints the findings; one or more
//! exit with 1. Options also print what the code measures (`measure.rs`).
//! Invariant: nothing here formats or rewrites code. It writes two files on request: the ratchet,
//! and the picture in docs/ARCHITECTURE.md.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod circles;
mod crates;
mod finding;
mod graph;
mod lexer;
mod measure;
mod picture;
mod prose;
mod ratchet;
mod rules;
mod source;
mod syntax;
mod tree;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::ratchet::Ratchet;
use crate::rules::Report;
use crate::tree::Tree;

const USAGE: &str = "\
usage: cargo xtask tidy [--root DIR] [--ratchet | --measure [NAME]... | --gen]

    (no option)          hold the house rules
    --ratchet            lower the limits to what is measured first
    --measure [NAME]...  print what the crates measure, and for those crates and documents that are
                         named what they would have to mend
    --gen                draw the picture of the crates in docs/ARCHITECTURE.md
    --root DIR           look at another checkout than the one this program was built in
";

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let root = take_root(&mut words).unwrap_or_else(tree::built_in);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match dispatch(&root, &words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprint!("error: `{}` is not how tidy is called\n\n{USAGE}", words.join(" "));
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Removes `--root DIR` from the words.
fn take_root(words: &mut Vec<String>) -> Option<PathBuf> {
    let at = words.iter().position(|word| word == "--root")?;
    let taken: Vec<String> = words.drain(at..(at + 2).min(words.len())).collect();
    taken.into_iter().nth(1).map(PathBuf::from)
}

/// Returns whether there is such a command.
fn dispatch(root: &Path, words: &[&str]) -> Result<bool> {
    match words {
        ["--help" | "-h"] => print!("{USAGE}"),
        [] => check(&Tree::read(root)?)?,
        ["--ratchet"] => {
            let tree = Tree::read(root)?;
            lower(&tree)?;
            check(&tree)?;
        }
        ["--gen"] => draw(&Tree::read(root)?)?,
        ["--measure", chosen @ ..] => print(&measure::run(&Tree::read(root)?, chosen)?)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Holds every rule and prints the findings.
fn check(tree: &Tree) -> Result<()> {
    let mut ratchet = Ratchet::parse(&tree.data("ratchet.txt")?)?;
    let Report { findings, exempt, cones, notices } = rules::check(tree, &mut ratchet)?;
    println!("packages to compile: {}", cones.join(", "));
    println!("functions exempt as tables: {}", exempt.len());
    for place in exempt {
        println!("    {place}");
    }
    for notice in notices {
        println!("notice: {notice}");
    }
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy has {} findings", findings.len());
    }
    println!("tidy: {} Rust files, no findings", tree.sources.len());
    Ok(())
}

/// Prints a text that may be longer than its reader wants.
fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes the picture of the crates into its document.
fn draw(tree: &Tree) -> Result<()> {
    let layers = rules::arrows::layers(&tree.data("arrows.txt")?)?;
    let document = tree.texts.iter().find(|text| text.path == picture::PATH);
    let document = document.with_context(|| format!("`{}` is missing", picture::PATH))?;
    let lines = picture::replaced(document, &picture::draw(&layers, &tree.graph));
    let lines = lines.with_context(|| format!("`{}` has no place for it", picture::PATH))?;
    let text = lines.join("\n") + "\n";
    fs::write(tree.root.join(picture::PATH), text).context("writing the picture of the crates")
}

/// Rewrites the ratchet to what is measured, where that is lower.
fn lower(tree: &Tree) -> Result<()> {
    let mut ratchet = Ratchet::parse(&tree.data("ratchet.txt")?)?;
    rules::check(tree, &mut ratchet)?;
    fs::write(tree.root.join(ratchet::PATH), ratchet.lowered()).context("writing the ratchet")
}
