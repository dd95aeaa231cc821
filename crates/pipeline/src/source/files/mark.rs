//! Recognises a log by its content: hashes of the bytes before a few points, and how far it was
//! read.
//!
//! Points lie at the first 64 to 1,024 bytes, then ever denser towards the place read last. At
//! each, up to 1,024 bytes count, by 32 bits of their hash (XXH3); at the place itself by 64.
//! Invariant: bytes that are appended later change none of it, so a log is the same under any name,
//! on any machine, packed or not. Bytes between the points are not compared.
//! A content that differs within the first 1,024 bytes is another log; one that differs later has
//! diverged. A log that was read to its end is written down with its first points only.
//! Marks are stored in sinks. With another hash, text, `WINDOW` or `HEADS` logs would not be known
//! again, and be counted twice. `TRAIL_STEP` and which later points are kept may change. Users read
//! about hash and 1,024 bytes in docs/operating/log-formats.md.
//! Never here: which log a file is (`identify`), and finding logs by their keys (`logs`).
//! Refuses: to go by device, inode or times. Inodes are reused, files are copied and restored.

use std::fmt::Write;
use std::io;

use twox_hash::XxHash3_64;

/// Bytes before a point that count.
pub(super) const WINDOW: usize = 1024;
/// Points at the beginning, where logs differ first; each covers everything before it.
const HEADS: [u64; 5] = [64, 128, 256, 512, 1024];
/// Nearest distance of two points further on.
const TRAIL_STEP: u64 = 64 << 10;

/// How far a log was read, and what stands before that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// Just after the last byte read.
    pub offset: u64,
    last: u64,
    /// Places before `offset`, ascending, the nearer the denser.
    points: Vec<(u64, u32)>,
}

/// How contents relate to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The log, read up to the mark's offset or beyond.
    Same,
    /// They end before the offset, and are the log's as far as they go.
    Beginning,
    /// They are the log's up to this offset at least, and not up to the mark's.
    Diverged(u64),
    /// Another log.
    Different,
}

/// Something with bytes at offsets.
pub(super) trait WindowedContent {
    /// Returns the bytes before `end`, at most [`WINDOW`]; none when the content is shorter.
    fn window(&mut self, end: u64) -> io::Result<Option<Vec<u8>>>;
}

/// Hashes a window.
pub(super) fn hash(window: &[u8]) -> u64 {
    XxHash3_64::oneshot(window)
}

/// A short hash of a window.
fn short(window: &[u8]) -> u32 {
    hash(window) as u32
}

fn last_bytes(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(WINDOW)..]
}

impl Default for Mark {
    fn default() -> Self {
        Self { offset: 0, last: hash(b""), points: Vec::new() }
    }
}

impl Mark {
    /// How many bytes before the offset count.
    pub(super) fn back(&self) -> usize {
        (self.offset as usize).min(WINDOW)
    }

    /// Whether `window`, the bytes before the offset, are the right ones.
    pub(super) fn fits(&self, window: &[u8]) -> bool {
        hash(window) == self.last
    }

