//! Which keys are written, in which order, and that each writing begins anew.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use super::write;
use crate::flavour::Flavour;
use crate::legacy;
use crate::line::LineReader;
use crate::plan::KeyFlush;
use crate::table::TableWriter;
use crate::tally::Tally;

fn receive(tally: &Tally, receiver: usize, lines: &str) {
    let mut table = tally.tables[receiver].lock();
    let mut writer = TableWriter::new(&mut table, &tally.gauges);
    LineReader::new(Flavour::Statsd).counting_keys().read(lines.as_bytes(), &mut writer);
}

#[test]
fn the_most_frequent_keys_of_all_receivers_are_appended_and_then_counted_anew() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("keys.log");
    let tally = Tally::new(&legacy::read("{}", Flavour::Statsd).expect("it is read"), 2);
    let plan =
        |percent| KeyFlush { interval: Duration::from_secs(1), percent, log: Some(path.clone()) };
    let written = || -> Vec<String> {
        let text = fs::read_to_string(&path).expect("it is written");
        // Behind the date.
        text.lines().map(|line| line.split_once(" GMT ").expect("a date").1.to_owned()).collect()
    };
    receive(&tally, 0, "b:1|c\na:1|c\nc:1|c\nc:1|c\nd:1|c");
    receive(&tally, 1, "c:1|c\nb:5|ms\ne:1|g");
    write(&tally, &plan(100.0)).expect("there is room");
    let all = ["count=3 key=c", "count=2 key=b", "count=1 key=a", "count=1 key=d", "count=1 key=e"];
    assert_eq!(written(), all);
    receive(&tally, 0, "x:1|c\nx:1|c\ny:1|c\nz:1|c");
    write(&tally, &plan(34.0)).expect("there is room");
    let more = [&all[..], &["count=2 key=x", "count=1 key=y"]].concat();
    assert_eq!(written(), more, "34 % of three keys are two");
    write(&tally, &plan(100.0)).expect("there is room");
    assert_eq!(written(), more, "nothing came");
}
