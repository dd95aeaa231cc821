//! Pictures of small graphs.

use super::{CLOSES, OPENS, draw, replaced};
use crate::graph::sample::graph;
use crate::tree::Text;

fn layers() -> super::Layers {
    let rows = [("base", 0), ("left", 1), ("right", 1), ("program", 4)];
    rows.map(|(name, layer)| (name.to_owned(), layer)).into()
}

#[test]
fn arrows_that_follow_from_others_are_left_out() {
    let graph = graph(&[
        ("base", true, &["libc"]),
        ("libc", false, &[]),
        ("left", true, &["base"]),
        ("right", true, &["base", "left", "dev:program"]),
        ("program", true, &["base", "left", "right", "libc"]),
        ("tool", true, &["base"]),
    ]);
    let expected = [
        "```mermaid",
        "flowchart TB",
        "    subgraph program",
        "        program",
        "    end",
        "    subgraph libraries",
        "        left; right",
        "    end",
        "    subgraph foundation",
        "        base",
        "    end",
        "    left --> base",
        "    program --> right",
        "    right --> left",
        "```",
    ];
    assert_eq!(draw(&layers(), &graph), expected);
}

#[test]
fn what_stands_between_the_marks_is_replaced() {
    let document = Text::new("A.md", &format!("# A\n{OPENS}\nold\n{CLOSES}\nrest\n"));
    let replaced = replaced(&document, &["new".to_owned()]).expect("it has marks");
    assert_eq!(replaced, ["# A", OPENS, "new", CLOSES, "rest"]);
    assert_eq!(super::replaced(&Text::new("A.md", "# A\n"), &[]), None);
}
