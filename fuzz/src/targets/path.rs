//! Paths against the patterns of routes: what is captured stands in the path, and a path that
//! matches a pattern is rebuilt from it.

use gateway::fuzzing::{Match, Pattern};

pub(super) const TOKENS: &[&str] =
    &["/", "/1/", "recommendations", ".json", ".", "items/", "%2f", "//", "..", "/{*rest}"];

pub(super) fn run(input: &[u8]) {
    let Ok(path) = std::str::from_utf8(input) else { return };
    if !path.starts_with('/') {
        return;
    }
    let all = Pattern::parse("/{*rest}").expect("a pattern");
    assert_eq!(captured(&all, path), Some(vec![&path[1..]]), "a catch-all catches all");
    let item = Pattern::parse("/items/{id}").expect("a pattern");
    if let Some(found) = captured(&item, path) {
        assert_eq!(format!("/items/{}", found[0]), path);
        assert!(!found[0].is_empty() && !found[0].contains('/'));
    }
    let format = Pattern::parse("/1/{name}.{format:json|xml}").expect("a pattern");
    if let Some(found) = captured(&format, path) {
        let rebuilt = [format!("/1/{}.{}", found[0], found[1]), format!("/1/{}", found[0])];
        assert!(rebuilt.iter().any(|rebuilt| rebuilt == path), "`{path}` is not {rebuilt:?}");
    }
    if Pattern::parse(path).is_ok_and(|pattern| pattern.names().next().is_none()) {
        let literal = Pattern::parse(path).expect("it was one a moment ago");
        assert_eq!(captured(&literal, path), Some(Vec::new()), "a literal path matches itself");
    }
}

fn captured<'p>(pattern: &'p Pattern, path: &'p str) -> Option<Vec<&'p str>> {
    match pattern.matches(path) {
        Match::Yes(captures) => Some(captures.to_vec()),
        Match::Forbidden | Match::No => None,
    }
}
