//! Claims about the lines that syslog gets.

use std::os::unix::net::UnixDatagram;

use stdx::calendar::{CivilDate, TimeOfDay};

use super::{BYTES_MAX, Syslog, SyslogEntry, line};

const TIME: (CivilDate, TimeOfDay) =
    (CivilDate { year: 2013, month: 3, day: 30 }, TimeOfDay { hour: 10, minute: 48, second: 5 });
const HASH: &str = "3fa9c01b22de8d4f";

fn sent<'a>(command: &'a str, result: &'a str) -> SyslogEntry<'a> {
    let who = "127.0.0.1 (uid 1000 alice)";
    SyslogEntry { command, who, result: Some(result), written: Some((17, HASH)) }
}

#[test]
fn a_line_has_the_form_that_scripts_know() {
    assert_eq!(
        line(&sent("purge url=/x", "done, 3 entries"), TIME),
        "<38>Mar 30 10:48:05 tidegate: Running purge url=/x by 127.0.0.1 (uid 1000 alice): done, 3 \
         entries [audit 17 3fa9c01b22de]"
    );
    let early = (CivilDate { day: 3, ..TIME.0 }, TIME.1);
    let begun = SyslogEntry { result: None, written: None, ..sent("purge all", "") };
    assert_eq!(
        line(&begun, early),
        "<38>Mar  3 10:48:05 tidegate: Running purge all by 127.0.0.1 (uid 1000 alice) [audit not \
         written]"
    );
}

#[test]
fn what_does_not_print_is_an_escape() {
    let line = line(&sent("purge url=/\n<38>x\u{1b}[2J\u{7f}", "done"), TIME);
    assert!(line.contains("Running purge url=/\\n<38>x\\u{1b}[2J\\u{7f} by"), "{line}");
    assert!(!line.contains(char::is_control));
    let line = self::line(&sent("GET '\"\\/\u{202e}gpj.ü", "done"), TIME);
    assert!(line.contains("Running GET '\"\\/\\u{202e}gpj.ü by"), "{line}");
}

#[test]
fn a_long_line_is_cut_and_keeps_its_end() {
    let (long, result) = ("ü".repeat(3000), "é".repeat(3000));
    let who = "a".repeat(3000);
    let all = line(&SyslogEntry { who: &who, ..sent(&long, &result) }, TIME);
    assert!(all.len() <= BYTES_MAX, "{}", all.len());
    assert!(all.contains("… by aaaa") && all.contains("…: éé"), "{all}");
    let line = line(&sent(&long, &result), TIME);
    assert!(line.len() <= BYTES_MAX, "{}", line.len());
    assert!(line.ends_with("… [audit 17 3fa9c01b22de]"));
    assert!(line.contains("… by 127.0.0.1 (uid 1000 alice): é"));
}

#[test]
fn a_socket_gets_a_datagram_and_none_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let syslog = Syslog::new(path.clone());
    syslog.send(&sent("purge", "done"), 0);
    let socket = UnixDatagram::bind(&path).unwrap();
    syslog.send(&sent("purge", "done"), 1_364_640_485_000_000);
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).unwrap();
    let text = std::str::from_utf8(&bytes[..length]).unwrap();
    assert!(text.starts_with("<38>Mar 30 "), "{text}");
    assert!(text.ends_with(": done [audit 17 3fa9c01b22de]"), "{text}");
}
