//! Holds the encodings of a stored response: a cell for each coding, filled once for every client.
//!
//! It also decides which encoding a request lacks: the quickest first, brotli after eight uses
//! (docs/decisions/gateway.md). [`encoded_fields`] renders the fields of an encoded response.
//! `tell` in `gateway::reply::streaming` makes the same changes for private responses.
//! Invariants: one holder at a time has the claim to make an encoding. A cell that is filled never
//! changes. A body that names the decision has one encoding per decision. A client gets the
//! smallest of the encodings made so far that it prefers.
//! Cells are found by the numbers of the variants. So `Coding::ALL` must list the variants in their
//! order, and `Decision::ALL` must have them all. A new coding also goes into `QUICKEST` here and
//! in `gateway::reply::streaming`, and into `codec` and `encoder`.
//! The bytes count towards the budget once `memory` has recounted them. Never here: making
//! encodings (`encoder`).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use exchange::Decision;
use http1::accept::{Coding, Codings};
use tokio::sync::Notify;

use crate::etag;
use crate::key::SharedKey;

/// Uses of an entry by clients that accept brotli, after which it is encoded in brotli.
const POPULAR_USES: u32 = 8;
/// Codings from the quickest to the slowest. The first client gets the quickest that it prefers.
const QUICKEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Br];
/// Bytes of bookkeeping that an encoding costs beyond its fields and body.
const OVERHEAD_BYTES: usize = 128;

/// A response in one coding.
#[derive(Debug)]
pub struct Encoding {
    /// Its rendered fields, as in an entry.
    pub fields: Bytes,
    /// Its body.
    pub body: Bytes,
}

/// Which encoding of an entry: the coding, and the decision that the body names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The coding.
    pub coding: Coding,
    /// The decision.
    pub decision: Decision,
}

/// An encoding that a request lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lacking {
    /// Its coding.
    pub coding: Coding,
    /// Whether the request waits for it, for a bounded time.
    pub is_awaited: bool,
}

/// The encodings of one entry.
#[derive(Debug)]
pub struct Encodings {
    /// The codings that may be used.
    pub offered: Codings,
    /// Cells by coding and, if the body names the decision, by decision.
    cells: Box<[EncodingCell]>,
    uses: AtomicU32,
    /// Bytes of this object and of its encodings.
    bytes: AtomicU64,
    /// The part of `bytes` that the cache has counted; it changes only under the lock of the cache.
    counted: AtomicU64,
    /// The key under which memory holds the entry.
    cache_key: OnceLock<SharedKey>,
    /// Wakes waiters when a cell was filled, or its claim released.
    pub(crate) ended: Notify,
}

/// The cell of one encoding.
#[derive(Debug, Default)]
struct EncodingCell {
    claimed: AtomicBool,
    /// Holds `None` if the coding saves too little.
    made: OnceLock<Option<Box<Encoding>>>,
}

impl Encodings {
    /// Returns cells without encodings. `spliced` says that the body names the decision.
    pub(crate) fn new(offered: Codings, spliced: bool) -> Self {
        let decisions = if spliced { Decision::ALL.len() } else { 1 };
        let cells: Box<[EncodingCell]> =
            (0..Coding::ALL.len() * decisions).map(|_| EncodingCell::default()).collect();
        let bytes = (size_of::<Self>() + size_of_val(&*cells)) as u64;
        Self {
            offered,
            cells,
            uses: AtomicU32::new(0),
            bytes: AtomicU64::new(bytes),
            counted: AtomicU64::new(bytes),
            cache_key: OnceLock::new(),
            ended: Notify::new(),
        }
    }

    /// Returns the smallest encoding made so far, among the codings that a request prefers.
    pub fn smallest(&self, liked: Codings, decision: Decision) -> Option<&Encoding> {
        let liked = Coding::ALL.into_iter().filter(|coding| liked.has(*coding));
        let made = liked.filter_map(|coding| self.made(Variant { coding, decision }));
        made.min_by_key(|encoding| encoding.body.len())
    }

    /// Returns an encoding, if it has been made.
    pub fn made(&self, variant: Variant) -> Option<&Encoding> {
        self.cell(variant).made.get()?.as_deref()
    }

    /// Whether nothing is left to be made for this decision.
    pub(crate) fn is_complete(&self, decision: Decision) -> bool {
        let is_settled = |coding: &Coding| self.is_settled(Variant { coding: *coding, decision });
        Coding::ALL.iter().filter(|coding| self.offered.has(**coding)).all(is_settled)
    }

    /// Whether an encoding was made, or found to save too little.
    pub(crate) fn is_settled(&self, variant: Variant) -> bool {
        self.cell(variant).made.get().is_some()
    }

