//! Puts together the pages that mdBook makes HTML of.
//!
//! A document keeps its place in the checkout, so its links to other documents hold. Pictures that
//! it links to are copied. Any other file becomes a text (`request.rs.txt`), which browsers show.
//! `README.md` becomes `index.md`, which servers look for.
//! Refuses: a link to a directory, or to what is not there. Fenced blocks are left as they are.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checkout::execute;

/// Where the pages of commands lie.
const COMMANDS: &str = "commands";
/// Directories of what is built or kept, or was fetched.
const BUILT: [&str; 4] = ["target", "data", "node_modules", "__pycache__"];
/// Endings of what a browser shows as a picture.
const PICTURES: [&str; 2] = ["png", "svg"];

/// A page of the site.
#[derive(Debug)]
pub(super) struct SitePage {
    /// From the root of the checkout, with `/`.
    pub path: String,
    pub title: String,
    /// The pages it links to, in order; a link to a part of a page is none to the page.
    pub linked: Vec<String>,
}

/// Copies the documents of a checkout, and what they link to; returns them by path.
pub(super) fn copy(root: &Path, source: &Path) -> Result<Vec<SitePage>> {
    let mut pages = Vec::new();
    for path in documents(root)? {
        let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
        let document = Document { root, path: &path };
        let mut files = Vec::new();
        let text = map_links(&text, |target| document.follow(target, &mut files))
            .with_context(|| path.clone())?;
        put(&source.join(on_site(&path)), text.as_bytes())?;
        let (linked, others): (Vec<String>, Vec<String>) =
            files.into_iter().partition(|file| is_document(file));
        for file in others {
            let bytes = fs::read(root.join(&file)).with_context(|| file.clone())?;
            put(&source.join(on_site(&file)), &bytes)?;
        }
        pages.push(SitePage { title: title(&text, &path)?, linked, path });
    }
    Ok(pages)
}

/// Lets the program write a page for each of its commands.
pub(super) fn of_commands(binary: &Path, source: &Path) -> Result<Vec<SitePage>> {
    let dir = source.join(COMMANDS);
    execute(Command::new(binary).arg("manual").arg(&dir).stdout(std::process::Stdio::null()))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(&dir)? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_document(&name) {
            fs::remove_file(&file).with_context(|| name.clone())?;
            continue;
        }
        let path = format!("{COMMANDS}/{name}");
        let title = title(&fs::read_to_string(&file)?, &path)?;
        pages.push(SitePage { path, title, linked: Vec::new() });
    }
    ensure!(!pages.is_empty(), "`{} manual` wrote no page", binary.display());
    Ok(pages)
}

/// The Markdown files of the checkout, which need not be git's; what is built is none of it.
fn documents(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        let shown = root.join(&dir);
        for entry in
            fs::read_dir(&shown).with_context(|| format!("reading `{}`", shown.display()))?
        {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = dir.join(&name);
            if entry.file_type()?.is_dir() {
                let is_built = name.starts_with('.') || BUILT.contains(&name.as_str());
                dirs.extend((!is_built).then_some(path));
            } else if is_document(&name) {
                names.push(path.to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

fn is_document(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "md")
}

/// The first heading.
fn title(text: &str, path: &str) -> Result<String> {
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    Ok(title.with_context(|| format!("`{path}` has no heading"))?.replace(['[', ']'], ""))
}

fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    let dir = file.parent().unwrap_or(file);
    fs::create_dir_all(dir).with_context(|| format!("making `{}`", dir.display()))?;
    fs::write(file, bytes).with_context(|| format!("writing `{}`", file.display()))
}

/// Where a link is.
struct Document<'a> {
    root: &'a Path,
    path: &'a str,
}

impl Document<'_> {
    /// Returns the link as the site has it, and notes which file of the checkout that is. A part of
    /// a document is not noted.
    fn follow(&self, target: &str, files: &mut Vec<String>) -> Result<String> {
        let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        if file.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            return Ok(target.to_owned());
        }
        let from = resolve(self.path, file);
        ensure!(self.root.join(&from).is_file(), "`{target}` is no file");
        if anchor.is_empty() || !is_document(&from) {
            files.push(from);
        }
        Ok(format!("{}{anchor}", on_site(file)))
    }
}

/// Returns what a file, or a link to it, is on the site.
pub(super) fn on_site(file: &str) -> String {
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
    match (file.strip_suffix("README.md"), ending) {
        (Some(dir), _) => format!("{dir}index.md"),
        (None, Some(ending)) if ending == "md" || PICTURES.contains(&ending) => file.to_owned(),
        _ => format!("{file}.txt"),
    }
}

/// Returns where a link of the document leads, from the same root as the document's path.
pub(super) fn resolve(document: &str, link: &str) -> String {
    let mut place = PathBuf::from(document);
    place.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place.to_string_lossy().into_owned()
}

/// Replaces the target of each link outside of fenced blocks.
fn map_links(text: &str, mut map: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut mapped = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence {
            mapped += line;
            continue;
        }
        let mut parts = line.split("](");
        mapped += parts.next().unwrap_or_default();
        for part in parts {
            let (target, rest) = part.split_at(part.find([')', ' ']).unwrap_or(part.len()));
            mapped += "](";
            mapped += &map(target)?;
            mapped += rest;
        }
    }
    Ok(mapped)
}

#[cfg(test)]
mod tests;
