//! Claims about lines of syslog.

use crate::decode::tests::{decoder, fields};

fn read(line: &str) -> Result<Vec<String>, String> {
    let names = ["host", "var.program", "var.pid", "var.message"];
    fields(&mut decoder("syslog"), format!("{line}\n").as_bytes(), &names)[0].clone()
}

fn parts(parts: [&str; 4]) -> Result<Vec<String>, String> {
    Ok(parts.map(str::to_owned).into())
}

#[test]
fn a_message_without_a_tag_is_all_behind_the_host() {
    let line = "<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!";
    assert_eq!(read(line), parts(["10.0.0.99", "-", "-", "Use the BFG!"]));
    let line = "2026-02-05T17:32:18.123456+01:00 web sshd[7]: closed: [x]";
    assert_eq!(read(line), parts(["web", "sshd", "7", "closed: [x]"]));
}

#[test]
fn data_that_does_not_close_and_lines_without_time_or_host_are_refused() {
    for line in [
        "<34>1 2003-10-11T22:14:15.003Z host app 7 id [a b=\"]\" text",
        "<34>1 2003-10-11T22:14:15.003Z host app 7 id x text",
        "<34>1 - host app 7 id - text",
        "<34>Oct 32 22:14:15 host su: x",
        "<34>Feb 30 22:14:15 host su: x",
        "<x>Oct 11 22:14:15 host su: x",
        "<34>Oct 11 22:14:15 host",
        "text",
        "<",
        "",
    ] {
        assert!(read(line).is_err(), "{line}");
    }
}

#[test]
fn the_space_that_rsyslog_leaves_before_a_message_is_none_of_it() {
    for spaces in ["", " ", "  "] {
        let line = format!("<190>1 2026-11-26T11:34:24+00:00 vm nginx - - -{spaces}");
        let message = if spaces.is_empty() { "" } else { "::1 - -" };
        let seen = read(&format!("{line}{message}"));
        assert_eq!(
            seen,
            parts(["vm", "nginx", "-", if message.is_empty() { "-" } else { message }])
        );
    }
}

#[test]
fn no_priority_is_above_191() {
    assert!(read("<191>Oct 11 22:14:15 host su: x").is_ok());
    assert!(read("<192>Oct 11 22:14:15 host su: x").is_err());
    assert!(read("<999>1 2003-10-11T22:14:15.003Z host app 7 id - text").is_err());
}
