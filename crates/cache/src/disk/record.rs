//! Encodes and decodes a record: the bytes that are stored on disk under a key, with a checksum.
//!
//! Layout, little-endian: a checksum (XXH3, 64 bits) of all that follows, the kind, the key. Then
//! follow either the names of the fields that the response varies by, or the response with its
//! lifetimes. Times are of the wall clock, because ages count on over a restart (RFC 9111 §4.2.3).
//! Encodings and hold-off are not stored. A record names no version: another layout needs another
//! `FORMAT` in `log`. The compiler asks here for a new field of `Entry`, never for a new `FORMAT`.
//!
//! Invariant: `decode` returns only content whose checksum and key are right. Anything else is
//! damage, never a panic and never another response. The checksum finds accidents, not forgery.
//! Where the age is unknown, the lifetimes become zero, so the response may only be revalidated.
//! Never here: the disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::entry::{Entry, HoldOff};
use crate::key::FieldNames;
use crate::tags::Tags;
use crate::tracked;

const ENTRY: u8 = 1;
const VARIES: u8 = 2;

/// The content of a key on disk.
#[derive(Debug, Clone)]
pub(crate) enum DiskContent {
    /// A response.
    Entry(DiskEntry),
    /// The response varies by these request fields.
    Varies(FieldNames),
}

/// A response, with what its age is judged by.
#[derive(Debug, Clone)]
pub(crate) struct DiskEntry {
    /// The response.
    pub entry: Arc<Entry>,
    /// The wall time at which it had age zero, microseconds since the Unix epoch.
    pub born_us: u64,
    /// Whether its route offers encodings. None is ever written to disk.
    pub has_encodings: bool,
}

/// A record whose bytes are not those that were written under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// The time by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    /// The monotonic clock.
    pub now: Instant,
    /// The wall clock, microseconds since the Unix epoch. `None` if it has gone back, so that no
    /// age can be computed.
    pub wall: Option<u64>,
}

/// Encodes a record.
pub(super) fn encode(key: &[u8], stored: &DiskContent) -> Vec<u8> {
    let mut out = Writer(vec![0; 8]);
    match stored {
        DiskContent::Varies(names) => {
            out.0.push(VARIES);
            out.text(key);
            out.number(names.len() as u64);
            names.iter().for_each(|name| out.text(name.as_bytes()));
        }
        DiskContent::Entry(kept) => {
            out.0.push(ENTRY);
            out.text(key);
            out.number(kept.born_us);
            out.entry(&kept.entry);
        }
    }
    let sum = XxHash3_64::oneshot(&out.0[8..]);
    out.0[..8].copy_from_slice(&sum.to_le_bytes());
    out.0
}

