//! What fuzz targets are shown of lines, of tables and of files.

use super::{ItemReader, LineItem, count, legacy, section};
use crate::flavour::Flavour;
use crate::plan::InputPlan;

fn item(kind: &'static str, key: &str, numbers: &[f64], text: &str) -> LineItem {
    let (key, text) = (key.as_bytes().to_vec(), text.to_owned());
    LineItem { kind, key, numbers: numbers.to_vec(), text }
}

#[test]
fn a_datagram_is_shown_item_by_item_with_its_counts() {
    let datagram = b"a b:2|c\nt:5|ms|@0.5\ng:+3|g\ns:m|s\nbad\n_sc|x|1";
    let read = ItemReader::new(Flavour::Native, true).read(datagram);
    assert_eq!((read.lines, read.bad), (6, 1));
    let wanted = [
        item("c", "a_b", &[2.0], ""),
        item("ms", "t", &[5.0, 2.0], ""),
        item("g", "g", &[3.0], ""),
        item("s", "s", &[], "m"),
        item("bad", "bad", &[], "no_type"),
    ];
    assert_eq!(read.items[..5], wanted);
    assert_eq!(read.items[5].kind, "notice");
    assert!(read.items[5].text.starts_with("Check("), "{}", read.items[5].text);
    let read = ItemReader::new(Flavour::Statsd, false).read(b"a b:2|c");
    assert_eq!(read.items, [item("c", "a b", &[2.0], "")]);
}

#[test]
fn what_two_receivers_count_is_whole_and_given_back() {
    let datagrams: Vec<String> =
        (0..9).map(|at| format!("n{at}:2|c\nt:{at}:7|ms\nt2:1|ms\ns:{at}|s")).collect();
    let lines = || datagrams.iter().map(|line| line.as_bytes());
    for flavour in [Flavour::Native, Flavour::Statsd] {
        let values = if flavour == Flavour::Native { 27 } else { 18 };
        for bytes_max in [0, 2_000, 1 << 20] {
            let counted = count(flavour, bytes_max, lines());
            assert_eq!((counted.sum, counted.values), (18.0, values), "{flavour:?}, {bytes_max}");
            assert!(counted.is_finite);
            assert_eq!(counted.charged, 0);
        }
    }
    assert!(
        count(Flavour::Native, 1000, [b"g:1e308|g\ng:+1e308|g".as_slice()].into_iter()).is_finite
    );
}

#[test]
fn files_of_both_kinds_are_read_without_asking_a_name_server() {
    let plan = legacy("{ address: '127.0.0.1', port: 7 }", Flavour::Statsd).expect("it is read");
    assert_eq!(plan.inputs, [InputPlan::Udp("127.0.0.1:7".parse().expect("an address"))]);
    legacy("{ address: 'localhost' }", Flavour::Statsd).expect_err("it is a name");
    assert!(section("no JSON").is_none() && section(r#"{"port": 1}"#).is_none());
    let plan = section(r#"{"prefix": "own"}"#).expect("it is one").expect("it is good");
    assert_eq!(plan.self_prefix, "own");
    let problems = section(r#"{"flush": "0"}"#).expect("it is one").expect_err("it is none");
    assert!(problems[0].starts_with("statsd.flush: "), "{problems:?}");
}
