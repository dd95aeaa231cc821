//! That what is held stays within its bounds, counts all the same, and gives its bytes back.

mod bounds;

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Bounds, Gauges, Table, TableWriter};
use crate::budget::Budget;
use crate::flavour::Flavour;
use crate::flush::{self, Flush};
use crate::line::LineReader;
use crate::plan::{Idle, Keep};
use crate::statistics::TimerStatistics;

struct Receiver {
    bounds: Arc<Bounds>,
    table: Arc<Mutex<Table>>,
    gauges: Mutex<Gauges>,
    reader: LineReader,
}

impl Receiver {
    fn new(bytes_max: usize, flavour: Flavour) -> Self {
        let bounds = Arc::new(Bounds {
            budget: Budget::new("statsd", bytes_max, &[("app.".to_owned(), bytes_max / 10)]),
            timer_values_max: 10,
            values_max: 1000,
            sketches_sets: flavour == Flavour::Native,
        });
        let table = Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
        let gauges = Mutex::new(Gauges::new(Arc::clone(&bounds)));
        Self { bounds, table, gauges, reader: LineReader::new(flavour) }
    }

    fn receive(&mut self, lines: &[u8]) {
        let mut table = self.table.lock();
        self.reader.read(lines, &mut TableWriter::new(&mut table, &self.gauges));
    }

    fn flush(&self) -> Flush {
        let idle = Idle::Flushes(1);
        let keep =
            Keep { counters: idle, timers: idle, gauges: idle, sets: idle, always: Vec::new() };
        let wanted = TimerStatistics::new(Flavour::Native, 10.0, &[90.0]);
        flush::collect(&[Arc::clone(&self.table)], &self.gauges, (&keep, 10), &wanted)
    }

    fn used(&self) -> Vec<usize> {
        self.bounds.budget.usage().iter().map(|usage| usage.used).collect()
    }
}

fn of<'f, C>(pairs: &'f [(crate::names::SharedName, C)], name: &str) -> &'f C {
    let found = pairs.iter().find(|pair| &*pair.0 == name);
    &found.unwrap_or_else(|| panic!("`{name}` is not there")).1
}

#[test]
fn a_flood_of_names_stays_within_its_bytes_and_loses_no_sample() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Native);
    let names = 200_000;
    for name in 0..names {
        receiver.receive(format!("n{name}:2|c\nn{name}:1|g\napp.n{name}:1|c").as_bytes());
    }
    let room = 400; // what the overflow keys themselves take
    let used = receiver.used();
    assert!(used[0] <= (1 << 20) / 10 + room && used[1] <= (1 << 20) + room, "{used:?}");
    let flush = receiver.flush();
    let is_app = |name: &str| name.starts_with("app.");
    let sum = |is: bool| -> f64 {
        flush.counters.iter().filter(|c| is_app(&c.0) == is).map(|c| c.1).sum()
    };
    assert_eq!((sum(true), sum(false)), (f64::from(names), f64::from(2 * names)));
    assert!(*of(&flush.counters, "statsd.overflow") > 0.0);
    assert!(*of(&flush.counters, "app.overflow") > 0.0);
    // Idle for one flush: all are gone, and so is what they were charged.
    assert_eq!(receiver.used(), [0, 0]);
    assert!(receiver.bounds.budget.overflowed() > 500_000);
}

#[test]
fn members_of_sets_are_charged_and_given_back_with_their_flush() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Native);
    for member in 0..100_000 {
        receiver.receive(format!("s:member-{member}|s").as_bytes());
    }
    assert!(receiver.used()[1] <= 1 << 20, "{:?}", receiver.used());
    let flush = receiver.flush();
    let count = of(&flush.sets, "s").len() as f64;
    assert!((count / 1e5 - 1.0).abs() < 0.03, "{count}");
    assert_eq!(receiver.used(), [0, 0]);
    assert!(receiver.table.lock().totals.members_summarised > 80_000);
}

#[test]
fn sets_of_the_references_stay_exact_and_what_finds_no_room_is_in_the_overflow_key() {
    let mut receiver = Receiver::new(100_000, Flavour::Statsd);
    for member in 0..5_000 {
        receiver.receive(format!("s:member-{member:04}|s").as_bytes());
    }
    let flush = receiver.flush();
    let (exact, rest) = (of(&flush.sets, "s"), of(&flush.sets, "statsd.overflow"));
    assert_eq!(exact.iter().count(), exact.len());
    let off = (exact.len() + rest.len()) as f64 - 5_000.0;
    assert!(rest.sketch().is_some() && off.abs() < 50.0, "off by {off}");
    assert_eq!(receiver.used(), [0, 0]);
}

#[test]
fn sketches_of_timers_are_charged_and_given_back() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Native);
    receiver.receive(b"t:1|ms");
    let before = receiver.used()[1];
    for value in 1..2_000 {
        receiver.receive(format!("t:{value}|ms").as_bytes());
    }
    assert!(receiver.used()[1] > before + 1_000, "{:?}", receiver.used());
    receiver.flush();
    assert_eq!(receiver.used(), [0, 0]);
}

#[test]
fn names_that_are_deleted_give_everything_back() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Native);
    for value in 0..50 {
        receiver.receive(format!("t:{value}|ms\nu:1|ms\ns:{value}|s\nc:1|c\ng:1|g").as_bytes());
    }
    let mut table = receiver.table.lock();
    assert!(table.remove(|table| &mut table.timers, "t"));
    assert!(table.remove(|table| &mut table.timers, "u"));
    assert!(table.remove(|table| &mut table.sets, "s"));
    assert!(table.remove(|table| &mut table.counters, "c"));
    assert!(!table.remove(|table| &mut table.counters, "c"));
    assert_eq!(table.values_kept, 0);
    assert!(receiver.gauges.lock().remove("g"));
    drop(table);
    assert_eq!(receiver.used(), [0, 0]);
}

#[test]
fn a_key_that_is_no_text_is_one_name_however_often_it_comes() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Statsd);
    receiver.reader = LineReader::new(Flavour::Statsd).leaving_keys();
    for _ in 0..3 {
        receiver.receive(b"a\xff:1|c");
    }
    assert_eq!(receiver.flush().counters, [("a\u{fffd}".into(), 3.0)]);
}

#[test]
fn other_bounds_are_charged_with_everything_that_is_held() {
    let mut receiver = Receiver::new(1 << 20, Flavour::Native);
    for at in 0..100 {
        receiver.receive(format!("t:{at}|ms\ns:{at}|s\nc{at}:1|c\ng:1|g\napp.x:1|c").as_bytes());
    }
    let prefixes = [("app.".to_owned(), 10_000)];
    let other = Arc::new(Bounds {
        budget: Budget::new("own", 1 << 20, &prefixes),
        timer_values_max: 10,
        values_max: 1000,
        sketches_sets: true,
    });
    receiver.table.lock().rebind(&other);
    receiver.gauges.lock().rebind(&other);
    let used = |bounds: &Bounds| -> Vec<usize> {
        bounds.budget.usage().iter().map(|usage| usage.used).collect()
    };
    assert_eq!(used(&other), receiver.used());
    receiver.flush();
    assert_eq!(used(&other), [0, 0]);
}
