//! Documents with and without the right picture.

use super::check;
use crate::graph::sample::graph;
use crate::picture::{CLOSES, OPENS, draw};
use crate::tree::Text;

fn findings(document: &str) -> Vec<String> {
    let graph = graph(&[("stdx", true, &[])]);
    let layers = [("stdx".to_owned(), 0)].into();
    let found = check(&layers, &[Text::new("docs/ARCHITECTURE.md", document)], &graph);
    found.into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
}

#[test]
fn the_picture_of_today_passes_and_any_other_fails() {
    let graph = graph(&[("stdx", true, &[])]);
    let drawn = draw(&[("stdx".to_owned(), 0)].into(), &graph).join("\n");
    assert_eq!(findings(&format!("# A\n{OPENS}\n{drawn}\n{CLOSES}\n")), [""; 0]);
    let expected = ["2 the picture does not show the crates as they are"];
    assert_eq!(findings(&format!("# A\n{OPENS}\n{CLOSES}\n")), expected);
}

#[test]
fn a_document_without_marks_has_no_place_for_it() {
    assert_eq!(findings("# A\n"), ["1 no place for the picture"]);
}

#[test]
fn a_document_of_more_than_two_hundred_lines_fails() {
    let found = findings(&"line\n".repeat(201));
    assert_eq!(found[0], "201 201 lines, limit 200");
}
