//! Stored answers in their codings: each made once, on first demand, for all who ask.
//!
//! Invariants: a coding of an entry is made by one thread at a time, and never on an I/O core when
//! it takes longer than [`INLINE_MAX`]; who finds it being made waits for it no longer than
//! [`WAIT_MAX`] and gets the bytes as they are then. What was made goes with its entry and counts
//! in the cache's bytes. A body that names each request's decision is made once for each decision
//! that asks.
//!
//! The first who asks gets the quickest coding it likes best; brotli, mostly the smallest and
//! always the slowest, is made behind the clients' backs for entries that are asked for often. Of
//! what has been made a client gets the smallest.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use exchange::Decision;
use http1::Head;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::{codec, etag};
use crate::cache::memory::Entry;
use crate::cache::memory::engine::SharedKey;
use crate::compression::wanted;
use crate::gateway::{Edge, Gateway};
use http1::accept::{Accepted, Coding, Codings};

/// Encoding that takes longer leaves the I/O core.
const INLINE_MAX: Duration = Duration::from_micros(200);
/// Time that a request waits for a coding that is being made.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// Uses of an entry by clients that like brotli after which it is made.
const POPULAR_USES: u32 = 8;
/// Bodies being encoded off the I/O cores, or waiting to be: the work pool serves models too.
const JOBS_MAX: usize = 16;
/// Codings in the order in which they are made for the first who asks: the quickest first.
const QUICKEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Br];
/// Bytes of bookkeeping that a coding costs beyond its fields and body.
const OVERHEAD_BYTES: usize = 128;

/// An answer in one coding.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Its fields, rendered as an entry's are.
    pub fields: Bytes,
    /// Its body.
    pub body: Bytes,
}

/// One entry's answers in their codings.
#[derive(Debug)]
pub struct Shapes {
    /// Codings that the route offers.
    pub offered: Codings,
    /// By coding and, where the body names the decision, by decision.
    slots: Box<[Slot]>,
    uses: AtomicU32,
    /// Bytes of what was made, and of this.
    bytes: AtomicU64,
    /// The part of them that the cache has counted; changed under its lock alone.
    counted: AtomicU64,
    /// Under which key the cache holds the entry.
    home: OnceLock<SharedKey>,
    /// Tells waiters that a slot was filled, or given up.
    ended: Notify,
}

#[derive(Debug, Default)]
struct Slot {
    claimed: AtomicBool,
    /// Holds nothing when the coding saves too little.
    made: OnceLock<Option<Box<Shape>>>,
}

impl Shapes {
    /// Nothing made yet; `spliced` when the body names each request's decision.
    pub fn new(offered: Codings, spliced: bool) -> Self {
        let decisions = if spliced { Decision::ALL.len() } else { 1 };
        let slots: Box<[Slot]> =
            (0..Coding::ALL.len() * decisions).map(|_| Slot::default()).collect();
        let bytes = (size_of::<Self>() + size_of_val(&*slots)) as u64;
        Self {
            offered,
            slots,
            uses: AtomicU32::new(0),
            bytes: AtomicU64::new(bytes),
            counted: AtomicU64::new(bytes),
            home: OnceLock::new(),
            ended: Notify::new(),
        }
    }

    /// The smallest of what has been made among the codings that a request likes.
    fn chosen(&self, liked: Codings, decision: Decision) -> Option<&Shape> {
        let liked = Coding::ALL.into_iter().filter(|coding| liked.has(*coding));
        let made = liked.filter_map(|coding| self.made(coding, decision));
        made.min_by_key(|shape| shape.body.len())
    }

    /// The answer in a coding, when it has been made.
    fn made(&self, coding: Coding, decision: Decision) -> Option<&Shape> {
        self.slot(coding, decision).made.get()?.as_deref()
    }

    /// Whether nothing is left to be made, whatever a request likes.
    fn is_complete(&self, decision: Decision) -> bool {
        let is_settled = |coding: &Coding| self.slot(*coding, decision).made.get().is_some();
        Coding::ALL.iter().filter(|coding| self.offered.has(**coding)).all(is_settled)
    }

