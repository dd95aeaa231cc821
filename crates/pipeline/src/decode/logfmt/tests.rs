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

#[test]
fn a_log_format_of_nginx_in_this_way_is_read_with_its_escapes() {
    let line = concat!(
        r#"time=2026-11-26T11:34:24+00:00 method=- request_uri="-" status=400 "#,
        r#"ua="\x22q\x22 \x5Cb" upstream_addr="-" total=1500 request_id=5f"#
    );
    for (name, value) in [
        ("var.ua", r#""q" \b"#),
        ("path", "-"),
        ("method", "-"),
        ("upstream", "-"),
        ("total", "1500"),
        ("id", "5f"),
    ] {
        assert_eq!(read(line, name), Ok(vec![value.to_owned()]), "{name}");
    }
}
