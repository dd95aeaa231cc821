//! Joins impressions with feedback: sorts lines into records, then meets them group by group.
//!
//! Invariant: an example is handed out once for each place of each impression line whose ranking is
//! in the log. Impressions without their ranking are only counted (`unranked`). Feedback is counted
//! for one impression at most; what belongs to none is counted as `unmatched`, what names no
//! ranking or item as `nameless`.
//! An impression counts if its time is within `times`, and feedback up to one span later. A ranking
//! counts at any time. A line that is no exchange is counted as `refused`.
//! A refresh is no impression: it shows a ranking of its own and has no client address. That is
//! how `refresh` in `gateway/src/record.rs` writes it.
//! A join ends early by an error of the disk, of the caller, or for a record over the bound of
//! `sorter.rs`. What counts is also in docs/operating/training-data.md.
//! The order of records is in `record.rs`, the feedback of a group in `pending.rs`.

use std::io;
use std::ops::Range;
use std::path::Path;

use exchange::{Exchange, FieldName, FieldValue, Fields, Filter, Impression};

use crate::example::{Example, JoinCounts};
use crate::pending::PendingFeedback;
use crate::record::{RecordContent, RecordKey};
use crate::sorter::Sorter;

/// What is joined with what.
#[derive(Debug, Clone)]
pub struct Join {
    /// Exchanges that are feedback.
    pub feedback: Filter,
    /// Where feedback has the id of the ranking.
    pub request: FieldName,
    /// Where feedback has the item.
    pub item: FieldName,
    /// How long after an impression feedback may come, in microseconds.
    pub within_us: u64,
    /// Impressions of these times, in microseconds since the Unix epoch.
    pub times: Range<u64>,
}

/// There is no training data.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The disk does not take or give what is sorted there.
    #[error("sort records: {0}")]
    Sort(io::Error),
    /// Examples cannot be written.
    #[error("write examples: {0}")]
    Write(io::Error),
}

impl Join {
    /// Begins without lines. Sorting takes `memory_bytes` and files in the directory `dir`.
    pub fn collect(self, dir: &Path, memory_bytes: usize) -> Collector {
        let sorter = Sorter::new(dir, memory_bytes);
        Collector { join: self, sorter, counts: JoinCounts::default() }
    }
}

/// The records of the lines so far, being sorted.
pub struct Collector {
    join: Join,
    sorter: Sorter,
    counts: JoinCounts,
}

impl Collector {
    /// Adds a line of our own journal, without its line feed.
    ///
    /// # Errors
    /// When the disk does not take the records.
    pub fn add(&mut self, line: &[u8]) -> Result<(), JoinError> {
        self.sort_in(line).map_err(JoinError::Sort)
    }

    /// Counts a line that cannot be read.
    pub fn refuse(&mut self) {
        self.counts.lines += 1;
        self.counts.refused += 1;
    }

