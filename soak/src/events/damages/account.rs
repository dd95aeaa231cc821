//! Says what a damage has destroyed, and holds the program's words against it.
//!
//! The directory is read before and after, by `ledger`. A byte that was durable and not delivered
//! is then in a line that stands, in one that is none, or in neither. Lines that stand must be
//! delivered. Lines that are none must be in quarantine, and all else be named as lost. Invariant:
//! the program's ranges are compared with ours byte by byte, wherever its documentation promises
//! bytes. Refuses: to believe a length without a place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Context, Result, ensure};

use super::fault::Kind;
use super::ranges::{bytes, joined, without};
use crate::events::ledger::{Ledger, Line};

/// What the program may say, and must.
#[derive(Debug)]
pub(super) struct Expected {
    /// Events that stand and were not delivered.
    pub to_come: BTreeSet<u64>,
    /// Lines that are none, behind what was delivered.
    pub refused: BTreeMap<u64, Range<u64>>,
    /// Bytes that were durable, not delivered, and are in no line any more.
    pub lost: Vec<Range<u64>>,
    pub knows: Knows,
    /// The line up to which was delivered still stands.
    pub place_stands: bool,
}

/// What of a loss can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knows {
    /// Each byte.
    Bytes,
    /// That something is lost, if so: without its sessions, no journal is told from another.
    Perhaps,
}

/// A loss, as `tidegate events losses` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    pub id: String,
    pub what: String,
    /// Where its bytes were; nothing where it says that this is not known.
    pub range: Option<Range<u64>>,
}

/// The directory before and after, and what tells lines apart.
pub(super) struct Case<'c> {
    pub before: &'c Ledger,
    pub after: &'c Ledger,
    /// The offset up to which the sink has lines.
    pub place: u64,
    /// Each event's line as it was written.
    pub known: &'c BTreeMap<u64, Vec<u8>>,
    pub delivered: &'c BTreeSet<u64>,
    /// Events that an earlier damage destroyed. An older copy may have them again, which does not
    /// bring them back: nobody can know then that they were not delivered.
    pub gone: &'c BTreeSet<u64>,
    pub kind: Kind,
}

impl Case<'_> {
    pub(super) fn expected(&self) -> Expected {
        let (place, durable) = (self.place, self.before.durable);
        let stood: BTreeMap<u64, &Line> =
            self.before.lines.iter().map(|line| (line.at.start, line)).collect();
        let stands = |line: &Line| stood.get(&line.at.start).is_some_and(|it| *it == line);
        let is_good = |line: &Line| {
            let known = line.event().and_then(|id| self.known.get(&id));
            stands(line) && known.is_some_and(|text| *text == line.text)
        };
        let (good, bad): (Vec<_>, Vec<_>) = self.after.lines.iter().partition(|line| is_good(line));
        let to_come = good.iter().filter_map(|line| line.event());
        let to_come = to_come.filter(|id| !self.delivered.contains(id) && !self.gone.contains(id));
        let refused = bad.iter().filter(|line| line.at.start >= place);
        let mut refused: BTreeMap<u64, Range<u64>> =
            refused.map(|line| (line.at.start, line.at.clone())).collect();
        let place_stands = self.after.lines.iter().any(|it| it.at.end == place && stands(it));
        let kept = self.after.lines.iter().filter(|line| line.at.start >= place);
        let mut lost = without(place..durable.max(place), kept.map(|it| it.at.clone()).collect());
        // The rest of a line counts as lost even where it lies behind all that was written.
        let torn = self.after.lines.iter().find(|it| it.at.start < place && place < it.at.end);
        lost.extend(torn.map(|line| place..line.at.end));
        let (mut lost, to_come) = (joined(lost), to_come.collect());
        if matches!(self.kind, Kind::Removed | Kind::Older) && !place_stands {
            // Nothing of another journal is read, whatever stands where lines had been.
            refused.clear();
            lost = (place < durable).then_some(place..durable).into_iter().collect();
        }
        let copied_to = self.after.lines.last().map_or(0, |line| line.at.end);
        let knows = match self.kind {
            // It is of offsets before a removal: they go on behind those of the journal.
            Kind::Older if !place_stands && copied_to > durable => Knows::Perhaps,
            Kind::LinesAndSessions if !place_stands => Knows::Perhaps,
            _ => Knows::Bytes,
        };
        Expected { to_come, refused, lost, knows, place_stands }
    }
}

impl Expected {
    /// Compares with the losses that the program has named since, and with where the lines stand
    /// that it has put into quarantine since.
    ///
    /// # Errors
    /// What it did not name, or claims wrongly.
    pub(super) fn check(&self, losses: &[Loss], quarantined: &[u64]) -> Result<()> {
        match self.knows {
            Knows::Perhaps => {
                let is_named = self.lost.is_empty() || !losses.is_empty();
                ensure!(is_named, "nothing is said of {:?}", self.lost);
            }
            Knows::Bytes => {
                let named: Option<Vec<_>> = losses.iter().map(|loss| loss.range.clone()).collect();
                let named = named.context("it says that it does not know how much is lost")?;
                let claimed = bytes(&named);
                let named = joined(named);
                ensure!(named == self.lost, "it names {named:?}, and {:?} are lost", self.lost);
                ensure!(claimed == bytes(&named), "bytes are named twice: {losses:?}");
                let is_silent = losses.is_empty() || !self.place_stands || claimed > 0;
                ensure!(is_silent, "it speaks of a loss where there is none: {losses:?}");
                let refused: Vec<u64> = self.refused.keys().copied().collect();
                ensure!(quarantined == refused, "quarantined {quarantined:?}, not {refused:?}");
            }
        }
        Ok(())
    }

    /// How many bytes are lost, in lines that are none or in no line.
    pub(super) fn lost_bytes(&self) -> u64 {
        let refused: Vec<Range<u64>> = self.refused.values().cloned().collect();
        bytes(&self.lost) + bytes(&refused)
    }
}

/// Reads what `tidegate events losses` prints.
///
/// # Errors
/// When it prints anything else.
pub(super) fn losses(text: &str) -> Result<Vec<Loss>> {
    let mut losses = Vec::new();
    let mut lines = text.lines();
    while let Some(head) = lines.next() {
        if head == "all losses are acknowledged" || head.starts_with("no loss is noted") {
            continue;
        }
        let id = head.split(' ').next().unwrap_or_default().to_owned();
        let what = lines.next().context("a loss has no words")?.trim().to_owned();
        let amount = lines.next().context("a loss has no amount")?.trim();
        let length = match amount.strip_prefix("how many bytes are lost is not known") {
            Some(_) => None,
            None => Some(amount.split(' ').next().context("no number")?.parse::<u64>()?),
        };
        let from = number_behind(&what, &[" from ", "damaged at "]);
        let range = match (length, from) {
            (Some(length), Some(from)) => Some(from..from + length),
            (None, _) => None,
            _ => anyhow::bail!("`{what}` names no place"),
        };
        losses.push(Loss { id, what, range });
    }
    Ok(losses)
}

fn number_behind(text: &str, words: &[&str]) -> Option<u64> {
    let behind = words.iter().find_map(|word| Some(text.split_once(word)?.1))?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests;
