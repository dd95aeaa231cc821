//! Claims about corpus files.

use super::{parse, render};

#[test]
fn every_byte_survives_the_file() {
    let all: Vec<u8> = (0..=255).collect();
    let inputs = vec![Vec::new(), b"\\x41".to_vec(), b"#no comment".to_vec(), all];
    let text = render("# About it.\nold\n", &inputs);
    assert!(text.starts_with("# About it.\n\n"));
    assert!(text.is_ascii());
    assert_eq!(parse(&text).unwrap(), inputs);
}

#[test]
fn a_malformed_escape_is_named_by_its_line() {
    assert_eq!(parse("good\n\\q").unwrap_err(), "line 2: a malformed escape");
}