    /// Hands every example to `seen`, in no particular order.
    ///
    /// # Errors
    /// When the disk does not give the records back, or `seen` fails.
    pub fn finish(
        self,
        seen: impl FnMut(&Example<'_>) -> io::Result<()>,
    ) -> Result<JoinCounts, JoinError> {
        let Self { join, sorter, counts } = self;
        let mut records = sorter.finish().map_err(JoinError::Sort)?;
        let (last, ranked, pending) = (None, None, PendingFeedback::default());
        let mut matching = Matching { join: &join, counts, last, ranked, pending, seen };
        while let Some(record) = records.next().map_err(JoinError::Sort)? {
            matching.next(record).map_err(JoinError::Write)?;
        }
        Ok(matching.end())
    }

    /// Sorts a line in, if it is an impression or feedback.
    fn sort_in(&mut self, line: &[u8]) -> io::Result<()> {
        let Self { join, sorter, counts } = self;
        counts.lines += 1;
        let Ok(exchange) = exchange::decode(line) else {
            counts.refused += 1;
            return Ok(());
        };
        let time = exchange.time_us;
        counts.end_us = counts.end_us.max(time);
        let is_ranking = exchange.impression.is_some();
        let ranking = exchange.ranked_by.or(is_ranking.then_some(exchange.id));
        if let Some(ranking) = ranking.filter(|_| is_ranking) {
            sorter.push(&[&RecordKey::of_ranking(ranking).to_bytes(), line])?;
        }
        if let Some(ranking) = ranking
            && join.times.contains(&time)
            && !is_refresh(&exchange)
        {
            counts.impressions += 1;
            let key = RecordKey::of(ranking, &exchange, RecordContent::Impression);
            sorter.push(&[&key.to_bytes(), line])?;
        }
        let feedback_times = join.times.start..join.times.end.saturating_add(join.within_us);
        if !feedback_times.contains(&time) || !join.feedback.matches(&exchange) {
            return Ok(());
        }
        counts.feedback += 1;
        let request = exchange.field(&join.request).and_then(|value| id(&value));
        match (request, exchange.field(&join.item)) {
            (Some(ranking), Some(item)) => {
                let key = RecordKey::of(ranking, &exchange, RecordContent::Feedback);
                sorter.push(&[&key.to_bytes(), item.to_string().as_bytes()])?;
            }
            _ => counts.nameless += 1,
        }
        Ok(())
    }
}

/// A pass over the sorted records.
struct Matching<'j, S> {
    join: &'j Join,
    counts: JoinCounts,
    /// The key of the last record.
    last: Option<RecordKey>,
    /// The last ranking met, by its id.
    ranked: Option<(u128, Impression<'static>)>,
    /// Feedback of the group that the last record is of.
    pending: PendingFeedback,
    seen: S,
}

impl<S: FnMut(&Example<'_>) -> io::Result<()>> Matching<'_, S> {
    /// Takes the next record; within a group the latest comes first.
    fn next(&mut self, record: &[u8]) -> io::Result<()> {
        let (key, data) = RecordKey::split(record);
        if !self.last.replace(key).is_some_and(|last| last.is_of_group(&key)) {
            self.counts.unmatched += self.pending.clear();
        }
        match key.content {
            RecordContent::Ranking => {
                let ranked = decoded(data).impression;
                self.ranked = ranked.map(|ranked| (key.ranking, ranked.into_owned()));
                Ok(())
            }
            RecordContent::Feedback => {
                self.counts.unmatched += self.add_feedback(key, &String::from_utf8_lossy(data));
                Ok(())
            }
            RecordContent::Impression => self.show(key, &decoded(data)),
        }
    }

    /// Keeps feedback for the impressions before it; returns how much belongs to none.
    fn add_feedback(&mut self, key: RecordKey, item: &str) -> u64 {
        let ranked = self.ranked.as_ref().filter(|(ranking, _)| *ranking == key.ranking);
        let has_item = ranked.is_some_and(|(_, ranked)| ranked.items.iter().any(|i| *i == *item));
        if has_item { self.pending.add(item, key.time_us, self.join.within_us) } else { 1 }
    }

    /// Hands out an example for each item of an impression.
    fn show(&mut self, key: RecordKey, shown: &Exchange<'_>) -> io::Result<()> {
        let Self { join, counts, ranked, pending, seen, .. } = self;
        let ranked = ranked.as_ref().filter(|(ranking, _)| *ranking == key.ranking);
        let Some((ranking, ranked)) = ranked else {
            counts.unranked += 1;
            return Ok(());
        };
        for (index, item) in ranked.items.iter().enumerate() {
            let feedback = pending.take(&item, key.time_us, join.within_us);
            counts.unmatched += feedback.late;
            counts.examples += 1;
            counts.with_feedback += u64::from(feedback.count > 0);
            seen(&Example {
                shown,
                ranking: *ranking,
                ranked,
                position: index + 1,
                item: &item,
                feedback: feedback.count,
                feedback_us: feedback.first_us,
                is_censored: key.time_us.saturating_add(join.within_us) > counts.end_us,
            })?;
        }
        Ok(())
    }

    /// Counts the feedback that is left.
    fn end(mut self) -> JoinCounts {
        self.counts.unmatched += self.pending.clear();
        self.counts
    }
}

/// A ranking that no request waited for, of a refresh in the background, was shown to nobody.
fn is_refresh(exchange: &Exchange<'_>) -> bool {
    exchange.ranked_by == Some(exchange.id)
        && exchange.client_ip.is_none()
        && exchange.impression.is_some()
}

fn decoded(line: &[u8]) -> Exchange<'_> {
    exchange::decode(line).expect("only lines that were decoded are sorted in")
}

/// A request id as it is written: hexadecimal digits.
fn id(value: &FieldValue<'_>) -> Option<u128> {
    let FieldValue::Text(text) = value else { return None };
    u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok().filter(|id| *id != 0)
}

#[cfg(test)]
mod tests;
