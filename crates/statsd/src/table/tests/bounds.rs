//! What each thing is charged, to the byte, and what is counted at each bound.

use super::{Bounds, Receiver, of};
use crate::budget::{Budget, NameCosts};
use crate::flavour::Flavour;
use crate::members::Members;
use crate::names::NAME_BYTES;
use crate::samples::{Samples, Summary};
use crate::table::{BAD_LINE_BYTES, Gauges, NOTICES_MAX, Table, Totals};
use std::sync::Arc;

const COSTS: NameCosts = NameCosts { plain: 1_000, timer: 2_000, set: 3_000, copies: 2 };

/// A receiver whose names cost something outside of its table, too.
fn costing(timer_values_max: usize, values_max: usize) -> Receiver {
    let bounds = Arc::new(Bounds {
        budget: Budget::new("statsd", 1 << 20, &[]).costing(COSTS),
        timer_values_max,
        values_max,
        sketches_sets: true,
    });
    let mut receiver = Receiver::new(0, Flavour::Native);
    receiver.table = Arc::new(parking_lot::Mutex::new(Table::new(Arc::clone(&bounds))));
    receiver.gauges = parking_lot::Mutex::new(Gauges::new(Arc::clone(&bounds)));
    receiver.bounds = bounds;
    receiver
}

#[test]
fn a_name_is_charged_for_its_text_its_cell_and_what_is_made_of_it() {
    let mut receiver = costing(10, 1000);
    let text = |name: &str| 3 * name.len() + NAME_BYTES;
    let mut charged = 0;
    for (line, bytes) in [
        ("counter:1|c", text("counter") + size_of::<f64>() + COSTS.plain),
        ("counter:1|c", 0),
        ("gauge:1|g", text("gauge") + size_of::<f64>() + COSTS.plain),
        ("timer:1|ms", text("timer") + size_of::<Samples>() + COSTS.timer),
        ("timer:2|ms", 0),
        ("set:|s", text("set") + size_of::<Members>() + COSTS.set + 48),
        ("set:member|s", 6 + 48),
        ("set:member|s", 0),
    ] {
        receiver.receive(line.as_bytes());
        charged += bytes;
        assert_eq!(receiver.used(), [charged], "{line}");
    }
    receiver.flush();
    assert_eq!(receiver.used(), [0]);
}

#[test]
fn single_values_are_counted_for_as_long_as_they_are_kept() {
    let mut receiver = costing(10, 6);
    receiver.receive(b"a:1:2:3|ms\nb:1:2|ms\nc:1|c\ns:a|s");
    assert_eq!(receiver.table.lock().values_kept, 5);
    assert!(receiver.table.lock().remove(|table| &mut table.counters, "c"));
    assert!(receiver.table.lock().remove(|table| &mut table.sets, "s"));
    assert_eq!(receiver.table.lock().values_kept, 5);
    assert!(receiver.table.lock().remove(|table| &mut table.timers, "b"));
    assert_eq!(receiver.table.lock().values_kept, 3);
    // Three more find room, and then none: the timer that wants it becomes a summary.
    receiver.receive(b"d:1:2:3|ms\nd:4:5|ms");
    let table = receiver.table.lock();
    assert_eq!((table.values_kept, table.totals.values_summarised), (3, 2));
    drop(table);
    let flush = receiver.flush();
    let kept = |name: &str| {
        let timer = flush.timers.iter().find(|timer| &*timer.name == name).expect("it is there");
        (timer.samples.values_kept(), timer.samples.weight())
    };
    assert_eq!((kept("a"), kept("d")), ((3, 3.0), (0, 5.0)));
    assert_eq!(receiver.table.lock().values_kept, 0);
}

#[test]
fn what_is_known_in_sum_only_makes_room_for_values() {
    let mut receiver = costing(10, 100);
    receiver.receive(b"a:1:2:3|ms\nb:1|ms");
    let charged = receiver.used()[0];
    let summary = Summary::of([(5.0, 4.0)].into_iter(), 20.0);
    receiver.table.lock().add_summary(b"a", &summary);
    assert_eq!(receiver.table.lock().values_kept, 1);
    let grown = receiver.used()[0] - charged;
    assert!(grown > size_of::<Summary>(), "{grown}");
    let flush = receiver.flush();
    let timer = flush.timers.iter().find(|timer| &*timer.name == "a").expect("it is there");
    let all = timer.samples.summary().expect("it is one");
    assert_eq!((all.received, all.weight, all.sum), (4, 7.0, 26.0));
    assert_eq!(receiver.used(), [0]);
}

