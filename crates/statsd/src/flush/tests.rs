//! That each sample is in one flush, merged over receivers, and which names stay.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Flush, collect};
use crate::budget::Budget;
use crate::flavour::Flavour;
use crate::line::LineReader;
use crate::plan::{Idle, Keep};
use crate::statistics::TimerStatistics;
use crate::table::{Bounds, Gauges, Table, TableWriter};

struct Server {
    bounds: Arc<Bounds>,
    tables: Vec<Arc<Mutex<Table>>>,
    gauges: Mutex<Gauges>,
    keep: Keep,
}

impl Server {
    fn new(receivers: usize, idle: Idle) -> Self {
        let budget = Budget::new("statsd", 1 << 20, &[]);
        let bounds =
            Bounds { budget, timer_values_max: 100, values_max: 1000, sketches_sets: true };
        let bounds = Arc::new(bounds);
        let table = || Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
        let keep = Keep {
            counters: idle,
            timers: idle,
            gauges: idle,
            sets: idle,
            always: vec!["own".into()],
        };
        let tables = (0..receivers).map(|_| table()).collect();
        let gauges = Mutex::new(Gauges::new(Arc::clone(&bounds)));
        Self { bounds, tables, gauges, keep }
    }

    fn receive(&self, receiver: usize, lines: &str) {
        let mut table = self.tables[receiver].lock();
        let mut writer = TableWriter::new(&mut table, &self.gauges);
        LineReader::new(Flavour::Native).read(lines.as_bytes(), &mut writer);
    }

    fn flush(&self) -> Flush {
        let wanted = TimerStatistics::new(Flavour::Native, 10.0, &[90.0]);
        collect(&self.tables, &self.gauges, (&self.keep, self.bounds.timer_values_max), &wanted)
    }
}

fn shown(flush: &Flush) -> Vec<String> {
    let mut shown: Vec<String> =
        flush.counters.iter().map(|(n, sum)| format!("c {n} {sum}")).collect();
    let count =
        |timer: &super::FlushedTimer| timer.statistics.iter().find(|s| s.0 == "count").map(|s| s.1);
    shown
        .extend(flush.timers.iter().map(|t| format!("ms {} {}", t.name, count(t).unwrap_or(-1.0))));
    shown.extend(flush.gauges.iter().map(|(name, value)| format!("g {name} {value}")));
    shown.extend(flush.sets.iter().map(|(name, members)| format!("s {name} {}", members.len())));
    shown.sort();
    shown
}

#[test]
fn receivers_are_added_up_under_one_name() {
    let server = Server::new(3, Idle::Kept);
    for receiver in 0..3 {
        server.receive(
            receiver,
            &format!("a:1|c\nb:2|ms\nc:+1|g\nd:x|s\nd:{receiver}|s\no{receiver}:1|c"),
        );
    }
    let wanted = ["c a 3", "c o0 1", "c o1 1", "c o2 1", "g c 3", "ms b 3", "s d 4"];
    assert_eq!(shown(&server.flush()), wanted);
    let idle = ["c a 0", "c o0 0", "c o1 0", "c o2 0", "g c 3", "ms b 0", "s d 0"];
    assert_eq!(shown(&server.flush()), idle);
}

#[test]
fn names_are_added_up_whichever_receiver_has_most_of_them() {
    for most in 0..3 {
        let server = Server::new(3, Idle::Kept);
        for receiver in 0..3 {
            server.receive(receiver, "a:1|c\nb:2|ms\nd:x|s");
        }
        server.receive(most, "e:1|c\ne:1|ms\nf:1|c\nf:1|ms\ne:x|s\na:4|c");
        let mut shown = shown(&server.flush());
        shown.sort();
        let wanted = ["c a 7", "c e 1", "c f 1", "ms b 3", "ms e 1", "ms f 1", "s d 1", "s e 1"];
        assert_eq!(shown, wanted, "receiver {most} has most");
    }
}

