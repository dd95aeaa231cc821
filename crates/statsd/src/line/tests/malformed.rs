//! Every malformed line that is known to have hurt a server, and what each flavour makes of it.
//!
//! The flavour counts something, or says why the line is bad. No line ends a server, and none is
//! passed over.

use super::{Transcript, read_bytes};
use crate::flavour::Flavour;
use crate::line::LineReader;

/// A line, and what it is in native, in statsd and in Net::Statsd::Server.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("a:1|c|@ 1", "bad rate", "bad rate", "bad rate"),
    ("constructor:1|ms", "ms constructor 1 x1", "ms constructor 1 x1", "ms constructor 1 x1"),
    ("__proto__:1|c", "c __proto__ 1", "c __proto__ 1", "c __proto__ 1"),
    (
        "hasOwnProperty:1|g",
        "g hasOwnProperty Set(1.0)",
        "g hasOwnProperty Set(1.0)",
        "g hasOwnProperty Set(1.0)",
    ),
    ("a:1|c|@0", "bad rate", "bad rate", "bad rate"),
    ("a:1|c|@0.0", "bad rate", "bad rate", "bad rate"),
    ("a:1|c|@-1", "bad rate", "bad rate", "bad rate"),
    ("a:1|c|@1e-320", "bad rate", "c a 1", "c a 1"),
    ("a:1|c|@.", "bad rate", "bad rate", "bad rate"),
    ("a:1|c|@", "bad rate", "bad rate", "bad rate"),
    ("a:1|c|0.1", "c a 1", "bad rate", "bad rate"),
    ("a:1|ms|@0", "bad rate", "bad rate", "ms a 1 x1"),
    ("a:NaN|c", "bad value", "bad value", "bad value"),
    ("a:nan|g", "bad value", "bad value", "bad value"),
    ("a:Infinity|g", "bad value", "bad value", "bad value"),
    ("a:-Infinity|c", "bad value", "bad value", "bad value"),
    ("a:inf|ms", "bad value", "bad value", "bad value"),
    ("a:1e999|c", "bad value", "bad value", "bad value"),
    ("a:1e308|c|@0.01", "bad rate", "bad rate", "bad rate"),
    ("a:-1|ms", "bad value", "bad value", "ms a -1 x1"),
    ("a:-0|ms", "ms a -0 x1", "ms a -0 x1", "ms a -0 x1"),
    ("a:-5|g", "g a Add(-5.0)", "g a AddUnlessZero(-5.0)", "g a Set(-5.0)"),
    ("a:--5|g", "bad value", "bad value", "g a Set(0.0)"),
    ("a:+|g", "bad value", "bad value", "g a Set(0.0)"),
    ("a:|c", "bad value", "bad value", "c a 1"),
    ("a:|ms", "bad value", "bad value", "ms a 0 x1"),
    ("a:|g", "bad value", "bad value", "g a Set(0.0)"),
    ("a:|s", "s a ", "s a 0", "s a 0"),
    ("a:1|", "bad no_type", "c a 1", "bad no_type"),
    ("a:1", "bad no_type", "bad no_type", "bad no_type"),
    ("a", "bad no_type", "bad no_type", "bad no_type"),
    ("", "", "", ""),
    (":", "bad key", "bad no_type", "bad no_type"),
    ("::", "bad key", "bad no_type; bad no_type", "bad no_type"),
    (":1|c", "bad key", "c  1", "c  1"),
    ("|", "bad no_type", "bad no_type", "bad no_type"),
    ("a|c", "bad no_type", "bad no_type", "bad no_type"),
    ("a:1||@0.1", "bad no_type", "c a 10", "bad no_type"),
    ("a:1|c|", "c a 1", "bad rate", "c a 1"),
    ("a:1|c||", "c a 1", "bad rate", "c a 1"),
    ("a:1|q", "bad type", "c a 1", "c a 1"),
    ("a:1|c|#", "c a 1", "c a 1", "bad rate"),
    ("a:1|c|#|", "c a 1", "c a; 1", "bad rate"),
    ("a:1|c|#:v", "c a 1", "c a;=v 1", "bad rate; bad no_type"),
    ("a:1|c|#,,", "c a 1", "c a;;; 1", "bad rate"),
    ("a:1,5|c", "bad value", "bad value", "c a 1"),
    ("a:1 |c", "bad value", "c a 1", "c a 1"),
    ("a: 1|c", "bad value", "c a 1", "c a 1"),
    ("a:0x|c", "bad value", "bad value", "c a 0"),
    ("a:1_000|c", "bad value", "bad value", "c a 1"),
    ("a:1|C", "bad type", "c a 1", "c a 1"),
    ("a:1|c\r", "c a 1", "c a 1", "c a 1"),
    ("a\tb:1|c", "bad control", "c a_b 1", "c ab 1"),
    ("a\0b:1|c", "bad control", "c ab 1", "c ab 1"),
    ("a:1|c|#t:\u{1b}[0m", "bad control", "c a;t=0m 1", "bad rate; bad no_type"),
    ("a b:1|c", "c a_b 1", "c a_b 1", "c a-b 1"),
    ("a\u{7f}:1|c", "bad control", "c a 1", "c a 1"),
    ("é:1|c", "bad key", "c  1", "c  1"),
    ("_e{", "bad notice", "bad no_type", "bad no_type"),
    ("_e{1,1}", "bad notice", "bad no_type", "bad no_type"),
    ("_e{99,1}:a|b", "bad notice", "bad value", "c _e99,1 0"),
    ("_e{1,1}:a|b|d:x", "bad notice", "bad rate; bad no_type", "bad rate; bad no_type"),
    ("_sc|a", "bad notice", "bad no_type", "bad no_type"),
    ("_sc|a|9", "bad notice", "bad no_type", "bad no_type"),
    ("_sc||0", "bad notice", "bad no_type", "bad no_type"),
    ("a:1:2|c", "c a 1; c a 2", "bad no_type; c a 2", "bad no_type; c a 2"),
    ("a:1|c:2", "c a 1; bad no_type", "c a 1; bad no_type", "c a 1; bad no_type"),
    ("a:1|c:2|", "c a 1; bad no_type", "c a 1; c a 2", "c a 1; bad no_type"),
    ("a:1|c:x|c:3|c", "c a 1; bad value; c a 3", "c a 1; bad value; c a 3", "c a 1; c a 0; c a 3"),
    (" :1|c", "c _ 1", "c _ 1", "c - 1"),
    ("a|5|c", "bad no_type", "bad no_type", "bad no_type"),
    ("a 5|c", "bad no_type", "bad no_type", "bad no_type"),
    ("a:5 |ms", "bad value", "ms a 5 x1", "ms a 5 x1"),
    ("a:5c|c", "bad value", "bad value", "c a 5"),
    ("a:5|cx", "bad type", "c a 5", "c a 5"),
    ("a:5|m", "bad type", "c a 5", "c a 5"),
    ("a:0|ms|@0.5", "ms a 0 x2", "ms a 0 x2", "ms a 0 x1"),
    ("a:1|c|@1", "c a 1", "c a 1", "c a 1"),
    ("a:1|c|@1.5", "bad rate", "c a 0.6666666666666666", "c a 0.6666666666666666"),
    ("a \t b//c:1|c", "bad control", "c a_b--c 1", "c a--b_c 1"),
    ("a  b:1|c", "c a_b 1", "c a_b 1", "c a-b 1"),
    ("a:1|s|@x", "bad rate", "bad rate", "s a 1"),
    ("a:1|g|@0", "bad rate", "bad rate", "g a Set(1.0)"),
];

