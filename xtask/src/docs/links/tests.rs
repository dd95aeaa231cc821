//! Links that lead nowhere are found, each by its page.

use std::fs;
use std::path::PathBuf;

use super::check;

/// A site of these pages, in a directory of its own.
fn site(name: &str, pages: &[(&str, &str)]) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tidegate-links-{name}-{}", std::process::id()));
    for (page, html) in pages {
        let file = dir.join(page);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, html).unwrap();
    }
    dir
}

#[test]
fn every_link_that_leads_nowhere_is_named() {
    let index = r##"<a href="a/b.html#there"><a href="a/b.html#gone"><a href="gone.html">
<img src="x.png"><a href="#self"><h1 id="self">"##;
    let below =
        r##"<h2 class="x" id="there"><a href="../index.html"><a href="https://example.com/">"##;
    let dir = site("lost", &[("index.html", index), ("a/b.html", below)]);
    let told = check(&dir).unwrap_err().to_string();
    fs::remove_dir_all(&dir).unwrap();
    let lost = ["index.html: a/b.html#gone", "index.html: gone.html", "index.html: x.png"];
    assert_eq!(told, format!("links that lead nowhere:\n{}", lost.join("\n")));
}

#[test]
fn a_sound_site_is_counted() {
    let pages = [("index.html", r#"<a href="b.html">"#), ("b.html", r#"<a href="./index.html">"#)];
    let dir = site("sound", &pages);
    let checked = check(&dir).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!((checked.pages, checked.links), (2, 2));
}
