//! Links of documents hold on the site.

use std::fs;

use super::{Document, map_links, resolve, title};
use crate::checkout::root;

/// Returns the text as the site has it, and the files that it links to.
fn followed(text: &str) -> (String, Vec<String>) {
    let (root, mut files) = (root(), Vec::new());
    let document = Document { root: &root, path: "docs/lab/report.md" };
    let text = map_links(text, |target| document.follow(target, &mut files)).unwrap();
    (text, files)
}

#[test]
fn documents_and_pictures_keep_their_links_and_sources_become_text() {
    let text = "[a](../LAB.md), ![b](report.png), [c](../../LICENSE), [d](../../README.md)\n";
    let (text, files) = followed(text);
    let expected =
        "[a](../LAB.md), ![b](report.png), [c](../../LICENSE.txt), [d](../../index.md)\n";
    assert_eq!(text, expected);
    assert_eq!(files, ["docs/LAB.md", "docs/lab/report.png", "LICENSE", "README.md"]);
}

#[test]
fn a_link_to_a_part_of_a_page_is_none_to_the_page() {
    let (text, files) = followed("[a](../../README.md#the-loop)\n");
    assert_eq!(text, "[a](../../index.md#the-loop)\n");
    assert_eq!(files, [""; 0]);
}

#[test]
fn fenced_blocks_anchors_and_other_sites_stay() {
    let text = "[a](#here) [b](https://example.com/x.rs)\n```\n[c](nothing.rs)\n```\n";
    assert_eq!(followed(text), (text.to_owned(), Vec::new()));
}

#[test]
fn a_link_to_a_directory_or_to_nothing_is_refused() {
    let root = root();
    let document = Document { root: &root, path: "README.md" };
    for target in ["docs", "no-such-file.rs"] {
        assert!(document.follow(target, &mut Vec::new()).is_err(), "{target}");
    }
}

#[test]
fn a_link_is_resolved_from_the_directory_of_its_page() {
    assert_eq!(resolve("docs/lab/report.md", "../../xtask/./a.rs"), "xtask/a.rs");
    assert_eq!(resolve("README.md", "docs/LAB.md"), "docs/LAB.md");
}

#[test]
fn the_title_of_a_page_is_its_first_heading() {
    let text = fs::read_to_string(root().join("docs/LAB.md")).unwrap();
    assert_eq!(title(&text, "").unwrap(), "The laboratory");
    assert!(title("no heading\n", "x.md").is_err());
}
