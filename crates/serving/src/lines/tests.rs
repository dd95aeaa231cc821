//! Lines in, lines out.

use serde_json::Value;
use testkit::TempDir;

use super::*;
use crate::texts::tests::by_hand::{alone, golden};

fn model(path: &Path) -> ModelDir<'_> {
    ModelDir { path, precision: Precision::Single }
}

fn embedded(name: &str, lines: &[u8]) -> Result<(LinesDone, String), LinesError> {
    let dir = golden(name);
    let mut out = Vec::new();
    let mut last = LinesDone::default();
    let done = embed_lines(model(&dir), lines, &mut out, |done| last = done)?;
    assert_eq!(last, done);
    Ok((done, String::from_utf8(out).unwrap()))
}

#[test]
fn each_line_becomes_a_line_with_its_vector() {
    let texts = ["The dog walks.", "", "a \"cat\""];
    let (done, out) = embedded("mean", b"The dog walks.\r\n\na \"cat\"").unwrap();
    assert_eq!(done.texts, 3);
    let wanted = alone(&golden("mean"), &texts, true);
    for ((line, text), wanted) in out.lines().zip(texts).zip(wanted) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["text"], text);
        let vector: Vec<f32> = serde_json::from_value(line["embedding"].clone()).unwrap();
        assert_eq!(vector, wanted);
    }
    assert_eq!(out.lines().count(), 3);
}

#[test]
fn many_blocks_keep_their_order() {
    let lines: Vec<String> = (0..12_000).map(|n| format!("dog {}", "cat ".repeat(n % 7))).collect();
    let (done, out) = embedded("static", lines.join("\n").as_bytes()).unwrap();
    assert!(done.tokens > 3 * PART_TOKENS);
    assert_eq!(out.lines().count(), lines.len());
    for (line, text) in out.lines().zip(&lines) {
        assert!(line.starts_with(&format!("{{\"text\":\"{text}\",")), "{line}");
    }
    let first: Vec<&str> = lines[..7].iter().map(String::as_str).collect();
    let wanted = alone(&golden("static"), &first, true);
    let last = out.lines().nth(11_998).unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    let vector: Vec<f32> = serde_json::from_value(last["embedding"].clone()).unwrap();
    assert_eq!(vector, wanted[11_998 % 7]);
}

#[test]
fn no_lines_give_no_lines() {
    assert_eq!(embedded("mean", b"").unwrap(), (LinesDone::default(), String::new()));
}

#[test]
fn a_bad_line_is_named() {
    let error = embedded("mean", b"dog\n\xff\n").unwrap_err();
    assert_eq!(error.to_string(), "read line 2: it is not UTF-8");
    let long = vec![b'a'; LINE_BYTES_MAX + 1];
    let error = embedded("mean", &long).unwrap_err();
    assert_eq!(error.to_string(), "read line 1: it has more than 1 MiB");
}

#[test]
fn a_folder_without_a_model_is_named() {
    let dir = TempDir::new().unwrap();
    let nothing = &b""[..];
    let error = embed_lines(model(dir.path()), nothing, Vec::new(), |_| ());
    let error = error.unwrap_err();
    assert!(matches!(error, LinesError::Load { .. }), "{error:?}");
}

#[test]
fn lines_are_grouped_as_cluster_answers() {
    let dir = golden("mean");
    let mut out = Vec::new();
    let options = ClusterOptions { similarity_min: Some(0.9999), ..ClusterOptions::default() };
    let lines = &b"the dog\n\ncat home fast !\nthe dog\n"[..];
    let done = cluster_lines(model(&dir), options, lines, &mut out, |_| ()).unwrap();
    assert_eq!(done.texts, 4);
    let found: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(found["clusters"][0]["label"], "the dog");
    assert_eq!(found["clusters"][0]["sentences"].as_array().unwrap().len(), 2);
    assert_eq!(found["noise"], serde_json::json!(["cat home fast !"]));
    let options = ClusterOptions { members_min: Some(0), ..ClusterOptions::default() };
    let refused = cluster_lines(model(&dir), options, lines, &mut out, |_| ());
    assert!(matches!(refused, Err(LinesError::Group { .. })));
}