    /// What is to be made for these likings, and whether a request may wait for it.
    fn lacking(&self, liked: Codings, decision: Decision) -> Option<(Coding, bool)> {
        let is_settled = |coding| self.slot(coding, decision).made.get().is_some();
        let likes_br = liked.has(Coding::Br);
        if likes_br && self.made(Coding::Br, decision).is_some() {
            return None;
        }
        let quickest = QUICKEST.into_iter().find(|coding| liked.has(*coding))?;
        if !is_settled(quickest) {
            return Some((quickest, true));
        }
        let is_popular = likes_br
            && !is_settled(Coding::Br)
            && !self.slot(Coding::Br, decision).claimed.load(Ordering::Relaxed)
            && self.uses.fetch_add(1, Ordering::Relaxed) >= POPULAR_USES;
        is_popular.then_some((Coding::Br, false))
    }

    fn slot(&self, coding: Coding, decision: Decision) -> &Slot {
        &self.slots[self.place(coding, decision)]
    }

    fn place(&self, coding: Coding, decision: Decision) -> usize {
        match self.slots.len() == Coding::ALL.len() {
            true => coding as usize,
            false => coding as usize * Decision::ALL.len() + decision as usize,
        }
    }

    /// Bytes that the cache has counted.
    pub fn counted(&self) -> u64 {
        self.counted.load(Ordering::Relaxed)
    }

