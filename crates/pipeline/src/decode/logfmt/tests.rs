//! Claims about `key=value`.

use crate::decode::tests::{decoder, fields};

fn read(line: &str, name: &str) -> Result<Vec<String>, String> {
    fields(&mut decoder("logfmt"), format!("{line}\n").as_bytes(), &[name])[0].clone()
}

#[test]
fn words_without_a_value_and_padding_are_passed_over() {
    let line = "  flag  time=2026-11-21T03:54:12Z   status=404  other ";
    assert_eq!(read(line, "status"), Ok(vec!["404".to_owned()]));
}

#[test]
fn escapes_in_quotes_are_undone_and_bad_ones_refused() {
    let line = r#"time=2026-11-21T03:54:12Z msg="a\u00e9\"b\\""#;
    assert_eq!(read(line, "var.msg"), Ok(vec!["aé\"b\\".to_owned()]));
    assert!(read(r#"time=2026-11-21T03:54:12Z msg="a\q""#, "var.msg").is_err());
    assert!(read(r#"time=2026-11-21T03:54:12Z msg="a\"#, "var.msg").is_err());
}
