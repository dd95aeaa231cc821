//! Registers metrics by name and labels, hands out their handles, and writes them for Prometheus.
//!
//! Invariants: a name has one kind; another kind panics. The first help text of a name stays. The
//! same name and labels, in the same order, give the same cell. So a role that is rebuilt keeps its
//! counts. Neither a metric nor a function of `before_reading` is ever removed, so labels must come
//! from small fixed sets.
//! Functions of `before_reading` run before `read` and `prometheus`, not before `sum` and `merged`.
//! A name that is unknown or of another kind has the sum 0 and no durations, so a typing error
//! shows nowhere. Label values are escaped; all names and help texts are neither checked nor
//! escaped.
//! `BOUNDS_US` is what Prometheus sees, and what users' queries name as `le`. The finer buckets of
//! timers are in `timer`. A new kind also goes into [`Reading`] and into `SelfMetrics::take` of
//! `statsd`. `statsd` cuts `_total` and `_seconds` off names (`self_metrics.rs`): two names must
//! differ without them.
//! Never here: when to count (the roles). Format: Prometheus text exposition 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::timer::{Timer, TimerSnapshot};

/// Label names and values, in the order in which they are shown.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// Bounds of the histogram buckets that a timer shows, in microseconds.
const BOUNDS_US: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 1_000_000,
    10_000_000,
];

/// A number that only grows.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The number as it stands.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// Sets the number.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds `n`, which may be negative.
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The number as it stands.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
enum Family {
    Counters(BTreeMap<Series, Counter>),
    Gauges(BTreeMap<Series, Gauge>),
    Timers(BTreeMap<Series, Timer>),
}

/// Label names and values, in the order in which they are shown.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series(Vec<(String, String)>);

/// A metric as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Label names and values, in the order in which they are shown.
    pub labels: Vec<(String, String)>,
    /// What it is at.
    pub reading: Reading,
}

/// What a metric is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A counter's number.
    Counter(u64),
    /// A gauge's number.
    Gauge(i64),
    /// A timer's histogram.
    Timer(TimerSnapshot),
}

/// All metrics of a process.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    families: Arc<Mutex<BTreeMap<String, (String, Family)>>>,
    refreshes: Arc<Mutex<Vec<Refresh>>>,
}

/// Sets what is not kept up to date where it changes.
struct Refresh(Arc<dyn Fn(&Registry) + Send + Sync>);

impl std::fmt::Debug for Refresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Refresh")
    }
}

impl Registry {
    /// Returns the counter `name` with `labels`; makes it when it is new.
    ///
    /// # Panics
    /// When the name is taken by a metric of another kind: a bug of ours.
    pub fn counter(&self, name: &str, help: &str, labels: Labels<'_>) -> Counter {
        let mut families = self.families.lock();
        let fresh = || (help.to_owned(), Family::Counters(BTreeMap::new()));
        match &mut families.entry(name.to_owned()).or_insert_with(fresh).1 {
            Family::Counters(cells) => cells.entry(Series::new(labels)).or_default().clone(),
            _ => panic!("metric `{name}` has two kinds"),
        }
    }

    /// Returns the gauge `name` with `labels`; makes it when it is new.
    ///
    /// # Panics
    /// When the name is taken by a metric of another kind: a bug of ours.
    pub fn gauge(&self, name: &str, help: &str, labels: Labels<'_>) -> Gauge {
        let mut families = self.families.lock();
        let fresh = || (help.to_owned(), Family::Gauges(BTreeMap::new()));
        match &mut families.entry(name.to_owned()).or_insert_with(fresh).1 {
            Family::Gauges(cells) => cells.entry(Series::new(labels)).or_default().clone(),
            _ => panic!("metric `{name}` has two kinds"),
        }
    }

    /// Returns the timer `name` with `labels`; makes it when it is new.
    ///
    /// # Panics
    /// When the name is taken by a metric of another kind: a bug of ours.
    pub fn timer(&self, name: &str, help: &str, labels: Labels<'_>) -> Timer {
        let mut families = self.families.lock();
        let fresh = || (help.to_owned(), Family::Timers(BTreeMap::new()));
        match &mut families.entry(name.to_owned()).or_insert_with(fresh).1 {
            Family::Timers(cells) => cells.entry(Series::new(labels)).or_default().clone(),
            _ => panic!("metric `{name}` has two kinds"),
        }
    }

