//! Claims about lines of columns.

use crate::decode::tests::{decoder, fields};

const HEAD: &str = "#Fields: date time cs-uri-stem sc-status cs(User-Agent)\n";

fn paths(lines: &str) -> Vec<Result<Vec<String>, String>> {
    let text = format!("{HEAD}{lines}\n");
    fields(&mut decoder("w3c"), text.as_bytes(), &["path", "header.user-agent"])
}

#[test]
fn a_quoted_column_may_have_the_separator_and_a_quote_inside_a_word_is_refused() {
    let seen = paths("2020-05-01 00:00:02 /a 200 \"a b\"");
    assert_eq!(seen, [Ok(vec!["/a".to_owned(), "a b".to_owned()])]);
    let seen = paths("2020-05-01\t00:00:02\t/a b\t200\tx y");
    assert_eq!(seen, [Ok(vec!["/a b".to_owned(), "x y".to_owned()])]);
    for line in [
        "2020-05-01 00:00:02 /a\"b 200 -",
        "2020-05-01 00:00:02 /a 200 \"open",
        "2020-05-01 00:00:02 /a 200 -  ",
        "2020-05-01 00:00:02  200 -",
        "2020-02-30 00:00:02 /a 200 -",
        "2020-05-01 00:00:02 /a 2x0 -",
    ] {
        assert!(paths(line)[0].is_err(), "{line}");
    }
}

#[test]
fn a_directive_without_date_and_time_reads_no_line() {
    let text = b"#Fields: cs-uri-stem sc-status\n/a 200\n";
    assert!(fields(&mut decoder("w3c"), text, &["path"])[0].is_err());
}
