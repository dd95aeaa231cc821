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
        (format!("{TIME}\turi:/"), "field `status` is missing"),
        (format!("{whole}\t{whole}"), "expected one time, not two"),
        (format!("{whole}{whole}"), "expected a status of three digits"),
        (format!("{whole}\ttorn"), "expected `label:value`"),
    ] {
        let error = read(&line).unwrap_err();
        assert!(error.ends_with(reason), "{error} of {line}");
    }
}

#[test]
fn our_names_and_those_of_nginx_are_labels_too() {
    let names = ["total", "id", "upstream", "client_ip", "path", "query.q", "header.x-a"];
    let line = format!(
        "{TIME}\tstatus:200\ttotal:1500\trequest_id:7f\tupstream_addr:a:1, b:2\tclient_ip:::1\t\
         path:/a\targ_q:x%20y\thttp_x_a:A\n"
    );
    let seen = fields(&mut decoder("ltsv"), line.as_bytes(), &names).remove(0).unwrap();
    assert_eq!(seen, ["1500", "7f", "b:2", "::1", "/a", "x y", "A"]);
}

#[test]
fn a_request_that_nginx_could_not_read_counts_without_a_path() {
    let line = format!("{TIME}\thost:::1\treq:\tmethod:-\turi:-\tstatus:400\tsize:0");
    assert_eq!(read(&line).unwrap(), ["::1", "-", "-", "400", "-", "-", "-"]);
}
