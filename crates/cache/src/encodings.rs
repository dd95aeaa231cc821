//! The codings of a stored response: each made once, on first demand, for all who ask.
//!
//! Invariants: one thread at a time holds the claim to make a coding; what was made goes with its
//! entry, counts in the cache's bytes and never changes. A body that names each request's decision
//! has a place for each decision. Of what has been made a client gets the smallest.
//! Never here: making them (`encoder`).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use exchange::Decision;
use http1::accept::{Coding, Codings};
use tokio::sync::Notify;

use crate::etag;
use crate::key::SharedKey;

/// Uses of an entry by clients that like brotli after which it is made.
const POPULAR_USES: u32 = 8;
/// Codings in the order in which they are made for the first who asks: the quickest first.
const QUICKEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Br];
/// Bytes of bookkeeping that a coding costs beyond its fields and body.
const OVERHEAD_BYTES: usize = 128;

/// A response in one coding.
#[derive(Debug)]
pub struct Encoding {
    /// Its fields, rendered as an entry's are.
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
    /// Whether a request may wait for it.
    pub is_awaited: bool,
}

/// One entry's response in its codings.
#[derive(Debug)]
pub struct Encodings {
    /// Codings that may be made.
    pub offered: Codings,
    /// By coding and, where the body names the decision, by decision.
    cells: Box<[EncodingCell]>,
    uses: AtomicU32,
    /// Bytes of what was made, and of this.
    bytes: AtomicU64,
    /// The part of them that the cache has counted; changed under its lock alone.
    counted: AtomicU64,
    /// Under which key memory holds the entry.
    cache_key: OnceLock<SharedKey>,
    /// Tells waiters that a cell was filled, or given up.
    pub(crate) ended: Notify,
}

/// The place of one encoding.
#[derive(Debug, Default)]
struct EncodingCell {
    claimed: AtomicBool,
    /// Holds nothing when the coding saves too little.
    made: OnceLock<Option<Box<Encoding>>>,
}

impl Encodings {
    /// Nothing made yet; `spliced` when the body names each request's decision.
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

    /// The smallest of what has been made among the codings that a request likes.
    pub fn smallest(&self, liked: Codings, decision: Decision) -> Option<&Encoding> {
        let liked = Coding::ALL.into_iter().filter(|coding| liked.has(*coding));
        let made = liked.filter_map(|coding| self.made(Variant { coding, decision }));
        made.min_by_key(|encoding| encoding.body.len())
    }

    /// An encoding, when it has been made.
    pub fn made(&self, variant: Variant) -> Option<&Encoding> {
        self.cell(variant).made.get()?.as_deref()
    }

    /// Whether nothing is left to be made, whatever a request likes.
    pub(crate) fn is_complete(&self, decision: Decision) -> bool {
        let is_settled = |coding: &Coding| self.is_settled(Variant { coding: *coding, decision });
        Coding::ALL.iter().filter(|coding| self.offered.has(**coding)).all(is_settled)
    }

    /// Whether an encoding was made, or found to save too little.
    pub(crate) fn is_settled(&self, variant: Variant) -> bool {
        self.cell(variant).made.get().is_some()
    }

    /// Whether somebody makes an encoding at this moment.
    pub(crate) fn is_claimed(&self, variant: Variant) -> bool {
        self.cell(variant).claimed.load(Ordering::Acquire)
    }

    /// What is to be made for a request that likes these codings.
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

    /// Takes the right to make an encoding; false when another has it.
    pub(crate) fn claim(&self, variant: Variant) -> bool {
        !self.cell(variant).claimed.swap(true, Ordering::AcqRel)
    }

    /// Gives the right to make an encoding back, and wakes who waits for it.
    pub(crate) fn release(&self, variant: Variant) {
        self.cell(variant).claimed.store(false, Ordering::Release);
        self.ended.notify_waiters();
    }

    /// Keeps what was made; `None` when it saves too little.
    pub(crate) fn fill(&self, variant: Variant, encoding: Option<Encoding>) {
        self.fill_at(self.index(variant), encoding);
    }

    /// Bytes that the cache has counted.
    pub(crate) fn counted_bytes(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    /// Counts everything that was made; for the cache, under its lock.
    pub(crate) fn count_bytes(&self) {
        self.counted.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Under which key memory holds the entry, when it does.
    pub(crate) fn cache_key(&self) -> Option<&SharedKey> {
        self.cache_key.get()
    }

    /// Notes under which key memory holds the entry.
    pub(crate) fn note_cache_key(&self, key: &SharedKey) {
        self.cache_key.get_or_init(|| Arc::clone(key));
    }

    /// Takes over what was made of the same body under other fields; `fields` are the new ones.
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

/// An entry's fields as they are with an encoded body: with the coding's name and a tag of its own,
/// and without a promise of ranges.
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
