//! Keeps the series that the page shows, by family, added up over flushes.
//!
//! A name is put into Prometheus' alphabet once, when it is first seen; from then on a flush finds
//! its series by the name alone. Two names that become one series: counters are added up, of all
//! others the first is shown and the second refused. Two families whose samples would have one
//! name: the first is shown, the second refused. Refused names are counted, and looked at again
//! when one that is shown has gone.
//! Counters and counts of timers grow from flush to flush; a counter's sum below 0 is counted and
//! not added. Gauges and sets are those of the last flush, quantiles those of the last one that had
//! the timer.
//! Invariant: no two series of a page have one name and the same labels. A name goes with its
//! flushes (counters and timers `keep` flushes later); if it comes again, it begins at 0.
//! `munin/page.rs` cuts statsd's name out of the help, and `munin.rs` repeats [`SELF_PREFIX`].
//! Never here: bounds (`budget.rs` has those of names), the text (`text.rs`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::names;
use super::text::{Format, TextPage, bound};
use crate::distribution::{Distribution, shares};
use crate::flush::Flush;
use crate::names::SharedName;
use crate::plan::Histogram;
use crate::samples::Samples;

/// The first part of the names that the server itself has on the page.
pub(super) const SELF_PREFIX: &str = "tidegate_statsd_";

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Summary,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Summary => "summary",
            Self::Histogram => "histogram",
        }
    }

    /// What the names of its samples end in, beside its own name.
    fn ends(self) -> &'static [&'static str] {
        match self {
            Self::Counter | Self::Gauge => &[],
            Self::Summary => &["_sum", "_count", "_created"],
            Self::Histogram => &["_sum", "_count", "_created", "_bucket"],
        }
    }
}

/// What statsd calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatsdKind {
    Counter,
    Gauge,
    Timer,
    Set,
}

impl StatsdKind {
    const ALL: [Self; 4] = [Self::Counter, Self::Gauge, Self::Timer, Self::Set];

    fn help(self) -> &'static str {
        match self {
            Self::Counter => "Counter",
            Self::Gauge => "Gauge",
            Self::Timer => "Timer",
            Self::Set => "Members in the last flush of the set",
        }
    }

    /// Whether what it shows is added up over flushes.
    fn adds_up(self) -> bool {
        matches!(self, Self::Counter | Self::Timer)
    }
}

/// The series of a page.
#[derive(Debug)]
pub(super) struct PageSeries {
    histograms: Vec<Histogram>,
    /// Where quantiles of the last flush are.
    shares: Vec<f64>,
    /// For how many flushes what adds up is kept without being in one.
    keep: u64,
    flushes: u64,
    families: BTreeMap<Arc<str>, SeriesFamily>,
    lines: Vec<Option<ShownSeries>>,
    free: Vec<u32>,
    /// For each [`StatsdKind`], the names that flushes have.
    names: [HashMap<SharedName, KnownName, foldhash::fast::FixedState>; StatsdKind::ALL.len()],
    /// When the last flush was, in seconds since the Unix epoch.
    pub last_unix_s: u64,
    /// What was not shown as it came.
    pub oddities: Oddities,
}

/// What was not shown as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Oddities {
    /// Names that are not shown, because another one is shown in their place.
    pub refused: u64,
    /// Counters that are added to another one, whose name they have become.
    pub merged: u64,
    /// Sums of counters below 0, which cannot be added to what only grows.
    pub negative_sums: u64,
    /// The name that was refused last.
    pub last_refused: Option<SharedName>,
}

#[derive(Debug)]
struct KnownName {
    /// The flush that had it last.
    seen: u64,
    at: Placement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    Shown(u32),
    /// Added to one that was there before.
    Merged(u32),
    Refused,
}

#[derive(Debug)]
struct SeriesFamily {
    kind: Kind,
    source: StatsdKind,
    /// The name that it was first made of.
    first: SharedName,
    /// The series without labels.
    plain: Option<u32>,
    labelled: BTreeMap<Box<str>, u32>,
}

#[derive(Debug)]
struct ShownSeries {
    family: Arc<str>,
    labels: Box<str>,
    cell: SeriesValue,
    /// Names that are shown here.
    names: u32,
}

