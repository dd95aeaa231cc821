//! Holds what was measured: one column per quantity, one row per call that succeeded.
//!
//! [`Series::append`] joins two series; a column that one of them lacks is filled with 0, NaN or an
//! empty name. [`Series::keep`] drops rows and counts nothing: a note on them is for its caller.
//! Invariant of whoever fills it: a column has as many rows as `total_ms`; `began_ms` may be empty
//! instead. Times are milliseconds, finite; durations are not negative. Failed calls and bad rows
//! are counted in [`LeftOut`].
//! Orders count: ramps, runs and pairs are told by that of rows (`distribution/backlog.rs`,
//! `distribution/runs.rs`, `paired.rs`), and the first step is special (`steps/admission_step.rs`).
//! The fields are public and nothing here checks them. `lab` does, in `session_file.rs` and
//! `import/rows.rs`; `probe/gather.rs`, `load_test/merged.rs` and `command/outcome.rs` do not.
//! A new column goes into `append` and `keep`, and into `SeriesOut` of `session_file.rs`, or
//! `--save` loses it. `bursts.rs` copies only times and failures.

use std::collections::BTreeMap;

/// Milliseconds that a call may take: some thirty years. What takes longer is a slip, not a call.
pub const CALL_MS_MAX: f64 = 1e12;

/// Calls of one kind, in the order in which they were meant to begin.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// What was called, as a user wrote it.
    pub name: String,
    /// Milliseconds from the beginning of each call to its end. In an open loop the beginning is
    /// the moment at which it was meant to begin.
    pub total_ms: Vec<f64>,
    /// Milliseconds from the series' origin to the beginning of each call; empty when unknown.
    pub began_ms: Vec<f64>,
    /// Milliseconds since the Unix epoch of the origin of `began_ms`, where known.
    pub origin_unix_ms: Option<f64>,
    /// The steps of each call; what they do not cover is the step `untracked`.
    pub phases: Vec<PhaseColumn>,
    /// What else is known of each call.
    pub attributes: Vec<Attribute>,
    /// What is not in the columns, and why.
    pub left_out: LeftOut,
    /// Calls in the columns whose answer was an error of the server: 5xx in a log.
    pub server_errors: u64,
    /// What a reader has to know of the measurement: a clock that stepped, a target that died.
    pub notes: Vec<String>,
}

/// One named step of every call.
#[derive(Debug, Clone)]
pub struct PhaseColumn {
    /// The step's name: `resolve connect tls send wait transfer`, a `Server-Timing` name, a column.
    pub name: String,
    /// Milliseconds in each call; 0 where a call had no such step.
    pub ms: Vec<f64>,
}

/// One named property of every call.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The property's name: `server`, `worker`, `status`, `bytes`.
    pub name: String,
    /// Its value in each call.
    pub values: AttributeValues,
}

/// The values of an attribute.
#[derive(Debug, Clone)]
pub enum AttributeValues {
    /// Names, each kept once: `of[i]` indexes `names`.
    Names {
        /// The different values.
        names: Vec<String>,
        /// Which of them each call has.
        of: Vec<u32>,
    },
    /// Numbers; NaN where a call has none.
    Numbers(Vec<f64>),
}

/// Calls that gave no row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeftOut {
    /// Calls that failed, by the reason, in words (`connection refused`, `status 503`).
    pub failed: BTreeMap<String, u64>,
    /// Rows whose time was not a number, was negative or was infinite, by what it was.
    pub bad: BTreeMap<String, u64>,
}

impl Series {
    /// Returns the number of calls.
    pub fn len(&self) -> usize {
        self.total_ms.len()
    }

    /// Returns whether no call succeeded.
    pub fn is_empty(&self) -> bool {
        self.total_ms.is_empty()
    }

    /// Returns the moments at which the calls ended, in milliseconds since the series' origin, or
    /// nothing when they are not known.
    pub fn ended_ms(&self) -> Vec<f64> {
        self.began_ms.iter().zip(&self.total_ms).map(|(began, total)| began + total).collect()
    }

    /// Keeps the calls whose row is true in `kept`.
    pub fn keep(&mut self, kept: &[bool]) {
        fn only<T>(column: &mut Vec<T>, kept: &[bool]) {
            let mut rows = kept.iter();
            column.retain(|_| rows.next().is_none_or(|kept| *kept));
        }
        only(&mut self.total_ms, kept);
        only(&mut self.began_ms, kept);
        self.phases.iter_mut().for_each(|phase| only(&mut phase.ms, kept));
        for attribute in &mut self.attributes {
            match &mut attribute.values {
                AttributeValues::Names { of, .. } => only(of, kept),
                AttributeValues::Numbers(numbers) => only(numbers, kept),
            }
        }
    }