    /// Whether an encoding is being made.
    pub(crate) fn is_claimed(&self, variant: Variant) -> bool {
        self.cell(variant).claimed.load(Ordering::Acquire)
    }

    /// Returns the encoding to make for a request that prefers these codings, if one is lacking.
    pub(crate) fn lacking(&self, liked: Codings, decision: Decision) -> Option<Lacking> {
        let br = Variant { coding: Coding::Br, decision };
        let likes_br = liked.has(Coding::Br);
        if likes_br && self.made(br).is_some() {
            return None;
        }
        let quickest = QUICKEST.into_iter().find(|coding| liked.has(*coding))?;
        if !self.is_settled(Variant { coding: quickest, decision }) {
            return Some(Lacking { coding: quickest, is_awaited: true });
        }
        let is_popular = likes_br
            && !self.is_settled(br)
            && !self.cell(br).claimed.load(Ordering::Relaxed)
            && self.uses.fetch_add(1, Ordering::Relaxed) >= POPULAR_USES;
        is_popular.then_some(Lacking { coding: Coding::Br, is_awaited: false })
    }

    /// Takes the claim to make an encoding; returns false if another holds it.
    pub(crate) fn claim(&self, variant: Variant) -> bool {
        !self.cell(variant).claimed.swap(true, Ordering::AcqRel)
    }

    /// Releases the claim to make an encoding, and wakes the waiters.
    pub(crate) fn release(&self, variant: Variant) {
        self.cell(variant).claimed.store(false, Ordering::Release);
        self.ended.notify_waiters();
    }

    /// Keeps an encoding; `None` says that it saves too little.
    pub(crate) fn fill(&self, variant: Variant, encoding: Option<Encoding>) {
        self.fill_at(self.index(variant), encoding);
    }

    /// Returns the bytes that the cache has counted.
    pub(crate) fn counted_bytes(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    /// Counts all bytes; only the cache calls it, under its lock.
    pub(crate) fn count_bytes(&self) {
        self.counted.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Returns the key under which memory has stored the entry, if it has.
    pub(crate) fn cache_key(&self) -> Option<&SharedKey> {
        self.cache_key.get()
    }

    /// Notes the key under which memory stores the entry.
    pub(crate) fn note_cache_key(&self, key: &SharedKey) {
        self.cache_key.get_or_init(|| Arc::clone(key));
    }

    /// Takes over the encodings of the same body, and gives them new `fields`.
    pub(crate) fn inherit(&self, fields: &[u8], from: &Self) {
        if self.cells.len() != from.cells.len() {
            return;
        }
        for (index, cell) in from.cells.iter().enumerate() {
            let Some(made) = cell.made.get() else { continue };
            let coding = Coding::ALL[index / (self.cells.len() / Coding::ALL.len())];
            let renew = |encoding: &Encoding| Encoding {
                fields: encoded_fields(fields, coding),
                body: encoding.body.clone(),
            };
            self.fill_at(index, made.as_deref().map(renew));
        }
        self.count_bytes();
    }

    fn cell(&self, variant: Variant) -> &EncodingCell {
        &self.cells[self.index(variant)]
    }

    fn index(&self, Variant { coding, decision }: Variant) -> usize {
        match self.cells.len() == Coding::ALL.len() {
            true => coding as usize,
            false => coding as usize * Decision::ALL.len() + decision as usize,
        }
    }

    fn fill_at(&self, index: usize, encoding: Option<Encoding>) {
        let bytes = encoding.as_ref().map_or(0, |e| e.fields.len() + e.body.len() + OVERHEAD_BYTES);
        if self.cells[index].made.set(encoding.map(Box::new)).is_ok() {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

/// Returns the fields of an entry for an encoded body. They name the coding and have another
/// `ETag`, and they do not offer ranges.
pub fn encoded_fields(fields: &[u8], coding: Coding) -> Bytes {
    let mut out = Vec::with_capacity(fields.len() + 48);
    for line in fields.split_inclusive(|b| *b == b'\n') {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"accept-ranges")
            || name.eq_ignore_ascii_case(b"content-encoding")
        {
            continue;
        }
        if !name.eq_ignore_ascii_case(b"etag") {
            out.extend_from_slice(line);
        } else if let Some(tag) = etag::encoded(value[1..].trim_ascii(), coding) {
            out.extend_from_slice(b"etag: ");
            out.extend_from_slice(&tag);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"content-encoding: ");
    out.extend_from_slice(coding.name().as_bytes());
    out.extend_from_slice(b"\r\n");
    out.into_boxed_slice().into()
}

#[cfg(test)]
mod tests;
