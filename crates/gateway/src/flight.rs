//! Keeps the table of flights: one fetch in progress for a key, and the requests that wait on it.
//!
//! Invariants: a key has at most one flight. A flight leaves the table before its waiters wake, and
//! they wake all at once. It ends when its [`Lease`] is dropped, however that happens. So a key is
//! blocked no longer than the task of its fetch lives (`fetch` bounds that). Bounds: waiters per
//! flight and in all; one more gets `Full`, and the caller sheds it. Flights have no bound here
//! (`Edge::admit`). Never here: the fetch itself (`fetch`), what a waiter does next (`miss`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::FetchError;
use cache::Entry;

const SHARDS: usize = 64;

/// How a flight ended.
#[derive(Debug, Clone)]
pub(crate) enum Landing {
    /// With a response for every waiter.
    Shared(Arc<Entry>),
    /// With a response from disk, which may be older than a waiter allows.
    Recalled(Arc<Entry>),
    /// With a response for the leader alone; the waiters fetch for themselves, in parallel.
    NotShared,
    /// Without a response; one waiter takes over. If only the leader was refused (`ClientShare`),
    /// the next one begins as if there had been no flight.
    Failed(FetchError),
}

#[derive(Debug)]
struct Flight {
    state: watch::Sender<Option<Landing>>,
    waiters: AtomicUsize,
    /// 0 for the first flight of a key; one more for each takeover.
    attempt: u32,
    /// The request id of the exchange that began it.
    leader: u128,
}

type FlightShard = Mutex<HashMap<Box<[u8]>, Arc<Flight>, RandomState>>;

/// All flights of the process.
#[derive(Debug)]
pub(crate) struct Flights {
    shards: Vec<FlightShard>,
    hasher: RandomState,
    waiters: AtomicUsize,
    waiters_max: usize,
    waiters_per_key_max: usize,
}

/// The part that a request has in a flight.
#[derive(Debug)]
pub(crate) enum Join {
    /// There is no flight of this key: the caller must fetch, and land the lease.
    Lead(Lease),
    /// There is a flight to wait on.
    Wait(Waiter),
    /// The flight or the process has as many waiters as allowed.
    Full,
}

/// The duty to end a flight; dropping it ends the flight as failed.
#[derive(Debug)]
pub(crate) struct Lease {
    flights: Arc<Flights>,
    key: Box<[u8]>,
    flight: Arc<Flight>,
    landed: bool,
}

/// A request that waits on a flight.
#[derive(Debug)]
pub(crate) struct Waiter {
    flights: Arc<Flights>,
    flight: Arc<Flight>,
    state: watch::Receiver<Option<Landing>>,
}

impl Flights {
    /// Returns an empty table of flights.
    pub(crate) fn new(waiters_max: usize, waiters_per_key_max: usize) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| FlightShard::default()).collect();
        let hasher = RandomState::default();
        let waiters = AtomicUsize::new(0);
        Arc::new(Self { shards, hasher, waiters, waiters_max, waiters_per_key_max })
    }

    /// Joins the flight of `key`, or begins one with this number of takeovers, led by `id`.
    pub(crate) fn join(self: &Arc<Self>, key: &[u8], attempt: u32, id: u128) -> Join {
        let mut shard = self.shard(key).lock();
        if let Some(flight) = shard.get(key) {
            let here = flight.waiters.fetch_add(1, Ordering::Relaxed);
            let all = self.waiters.fetch_add(1, Ordering::Relaxed);
            let (flights, flight) = (Arc::clone(self), Arc::clone(flight));
            let state = flight.state.subscribe();
            let waiter = Waiter { flights, flight, state };
            let full = here >= self.waiters_per_key_max || all >= self.waiters_max;
            return if full { Join::Full } else { Join::Wait(waiter) };
        }
        let state = watch::Sender::new(None);
        let flight = Arc::new(Flight { state, waiters: AtomicUsize::new(0), attempt, leader: id });
        shard.insert(key.into(), Arc::clone(&flight));
        Join::Lead(Lease { flights: Arc::clone(self), key: key.into(), flight, landed: false })
    }

    /// Begins a flight unless there is one already.
    pub(crate) fn lead(self: &Arc<Self>, key: &[u8], id: u128) -> Option<Lease> {
        match self.join(key, 0, id) {
            Join::Lead(lease) => Some(lease),
            Join::Wait(_) | Join::Full => None,
        }
    }

    /// Returns the number of flights.
    pub(crate) fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Returns the number of waiters on all flights.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.load(Ordering::Relaxed)
    }

    fn shard(&self, key: &[u8]) -> &FlightShard {
        use std::hash::BuildHasher;
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }
}

impl Lease {
    /// Ends the flight and wakes all its waiters.
    pub(crate) fn land(mut self, landing: Landing) {
        self.end(landing);
    }

    fn end(&mut self, landing: Landing) {
        if !std::mem::replace(&mut self.landed, true) {
            self.flights.shard(&self.key).lock().remove(&self.key);
            self.flight.state.send_replace(Some(landing));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end(Landing::Failed(FetchError::Abandoned));
    }
}

impl Waiter {
    /// Waits for the flight to end; returns `None` if the deadline comes first.
    pub(crate) async fn landed(mut self, deadline: Instant) -> Option<Landing> {
        let deadline = tokio::time::Instant::from_std(deadline);
        let ended = self.state.wait_for(Option::is_some);
        match tokio::time::timeout_at(deadline, ended).await {
            Ok(Ok(landing)) => landing.clone(),
            Ok(Err(_)) => Some(Landing::Failed(FetchError::Abandoned)),
            Err(_) => None,
        }
    }

    /// Returns the number of takeovers before this flight.
    pub(crate) fn attempt(&self) -> u32 {
        self.flight.attempt
    }

    /// Returns the request id of the exchange that leads this flight.
    pub(crate) fn leader(&self) -> u128 {
        self.flight.leader
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.flight.waiters.fetch_sub(1, Ordering::Relaxed);
        self.flights.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}
