//! Every name and number that a flush becomes, in each flavour and form.

use std::time::Duration;

use crate::backend::delivery::Render as _;
use crate::backend::graphite::{GraphiteNames, PART_BYTES};
use crate::budget::Budget;
use crate::flavour::Flavour;
use crate::flush::{Flush, FlushedTimer};
use crate::legacy;
use crate::members::Members;
use crate::plan::{Graphite, Plan};
use crate::samples::Samples;
use crate::status::{BackendStatus, DatedInstant};

fn flush() -> Flush {
    let mut members = Members::default();
    members.add(b"x", b"s", &Budget::new("statsd", 1 << 20, &[]), true);
    Flush {
        unix_s: 1_700_000_003,
        slot_unix_s: Some(1_700_000_000),
        interval: Duration::from_secs(4),
        counters: vec![("c;k=v".into(), 10.0)],
        timers: vec![FlushedTimer {
            name: "t".into(),
            samples: Samples::default(),
            statistics: vec![("mean".into(), 0.5), ("upper_90".into(), 7.0)],
        }],
        gauges: vec![("g".into(), -1.5)],
        sets: vec![("s".into(), members)],
        processing: Duration::from_micros(7_900),
        ..Flush::default()
    }
}

fn status() -> BackendStatus {
    let failed = DatedInstant { unix_s: 1_600_000_000, ..DatedInstant::now() };
    BackendStatus {
        last_flush: DatedInstant { unix_s: 1_650_000_000, ..failed },
        last_exception: Some(failed),
        flush_time_ms: 11,
        flush_length: 222,
        ..BackendStatus::started()
    }
}

fn plan(flavour: Flavour) -> Plan {
    legacy::read("{ prefixStats: 'own' }", flavour).expect("the file can be used")
}

fn parts(graphite: &Graphite, flavour: Flavour, flush: &Flush) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut each = |part: &[u8]| {
        parts.push(part.to_vec());
        Ok(())
    };
    let names = GraphiteNames::new(graphite, &plan(flavour));
    names.parts(flush, &status(), &mut each).expect("a vector takes everything");
    parts
}

/// Lines whose time is that of the flush, and those of the moment without their time.
fn lines(graphite: &Graphite, flavour: Flavour) -> (Vec<String>, Vec<String>) {
    let parts = parts(graphite, flavour, &flush());
    assert_eq!(parts.len(), 1);
    let text = String::from_utf8(parts[0].clone()).expect("text");
    let (mut of_flush, mut of_now) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (line, time) = line.rsplit_once(' ').expect("a time");
        if time == "1700000000" {
            of_flush.push(line.to_owned())
        } else {
            of_now.push(line.to_owned())
        }
    }
    (of_flush, of_now)
}

#[test]
fn legacy_names_are_those_before_statsd_0_6() {
    let graphite = Graphite { suffix: "web".to_owned(), ..Graphite::default() };
    let (mut of_flush, of_now) = lines(&graphite, Flavour::Statsd);
    assert!(of_flush[7].starts_with("stats.own.graphiteStats.calculationtime.web "));
    of_flush.remove(7);
    let wanted = [
        "stats.c.web;k=v 2.5",
        "stats_counts.c.web;k=v 10",
        "stats.timers.t.mean.web 0.5",
        "stats.timers.t.upper_90.web 7",
        "stats.gauges.g.web -1.5",
        "stats.sets.s.count.web 1",
        "own.numStats.web 4",
        "stats.own.processing_time.web 7",
    ];
    assert_eq!(of_flush, wanted);
    let wanted = [
        "stats.own.graphiteStats.last_exception.web 1600000000",
        "stats.own.graphiteStats.last_flush.web 1650000000",
        "stats.own.graphiteStats.flush_time.web 11",
        "stats.own.graphiteStats.flush_length.web 222",
    ];
    assert_eq!(of_now, wanted);
}

#[test]
fn names_of_today_have_a_prefix_for_each_kind() {
    let graphite = Graphite {
        is_legacy: false,
        global_prefix: "all".to_owned(),
        sends_counts: false,
        timers: String::new(),
        ..Graphite::default()
    };
    let (of_flush, of_now) = lines(&graphite, Flavour::Native);
    let wanted = [
        "all.counters.c.rate;k=v 2.5",
        "all.t.mean 0.5",
        "all.t.upper_90 7",
        "all.gauges.g -1.5",
        "all.sets.s.count 1",
        "all.own.numStats 4",
    ];
    assert_eq!(of_flush[..6], wanted);
    assert_eq!(
        of_now[2..],
        ["all.own.graphiteStats.flush_time 11", "all.own.graphiteStats.flush_length 222"]
    );
    let counts = Graphite { sends_counts: true, ..graphite };
    assert_eq!(lines(&counts, Flavour::Native).0[1], "all.counters.c.count;k=v 10");
}

