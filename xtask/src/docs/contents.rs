//! Orders the pages of the site: mdBook's `SUMMARY.md`, made from the documents themselves.
//!
//! `docs/OPERATING.md` is above the pages of `docs/operating`, and `README.md` above all others.
//! A page stands where the page above links to it last, since that one ends with its table of
//! pages. Pages that it does not link to come after, by path. Commands are in the order of their
//! names, each below the one that it is a verb of.
//! Invariant: each page is there once.

use std::fmt::Write;

use super::pages::{SitePage, on_site};

const START: &str = "README.md";

/// Writes the table of contents.
pub(super) fn write(documents: &[SitePage], commands: &[SitePage]) -> String {
    let mut text = String::from("# Summary\n\n");
    let start = documents.iter().find(|page| page.path == START);
    if let Some(start) = start {
        let _ = writeln!(text, "[{}]({})\n", start.title, on_site(&start.path));
    }
    for page in below(documents, START) {
        line(&mut text, 0, page);
        for page in below(documents, &page.path) {
            line(&mut text, 1, page);
        }
    }
    text += "\n# Commands\n\n";
    let mut by_name: Vec<&SitePage> = commands.iter().collect();
    by_name.sort_by_key(|command| &command.title);
    for command in by_name {
        let above = commands.iter().filter(|other| is_verb_of(command, other));
        line(&mut text, above.count(), command);
    }
    text
}

fn line(text: &mut String, depth: usize, page: &SitePage) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(text, "{indent}- [{}]({})", page.title, on_site(&page.path));
}

/// The pages below one, in its order.
fn below<'p>(pages: &'p [SitePage], above: &str) -> Vec<&'p SitePage> {
    let mut below: Vec<&SitePage> =
        pages.iter().filter(|page| page.path != START && place(pages, page) == above).collect();
    let linked = pages.iter().find(|page| page.path == above).map(|page| &page.linked[..]);
    let linked = linked.unwrap_or_default();
    let last = |page: &SitePage| linked.iter().rposition(|path| *path == page.path);
    below.sort_by_key(|page| (last(page).unwrap_or(usize::MAX), page.path.clone()));
    below
}

/// The page that one is below.
fn place<'p>(pages: &'p [SitePage], page: &SitePage) -> &'p str {
    let dir = page.path.rsplit_once('/').map_or("", |(dir, _)| dir);
    let is_above = |other: &&SitePage| {
        let stem = other.path.strip_suffix(".md").unwrap_or(&other.path);
        other.path != page.path && stem.eq_ignore_ascii_case(dir)
    };
    pages.iter().find(is_above).map_or(START, |above| &above.path)
}

/// `tidegate events run` is a verb of `tidegate events`, and of `tidegate`.
fn is_verb_of(command: &SitePage, other: &SitePage) -> bool {
    let rest = command.title.strip_prefix(&other.title);
    rest.is_some_and(|rest| rest.starts_with(' '))
}

#[cfg(test)]
mod tests;
