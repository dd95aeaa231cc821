//! Makes the site of the documentation: `cargo xtask docs`.
//!
//! Its pages are the Markdown files of the checkout, and one for each command, made from the help.
//! Of these mdBook makes HTML with a search.
//! Invariant: the same checkout and program give the same bytes. A site with a link that leads
//! nowhere is a failure.
//! Elsewhere: what goes to mdBook (`docs/pages.rs`), the order of pages (`docs/contents.rs`), links
//! of what is made (`docs/links.rs`).

mod contents;
mod links;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::checkout::{execute, root};
use crate::compile::beside;
use crate::setup;

/// Where the site is made.
const SITE: &str = "target/docs";
/// A file that each site has: a directory without it is not overwritten.
const MARK: &str = "toc.html";
/// Texts go through as they are: a `{{` in one is no command to mdBook.
const BOOK: &str = "\
[book]
title = \"Tidegate\"
language = \"en\"
src = \"src\"

[build]
use-default-preprocessors = false

[output.html]
input-404 = \"\"
no-section-label = true

[output.html.print]
enable = false

[output.html.fold]
enable = true
level = 0
";

/// What may follow `docs`.
#[derive(Debug, Default)]
struct SiteOptions {
    binary: Option<PathBuf>,
    to: Option<PathBuf>,
}

/// Makes the site, checks its links, and says where it is.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = read(arguments)?;
    let site = options.to.unwrap_or_else(|| root().join(SITE));
    let known = site.join(MARK).exists() || !site.exists();
    ensure!(known, "`{}` is there, and is no site", site.display());
    let mdbook = setup::mdbook()?;
    let binary = options.binary.map_or_else(build, Ok)?;
    let book = site.with_extension("book");
    if book.exists() {
        fs::remove_dir_all(&book).with_context(|| format!("removing `{}`", book.display()))?;
    }
    write_book(&book, &binary)?;
    execute(Command::new(mdbook).args(["build", "--dest-dir"]).arg(absolute(&site)?).arg(&book))?;
    fs::remove_dir_all(&book).with_context(|| format!("removing `{}`", book.display()))?;
    let checked = links::check(&site)?;
    println!("{}: {} pages, {} links", site.display(), checked.pages, checked.links);
    Ok(())
}

fn read(arguments: &[&str]) -> Result<SiteOptions> {
    let mut options = SiteOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from).context("it wants a path");
        match *argument {
            "--binary" => options.binary = Some(path().context("--binary")?),
            "--to" => options.to = Some(path().context("--to")?),
            other => bail!("`{other}` is none of --binary PATH, --to DIR"),
        }
    }
    Ok(options)
}

/// Builds the program, which writes the pages of its commands.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "tidegate", "--bin", "tidegate"]);
    execute(cargo.current_dir(root()))?;
    Ok(beside("tidegate"))
}

fn write_book(book: &Path, binary: &Path) -> Result<()> {
    let source = book.join("src");
    let documents = pages::copy(&root(), &source)?;
    let commands = pages::of_commands(binary, &source)?;
    let contents = contents::write(&documents, &commands);
    for (file, text) in [("book.toml", BOOK), ("src/SUMMARY.md", &contents)] {
        fs::write(book.join(file), text).with_context(|| format!("writing `{file}`"))?;
    }
    Ok(())
}

/// mdBook takes a relative path for one from the book.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("no path: `{}`", path.display()))
}