/// Decodes a record that was written under `key`. Its response gets `stamp`.
///
/// # Errors
/// When the record is damaged, or belongs to another key.
pub(super) fn decode(
    bytes: &[u8],
    key: &[u8],
    stamp: u64,
    clocks: Clocks,
) -> Result<DiskContent, Damaged> {
    let mut rest = Reader(bytes);
    let sum = rest.number().ok_or(Damaged)?;
    if sum != XxHash3_64::oneshot(rest.0) {
        return Err(Damaged);
    }
    let kind = rest.byte();
    if rest.text() != Some(key) {
        return Err(Damaged);
    }
    let stored = match kind {
        Some(ENTRY) => rest.entry(stamp, clocks),
        Some(VARIES) => rest.names(),
        _ => None,
    };
    stored.ok_or(Damaged)
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn span(&mut self, span: Duration) {
        self.number(span.as_micros() as u64);
    }

    fn entry(&mut self, entry: &Entry) {
        // Named one by one, so that a new field cannot be forgotten here.
        let Entry {
            status,
            fields,
            dated,
            body,
            etag,
            last_modified,
            born: _,
            fresh,
            while_revalidate,
            if_error,
            ranked_by,
            decision_at,
            varies,
            strict,
            sets_cookie,
            open,
            hold_off: _,
            tags,
            stamp: _,
            tracked: _,
            encodings,
        } = entry;
        self.0.reserve(fields.len() + body.len() + 128);
        self.number(u64::from(*status));
        let marks = [*dated, *varies, *strict, *sets_cookie, *open, encodings.is_some()];
        self.0.extend(marks.map(u8::from));
        self.span(*fresh);
        self.span(*while_revalidate);
        self.span(*if_error);
        self.0.push(u8::from(ranked_by.is_some()));
        self.0.extend_from_slice(&ranked_by.unwrap_or_default().to_le_bytes());
        let hole = decision_at.clone().unwrap_or_default();
        self.0.push(u8::from(decision_at.is_some()));
        self.number(hole.start as u64);
        self.number(hole.end as u64);
        for text in [etag, last_modified] {
            self.0.push(u8::from(text.is_some()));
            self.text(text.as_deref().unwrap_or_default());
        }
        self.number(tags.len() as u64);
        tags.iter().for_each(|tag| self.number(*tag));
        self.text(fields);
        self.text(body);
    }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    fn mark(&mut self) -> Option<bool> {
        Some(self.byte()? == 1)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.bytes(length)
    }

    fn optional(&mut self) -> Option<Option<Box<[u8]>>> {
        let is_there = self.mark()?;
        let text = self.text()?;
        Some(is_there.then(|| text.into()))
    }

    fn span(&mut self) -> Option<Duration> {
        Some(Duration::from_micros(self.number()?))
    }

    fn names(&mut self) -> Option<DiskContent> {
        let count = self.number()?;
        let name = |_| Some(Box::from(std::str::from_utf8(self.text()?).ok()?));
        Some(DiskContent::Varies((0..count).map(name).collect::<Option<_>>()?))
    }

    fn tags(&mut self) -> Option<Tags> {
        let count = self.number()?;
        let tags = (0..count).map(|_| self.number()).collect::<Option<_>>()?;
        Some(Tags::from_fingerprints(tags))
    }

    fn entry(&mut self, stamp: u64, clocks: Clocks) -> Option<DiskContent> {
        let born_us = self.number()?;
        let status = self.number()? as u16;
        let mut marks = [false; 6];
        for mark in &mut marks {
            *mark = self.mark()?;
        }
        let [dated, varies, strict, sets_cookie, open, has_encodings] = marks;
        let [mut fresh, mut while_revalidate, mut if_error] =
            [self.span()?, self.span()?, self.span()?];
        let has_ranking = self.mark()?;
        let ranking = u128::from_le_bytes(self.bytes(16)?.try_into().ok()?);
        let has_hole = self.mark()?;
        let hole = self.number()? as usize..self.number()? as usize;
        let etag = self.optional()?;
        let last_modified = self.optional()?;
        let tags = self.tags()?;
        // Copied, so that the entry keeps no more memory than its weight counts.
        let fields = Bytes::copy_from_slice(self.text()?);
        let (body, tracked) = tracked::track(Bytes::copy_from_slice(self.text()?));
        body.get(hole.clone())?;
        let age = clocks.wall.and_then(|wall| wall.checked_sub(born_us));
        let born = age.and_then(|age| clocks.now.checked_sub(Duration::from_micros(age)));
        if born.is_none() {
            // Its age is unknown, so it may only be revalidated.
            (fresh, while_revalidate, if_error) = Default::default();
        }
        let entry = Entry {
            status,
            etag,
            last_modified,
            dated,
            fields,
            body,
            born: born.unwrap_or(clocks.now),
            fresh,
            while_revalidate,
            if_error,
            ranked_by: has_ranking.then_some(ranking),
            decision_at: has_hole.then_some(hole),
            varies,
            strict,
            sets_cookie,
            open,
            hold_off: HoldOff::default(),
            tracked,
            tags,
            stamp,
            encodings: None,
        };
        Some(DiskContent::Entry(DiskEntry { entry: Arc::new(entry), born_us, has_encodings }))
    }
}

#[cfg(test)]
mod tests;
