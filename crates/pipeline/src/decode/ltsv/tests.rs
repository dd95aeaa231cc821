//! Labels, known and unknown.

use crate::decode::tests::{decoder, fields};

fn read(line: &str) -> Result<Vec<String>, String> {
    let names = ["client_ip", "path", "query", "status", "total", "var.app", "host"];
    fields(&mut decoder("ltsv"), format!("{line}\n").as_bytes(), &names).remove(0)
}

const TIME: &str = "time:[21/Nov/2026:03:54:12 +0000]";

#[test]
fn reads_known_labels_and_keeps_others() {
    let line = format!(
        "host:1.2.3.4\t{TIME}\treq:GET /a?b=1 HTTP/1.1\tstatus:200\treqtime:0.5\tapp:x:y\tvhost:h"
    );
    let expected = ["1.2.3.4", "/a", "b=1", "200", "500000", "x:y", "h"];
    assert_eq!(read(&line).unwrap(), expected);
}

#[test]
fn refuses_lines_that_lack_something_and_two_in_one() {
    let whole = format!("{TIME}\turi:/\tstatus:200");
    assert!(read(&whole).is_ok());
    for (line, reason) in [
        ("uri:/\tstatus:200".to_owned(), "field `time` is missing"),
        (format!("{TIME}\tstatus:200"), "field `uri` is missing"),
        (format!("{TIME}\turi:/"), "field `status` is missing"),
        (format!("{whole}\t{whole}"), "expected one time, not two"),
        (format!("{whole}{whole}"), "expected a whole number"),
        (format!("{whole}\ttorn"), "expected `label:value`"),
    ] {
        let error = read(&line).unwrap_err();
        assert!(error.ends_with(reason), "{error} of {line}");
    }
}
