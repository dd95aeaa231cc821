//! Claims about CSV.

use verdicts::{AttributeValues, Series};

use super::super::{ReadOptions, read as read_any};

fn read(text: &str) -> Series {
    let saved = read_any("x.csv", text.as_bytes(), &ReadOptions::default()).expect(text);
    saved.series.into_iter().next().unwrap()
}

fn refused(text: &str, is_strict: bool) -> String {
    let options = ReadOptions { is_strict, ..ReadOptions::default() };
    read_any("x.csv", text.as_bytes(), &options).unwrap_err().to_string()
}

#[test]
fn one_column_is_latencies_with_or_without_a_header() {
    assert_eq!(read("latency_ms\n5\n7.5\n").total_ms, [5.0, 7.5]);
    assert_eq!(read("5\n7.5").total_ms, [5.0, 7.5]);
    assert_eq!(read("\u{feff}latency_s\r\n0.005\r\n").total_ms, [5.0]);
    assert_eq!(read("# made by hand\n\nlatency\n1.5s\n\n250us\n").total_ms, [1500.0, 0.25]);
}

#[test]
fn steps_add_up_to_the_whole_unless_it_is_there() {
    let series = read("resolve_ms,wait_ms\n1,10\n2,20\n");
    assert_eq!(series.total_ms, [11.0, 22.0]);
    assert_eq!(
        (series.phases[1].name.as_str(), &series.phases[1].ms[..]),
        ("wait", &[10.0, 20.0][..])
    );
    assert_eq!(read("latency_ms,wait_ms\n15,10\n").total_ms, [15.0]);
}

#[test]
fn steps_that_are_longer_than_the_whole_are_noted() {
    let series = read("latency_ms,one_ms,two_ms\n10,8,2\n13,500,700\n");
    assert!(series.notes[0].starts_with("in 1 call the steps add up to more"), "{series:?}");
    assert!(read("latency_ms,one_ms\n10,10\n").notes.is_empty());
}

#[test]
fn moments_and_attributes_are_columns() {
    let text = "timestamp,latency_ms,server,bytes\n\
                2023-11-14T22:13:20Z,5,\"a, b\",100\n2023-11-14T22:13:21Z,6,c,\n";
    let series = read(text);
    assert_eq!(series.origin_unix_ms, Some(1_700_000_000_000.0));
    assert_eq!(series.began_ms, [0.0, 1000.0]);
    let AttributeValues::Names { names, of } = &series.attributes[0].values else {
        panic!("{series:?}")
    };
    assert_eq!((names[0].as_str(), of.as_slice()), ("a, b", &[0, 1][..]));
    let AttributeValues::Numbers(bytes) = &series.attributes[1].values else {
        panic!("{series:?}")
    };
    assert!(bytes[0] == 100.0 && bytes[1].is_nan());
    let ended = read("ended_ms,latency_ms\n1000,100\n1500,500\n");
    assert_eq!((&ended.began_ms[..], ended.origin_unix_ms), (&[0.0, 100.0][..], None));
}

#[test]
fn semicolons_tabs_and_decimal_commas_are_read() {
    assert_eq!(read("latency_ms;server\n5,5;a\n").total_ms, [5.5]);
    assert_eq!(read("latency_ms\tserver\n5.5\ta\n").total_ms, [5.5]);
}

#[test]
fn bad_rows_are_counted_by_cause_and_named_by_place() {
    let series = read("server,latency_ms\na,5\nb,fast\nc,-1\nd,NaN\ne,inf\nf,\ng\nh,6\n");
    assert_eq!(series.total_ms, [5.0, 6.0]);
    let bad: Vec<_> =
        series.left_out.bad.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    let expected =
        [("empty", 1), ("infinite", 1), ("negative", 1), ("not a number", 2), ("too short", 1)];
    assert_eq!(bad, expected);
    assert_eq!(series.notes[0], "left out: x.csv:3: latency_ms: `fast` is not a number");
    assert_eq!(series.notes.last().unwrap(), "left out: 1 more rows");
}

#[test]
fn a_negative_moment_costs_its_row_and_not_the_times_of_all() {
    let series = read("start_s,latency_ms\n-0.00009,6\n0.02,4\n0.04,5\n");
    assert_eq!(
        (series.total_ms.as_slice(), series.began_ms.as_slice()),
        (&[4.0, 5.0][..], &[0.0, 20.0][..])
    );
    assert_eq!(series.left_out.bad["negative"], 1);
}

#[test]
fn strict_reading_stops_at_the_first_bad_row() {
    let error = refused("latency_ms\n5\nfast\n", true);
    assert_eq!(error, "x.csv:3: latency_ms: `fast` is not a number");
}

#[test]
fn files_without_a_good_row_are_refused_with_the_first_place() {
    let error = refused("latency_ms\nfast\nslow\n", false);
    assert!(error.contains("no row is good") && error.contains("x.csv:2: latency_ms"), "{error}");
    assert!(refused("1,2,3\n4,5,6\n", false).contains("add a header"));
    assert!(refused("latency_ms\n", false).contains("no call in it"));
}

#[test]
fn quoted_fields_of_several_lines_keep_the_lines_counted() {
    let series = read("server,latency_ms\n\"a\nb\",5\nc,x\n");
    assert!(series.notes[0].starts_with("left out: x.csv:4: "), "{:?}", series.notes);
}
