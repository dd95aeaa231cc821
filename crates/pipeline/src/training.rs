//! Training data: what was shown, joined with what was done with it.
//!
//! A ranking is recorded once, with its items; an impression is any exchange that was answered by
//! it, from the cache too; feedback is an exchange that carries the id of the ranking and an item.
//! Feedback belongs to an impression when ranking and user are the same and it came within a span
//! after it; of several impressions, to the last one. Every item of every impression becomes one
//! [`Example`].
//!
//! Invariant: memory is bounded whatever the journal holds. Records are sorted on disk by ranking
//! and user, the ranking itself first and then the latest first, so that feedback is met before
//! the impressions it may belong to; held are the items of one ranking, and the times of one
//! user's feedback for them within one span.

mod sorted;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::path::Path;

use exchange::{Exchange, FieldName, Fields, Filter, Impression, Value};
use twox_hash::XxHash3_128;

use self::sorted::Sorter;
use crate::error::SourceError;
use crate::source::{Source, Step};

/// Ranking, whether it is the ranking itself, user, time and kind: what records are sorted by.
const HEAD: usize = 16 + 1 + 16 + 8 + 1;
/// The part of a head that an impression and its feedback share.
const GROUP: usize = 16 + 1 + 16;
/// An impression sorts before feedback of the same microsecond, which cannot be of it.
const IMPRESSION: u8 = 0;
const FEEDBACK: u8 = 1;

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

/// An item that was shown, and whether it was taken.
#[derive(Debug)]
pub struct Example<'e> {
    /// The exchange that showed it.
    pub shown: &'e Exchange<'e>,
    /// The id of the ranking: the exchange's own, where it was not answered from the cache.
    pub ranking: u128,
    /// The ranking.
    pub ranked: &'e Impression<'e>,
    /// The item's place in the order shown, from 1.
    pub position: usize,
    /// The item.
    pub item: &'e str,
    /// How often there was feedback for it.
    pub feedback: u64,
    /// When there was feedback first, in microseconds since the Unix epoch.
    pub feedback_us: Option<u64>,
    /// The log ends before the span for feedback does: there may be more.
    pub is_censored: bool,
}

/// What was met on the way.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// Lines read.
    pub lines: u64,
    /// Lines that are no exchange.
    pub refused: u64,
    /// Impressions.
    pub impressions: u64,
    /// Impressions among them whose ranking is not in the log, so that their items are not known.
    pub unranked: u64,
    /// Items shown in them.
    pub examples: u64,
    /// Items that there was feedback for.
    pub taken: u64,
    /// Feedback, whatever became of it.
    pub feedback: u64,
    /// Feedback that names no ranking or no item.
    pub nameless: u64,
    /// Feedback that belongs to no impression.
    pub unmatched: u64,
    /// The time of the latest line, in microseconds since the Unix epoch.
    pub end_us: u64,
}

/// There is no training data.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The journal cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The disk does not take or give what is sorted there.
    #[error("sort records: {0}")]
    Sort(io::Error),
    /// Examples cannot be written.
    #[error("write examples: {0}")]
    Write(io::Error),
}

impl Join {
    /// Reads `source`, lines of our own journal, to its end, and hands every example to `seen`, in
    /// no order that means anything. Sorting takes `memory` bytes and files in the folder `dir`.
    ///
    /// # Errors
    /// When reading, sorting or `seen` fails.
    pub fn run(
        &self,
        source: &mut dyn Source,
        (dir, memory): (&Path, usize),
        mut progress: impl FnMut(u64),
        mut seen: impl FnMut(&Example<'_>) -> io::Result<()>,
    ) -> Result<Joined, JoinError> {
        let mut joined = Joined::default();
        let mut sorter = Sorter::new(dir, memory);
        source.others(&[]);
        source.resume(None)?;
        loop {
            match source.read()? {
                Step::CaughtUp => break,
                Step::Lines(piece) => {
                    for line in piece.bytes.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()) {
                        self.take(line, &mut sorter, &mut joined).map_err(JoinError::Sort)?;
                    }
                }
                Step::Unfamiliar => {
                    source.others(&[]);
                    continue;
                }
                Step::Torn(_) | Step::Oversized { .. } => {
                    joined.lines += 1;
                    joined.refused += 1;
                }
                Step::Lost { .. } | Step::Receded { .. } | Step::Unreadable { .. } => {}
            }
            progress(source.bytes_behind());
        }
        let mut merged = sorter.finish().map_err(JoinError::Sort)?;
        let mut waiting = Waiting::default();
        while let Some(record) = merged.next().map_err(JoinError::Sort)? {
            self.join(record, &mut waiting, &mut joined, &mut seen).map_err(JoinError::Write)?;
        }
        joined.unmatched += waiting.clear();
        Ok(joined)
    }

    /// Sorts a line in, if it is an impression or feedback.
    fn take(&self, line: &[u8], sorter: &mut Sorter, joined: &mut Joined) -> io::Result<()> {
        joined.lines += 1;
        let Ok(exchange) = exchange::decode(line) else {
            joined.refused += 1;
            return Ok(());
        };
        let time = exchange.time_us;
        joined.end_us = joined.end_us.max(time);
        let is_ranking = exchange.impression.is_some();
        let ranking = exchange.ranked_by.or(is_ranking.then_some(exchange.id));
        if let Some(ranking) = ranking.filter(|_| is_ranking) {
            let head = [&ranking.to_be_bytes()[..], &[0; HEAD - 16]].concat();
            sorter.push(&[&head, line])?;
        }
        if let Some(ranking) = ranking
            && self.times.contains(&time)
            && !is_refresh(&exchange)
        {
            joined.impressions += 1;
            sorter.push(&[&head(ranking, &exchange, IMPRESSION), line])?;
        }
        let feedback_times = self.times.start..self.times.end.saturating_add(self.within_us);
        if !feedback_times.contains(&time) || !self.feedback.matches(&exchange) {
            return Ok(());
        }
        joined.feedback += 1;
        let request = exchange.field(&self.request).and_then(|value| id(&value));
        match (request, exchange.field(&self.item)) {
            (Some(ranking), Some(item)) => {
                let item = text(item);
                sorter.push(&[&head(ranking, &exchange, FEEDBACK), item.as_bytes()])?;
            }
            _ => joined.nameless += 1,
        }
        Ok(())
    }