#[test]
fn idle_names_go_after_so_many_flushes_and_are_refunded() {
    let server = Server::new(1, Idle::Flushes(2));
    server.receive(0, "a:1|c\nb:2|ms\nc:3|g\nd:x|s\nown:1|c");
    assert_eq!(server.flush().counters.len(), 2);
    server.receive(0, "a:1|c");
    assert_eq!(shown(&server.flush()), ["c a 1", "c own 0", "g c 3", "ms b 0", "s d 0"]);
    assert_eq!(shown(&server.flush()), ["c a 0", "c own 0"]);
    assert_eq!(shown(&server.flush()), ["c own 0"]);
    let own = server.bounds.budget.usage()[0].used;
    assert!(own < 200, "{own} bytes are still charged");
}

#[test]
fn with_one_flush_a_name_is_gone_after_the_flush_that_shows_it() {
    let server = Server::new(1, Idle::Flushes(1));
    server.receive(0, "a:1|c");
    assert_eq!(shown(&server.flush()), ["c a 1"]);
    assert_eq!(shown(&server.flush()), [""; 0]);
}

#[test]
fn every_sample_is_in_exactly_one_flush_while_receivers_go_on() {
    let server = Server::new(2, Idle::Flushes(1));
    let rounds = 2_000;
    let sum = |flush: &Flush| flush.counters.iter().map(|(_, sum)| *sum).sum::<f64>();
    let total = std::thread::scope(|scope| {
        let receivers: Vec<_> = (0..2)
            .map(|receiver| {
                let server = &server;
                scope.spawn(move || {
                    for round in 0..rounds {
                        server.receive(receiver, &format!("n{}:1|c\nm:1|c", round % 700));
                    }
                })
            })
            .collect();
        let mut total = 0.0;
        while !receivers.iter().all(|receiver| receiver.is_finished()) {
            total += sum(&server.flush());
        }
        total
    });
    assert_eq!(total + sum(&server.flush()), f64::from(2 * 2 * rounds));
}

#[test]
fn values_beyond_the_bound_are_summed_up_and_counted() {
    let server = Server::new(1, Idle::Kept);
    let lines: String = (0..20)
        .map(|timer| format!("t{timer}:1\n").replace('\n', ":2".repeat(79).as_str()) + "|ms\n")
        .collect();
    server.receive(0, &lines);
    let flush = server.flush();
    let of = |at: usize| flush.timers[at].samples.values_kept();
    assert_eq!((of(0), of(19)), (80, 0));
    assert!(flush.timers.iter().all(|timer| timer.samples.weight() == 80.0));
    assert!(server.tables[0].lock().totals.values_summarised > 0);
}

#[test]
fn a_flush_knows_its_names_of_every_kind_its_time_and_its_rates() {
    let timer = |name: &str| super::FlushedTimer {
        name: name.into(),
        samples: Default::default(),
        statistics: Vec::new(),
    };
    let flush = Flush {
        counters: vec![("a".into(), 1.0)],
        timers: ["b", "c"].map(timer).into(),
        gauges: ["d", "e", "f", "g"].map(|name| (name.into(), 1.0)).into(),
        sets: ["h", "i", "j", "k", "l", "m", "n", "o"]
            .map(|name| (name.into(), Default::default()))
            .into(),
        interval: std::time::Duration::from_secs(4),
        unix_s: 7,
        ..Flush::default()
    };
    assert_eq!(flush.names(), 15);
    assert_eq!((flush.rate(10.0), flush.stored_unix_s()), (2.5, 7));
    assert_eq!(Flush { slot_unix_s: Some(5), ..flush }.stored_unix_s(), 5);
}

#[test]
fn events_and_checks_of_all_receivers_are_in_one_flush() {
    let server = Server::new(2, Idle::Kept);
    server.receive(0, "_sc|a|0\n_e{1,1}:a|b");
    server.receive(1, "_sc|b|0");
    assert_eq!(server.flush().notices.len(), 3);
    assert_eq!(server.flush().notices.len(), 0);
}

#[test]
fn sums_beyond_all_numbers_are_flushed_as_the_largest() {
    let server = Server::new(2, Idle::Kept);
    server.receive(0, "a:1e308|c\na:1e308|c\nb:-1e308|c");
    server.receive(1, "b:-1e308|c");
    let flush = server.flush();
    let sums: Vec<f64> = flush.counters.iter().map(|(_, sum)| sum.abs()).collect();
    assert_eq!(sums, [f64::MAX; 2]);
}
