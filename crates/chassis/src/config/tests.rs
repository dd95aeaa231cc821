//! Claims about reading configurations.

use serde::Deserialize;

use super::Document;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Inner {
    ttl: Option<u32>,
    stale: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Route {
    path: Option<String>,
    cache: Option<Inner>,
    list: Option<Vec<u32>>,
}

#[test]
fn every_error_of_a_document_is_reported_with_line_and_key() {
    let text = "bogus = 1\n\n[[route]]\npath = 7\ncache = { ttl = \"x\", stael = 3 }\n\
                list = [1, \"two\", 3]\ncolour = \"red\"\n\n[[route]]\npath = \"/\"\ncache = 5\n";
    let mut document = Document::parse(text);
    document.known_sections(&["route"]);
    let routes: Vec<Route> = document.sections("route");
    document.wrong("route[1].path", "is taken");
    assert_eq!(routes.len(), 2);
    assert_eq!(routes[0].list.as_deref(), Some(&[1, 3][..]), "what fits is kept");
    let found: Vec<String> = document.into_problems().iter().map(ToString::to_string).collect();
    let text = found.join("\n");
    for (line, key) in [
        (1, "bogus"),
        (4, "route[0].path"),
        (5, "route[0].cache.ttl"),
        (5, "route[0].cache.stael"),
        (6, "route[0].list[1]"),
        (7, "route[0].colour"),
        (10, "route[1].path"),
        (11, "route[1].cache"),
    ] {
        assert!(text.contains(&format!("line {line}: `{key}`")), "no {line} {key} in\n{text}");
    }
    assert_eq!(found.len(), 8, "{text}");
}

#[test]
fn a_slip_of_the_hand_is_named() {
    let mut document = Document::parse("roote = 1");
    document.known_sections(&["route", "model"]);
    let problems = document.into_problems();
    assert!(problems[0].message.contains("did you mean `route`"), "{problems:?}");
}

#[test]
fn syntax_errors_have_a_line() {
    let problems = Document::parse("a = 1\nb = = 2\n").into_problems();
    assert!(problems.iter().any(|p| p.line == 2), "{problems:?}");
}
