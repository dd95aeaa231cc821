//! What is known of all receivers together.

use std::path::Path;

use super::Tally;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::legacy;
use crate::line::{BadReason, LineReader};
use crate::plan::Plan;
use crate::table::TableWriter;

fn native() -> Plan {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    config::plan(&Config::default(), Path::new("/nowhere"), wrong)
}

fn receive(tally: &Tally, receiver: usize, lines: &str) {
    let mut table = tally.tables[receiver].lock();
    table.totals.packets += 1;
    let mut writer = TableWriter::new(&mut table, &tally.gauges);
    LineReader::new(Flavour::Native).read(lines.as_bytes(), &mut writer);
}

#[test]
fn totals_and_names_are_of_all_receivers_and_of_every_kind() {
    let tally = Tally::new(&native(), 3);
    receive(&tally, 0, "a:1|c\nb:1|ms\nc:x|s\nd:1|g\nbad");
    receive(&tally, 2, "a:1|c\ne:1|c\nd:2|g\nbad:1|c|@7");
    assert_eq!(tally.names(), 4 + 2, "a gauge belongs to all receivers");
    let totals = tally.totals();
    assert_eq!((totals.packets, totals.bad.iter().sum::<u64>()), (2, 2));
    assert_eq!(totals.bad[BadReason::Rate as usize], 1);
}

#[test]
fn the_counters_of_the_server_itself_are_there_from_the_start_as_the_flavour_has_them() {
    let legacy = |flavour| legacy::read("{ prefixStats: 'own' }", flavour).expect("it is read");
    let all = ["own.bad_lines_seen", "own.metrics_received", "own.packets_received"];
    let without_lines = ["own.bad_lines_seen", "own.packets_received"];
    let plans = [
        (Plan { self_prefix: "own".to_owned(), ..native() }, &all[..]),
        (legacy(Flavour::Statsd), &all[..]),
        (legacy(Flavour::Perl), &without_lines[..]),
    ];
    for (plan, wanted) in plans {
        let tally = Tally::new(&plan, 2);
        tally.show_self_names(&plan);
        let table = tally.tables[0].lock();
        let mut names: Vec<String> = table.counters.iter().map(|(n, _)| n.to_string()).collect();
        names.sort();
        assert_eq!(names, wanted);
        assert!(table.counters.iter().all(|(_, sum)| *sum == 0.0));
    }
}

#[test]
fn bounds_are_those_of_the_plan_and_only_natively_sets_become_sketches() {
    let bounded = Plan { names_bytes_max: 777, values_max: 5, timer_values_max: 3, ..native() };
    let bounds = Tally::new(&bounded, 1).bounds();
    assert_eq!((bounds.values_max, bounds.timer_values_max), (5, 3));
    assert_eq!(bounds.budget.usage()[0].bytes_max, 777);
    assert!(bounds.sketches_sets);
    assert_eq!(bounds.budget.costs(), &crate::name_costs::of(&bounded));
    for flavour in [Flavour::Statsd, Flavour::Perl] {
        let plan = legacy::read("{}", flavour).expect("it is read");
        assert!(!Tally::new(&plan, 1).bounds().sketches_sets);
    }
}

#[test]
fn what_overflowed_stays_counted_when_the_bounds_change() {
    let tally = Tally::new(&Plan { names_bytes_max: 1, ..native() }, 1);
    receive(&tally, 0, "a:1|c\nb:1|c");
    assert_eq!(tally.bounds().budget.overflowed(), 2);
    tally.rebind(&native());
    receive(&tally, 0, "a:1|c");
    assert_eq!(tally.bounds().budget.overflowed(), 2);
}
