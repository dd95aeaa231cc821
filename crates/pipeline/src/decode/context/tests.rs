//! Claims about what earlier lines of a file say.

use std::sync::Arc;

use crate::chunk::LogChunk;
use crate::config::SourceConfig;
use crate::decode::tests::{format, named};
use crate::decode::{Decoder, Format};

/// The paths of the lines from `start` on, as a reader finds them that begins there.
fn paths(format: &Format, text: &str, start: usize) -> Vec<Option<String>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    std::fs::write(&file, text).unwrap();
    let mut decoder = Decoder::new(format, Arc::default());
    let bytes = &text.as_bytes()[start..];
    let file = file.to_str().unwrap();
    decoder.enter(&LogChunk { bytes, file, start: start as u64 });
    let path = "path".parse().unwrap();
    let mut found = Vec::new();
    decoder.each(bytes, |_, _, outcome| {
        found.push(outcome.ok().and_then(|event| {
            exchange::Fields::field(event, &path).map(|value| value.to_string())
        }));
    });
    found
}

#[test]
fn a_line_means_the_same_wherever_reading_began() {
    let head = "#Fields: date time cs-uri-stem\r\n2020-05-01 00:00:02 /a\r\n";
    let text = format!("{head}2020-05-01 00:00:03 /b\r\n");
    assert_eq!(paths(&format("w3c"), &text, head.len()), [Some("/b".to_owned())]);
    let wrapper = Some("cri".to_owned());
    let pieces = Format::parse(&SourceConfig { wrapper, ..named("logfmt") }).unwrap();
    let head = "2016-10-06T00:17:09Z stdout P time=2026-11-21T03:54:12Z pa\n";
    let text = format!("{head}2016-10-06T00:17:09Z stdout F th=/a\n");
    assert_eq!(paths(&pieces, &text, head.len()), [Some("/a".to_owned())]);
    assert_eq!(paths(&pieces, &text, 0), [Some("/a".to_owned())]);
}