/// A series that is to be shown for a name.
struct NewSeries {
    source: StatsdKind,
    kind: Kind,
    /// The name of its family.
    family: Arc<str>,
    /// Its labels as they are written.
    labels: String,
    /// Bounds of its buckets, where it is a histogram.
    bins: Option<Vec<f64>>,
}

#[derive(Debug)]
enum SeriesValue {
    Number(f64),
    Timer(Box<TimerSeries>),
}

#[derive(Debug, Default)]
struct TimerSeries {
    count: f64,
    sum: f64,
    /// Of the last flush that had the timer; empty when it had no values there.
    quantiles: Vec<f64>,
    /// Upper bounds with the count of what is not above them.
    buckets: Vec<(f64, f64)>,
}

impl PageSeries {
    /// No series yet; timers with bins are histograms. What adds up is kept for so many flushes
    /// that do not have it.
    pub(super) fn new(histograms: Vec<Histogram>, keep: u64) -> Self {
        Self {
            histograms,
            shares: Vec::new(),
            keep,
            flushes: 0,
            families: BTreeMap::new(),
            lines: Vec::new(),
            free: Vec::new(),
            names: Default::default(),
            last_unix_s: 0,
            oddities: Oddities::default(),
        }
    }

    /// Adds what a flush has, and forgets what is no longer in one.
    pub(super) fn take(&mut self, flush: &Flush) {
        self.flushes += 1;
        self.last_unix_s = flush.unix_s;
        for (name, sum) in &flush.counters {
            let cell = self.cell(name, StatsdKind::Counter);
            match cell {
                Some(SeriesValue::Number(total)) if *sum >= 0.0 => *total += sum,
                Some(_) => self.oddities.negative_sums += 1,
                None => {}
            }
        }
        for (name, value) in &flush.gauges {
            if let Some(SeriesValue::Number(shown)) = self.cell(name, StatsdKind::Gauge) {
                *shown = *value;
            }
        }
        let shares = shares(&flush.percentiles);
        for timer in &flush.timers {
            if let Some(SeriesValue::Timer(shown)) = self.cell(&timer.name, StatsdKind::Timer) {
                shown.take(&timer.samples, &shares);
            }
        }
        self.shares = shares;
        for (name, members) in &flush.sets {
            if let Some(SeriesValue::Number(shown)) = self.cell(name, StatsdKind::Set) {
                *shown = members.len() as f64;
            }
        }
        self.forget();
    }

