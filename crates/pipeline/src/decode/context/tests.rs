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

#[test]
fn what_stands_before_is_read_also_of_a_packed_file() {
    let head = "#Fields: date time cs-uri-stem\n2020-05-01 00:00:02 /a\n";
    let text = format!("{head}2020-05-01 00:00:03 /b\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for packed in [text.clone().into_bytes(), gzip.finish().unwrap(), zstd] {
        let file = dir.path().join("log");
        std::fs::write(&file, packed).unwrap();
        let mut decoder = Decoder::new(&format("w3c"), Arc::default());
        assert_eq!(enter(&mut decoder, file.to_str().unwrap(), &text, head.len()), ["/b"]);
    }
}

/// The paths of the lines from `start` on, or a dash for each that is refused.
fn enter(decoder: &mut Decoder, file: &str, text: &str, start: usize) -> Vec<String> {
    let bytes = &text.as_bytes()[start..];
    decoder.enter(&LogChunk { bytes, file, start: start as u64 });
    crate::decode::tests::fields(decoder, bytes, &["path"])
        .into_iter()
        .map(|outcome| outcome.map_or("-".to_owned(), |mut values| values.remove(0)))
        .collect()
}

#[test]
fn what_was_said_in_files_at_hand_is_known_though_they_are_gone() {
    let mut decoder = Decoder::new(&format("w3c"), Arc::default());
    let (one, other) = ("#Fields: date time cs-uri-stem\n", "#Fields: cs-uri-stem date time\n");
    let lines = ["2020-05-01 00:00:02 /a\n", "/b 2020-05-01 00:00:02\n"];
    assert!(enter(&mut decoder, "/gone/one", one, 0).is_empty());
    assert!(enter(&mut decoder, "/gone/other", other, 0).is_empty());
    let whole = [one, other].map(|head| format!("{head}{}{}", lines[0], lines[1]));
    for _ in 0..2 {
        // What each says of the other's lines is an error.
        assert_eq!(enter(&mut decoder, "/gone/one", &whole[0], one.len()), ["/a", "-"]);
        assert_eq!(enter(&mut decoder, "/gone/other", &whole[1], other.len()), ["-", "/b"]);
        decoder = Decoder::new(&format("w3c"), Arc::default());
        enter(&mut decoder, "/gone/other", other, 0);
        enter(&mut decoder, "/gone/one", one, 0);
    }
    let skipped = enter(&mut decoder, "/gone/one", &whole[0], one.len() + 1);
    assert_eq!(skipped, ["-", "-"], "what stands before is not known");
}