#[test]
fn perl_writes_six_places_no_sets_and_less_of_itself() {
    let (of_flush, of_now) = lines(&Graphite::default(), Flavour::Perl);
    let wanted = [
        "stats.c;k=v 2.500000",
        "stats_counts.c;k=v 10",
        "stats.timers.t.mean 0.500000",
        "stats.timers.t.upper_90 7.000000",
        "stats.gauges.g -1.500000",
        "own.numStats 3",
    ];
    assert_eq!(of_flush[..6], wanted);
    let calculation = of_flush[6].split(' ').nth(1).expect("a number");
    assert_eq!(calculation.split('.').nth(1).map(str::len), Some(6), "{calculation}");
    assert_eq!(of_flush[7], "stats.own.processing_time 7");
    let wanted = [
        "stats.own.graphiteStats.last_exception 1600000000",
        "stats.own.graphiteStats.last_flush 1650000000",
    ];
    assert_eq!(of_now, wanted);
}

#[test]
fn how_long_names_took_is_told_in_milliseconds() {
    let gauges = (0..20_000).map(|at| (format!("g{at}").into(), 1.0)).collect();
    let flush = Flush { gauges, unix_s: 1, ..Flush::default() };
    let begun = std::time::Instant::now();
    let text = parts(&Graphite::default(), Flavour::Perl, &flush).concat();
    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
    let text = String::from_utf8(text).expect("text");
    let line = text.lines().find(|line| line.contains("calculationtime")).expect("it is told");
    let told: f64 = line.split(' ').nth(1).and_then(|told| told.parse().ok()).expect("a number");
    // So many names take more than ten microseconds anywhere.
    assert!(told <= took_ms && told > 0.01, "{told} of {took_ms}");
}

#[test]
fn the_series_of_a_flush_are_its_names_with_their_numbers() {
    let names = GraphiteNames::new(&Graphite::default(), &plan(Flavour::Statsd));
    let spaced = Flush { gauges: vec![("a b".into(), 2.0)], ..flush() };
    let wanted = [
        ("stats.c;k=v", 2.5),
        ("stats_counts.c;k=v", 10.0),
        ("stats.timers.t.mean", 0.5),
        ("stats.timers.t.upper_90", 7.0),
        ("stats.gauges.a b", 2.0),
        ("stats.sets.s.count", 1.0),
    ];
    assert_eq!(names.series(&spaced), wanted.map(|(name, number)| (name.to_owned(), number)));
}

#[test]
fn pickle_is_a_list_of_tuples_behind_its_length() {
    let graphite = Graphite { is_pickle: true, ..Graphite::default() };
    let gauges = vec![("it's\\a\nb".into(), 1.5)];
    let mut parts =
        parts(&graphite, Flavour::Statsd, &Flush { gauges, unix_s: 7, ..Flush::default() });
    let part = parts.remove(0);
    let length = u32::from_be_bytes(part[..4].try_into().expect("four bytes")) as usize;
    assert_eq!(part.len(), 4 + length);
    let text = std::str::from_utf8(&part[4..]).expect("text");
    let first =
        "(l(S'stats.gauges.it\\'s\\\\ab'\n(L7L\nS'1.5'\ntta(S'own.numStats'\n(L7L\nS'1'\ntta";
    assert!(text.starts_with(first) && text.ends_with("\ntta."), "{text}");
    assert_eq!(text.matches("(S'").count(), 1 + 3 + 4);
}

#[test]
fn parts_end_once_they_have_their_bytes_and_lose_no_line() {
    let gauges = (0..30_000).map(|at| (format!("gauge{at:05}").into(), 1.0)).collect();
    let flush = Flush { gauges, unix_s: 1_700_000_000, ..Flush::default() };
    for is_pickle in [false, true] {
        let graphite = Graphite { is_pickle, ..Graphite::default() };
        let parts = parts(&graphite, Flavour::Statsd, &flush);
        assert!(parts.len() >= 3, "{}", parts.len());
        for part in &parts[..parts.len() - 1] {
            assert!((512 << 10..(512 << 10) + 100).contains(&part.len()), "{}", part.len());
        }
        assert_eq!(PART_BYTES, 512 << 10);
        let text = String::from_utf8_lossy(&parts.concat()).into_owned();
        assert_eq!(text.matches("gauge").count(), 2 * 30_000, "each once, behind `gauges.`");
    }
    // A line that makes a part whole is its last.
    let name = |bytes: usize| "n".repeat(bytes - "stats.gauges. 1 1700000000\n".len());
    let gauges = vec![(name(PART_BYTES - 50).into(), 1.0), (name(50).into(), 1.0)];
    let whole = parts(&Graphite::default(), Flavour::Statsd, &Flush { gauges, ..flush });
    assert_eq!(whole[0].len(), PART_BYTES);
}