    /// Families and series that are shown.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.families.len(), self.lines.len() - self.free.len())
    }

    /// Writes every family, in the order of their names.
    pub(super) fn write(&self, page: &mut TextPage) {
        for (name, family) in &self.families {
            let key = family.first.split(';').next().unwrap_or_default();
            let help = format!("{} `{key}` of statsd.", family.source.help());
            let (shown, kind) = match (family.kind, page.format) {
                (Kind::Counter, Format::Open) => self.open_counter(name),
                (kind, _) => (&**name, kind.name()),
            };
            page.head(shown, kind, &help);
            for at in family.plain.iter().chain(family.labelled.values()) {
                let line = self.line(*at);
                match &line.cell {
                    SeriesValue::Number(value) => {
                        page.sample((name, ""), &line.labels, None, *value)
                    }
                    SeriesValue::Timer(timer) if family.kind == Kind::Histogram => {
                        timer.write_histogram(name, &line.labels, page);
                    }
                    SeriesValue::Timer(timer) => {
                        timer.write_summary(name, &line.labels, &self.shares, page);
                    }
                }
            }
        }
    }

    /// Returns how OpenMetrics calls the family of a counter: without `_total`, as a counter.
    ///
    /// Where another family has that name, the full name stays, and the kind is unknown.
    fn open_counter<'n>(&self, name: &'n str) -> (&'n str, &'static str) {
        let base = name.strip_suffix("_total").unwrap_or(name);
        let clashes = base.ends_with("_created")
            || self.is_taken(base)
            || self.is_taken(&format!("{base}_created"));
        if clashes { (name, "unknown") } else { (base, "counter") }
    }

    /// The cell of a name, which is made when it is new; none when it is refused.
    fn cell(&mut self, name: &SharedName, source: StatsdKind) -> Option<&mut SeriesValue> {
        let seen = self.flushes;
        let place = match self.names[source as usize].get_mut(&**name) {
            Some(entry) => {
                entry.seen = seen;
                entry.at
            }
            None => {
                let at = self.admit(name, source);
                self.names[source as usize].insert(SharedName::clone(name), KnownName { seen, at });
                at
            }
        };
        match place {
            Placement::Shown(at) | Placement::Merged(at) => {
                Some(&mut self.lines[at as usize].as_mut().expect("places are of lines").cell)
            }
            Placement::Refused => None,
        }
    }

    fn admit(&mut self, name: &SharedName, source: StatsdKind) -> Placement {
        let (base, labels) = names::of(name);
        let bins = self.bins(name, source);
        let kind = match source {
            StatsdKind::Counter => Kind::Counter,
            StatsdKind::Timer if bins.is_some() => Kind::Histogram,
            StatsdKind::Timer => Kind::Summary,
            StatsdKind::Gauge | StatsdKind::Set => Kind::Gauge,
        };
        let is_whole = kind != Kind::Counter || base.ends_with("_total");
        let family: Arc<str> = if is_whole { base } else { base + "_total" }.into();
        if let Some(known) = self.families.get(&family) {
            let taken = if labels.is_empty() { known.plain } else { None };
            let taken = taken.or_else(|| known.labelled.get(&*labels).copied());
            match taken {
                _ if known.kind != kind => return self.refuse(name),
                Some(at) if kind == Kind::Counter => {
                    self.lines[at as usize].as_mut().expect("families have lines").names += 1;
                    return Placement::Merged(at);
                }
                Some(_) => return self.refuse(name),
                None => {}
            }
        } else if self.clashes(&family, kind) {
            return self.refuse(name);
        }
        let new = NewSeries { source, kind, family, labels, bins };
        Placement::Shown(self.add(name, new))
    }

    /// Adds a series, and its family where that is new; returns where it is.
    fn add(&mut self, name: &SharedName, new: NewSeries) -> u32 {
        let NewSeries { source, kind, family, labels, bins } = new;
        let cell = match source {
            StatsdKind::Timer => SeriesValue::Timer(Box::new(TimerSeries {
                buckets: bins.into_iter().flatten().map(|bound| (bound, 0.0)).collect(),
                ..TimerSeries::default()
            })),
            _ => SeriesValue::Number(0.0),
        };
        let labels: Box<str> = labels.into();
        let line = Some(ShownSeries {
            family: Arc::clone(&family),
            labels: labels.clone(),
            cell,
            names: 1,
        });
        let at = match self.free.pop() {
            Some(at) => {
                self.lines[at as usize] = line;
                at
            }
            None => {
                self.lines.push(line);
                (self.lines.len() - 1) as u32
            }
        };
        let first = || SharedName::clone(name);
        let family = self.families.entry(family).or_insert_with(|| SeriesFamily {
            kind,
            source,
            first: first(),
            plain: None,
            labelled: BTreeMap::new(),
        });
        match labels.is_empty() {
            true => family.plain = Some(at),
            false => drop(family.labelled.insert(labels, at)),
        }
        at
    }

    /// Bounds of a timer's buckets, where there are any.
    fn bins(&self, name: &str, source: StatsdKind) -> Option<Vec<f64>> {
        if source != StatsdKind::Timer {
            return None;
        }
        let histogram = self.histograms.iter().find(|h| name.contains(&h.part))?;
        let bounds: Vec<f64> = histogram.bins.iter().copied().flatten().collect();
        (!bounds.is_empty()).then_some(bounds)
    }

    fn refuse(&mut self, name: &SharedName) -> Placement {
        let known = self.oddities.last_refused.replace(SharedName::clone(name));
        if known.is_none() {
            let name: &str = name;
            tracing::warn!(name, "another name is shown in its place on the page for Prometheus");
        }
        Placement::Refused
    }

    /// Whether a new family would have a sample whose name another one has.
    fn clashes(&self, family: &str, kind: Kind) -> bool {
        family.starts_with(SELF_PREFIX)
            || self.is_taken(family)
            || kind.ends().iter().any(|end| self.is_taken(&format!("{family}{end}")))
    }

    /// Whether a family has samples of this name.
    fn is_taken(&self, sample: &str) -> bool {
        let ends = Kind::Histogram.ends().iter();
        let mut stems = ends.filter_map(|end| Some((sample.strip_suffix(end)?, end)));
        self.families.contains_key(sample)
            || stems.any(|(stem, end)| {
                self.families.get(stem).is_some_and(|family| family.kind.ends().contains(end))
            })
    }

    fn line(&self, at: u32) -> &ShownSeries {
        self.lines[at as usize].as_ref().expect("families have lines")
    }

    /// Forgets the names that flushes no longer have, and what only they were shown by.
    fn forget(&mut self) {
        let mut gone = Vec::new();
        for (source, names) in StatsdKind::ALL.into_iter().zip(&mut self.names) {
            let keep = if source.adds_up() { self.keep } else { 0 };
            let oldest = self.flushes.saturating_sub(keep);
            names.retain(|_, entry| {
                let is_kept = entry.seen >= oldest;
                if let (false, Placement::Shown(at) | Placement::Merged(at)) = (is_kept, entry.at) {
                    gone.push(at);
                }
                is_kept
            });
        }
        let frees = !gone.is_empty();
        gone.into_iter().for_each(|at| self.release(at));
        self.count(frees);
    }

    fn release(&mut self, at: u32) {
        let line = &mut self.lines[at as usize];
        let line = match line {
            Some(line) if line.names > 1 => {
                line.names -= 1;
                return;
            }
            line => line.take().expect("names have lines"),
        };
        self.free.push(at);
        let family = self.families.get_mut(&line.family).expect("lines have families");
        match line.labels.is_empty() {
            true => family.plain = None,
            false => drop(family.labelled.remove(&line.labels)),
        }
        if family.plain.is_none() && family.labelled.is_empty() {
            self.families.remove(&line.family);
        }
    }

    /// Counts names that are not shown as they came; after `frees` those refused may have room.
    fn count(&mut self, frees: bool) {
        (self.oddities.refused, self.oddities.merged) = (0, 0);
        for names in &mut self.names {
            for entry in names.values() {
                self.oddities.refused += u64::from(entry.at == Placement::Refused);
                self.oddities.merged += u64::from(matches!(entry.at, Placement::Merged(_)));
            }
            if frees {
                names.retain(|_, entry| entry.at != Placement::Refused);
            }
        }
    }
}

