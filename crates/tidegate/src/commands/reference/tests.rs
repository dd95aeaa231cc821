//! Claims about every line of the reference.

use std::path::Path;

use super::text;
use crate::config;

/// What a line says once it is uncommented, if it sets a key.
fn uncommented(line: &str) -> Option<&str> {
    let line = line.strip_prefix("# ")?;
    let (path, _) = line.split_once(" = ")?;
    (!path.contains([' ', '`'])).then_some(line)
}

#[test]
fn every_key_is_known_and_of_its_kind_when_it_is_uncommented_in_its_place() {
    let text = text(None, None).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut keys = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(key) = uncommented(line) else { continue };
        keys += 1;
        // `python` makes an upstream one of workers, which has other keys.
        let is_of_workers =
            |line: &&str| uncommented(line).is_some_and(|key| key.starts_with("python = "));
        let mut document: Vec<&str> = lines
            .iter()
            .map(|line| if is_of_workers(line) { uncommented(line).unwrap_or(line) } else { line })
            .collect();
        document[at] = key;
        let problems = config::check(&document.join("\n"), Path::new(".")).err();
        // Its stand-in may be out of bounds; but it is no other key's, and of the right type.
        for problem in problems.iter().flatten().filter(|problem| problem.line == at + 1) {
            let message = &problem.message;
            let is_misplaced = message.contains("unknown key") || message.contains("found ");
            assert!(!is_misplaced && !problem.key.is_empty(), "line {}: {key}: {problem}", at + 1);
        }
    }
    assert!(keys > 200, "{keys} keys");
}
