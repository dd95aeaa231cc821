//! Checks the links of a site: each leads to a file of the site, and to an anchor of that page.
//!
//! It reads `href` and `src` of the HTML that mdBook has made, so what is checked is what a browser
//! follows. Addresses of other sites are not looked up.
//! Invariant: it names every link that leads nowhere, not the first alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::pages::resolve;

/// What was looked at.
#[derive(Debug)]
pub(super) struct CheckedSite {
    pub pages: usize,
    pub links: usize,
}

/// Fails unless each link of the site leads somewhere.
pub(super) fn check(site: &Path) -> Result<CheckedSite> {
    let mut files = Vec::new();
    list(site, site, &mut files).with_context(|| format!("reading `{}`", site.display()))?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        pages.insert(file.clone(), fs::read_to_string(site.join(file))?);
    }
    let files: BTreeSet<String> = files.into_iter().collect();
    let anchors: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(page, html)| (&page[..], attributes(html, "id").collect())).collect();
    let mut links = 0;
    let mut lost = Vec::new();
    for (page, html) in &pages {
        for link in attributes(html, "href").chain(attributes(html, "src")) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            links += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page.clone() } else { resolve(page, file) };
            let there = anchors.get(&file[..]).is_some_and(|there| there.contains(anchor));
            if !(files.contains(&file) && (anchor.is_empty() || there)) {
                lost.push(format!("{page}: {link}"));
            }
        }
    }
    ensure!(lost.is_empty(), "links that lead nowhere:\n{}", lost.join("\n"));
    Ok(CheckedSite { pages: pages.len(), links })
}

/// Lists the files below a directory, from the site's root.
fn list(site: &Path, dir: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path: PathBuf = entry?.path();
        if path.is_dir() {
            list(site, &path, files)?;
        } else {
            files.push(path.strip_prefix(site)?.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// The values of an attribute, as mdBook writes them.
fn attributes<'h>(html: &'h str, name: &str) -> impl Iterator<Item = &'h str> {
    let opening = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&opening)?;
        let (value, behind) = behind.split_once('"')?;
        rest = behind;
        Some(value)
    })
}

#[cfg(test)]
mod tests;