#[test]
fn gauges_are_changed_as_each_flavour_says_and_stay_numbers() {
    for (flavour, line, wanted) in [
        (Flavour::Native, "g:5|g\ng:+3|g\ng:-1|g", 7.0),
        (Flavour::Native, "g:-4|g", -4.0),
        (Flavour::Native, "g:0|g\ng:-4|g", -4.0),
        (Flavour::Statsd, "g:5|g\ng:+3|g\ng:-1|g", 7.0),
        (Flavour::Statsd, "g:0|g\ng:+3|g\ng:-3|g\ng:-9|g", -9.0),
        (Flavour::Perl, "g:5|g\ng:+3|g", 3.0),
        (Flavour::Native, "g:1e308|g\ng:+1e308|g", f64::MAX),
        (Flavour::Native, "g:-1e308|g\ng:-1e308|g", f64::MIN),
    ] {
        let mut receiver = Receiver::new(1 << 20, flavour);
        receiver.receive(line.as_bytes());
        assert_eq!(*of(&receiver.flush().gauges, "g"), wanted, "{line} in {flavour:?}");
    }
}

#[test]
fn notices_beyond_their_bound_are_dropped_and_counted() {
    let mut receiver = costing(10, 10);
    for _ in 0..NOTICES_MAX + 3 {
        receiver.receive(b"_sc|check|0");
    }
    assert_eq!(receiver.table.lock().totals.notices_dropped, 3);
    assert_eq!(receiver.flush().notices.len(), NOTICES_MAX);
    receiver.receive(b"_sc|check|0");
    assert_eq!(receiver.table.lock().totals.notices_dropped, 3, "there is room again");
}

#[test]
fn lines_are_counted_by_key_where_keys_are_counted() {
    let mut receiver = costing(10, 10);
    receiver.reader = crate::line::LineReader::new(Flavour::Native).counting_keys();
    receiver.receive(b"a:1|c\nb:1|c\na:5|ms|@0.5\na:1|c");
    let table = receiver.table.lock();
    assert_eq!((table.keys[&b"a"[..]], table.keys[&b"b"[..]], table.keys.len()), (3, 1, 2));
}

#[test]
fn bad_pieces_are_counted_by_reason_and_the_last_line_is_kept_cut() {
    let mut receiver = costing(10, 10);
    let long = "x".repeat(BAD_LINE_BYTES + 50);
    receiver.receive(format!("k:1\nk:a|c\nk:b|c\nk:{long}|c\nk:1|q").as_bytes());
    let table = receiver.table.lock();
    assert_eq!(table.totals.bad, [0, 1, 1, 3, 0, 0, 0], "by `BadReason::ALL`");
    let (reason, line) = table.totals.last_bad.clone().expect("there was one");
    assert_eq!((reason.name(), &*line), ("type", &b"k:1|q"[..]));
    drop(table);
    receiver.receive(format!("k:{long}|c").as_bytes());
    let line = receiver.table.lock().totals.last_bad.clone().expect("there was one").1;
    assert_eq!(line.len(), BAD_LINE_BYTES);
}

#[test]
fn totals_of_receivers_are_added_up_in_every_figure() {
    let totals = |at: u64| Totals {
        packets: at,
        bytes: 10 * at,
        lines: 100 * at,
        bad: [at, 2 * at, 3 * at, 4 * at, 5 * at, 6 * at, 7 * at],
        last_bad: None,
        notices_dropped: 1_000 * at,
        values_summarised: 2_000 * at,
        members_summarised: 3_000 * at,
    };
    let mut all = Totals::default();
    for at in [2, 3, 4] {
        all.add(&totals(at));
    }
    assert_eq!((all.packets, all.bytes, all.lines), (9, 90, 900));
    assert_eq!(all.bad, [9, 18, 27, 36, 45, 54, 63]);
    assert_eq!(all.notices_dropped, 9_000);
    assert_eq!((all.values_summarised, all.members_summarised), (18_000, 27_000));
    let bad = crate::line::BadReason::Rate;
    all.add(&Totals { last_bad: Some((bad, b"a".as_slice().into())), ..Totals::default() });
    all.add(&Totals::default());
    assert_eq!(all.last_bad, Some((bad, b"a".as_slice().into())), "the last that is known");
}

#[test]
fn members_that_go_to_a_sketch_are_counted_each_time() {
    let mut receiver = Receiver::new(NAME_BYTES + 200, Flavour::Native);
    for member in 0..5 {
        receiver.receive(format!("s:{}{member}|s", "m".repeat(30)).as_bytes());
    }
    let kept = receiver.table.lock().sets.iter().map(|(_, members)| members.len()).sum::<usize>();
    assert_eq!(kept, 5);
    let first = 5 - receiver.table.lock().totals.members_summarised;
    assert!(first < 5, "some found no room");
    receiver.receive(b"s:again|s");
    assert_eq!(5 + 1 - receiver.table.lock().totals.members_summarised, first);
}
