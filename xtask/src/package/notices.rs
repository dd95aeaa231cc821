//! Collects the licences of all that is linked: `cargo xtask package notices`.
//!
//! MIT, BSD and others ask that a copy of the program has their text with its copyright. Packages
//! that offer the Apache License are taken under it, and need only their name: its text is ours.
//! Of these a NOTICE is shown (section 4). Texts below the top of any package are shown, too: they
//! are of others within it, such as librdkafka.
//! Invariant: the same checkout gives the same bytes; a text that several have stands once.
//! Elsewhere: where artefacts put the file (`packaging/deb/build.sh`, `packaging/make`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{parts, recipe};
use crate::checkout::root;

/// Beginnings of the names of files that have a licence or a notice.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "patents"];
/// Ends of such names that have code.
const CODE: [&str; 8] = ["rs", "c", "h", "py", "toml", "json", "sh", "tmpl"];
/// Directories of which nothing is linked.
const NOT_LINKED: [&str; 5] = ["tests", "benches", "examples", "fuzz", "target"];
const LINE: &str =
    "--------------------------------------------------------------------------------";

/// A package of others that is linked.
struct Linked {
    /// As in `anyhow 1.0.104`.
    name: String,
    licence: String,
    dir: PathBuf,
}

/// Writes the file into a directory.
pub(super) fn write(dir: &Path, version: &str) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("making `{}`", dir.display()))?;
    let file = dir.join(format!("tidegate_{version}_third-party.txt"));
    let text = text(version, &linked()?)?;
    fs::write(&file, text).with_context(|| format!("writing `{}`", file.display()))?;
    Ok(file)
}

/// The packages of others that are linked, by name.
fn linked() -> Result<Vec<Linked>> {
    let mut dirs: BTreeMap<String, PathBuf> = BTreeMap::new();
    for package in recipe::known_packages(&root())? {
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text("manifest_path"));
        let dir = manifest.parent().context("a manifest without a directory")?;
        dirs.insert(format!("{} {}", text("name"), text("version")), dir.to_path_buf());
    }
    let others = parts::linked_of_others()?.into_iter().map(|(name, licence)| {
        let dir = dirs.get(&name).with_context(|| format!("`{name}` has no sources"))?.clone();
        Ok(Linked { name, licence, dir })
    });
    others.collect()
}

fn text(version: &str, linked: &[Linked]) -> Result<String> {
    ensure!(!linked.is_empty(), "nothing of others is linked");
    let mut apache = Vec::new();
    let mut texts: Vec<(String, Vec<String>, String)> = Vec::new();
    for package in linked {
        let Linked { name, licence, dir } = package;
        let is_apache = offers_apache(licence);
        if is_apache {
            apache.push(format!("{name}\n"));
        }
        let files = files(dir)?;
        if !is_apache && !files.iter().any(|file| file.parent() == Some(dir)) {
            let lack = format!("Its package has no text of its licence, which is {licence}.\n");
            texts.push((name.clone(), vec![name.clone()], lack));
        }
        for file in files.iter().filter(|file| !is_apache || is_shown_of_apache(file, dir)) {
            let text = fs::read(file).with_context(|| format!("reading `{}`", file.display()))?;
            let text = String::from_utf8_lossy(&text).replace('\r', "");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let whose = format!("{name}: {}", file.strip_prefix(dir)?.display());
            match texts.iter_mut().find(|known| known.0 == words) {
                Some(known) => known.1.push(whose),
                None => texts.push((words, vec![whose], text)),
            }
        }
    }
    let mut whole = format!(
        "Tidegate {version} has software of others in it, under the licences below.\n\n\
         These are used under the Apache License, version 2.0; its text is that of Tidegate's\n\
         licence:\n\n{}",
        apache.concat()
    );
    for (_, whose, text) in texts {
        whole += &format!("\n{LINE}\n{}\n\n{}\n", whose.join("\n"), text.trim_matches('\n'));
    }
    Ok(whole)
}

/// Whether a licence lets one choose Apache's.
fn offers_apache(licence: &str) -> bool {
    !licence.contains(" AND ") && licence.split(" OR ").any(|choice| choice == "Apache-2.0")
}

/// Whether a file of a package under Apache's licence is shown: a notice, or one of others within.
fn is_shown_of_apache(file: &Path, dir: &Path) -> bool {
    file.parent() != Some(dir) || lower_name(file).starts_with("notice")
}

/// The files of a package that have a licence or a notice, in order.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("reading `{}`", dir.display()))? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = lower_name(&path);
            if kind.is_dir() && !NOT_LINKED.contains(&name.as_str()) {
                open.push(path);
            } else if kind.is_file() && has_licence(&name) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file of this name, in lower case, has a licence or a notice.
fn has_licence(name: &str) -> bool {
    let is_code = name.rsplit_once('.').is_some_and(|(_, end)| CODE.contains(&end));
    !is_code && NAMES.iter().any(|beginning| name.starts_with(beginning))
}

fn lower_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests;