    /// Counts everything that was made; for the cache, under its lock.
    pub fn count(&self) {
        self.counted.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Under which key the cache holds the entry, when it does.
    pub fn home(&self) -> Option<&SharedKey> {
        self.home.get()
    }

    /// Notes under which key the cache holds the entry.
    pub fn settle(&self, key: &SharedKey) {
        self.home.get_or_init(|| Arc::clone(key));
    }

    fn fill(&self, place: usize, shape: Option<Shape>) {
        let bytes = shape.as_ref().map_or(0, |s| s.fields.len() + s.body.len() + OVERHEAD_BYTES);
        if self.slots[place].made.set(shape.map(Box::new)).is_ok() {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

/// The answer in the coding that serves a request best, when one has been made.
pub(crate) fn chosen<'e>(
    head: &Head<'_>,
    entry: &'e Entry,
    decision: Decision,
) -> Option<&'e Shape> {
    let shapes = entry.shapes.as_ref()?;
    shapes.chosen(wanted(head, shapes.offered, decision), decision)
}

/// The fields of an entry in a coding, made or not.
pub(crate) fn fields(entry: &Entry, coding: Coding, decision: Decision) -> Bytes {
    let made = entry.shapes.as_ref().and_then(|shapes| shapes.made(coding, decision));
    made.map_or_else(|| encoded_fields(&entry.fields, coding), |shape| shape.fields.clone())
}

/// Takes over what was made of an entry that has the same body, perhaps under other fields.
pub(crate) fn inherit(entry: &Entry, from: &Entry) {
    let (Some(to), Some(shapes)) = (&entry.shapes, &from.shapes) else { return };
    if to.slots.len() != shapes.slots.len()
        || entry.decision_at != from.decision_at
        || entry.body != from.body
    {
        return;
    }
    for (place, slot) in shapes.slots.iter().enumerate() {
        let Some(made) = slot.made.get() else { continue };
        let coding = Coding::ALL[place / (to.slots.len() / Coding::ALL.len())];
        let renew = |shape: &Shape| Shape {
            fields: encoded_fields(&entry.fields, coding),
            body: shape.body.clone(),
        };
        to.fill(place, made.as_deref().map(renew));
    }
    to.count();
}

/// Has an entry's answer made in the coding that a request likes, unless it has been.
pub(crate) async fn ready(
    edge: &Rc<Edge>,
    entry: &Arc<Entry>,
    head: &Head<'_>,
    decision: Decision,
) {
    let Some(shapes) = &entry.shapes else { return };
    if shapes.is_complete(decision) {
        return;
    }
    if let Some(lacking) = shapes.lacking(wanted(head, shapes.offered, decision), decision) {
        // Boxed, so that those who find it made carry no room for the making.
        Box::pin(obtain(edge, entry, decision, lacking)).await;
    }
}

/// The same for a request of which only its likings are left.
pub(crate) async fn ready_for(
    edge: &Rc<Edge>,
    entry: &Arc<Entry>,
    by: &Accepted,
    decision: Decision,
) {
    let Some(shapes) = &entry.shapes else { return };
    if let Some(lacking) = shapes.lacking(by.best(shapes.offered), decision) {
        obtain(edge, entry, decision, lacking).await;
    }
}

async fn obtain(
    edge: &Rc<Edge>,
    entry: &Arc<Entry>,
    decision: Decision,
    (coding, waits): (Coding, bool),
) {
    let gateway = &edge.gateway;
    let Some(claim) = Claim::take(gateway, entry, (coding, decision)) else {
        if waits {
            wait(entry, (coding, decision)).await;
        }
        return;
    };
    if waits && cost(coding, entry.body.len()) <= INLINE_MAX {
        return claim.make();
    }
    let Some(job) = Job::admit(gateway) else { return };
    let making = {
        let work = gateway.work.clone();
        async move {
            // A pool that has enough to do drops the claim, and others may try again.
            let _ = work.run(move || claim.make()).await;
            drop(job);
        }
    };
    let making = tokio::task::spawn_local(making);
    if waits {
        let _ = timeout_at(Instant::now() + WAIT_MAX, making).await;
    }
}

/// Time that encoding takes, roughly.
fn cost(coding: Coding, bytes: usize) -> Duration {
    let ns_per_byte = match coding {
        Coding::Zstd => 4,
        Coding::Gzip => 13,
        Coding::Br => 25,
    };
    Duration::from_nanos(bytes as u64 * ns_per_byte)
}

/// Waits for what another request has being made.
async fn wait(entry: &Entry, (coding, decision): Wanted) {
    let Some(shapes) = &entry.shapes else { return };
    let until = Instant::now() + WAIT_MAX;
    let slot = shapes.slot(coding, decision);
    loop {
        let ended = shapes.ended.notified();
        tokio::pin!(ended);
        // Registered before the look, or an end in between would be missed.
        ended.as_mut().enable();
        let is_over = slot.made.get().is_some() || !slot.claimed.load(Ordering::Acquire);
        if is_over || timeout_at(until, ended).await.is_err() {
            return;
        }
    }
}

/// A coding, and the decision that the body names.
type Wanted = (Coding, Decision);

/// The right and duty to make one coding of an entry.
struct Claim {
    gateway: Arc<Gateway>,
    entry: Arc<Entry>,
    shapes: Arc<Shapes>,
    wanted: Wanted,
}

impl Claim {
    fn take(gateway: &Arc<Gateway>, entry: &Arc<Entry>, wanted: Wanted) -> Option<Self> {
        let shapes = entry.shapes.as_ref()?;
        let slot = shapes.slot(wanted.0, wanted.1);
        if slot.claimed.swap(true, Ordering::AcqRel) {
            return None;
        }
        let (gateway, entry) = (Arc::clone(gateway), Arc::clone(entry));
        let shapes = Arc::clone(shapes);
        let claim = Self { gateway, entry, shapes, wanted };
        // Filled by the last who had the claim.
        let is_free = claim.shapes.slot(wanted.0, wanted.1).made.get().is_none();
        is_free.then_some(claim)
    }

    fn make(self) {
        let (coding, decision) = self.wanted;
        let body = &self.entry.body;
        let encoded = match &self.entry.decision_at {
            None => codec::whole(coding, &[body], true),
            Some(hole) => {
                let (before, after) = (&body[..hole.start], &body[hole.end..]);
                codec::whole(coding, &[before, decision.name().as_bytes(), after], true)
            }
        };
        self.gateway.metrics.encoded[coding as usize].add(1);
        let saves = |encoded: &Vec<u8>| encoded.len() + encoded.len() / 16 < body.len();
        let shape = encoded.ok().filter(saves).map(|encoded| Shape {
            fields: encoded_fields(&self.entry.fields, coding),
            body: encoded.into_boxed_slice().into(),
        });
        self.shapes.fill(self.shapes.place(coding, decision), shape);
        self.gateway.cache.recount(&self.shapes);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let (coding, decision) = self.wanted;
        if std::thread::panicking() {
            // What breaks the library once breaks it again: these bytes stay as they are.
            self.shapes.fill(self.shapes.place(coding, decision), None);
        }
        self.shapes.slot(coding, decision).claimed.store(false, Ordering::Release);
        self.shapes.ended.notify_waiters();
    }
}

/// A body being encoded off the I/O cores.
struct Job(Arc<Gateway>);

impl Job {
    fn admit(gateway: &Arc<Gateway>) -> Option<Self> {
        let jobs: &AtomicUsize = &gateway.encoding;
        let job = Self(Arc::clone(gateway));
        (jobs.fetch_add(1, Ordering::Relaxed) < JOBS_MAX).then_some(job)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.0.encoding.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An entry's fields as they are with an encoded body: told which, with a tag of its own, and
/// without a promise of parts.
fn encoded_fields(fields: &[u8], coding: Coding) -> Bytes {
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