    /// Takes the next record, of which the latest of a group come first.
    fn join(
        &self,
        record: &[u8],
        waiting: &mut Waiting,
        joined: &mut Joined,
        seen: &mut impl FnMut(&Example<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (head, rest) = record.split_first_chunk::<HEAD>().expect("it was written with a head");
        let (ranking, _) = head.split_first_chunk().expect("a head begins with the ranking");
        let ranking = u128::from_be_bytes(*ranking);
        if waiting.group != head[..GROUP] {
            joined.unmatched += waiting.clear();
            waiting.group = head[..GROUP].to_vec();
        }
        if head[16] == 0 {
            let exchange = exchange::decode(rest).expect("it was decoded before");
            waiting.ranked = exchange.impression.map(|ranked| (ranking, ranked.into_owned()));
            return Ok(());
        }
        let (time, kind) = head[GROUP..].split_first_chunk().expect("a head ends in time and kind");
        let time = !u64::from_be_bytes(*time);
        if *kind == [FEEDBACK] {
            joined.unmatched += waiting.add(ranking, &String::from_utf8_lossy(rest), time, self);
            return Ok(());
        }
        let shown = exchange::decode(rest).expect("it was decoded before");
        let is_censored = time.saturating_add(self.within_us) > joined.end_us;
        let Some((_, ranked)) = waiting.ranked.take_if(|(of, _)| *of == ranking) else {
            joined.unranked += 1;
            return Ok(());
        };
        for (index, item) in ranked.items.iter().enumerate() {
            let (feedback, first, expired) = waiting.taken(&item, time, self.within_us);
            joined.unmatched += expired;
            joined.examples += 1;
            joined.taken += u64::from(feedback > 0);
            seen(&Example {
                shown: &shown,
                ranking,
                ranked: &ranked,
                position: index + 1,
                item: &item,
                feedback,
                feedback_us: first,
                is_censored,
            })?;
        }
        waiting.ranked = Some((ranking, ranked));
        Ok(())
    }
}

/// A ranking that no request waited for, of a refresh in the background, was shown to nobody.
fn is_refresh(exchange: &Exchange<'_>) -> bool {
    exchange.ranked_by == Some(exchange.id)
        && exchange.client_ip.is_none()
        && exchange.impression.is_some()
}

/// What a record is sorted by: the group, then the latest first.
fn head(ranking: u128, exchange: &Exchange<'_>, kind: u8) -> [u8; HEAD] {
    let user = exchange.user.as_ref().map_or(0, |user| XxHash3_128::oneshot(user));
    let mut head = [0; HEAD];
    head[..16].copy_from_slice(&ranking.to_be_bytes());
    head[16] = 1;
    head[17..GROUP].copy_from_slice(&user.to_be_bytes());
    head[GROUP..HEAD - 1].copy_from_slice(&(!exchange.time_us).to_be_bytes());
    head[HEAD - 1] = kind;
    head
}

/// A request id as it is written: hexadecimal digits.
fn id(value: &Value<'_>) -> Option<u128> {
    let Value::Text(text) = value else { return None };
    u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok().filter(|id| *id != 0)
}

fn text(value: Value<'_>) -> String {
    value.to_string()
}

/// Feedback of one group that has not met its impression.
#[derive(Debug, Default)]
struct Waiting {
    group: Vec<u8>,
    /// The last ranking met, by its id.
    ranked: Option<(u128, Impression<'static>)>,
    /// Its times by item, the latest first.
    items: HashMap<String, VecDeque<u64>>,
}

impl Waiting {
    /// Adds feedback, which is no later than what was added before; returns how much cannot belong
    /// to an impression any more.
    fn add(&mut self, ranking: u128, item: &str, time: u64, join: &Join) -> u64 {
        let of_it = self.ranked.as_ref().filter(|(of, _)| *of == ranking);
        if !of_it.is_some_and(|(_, ranked)| ranked.items.iter().any(|shown| shown == item)) {
            return 1;
        }
        let times = self.items.entry(item.to_owned()).or_default();
        times.push_back(time);
        let late = times.iter().take_while(|at| **at - time > join.within_us).count();
        times.drain(..late);
        late as u64
    }

    /// Takes the feedback for an item that came within a span after `time`: how much, and the
    /// first; and how much came too late for this impression, and so for all before it.
    fn taken(&mut self, item: &str, time: u64, within: u64) -> (u64, Option<u64>, u64) {
        let Some(times) = self.items.remove(item) else { return (0, None, 0) };
        let late = times.iter().take_while(|at| **at - time > within).count();
        let count = times.len() - late;
        (count as u64, times.back().copied().filter(|_| count > 0), late as u64)
    }

    /// Forgets everything; returns how much it was.
    fn clear(&mut self) -> u64 {
        self.items.drain().map(|(_, times)| times.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests;
