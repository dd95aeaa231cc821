//! Claims about exchanges of our own journal.

use exchange::{ExchangeRef, Filter};
use verdicts::AttributeValues;

use super::*;

fn line(at: u64, path: &str, total_us: u64, wait_us: u32) -> Vec<u8> {
    let mut phases = [0; Phase::COUNT];
    phases[Phase::Wait.index()] = wait_us;
    let made = ExchangeRef {
        time_us: 1_700_000_000_000_000 + at,
        method: "GET",
        path: path.as_bytes(),
        status: 200,
        phases,
        total_us,
        ..ExchangeRef::default()
    };
    let mut line = Vec::new();
    exchange::encode(&made, &mut line);
    line
}

fn log() -> Vec<u8> {
    let mut log = line(0, "/a", 5000, 3000);
    log.extend(line(1_000_000, "/b", 7000, 0));
    log
}

fn read_log(options: &ReadOptions) -> Series {
    let saved = super::super::read("journal.log", &log(), options).unwrap();
    saved.series.into_iter().next().unwrap()
}

#[test]
fn phases_are_steps_and_fields_attributes() {
    let series = read_log(&ReadOptions::default());
    assert_eq!(series.total_ms, [5.0, 7.0]);
    assert_eq!(
        (series.phases[0].name.as_str(), &series.phases[0].ms[..]),
        ("wait", &[3.0, 0.0][..])
    );
    assert_eq!((&series.began_ms[..], series.origin_unix_ms), (&[0.0, 1000.0][..], Some(1.7e12)));
    let path = series.attributes.iter().find(|attribute| attribute.name == "path").unwrap();
    assert!(matches!(&path.values, AttributeValues::Names { names, .. } if names == &["/a", "/b"]));
}

#[test]
fn filters_and_times_choose_exchanges() {
    let filter = Some(Filter::parse("phase.wait > 1ms").unwrap());
    assert_eq!(read_log(&ReadOptions { filter, ..ReadOptions::default() }).total_ms, [5.0]);
    let since = ReadOptions { since_unix_ms: Some(1.7e12 + 500.0), ..ReadOptions::default() };
    assert_eq!(read_log(&since).total_ms, [7.0]);
    let until = ReadOptions { until_unix_ms: Some(1.7e12 + 500.0), ..ReadOptions::default() };
    assert_eq!(read_log(&until).total_ms, [5.0]);
}

#[test]
fn torn_lines_are_bad_rows() {
    let mut torn = log();
    torn.truncate(torn.len() - 20);
    let saved = super::super::read("journal.log", &torn, &ReadOptions::default()).unwrap();
    assert_eq!((saved.series[0].len(), saved.series[0].left_out.total()), (1, 1));
}
