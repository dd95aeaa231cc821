//! Claims about the names of columns.

use super::*;

fn found(names: &str) -> Vec<Column> {
    let header: Vec<String> = names.split(',').map(str::to_owned).collect();
    columns(&header).unwrap()
}

fn phase(name: &str, ms: f64) -> Column {
    Column::Phase(name.into(), Unit(ms))
}

#[test]
fn the_whole_the_steps_the_times_and_the_attributes_are_told_apart() {
    let expected = [
        Column::Began(None),
        Column::Total(Unit(1.0)),
        phase("connect", 1.0),
        phase("wait", 1000.0),
        Column::Attribute("server".into()),
    ];
    assert_eq!(found("start,latency_ms,connect_ms,wait_s,server"), expected);
    assert_eq!(found("resolve_ms,wait_us"), [phase("resolve", 1.0), phase("wait", 0.001)]);
}

#[test]
fn many_spellings_of_the_whole_are_known() {
    for (name, ms) in [
        ("latency", 1.0),
        ("Latency (ms)", 1.0),
        ("durationMs", 1.0),
        ("duration_s", 1000.0),
        ("latency_us", 0.001),
        ("response-time [sec]", 1000.0),
        ("time_total", 1000.0),
        ("request_time", 1000.0),
        ("total_ns", 1e-6),
    ] {
        let columns = found(&format!("{name},server"));
        assert_eq!(columns[0], Column::Total(Unit(ms)), "{name}");
    }
    assert_eq!(found("whatever"), [Column::Total(Unit(1.0))]);
    assert_eq!(found("time"), [Column::Total(Unit(1.0))]);
}

#[test]
fn a_latency_with_a_unit_is_the_whole_before_one_without() {
    assert_eq!(found("elapsed,latency_ms")[1], Column::Total(Unit(1.0)));
    let jmeter = found("timeStamp,elapsed,label,responseCode,success,Latency,Connect");
    assert_eq!((&jmeter[0], &jmeter[1]), (&Column::Began(None), &Column::Total(Unit(1.0))));
    assert_eq!(jmeter[5], Column::Attribute("Latency".into()));
}

#[test]
fn beginnings_win_over_ends_and_their_units_are_kept() {
    assert_eq!(found("began_ms,latency_ms")[0], Column::Began(Some(Unit(1.0))));
    assert_eq!(found("ended_ms,latency_ms")[0], Column::Ended(Some(Unit(1.0))));
    assert_eq!(found("began_ms,ended_ms,latency_ms")[1], Column::Unused);
    assert_eq!(found("timestamp,latency_ms")[0], Column::Began(None));
}

#[test]
fn columns_without_a_latency_are_refused_with_their_names() {
    let header = ["server".to_owned(), "bytes".to_owned()];
    let error = columns(&header).unwrap_err();
    assert!(error.contains("`server`, `bytes`") && error.contains("latency_ms"), "{error}");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let header = ["latency_ms", "server", " latency_ms"].map(str::to_owned);
    let error = columns(&header).unwrap_err();
    assert_eq!(error, "two columns are called `latency_ms`: rename the one that does not count");
    assert!(columns(&["latency_ms", "", ""].map(str::to_owned)).is_ok(), "unnamed ones are many");
}