    /// Adds the calls of another series after those of this one. Times are kept only where both
    /// have the same kind. An attribute that is numbers in one and names in the other is lost, and
    /// a note says so.
    pub fn append(&mut self, other: Self) {
        let (before, after) = (self.len(), other.len());
        let is_timed = |series: &Self| series.is_empty() || !series.began_ms.is_empty();
        let same_origin = self.origin_unix_ms.is_some() == other.origin_unix_ms.is_some();
        if is_timed(self) && is_timed(&other) && (same_origin || before == 0 || after == 0) {
            let origin = self.origin_unix_ms.or(other.origin_unix_ms);
            let shift = other.origin_unix_ms.zip(origin).map_or(0.0, |(its, ours)| its - ours);
            self.began_ms.extend(other.began_ms.iter().map(|began| began + shift));
            self.origin_unix_ms = origin;
        } else {
            self.began_ms.clear();
            self.origin_unix_ms = None;
        }
        self.total_ms.extend(other.total_ms);
        for phase in other.phases {
            match self.phases.iter_mut().find(|known| known.name == phase.name) {
                Some(known) => known.ms.extend(phase.ms),
                None => {
                    let mut ms = vec![0.0; before];
                    ms.extend(phase.ms);
                    self.phases.push(PhaseColumn { name: phase.name, ms });
                }
            }
        }
        self.phases.iter_mut().for_each(|phase| phase.ms.resize(before + after, 0.0));
        for attribute in other.attributes {
            self.append_attribute(attribute, before);
        }
        self.attributes.iter_mut().for_each(|known| known.values.fill(before + after));
        self.server_errors += other.server_errors;
        for (reason, count) in other.left_out.failed {
            *self.left_out.failed.entry(reason).or_default() += count;
        }
        for (reason, count) in other.left_out.bad {
            *self.left_out.bad.entry(reason).or_default() += count;
        }
        self.notes.extend(other.notes);
    }

    fn append_attribute(&mut self, attribute: Attribute, before: usize) {
        let place = self.attributes.iter().position(|known| known.name == attribute.name);
        let Some(place) = place else {
            let mut values = match attribute.values {
                AttributeValues::Names { .. } => {
                    AttributeValues::Names { names: Vec::new(), of: Vec::new() }
                }
                AttributeValues::Numbers(_) => AttributeValues::Numbers(Vec::new()),
            };
            values.fill(before);
            values.append(attribute.values);
            self.attributes.push(Attribute { name: attribute.name, values });
            return;
        };
        if !self.attributes[place].values.append(attribute.values) {
            let name = attribute.name;
            self.notes.push(format!("`{name}` is not always numbers, and left out"));
            self.attributes.remove(place);
        }
    }
}

impl AttributeValues {
    /// Fills up to `rows` with what says that there is none.
    fn fill(&mut self, rows: usize) {
        match self {
            Self::Numbers(numbers) => numbers.resize(rows, f64::NAN),
            Self::Names { of, .. } if of.len() >= rows => {}
            Self::Names { names, of } => {
                let none = names.iter().position(String::is_empty).unwrap_or_else(|| {
                    names.push(String::new());
                    names.len() - 1
                });
                of.resize(rows, none as u32);
            }
        }
    }

    /// Adds values of the same kind; false when they are of the other.
    fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Numbers(numbers), Self::Numbers(others)) => numbers.extend(others),
            (Self::Names { names, of }, Self::Names { names: others, of: rows }) => {
                let known: std::collections::HashMap<String, u32> =
                    (0..).zip(names.iter()).map(|(at, name)| (name.clone(), at)).collect();
                let places: Vec<u32> = others
                    .into_iter()
                    .map(|name| {
                        known.get(&name).copied().unwrap_or_else(|| {
                            names.push(name);
                            names.len() as u32 - 1
                        })
                    })
                    .collect();
                of.extend(rows.into_iter().map(|row| places[row as usize]));
            }
            _ => return false,
        }
        true
    }
}

impl LeftOut {
    /// Returns how many calls gave no row.
    pub fn total(&self) -> u64 {
        self.failed.values().chain(self.bad.values()).sum()
    }
}

#[cfg(test)]
mod tests;