    /// Moves to just after `bytes`, which begin [`Mark::back`] bytes before the offset.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        let start = self.offset - self.back() as u64;
        let to = start + bytes.len() as u64;
        if self.offset < WINDOW as u64 {
            for at in HEADS.into_iter().filter(|at| self.offset < *at && *at <= to) {
                self.points.push((at, short(&bytes[..at as usize])));
            }
        } else if self.offset - self.points.last().map_or(0, |point| point.0) >= TRAIL_STEP {
            self.points.push((self.offset, self.last as u32));
            self.thin();
        }
        self.offset = to;
        self.last = hash(last_bytes(bytes));
    }

    /// Keeps the heads, and of the others so many that gaps are about half the distance.
    fn thin(&mut self) {
        let mut kept: Vec<(u64, u32)> = Vec::with_capacity(self.points.len());
        for (index, point) in self.points.iter().enumerate() {
            let next = self.points.get(index + 1).map_or(u64::MAX, |next| next.0);
            let before = kept.last().map_or(0, |before| before.0);
            let gap_max = (self.offset.saturating_sub(next) / 2).max(TRAIL_STEP);
            if point.0 <= WINDOW as u64 || next - before > gap_max {
                kept.push(*point);
            }
        }
        self.points = kept;
    }

    /// Takes the mark of a content at `end`; none when the content is shorter.
    pub(super) fn measure(content: &mut dyn WindowedContent, end: u64) -> io::Result<Option<Self>> {
        let mut mark = Self { offset: end, ..Self::default() };
        for at in HEADS.into_iter().filter(|at| *at <= end) {
            let Some(window) = content.window(at)? else { return Ok(None) };
            mark.points.push((at, short(&window)));
        }
        let Some(window) = content.window(end)? else { return Ok(None) };
        mark.last = hash(&window);
        Ok(Some(mark))
    }

    /// How `content` relates to the mark; it is read forwards.
    pub(super) fn relation(&self, content: &mut dyn WindowedContent) -> io::Result<Relation> {
        let mut deepest = 0;
        for &(at, hash) in &self.points {
            match content.window(at)? {
                None if deepest > 0 => return Ok(Relation::Beginning),
                None => return Ok(Relation::Different),
                Some(window) if short(&window) == hash => deepest = at,
                Some(_) => return Ok(diverged(deepest)),
            }
        }
        Ok(match content.window(self.offset)? {
            None if deepest > 0 => Relation::Beginning,
            None => Relation::Different,
            Some(window) if hash(&window) == self.last => Relation::Same,
            Some(_) => diverged(deepest),
        })
    }

    /// The hash of the beginning that the most bytes went into, and how many did.
    pub(super) fn key(&self) -> (u64, u32) {
        let heads = self.points.iter().take_while(|point| point.0 <= WINDOW as u64);
        heads.last().copied().unwrap_or((self.offset, self.last as u32))
    }

    /// The hash of the first 64 bytes, of logs that were read that far.
    pub(super) fn short_key(&self) -> Option<(u64, u32)> {
        self.points.first().copied()
    }

    /// Every [`Mark::key`] that a log beginning with `head` may have.
    pub(super) fn keys_of(head: &[u8]) -> impl Iterator<Item = (u64, u32)> {
        let tiny = 1..HEADS[0];
        let ends = HEADS.into_iter().rev().chain(tiny.rev());
        let ends = ends.filter(|at| *at <= head.len() as u64);
        ends.map(|at| (at, short(&head[..at as usize])))
    }

    /// The [`Mark::short_key`] of logs that begin with `head`.
    pub(super) fn short_key_of(head: &[u8]) -> Option<(u64, u32)> {
        Some((HEADS[0], short(head.get(..HEADS[0] as usize)?)))
    }

    /// Writes it down; `is_whole` with the points that tell a shorter or changed file.
    pub(super) fn to_text(&self, is_whole: bool) -> String {
        let mut text = format!("{:x}/{:016x}", self.offset, self.last);
        let key = self.key();
        for point in &self.points {
            if is_whole || *point == key || Some(*point) == self.short_key() {
                write!(text, "/{:x}.{:08x}", point.0, point.1).expect("strings take everything");
            }
        }
        text
    }

    /// Reads what [`Mark::to_text`] wrote.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let hex = |part: &str| u64::from_str_radix(part, 16).ok();
        let (offset, last) = (hex(parts.next()?)?, hex(parts.next()?)?);
        let points = parts.map(|part| {
            let (at, hash) = part.split_once('.')?;
            Some((hex(at)?, u32::from_str_radix(hash, 16).ok()?))
        });
        let points = points.collect::<Option<Vec<_>>>()?;
        let ascends = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_before = points.last().is_none_or(|point| point.0 <= offset);
        (ascends && is_before).then_some(Self { offset, last, points })
    }
}

/// Logs that only share a header of a few lines are different ones.
fn diverged(deepest: u64) -> Relation {
    if deepest >= WINDOW as u64 { Relation::Diverged(deepest) } else { Relation::Different }
}

#[cfg(test)]
mod tests;
