//! Claims about what `events query` reads and prints.

use serde_json::{Value, json};
use sinks::QueryAnswer;

use super::{csv, json as print_json, time};

fn answer() -> QueryAnswer {
    let columns = ["path", "count", "p50"].map(str::to_owned).to_vec();
    let rows = vec![
        vec![json!("/é"), json!(12), json!(1.5)],
        vec![json!("a,\"b\""), json!(3), Value::Null],
    ];
    QueryAnswer { columns, rows }
}

fn printed(print: impl Fn(&QueryAnswer, &mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    print(&answer(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn answers_are_printed_for_programs() {
    assert_eq!(printed(csv), "path,count,p50\n/é,12,1.5\n\"a,\"\"b\"\"\",3,\n");
    let parsed: Value = serde_json::from_str(&printed(print_json)).unwrap();
    let expected = json!([
        {"path": "/é", "count": 12, "p50": 1.5},
        {"path": "a,\"b\"", "count": 3, "p50": null},
    ]);
    assert_eq!(parsed, expected);
}

#[test]
fn times_are_whole_or_cut_or_ago() {
    for text in ["2026", "2026-11-21", "2026-11-21T09:48", "2026-11-21T09:48:00.5Z"] {
        assert_eq!(time(text).unwrap(), text);
    }
    assert_eq!(time("6h").unwrap().len(), "2026-11-21T09:48:00".len());
    for text in ["", "yesterday", "2026/11/21", "21.11.2026"] {
        let error = time(text).unwrap_err().to_string();
        assert!(error.contains("is no time"), "{error}");
    }
}
