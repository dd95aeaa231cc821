//! Claims about the metrics of the process that a server runs in.

use std::sync::Arc;
use std::time::Duration;

use metrics::Registry;
use parking_lot::Mutex;

use super::SelfMetrics;
use crate::budget::Budget;
use crate::table::{Bounds, Gauges, Table};

struct Counted {
    own: SelfMetrics,
    table: Mutex<Table>,
    gauges: Mutex<Gauges>,
}

impl Counted {
    fn new(registry: &Registry) -> Self {
        let budget = Budget::new("statsd", 1 << 20, &[]);
        let bounds = Arc::new(Bounds {
            budget,
            timer_values_max: 1024,
            values_max: 1 << 20,
            sketches_sets: true,
        });
        Self {
            own: SelfMetrics::new(registry.clone(), "tidegate"),
            table: Mutex::new(Table::new(Arc::clone(&bounds))),
            gauges: Mutex::new(Gauges::new(bounds)),
        }
    }

    fn take(&self) {
        self.own.take(&self.table, &self.gauges);
    }

    fn counter(&self, name: &str) -> Option<f64> {
        self.table.lock().counters.iter().find(|(n, _)| &***n == name).map(|(_, sum)| *sum)
    }
}

#[test]
fn what_a_counter_gained_is_counted_once_under_its_name_and_tags() {
    let registry = Registry::default();
    let labels = [("route", "/a b;c"), ("decision", "generic")];
    let hits = registry.counter("tidegate_hits_total", "Hits.", &labels);
    registry.counter("tidegate_misses_total", "Misses.", &[]);
    let counted = Counted::new(&registry);
    hits.add(3);
    counted.take();
    counted.take();
    hits.add(4);
    counted.take();
    assert_eq!(counted.counter("tidegate.hits;decision=generic;route=/a_b_c"), Some(7.0));
    assert_eq!(counted.counter("tidegate.misses"), None, "what gained nothing is not shown");
}

#[test]
fn a_timer_comes_in_milliseconds_with_its_count_and_sum() {
    let registry = Registry::default();
    let timer = registry.timer("tidegate_phase_seconds", "Phases.", &[("phase", "key")]);
    let counted = Counted::new(&registry);
    (1..=10).for_each(|ms| timer.record(Duration::from_millis(ms)));
    counted.take();
    timer.record(Duration::from_millis(45));
    counted.take();
    let table = counted.table.lock();
    let (name, samples) = table.timers.iter().next().unwrap();
    assert_eq!(&**name, "tidegate.phase;phase=key");
    let summary = samples.summary().unwrap();
    assert_eq!(summary.weight, 11.0);
    assert!((summary.sum - 100.0).abs() < 1e-6, "{}", summary.sum);
    assert!((summary.upper - 45.0).abs() < 3.0, "{}", summary.upper);
}

#[test]
fn a_gauge_is_what_it_is() {
    let registry = Registry::default();
    let tunnels = registry.gauge("tidegate_tunnels", "Tunnels.", &[]);
    let counted = Counted::new(&registry);
    tunnels.set(5);
    counted.take();
    tunnels.set(2);
    counted.take();
    let gauges = counted.gauges.lock();
    let found: Vec<_> =
        gauges.names.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    assert_eq!(found, [("tidegate.tunnels".to_owned(), 2.0)]);
}
