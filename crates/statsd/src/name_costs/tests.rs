//! What names are reckoned to take, beside what flushes and backends really make of them.

use super::{CONSOLE_BYTES, PAGE_BYTES, SMALL_BYTES, TIMER_PAGE_BYTES, of};
use crate::budget::NameCosts;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::flush::FlushedTimer;
use crate::members::Members;
use crate::names::SharedName;
use crate::plan::{BackendPlan, Histogram, Plan};
use crate::samples::Samples;
use crate::statistics::{Statistic, TimerStatistics};

/// Bytes of an entry of a list of counters, and of sets.
const ENTRY: usize = size_of::<(SharedName, f64)>();
const SET_ENTRY: usize = size_of::<(SharedName, Members)>();

fn plan(percentiles: &[f64], bins: usize, backends: &[BackendPlan]) -> Plan {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    let plan = config::plan(&Config::default(), std::path::Path::new("/nowhere"), wrong);
    let histogram = |bins: usize| Histogram {
        part: String::new(),
        bins: (1..=bins).map(|at| Some(at as f64)).collect(),
    };
    Plan {
        percentiles: percentiles.to_vec(),
        histograms: if bins > 0 { vec![histogram(bins), histogram(1)] } else { Vec::new() },
        backends: backends.to_vec(),
        ..plan
    }
}

/// What one flush keeps of a timer: its entry, its list of statistics, and the texts in it.
fn flushed_timer(plan: &Plan) -> usize {
    let mut samples = Samples::default();
    (0..500).for_each(|value| drop(samples.add(f64::from(value), 1.0, 1000).to_string()));
    let statistics = TimerStatistics::by(plan, plan.interval).of("timer", &mut samples);
    let texts = statistics.iter().filter(|(name, _)| matches!(name, std::borrow::Cow::Owned(_)));
    size_of::<FlushedTimer>()
        + statistics.capacity() * size_of::<Statistic>()
        + texts.count() * SMALL_BYTES
}

fn file() -> BackendPlan {
    BackendPlan::File("/nowhere".into())
}

fn repeater() -> BackendPlan {
    BackendPlan::Repeater { to: Vec::new(), is_tcp: false }
}

#[test]
fn a_flush_is_reckoned_four_times_where_a_backend_gets_it_and_else_once() {
    for (backends, flushes) in
        [(vec![], 1), (vec![repeater()], 1), (vec![file()], 4), (vec![repeater(), file()], 4)]
    {
        for (percentiles, bins) in [(&[][..], 0), (&[90.0], 0), (&[50.0, 90.0, 99.9], 4)] {
            let plan = plan(percentiles, bins, &backends);
            let costs = of(&plan);
            assert_eq!(costs.plain, size_of::<f64>() + (flushes + 1) * ENTRY);
            assert_eq!(costs.set, size_of::<Members>() + flushes * SET_ENTRY);
            assert_eq!(costs.copies, 0);
            // The table's list of values, and a list beside it.
            let timer = size_of::<Samples>() + SMALL_BYTES;
            let each = flushed_timer(&plan) + SMALL_BYTES;
            let shown = format!("{percentiles:?}, {bins} bins, {flushes} flushes");
            assert_eq!(costs.timer, timer + flushes * each, "{shown}");
        }
    }
}

#[test]
fn what_backends_make_of_all_names_is_added_to_what_flushes_keep() {
    let (page, console) =
        (BackendPlan::Prometheus { listen: None }, BackendPlan::Console { is_pretty: true });
    let reckoned = |backends: &[BackendPlan]| of(&plan(&[50.0, 90.0, 99.9], 4, backends));
    let before = reckoned(&[file()]);
    let more = |costs: NameCosts| NameCosts {
        plain: costs.plain - before.plain,
        timer: costs.timer - before.timer,
        set: costs.set - before.set,
        copies: costs.copies - before.copies,
    };
    // Three quantiles, and four buckets of a bound and a count.
    let of_page = NameCosts {
        plain: PAGE_BYTES,
        timer: PAGE_BYTES + TIMER_PAGE_BYTES + 3 * 8 + 4 * 16,
        set: PAGE_BYTES,
        copies: 1,
    };
    // Nine totals, five figures of each percentile, four bins.
    let of_console = NameCosts {
        plain: CONSOLE_BYTES,
        timer: (9 + 3 * 5 + 4) * CONSOLE_BYTES,
        set: CONSOLE_BYTES,
        copies: 2,
    };
    assert_eq!(more(reckoned(std::slice::from_ref(&page))), of_page);
    assert_eq!(more(reckoned(std::slice::from_ref(&console))), of_console);
    let both = more(reckoned(&[page, console, file()]));
    assert_eq!((both.plain, both.set), (PAGE_BYTES + CONSOLE_BYTES, PAGE_BYTES + CONSOLE_BYTES));
    assert_eq!((both.timer, both.copies), (of_page.timer + of_console.timer, 3));
    assert_eq!(Flavour::default(), Flavour::Native, "the plan is a native one");
}
