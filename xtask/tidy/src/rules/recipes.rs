//! Holds that the recipes of CONTRIBUTING.md lead where they say.
//!
//! Expected form, below the heading `## Recipes`:
//!
//! ```text
//! ### Add an engine that rows go to
//!
//! Example: `1a2b3c4` (the commit that added ClickHouse).
//!
//! 1. [the list of engines](crates/sinks/src/lib.rs): an arm of `open`.
//! 2. `crates/sinks/src/address.rs`: a variant of `Address` and of `Scheme::parse`.
//! 3. `crates/sinks/src/NAME.rs`, which is yours.
//! ```
//!
//! A station is a list item that names a path: a link, or a code span with a `/` or a file's
//! ending. A path with capitals in place of a name is a pattern. A code span behind a path that is
//! one name (`open`, `Scheme::parse`) must occur in that file. HEAD must descend from the commit of
//! the example. Without whole git history a notice says that this was not checked.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::finding::Finding;
use crate::tree::Text;

const DOCUMENT: &str = "CONTRIBUTING.md";
const HEADING: &str = "## Recipes";

/// Returns the findings, and what could not be checked here.
pub(super) fn check(root: &Path, texts: &[Text]) -> (Vec<Finding>, Vec<String>) {
    let mut findings = Vec::new();
    let mut notices = Vec::new();
    let document = texts.iter().find(|text| text.path == DOCUMENT);
    for recipe in document.map(recipes).unwrap_or_default() {
        let at = |line: usize, what: String, mend: &str| Finding::at(DOCUMENT, line, what, mend);
        let stations: Vec<Station> = recipe.lines.iter().filter_map(station).collect();
        if stations.is_empty() {
            let what = format!("the recipe `{}` has no station", recipe.title);
            findings.push(at(recipe.line, what, "list the places that a change goes through"));
        }
        for Station { line, named } in &stations {
            let wrong = named.iter().filter_map(|(path, names)| missing(root, path, names));
            findings.extend(wrong.map(|what| at(*line, what, "name what took its place")));
        }
        match example(&recipe) {
            None => {
                let what = format!("the recipe `{}` has no example", recipe.title);
                findings.push(at(recipe.line, what, "add a line \"Example: `COMMIT`\""));
            }
            Some((line, commit)) => match ancestry(root, commit) {
                Ancestry::Ours => {}
                Ancestry::Unknown => {
                    notices.push(format!("no git history here: commit `{commit}` not checked"));
                }
                Ancestry::Foreign => {
                    let what = format!("HEAD does not descend from `{commit}`");
                    findings.push(at(line, what, "name the commit as it is on this branch"));
                }
            },
        }
    }
    (findings, notices)
}

struct Recipe<'t> {
    title: &'t str,
    line: usize,
    /// Below the title; an item that goes over lines is one.
    lines: Vec<(usize, String)>,
}

fn recipes(document: &Text) -> Vec<Recipe<'_>> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut in_section = false;
    for (index, line) in document.lines.iter().enumerate() {
        if line.starts_with("## ") {
            in_section = line.trim_end() == HEADING;
        } else if let Some(title) = line.strip_prefix("### ").filter(|_| in_section) {
            recipes.push(Recipe { title: title.trim(), line: index, lines: Vec::new() });
        } else if let Some(recipe) = recipes.last_mut().filter(|_| in_section) {
            match recipe.lines.last_mut() {
                Some((_, before)) if line.starts_with("  ") => {
                    before.push(' ');
                    before.push_str(line.trim());
                }
                _ => recipe.lines.push((index, line.clone())),
            }
        }
    }
    recipes
}

/// A list item, with its paths and the names behind each.
struct Station {
    line: usize,
    named: Vec<(String, Vec<String>)>,
}

fn station((line, text): &(usize, String)) -> Option<Station> {
    let (number, rest) = text.split_once(". ").unwrap_or(("", text));
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let item = if numbered { rest } else { text.strip_prefix("- ")? };
    let mut named: Vec<(String, Vec<String>)> = Vec::new();
    for word in named_in(item) {
        if is_path(&word) {
            named.push((word, Vec::new()));
        } else if let Some((_, names)) = named.last_mut()
            && is_name(&word)
        {
            names.push(word);
        }
    }
    (!named.is_empty()).then_some(Station { line: *line, named })
}

/// Returns the code spans and the targets of links, in order; the text of a link is neither.
fn named_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[']) {
        let opened = &rest[at..];
        let link = opened.strip_prefix('[').and_then(|link| {
            let (_, behind) = link.split_once("](")?;
            behind.split_once(')')
        });
        let span = opened.strip_prefix('`').and_then(|span| span.split_once('`'));
        let Some((word, behind)) = link.or(span) else {
            rest = &opened[1..];
            continue;
        };
        found.push(word.split('#').next().unwrap_or(word).to_owned());
        rest = behind;
    }
    found
}

fn is_path(word: &str) -> bool {
    let ending = word
        .rsplit_once('.')
        .is_some_and(|(_, ending)| matches!(ending, "rs" | "md" | "toml" | "txt" | "py" | "sh"));
    !word.contains(' ') && !word.contains("://") && (word.contains('/') || ending)
}

fn is_name(word: &str) -> bool {
    let word = word.trim_end_matches("()");
    !word.is_empty() && word.chars().all(|c| c == ':' || crate::source::is_word(c))
}

/// Whether a part of the path is in capitals, in place of a name that the reader chooses.
pub(super) fn is_pattern(path: &str) -> bool {
    let mut parts = path.split(['/', '.']);
    parts.any(|part| part.len() > 1 && part.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Returns what is not as the station says.
fn missing(root: &Path, path: &str, names: &[String]) -> Option<String> {
    if is_pattern(path) && !root.join(path).exists() {
        return None;
    }
    if !root.join(path).exists() {
        return Some(format!("`{path}` does not exist"));
    }
    let text = fs::read_to_string(root.join(path)).unwrap_or_default();
    let holds = |name: &&String| {
        let last = name.trim_end_matches("()").rsplit("::").next().unwrap_or(name);
        text.lines().any(|line| !crate::source::words(line, last).is_empty())
    };
    let absent = names.iter().find(|name| !holds(name))?;
    Some(format!("`{path}` does not name `{absent}`"))
}

fn example<'r>(recipe: &'r Recipe) -> Option<(usize, &'r str)> {
    let lines = recipe.lines.iter();
    let mut examples = lines.filter_map(|(line, text)| {
        let mut spans = text.strip_prefix("Example: ")?.split('`').skip(1).step_by(2);
        let commit = spans.find(|span| {
            (7..=40).contains(&span.len()) && span.bytes().all(|byte| byte.is_ascii_hexdigit())
        })?;
        Some((*line, commit))
    });
    examples.next()
}

enum Ancestry {
    Ours,
    Foreign,
    Unknown,
}

fn ancestry(root: &Path, commit: &str) -> Ancestry {
    let Some(shallow) = git(root, &["rev-parse", "--is-shallow-repository"]) else {
        return Ancestry::Unknown;
    };
    let whole = String::from_utf8_lossy(&shallow.stdout).trim() == "false";
    let merged = git(root, &["merge-base", "--is-ancestor", commit, "HEAD"]);
    match merged {
        Some(output) if output.status.success() => Ancestry::Ours,
        Some(_) if whole => Ancestry::Foreign,
        _ => Ancestry::Unknown,
    }
}

fn git(root: &Path, arguments: &[&str]) -> Option<Output> {
    Command::new("git").args(arguments).current_dir(root).output().ok()
}

#[cfg(test)]
mod tests;