#[test]
fn every_malformed_line_is_counted_as_what_the_flavour_makes_of_it() {
    for (line, native, statsd, perl) in ROWS {
        for (flavour, wanted) in
            [(Flavour::Native, native), (Flavour::Statsd, statsd), (Flavour::Perl, perl)]
        {
            let told = read_bytes(flavour, line.as_bytes());
            assert_eq!(told.join("; "), *wanted, "`{line}` in {}", flavour.name());
        }
    }
}

#[test]
fn a_malformed_line_takes_none_of_its_neighbours_with_it() {
    for (line, native, statsd, perl) in ROWS.iter().filter(|row| !row.0.is_empty()) {
        for (flavour, wanted) in
            [(Flavour::Native, native), (Flavour::Statsd, statsd), (Flavour::Perl, perl)]
        {
            let mut told = Transcript::default();
            let datagram = format!("first:1|c\n{line}\nlast:1|c");
            let seen = LineReader::new(flavour).read(datagram.as_bytes(), &mut told);
            assert_eq!(told.0.join("; "), format!("c first 1; {wanted}; c last 1"), "`{line}`");
            let bad = told.0.iter().filter(|said| said.starts_with("bad ")).count();
            assert_eq!((seen.lines, seen.bad), (3, bad as u64), "`{line}`");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_read_in_every_flavour() {
    let all: Vec<u8> = (0..=255).filter(|byte| *byte != b'\n').collect();
    let members = [b"k:".as_slice(), &[0xff, 0xfe], b"|s"].concat();
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        assert!(!read_bytes(flavour, &all).is_empty(), "{}", flavour.name());
        assert_eq!(read_bytes(flavour, &members), ["s k \u{fffd}\u{fffd}"]);
        let values = [b"k:".as_slice(), &[0xff], b"|ms"].concat();
        let wanted = if flavour == Flavour::Perl { "ms k 0 x1" } else { "bad value" };
        assert_eq!(read_bytes(flavour, &values), [wanted]);
    }
}

#[test]
fn the_largest_datagrams_and_names_of_ten_kilobytes_are_read_whole() {
    let name = "n".repeat(10_000);
    let lines = 65_507 / "a:1|c\n".len();
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        assert_eq!(read_bytes(flavour, format!("{name}:1|c").as_bytes()), [format!("c {name} 1")]);
        let told = read_bytes(flavour, "a:1|c\n".repeat(lines).as_bytes());
        assert_eq!((told.len(), told[lines - 1].as_str()), (lines, "c a 1"));
        let told = read_bytes(flavour, "x".repeat(65_507).as_bytes());
        assert_eq!(told, ["bad no_type"]);
        let packed = format!("k{}|c", ":1".repeat(30_000));
        assert_eq!(read_bytes(flavour, packed.as_bytes()).len(), 30_000);
    }
}