impl TimerSeries {
    fn take(&mut self, samples: &Samples, shares: &[f64]) {
        self.quantiles.clear();
        let Some(values) = Distribution::of(samples) else { return };
        self.count += values.count();
        self.sum += values.sum();
        if self.buckets.is_empty() {
            self.quantiles.extend(shares.iter().map(|share| values.quantile(*share)));
        }
        for (bound, count) in &mut self.buckets {
            *count += values.up_to(*bound);
        }
    }

    fn write_summary(&self, name: &str, labels: &str, shares: &[f64], page: &mut TextPage) {
        for (share, value) in shares.iter().zip(&self.quantiles) {
            // OpenMetrics wants none below 0.
            if *value >= 0.0 || page.format == Format::Text {
                page.sample((name, ""), labels, Some(("quantile", &bound(*share))), *value);
            }
        }
        if self.sum >= 0.0 || page.format == Format::Text {
            page.sample((name, "_sum"), labels, None, self.sum);
        }
        page.sample((name, "_count"), labels, None, self.count.round());
    }

    /// Sample rates make counts that are not whole; rounded they still only grow.
    fn write_histogram(&self, name: &str, labels: &str, page: &mut TextPage) {
        let count = self.count.round();
        for (at, below) in &self.buckets {
            let le = bound(*at);
            page.sample((name, "_bucket"), labels, Some(("le", &le)), below.round().min(count));
        }
        page.sample((name, "_bucket"), labels, Some(("le", "+Inf")), count);
        // OpenMetrics wants neither where values are below 0.
        let has_sum = self.sum >= 0.0 && self.buckets.iter().all(|(bound, _)| *bound >= 0.0);
        if has_sum || page.format == Format::Text {
            page.sample((name, "_sum"), labels, None, self.sum);
            page.sample((name, "_count"), labels, None, count);
        }
    }
}

#[cfg(test)]
mod tests;