    /// The sum of all counters called `name` whose labels contain `filter` (all when empty).
    pub fn sum(&self, name: &str, filter: Labels<'_>) -> u64 {
        match self.families.lock().get(name) {
            Some((_, Family::Counters(cells))) => cells
                .iter()
                .filter(|(series, _)| filter.iter().all(|label| series.has(*label)))
                .map(|(_, counter)| counter.get())
                .sum(),
            _ => 0,
        }
    }

    /// All timers called `name` merged into one histogram.
    pub fn merged(&self, name: &str) -> TimerSnapshot {
        let mut merged = TimerSnapshot::default();
        if let Some((_, Family::Timers(cells))) = self.families.lock().get(name) {
            cells.values().for_each(|timer| merged.merge(&timer.snapshot()));
        }
        merged
    }

    /// Has `refresh` set gauges before anybody reads: what is known elsewhere already, and not
    /// worth being kept here all the time.
    pub fn before_reading(&self, refresh: impl Fn(&Self) + Send + Sync + 'static) {
        self.refreshes.lock().push(Refresh(Arc::new(refresh)));
    }

    /// Every metric there is, as it stands.
    pub fn read(&self) -> Vec<Metric> {
        self.refresh();
        let mut all = Vec::new();
        for (name, (_, family)) in self.families.lock().iter() {
            let mut note = |series: &Series, reading| {
                all.push(Metric { name: name.clone(), labels: series.0.clone(), reading });
            };
            match family {
                Family::Counters(cells) => {
                    cells.iter().for_each(|(s, c)| note(s, Reading::Counter(c.get())));
                }
                Family::Gauges(cells) => {
                    cells.iter().for_each(|(s, g)| note(s, Reading::Gauge(g.get())));
                }
                Family::Timers(cells) => {
                    cells.iter().for_each(|(s, t)| note(s, Reading::Timer(t.snapshot())));
                }
            }
        }
        all
    }

    /// Writes every metric in Prometheus' text format.
    pub fn prometheus(&self) -> String {
        self.refresh();
        let mut text = String::new();
        for (name, (help, family)) in self.families.lock().iter() {
            let kind = match family {
                Family::Counters(_) => "counter",
                Family::Gauges(_) => "gauge",
                Family::Timers(_) => "histogram",
            };
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            match family {
                Family::Counters(cells) => {
                    cells.iter().for_each(|(s, c)| sample(&mut text, name, &s.text(), &c.get()));
                }
                Family::Gauges(cells) => {
                    cells.iter().for_each(|(s, g)| sample(&mut text, name, &s.text(), &g.get()));
                }
                Family::Timers(cells) => {
                    cells
                        .iter()
                        .for_each(|(s, t)| histogram(&mut text, name, &s.text(), &t.snapshot()));
                }
            }
        }
        text
    }

    fn refresh(&self) {
        let all: Vec<_> = self.refreshes.lock().iter().map(|one| Arc::clone(&one.0)).collect();
        all.iter().for_each(|refresh| refresh(self));
    }
}

impl Series {
    fn new(labels: Labels<'_>) -> Self {
        Self(labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn has(&self, (name, value): (&str, &str)) -> bool {
        self.0.iter().any(|(label, its)| label == name && its == value)
    }

    /// As between the braces of the text format.
    fn text(&self) -> String {
        let escape =
            |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let pairs: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        pairs.join(",")
    }
}

fn sample(text: &mut String, name: &str, labels: &str, value: &dyn std::fmt::Display) {
    let _ = match labels {
        "" => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{labels}}} {value}"),
    };
}

fn histogram(text: &mut String, name: &str, labels: &str, timer: &TimerSnapshot) {
    let comma = if labels.is_empty() { "" } else { "," };
    for bound in BOUNDS_US {
        let count = timer.count_up_to(Duration::from_micros(bound));
        let le = bound as f64 / 1e6;
        let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{le}\"}} {count}");
    }
    let count = timer.count();
    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
    sample(text, &format!("{name}_sum"), labels, &timer.sum().as_secs_f64());
    sample(text, &format!("{name}_count"), labels, &count);
}
