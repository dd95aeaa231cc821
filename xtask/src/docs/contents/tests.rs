//! The table of contents follows the documents.

use super::write;
use crate::docs::pages::SitePage;

fn page(path: &str, title: &str, linked: &[&str]) -> SitePage {
    let linked = linked.iter().map(|path| (*path).to_owned()).collect();
    SitePage { path: path.to_owned(), title: title.to_owned(), linked }
}

#[test]
fn pages_stand_where_the_page_above_links_to_them_last() {
    let documents = [
        page("README.md", "Tidegate", &["docs/LAB.md", "docs/B.md", "docs/LAB.md"]),
        page("SECURITY.md", "Security", &[]),
        page("docs/B.md", "B", &[]),
        page("docs/LAB.md", "Lab", &["docs/lab/z.md"]),
        page("docs/lab/a.md", "a", &[]),
        page("docs/lab/z.md", "z", &[]),
    ];
    let commands = [
        page("commands/t-events-run.md", "t events run", &[]),
        page("commands/t-events.md", "t events", &[]),
        page("commands/t-eventsource.md", "t eventsource", &[]),
        page("commands/t.md", "t", &[]),
    ];
    let expected = "\
# Summary

[Tidegate](index.md)

- [B](docs/B.md)
- [Lab](docs/LAB.md)
  - [z](docs/lab/z.md)
  - [a](docs/lab/a.md)
- [Security](SECURITY.md)

# Commands

- [t](commands/t.md)
  - [t events](commands/t-events.md)
    - [t events run](commands/t-events-run.md)
  - [t eventsource](commands/t-eventsource.md)
";
    assert_eq!(write(&documents, &commands), expected);
}
