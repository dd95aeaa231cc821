//! The gateway: what all cores share, and each core's own part.
//!
//! `Gateway` is shared; `Edge` lives on one core and never leaves it: its connections to upstreams,
//! its recorder, its source of request ids.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use chassis::WorkPool;
use metrics::Registry;
use stdx::Random;

use crate::cache::disk;
use crate::cache::disk::{DiskStatus, DiskTier};
use crate::cache::memory::Cache;
use crate::cache::purge::Area;
use crate::flight::Flights;
use crate::metrics::GatewayMetrics;
use crate::plan::{Plan, Route};
use crate::ports::{Compute, Profiles, Record};
use crate::purge_request::Wanted;
use crate::rollout::Rollout;
use crate::trace::Trace;
use crate::unstorable::Unstorable;
use crate::upstream::Pool;

/// Time after which a core reads the wall clock again.
const ANCHOR_AGE_MAX: Duration = Duration::from_millis(200);

/// What all cores share.
pub struct Gateway {
    /// What is to be done.
    pub plan: Plan,
    /// Stored answers.
    pub cache: Cache,
    /// Stored answers on disk.
    pub disk: Option<DiskTier>,
    /// Fetches under way.
    pub flights: Arc<Flights>,
    /// Keys whose answers could not be stored.
    pub unstorable: Unstorable,
    /// Metrics.
    pub metrics: GatewayMetrics,
    /// Knows who has a profile.
    pub profiles: Option<Arc<dyn Profiles>>,
    /// Answers from models.
    pub compute: Option<Arc<dyn Compute>>,
    /// Takes work that is too long for an I/O core.
    pub work: WorkPool,
    /// Stored bodies being encoded off the I/O cores, or waiting to be.
    pub encoding: AtomicUsize,
    /// Bodies being encoded as they pass.
    pub streaming: AtomicUsize,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway with nothing stored.
    pub fn new(
        plan: Plan,
        registry: &Registry,
        profiles: Option<Arc<dyn Profiles>>,
        compute: Option<Arc<dyn Compute>>,
        work: WorkPool,
    ) -> Arc<Self> {
        let disk = plan.disk.clone().and_then(|plan| DiskTier::open(plan, registry));
        let caching = plan.routes.iter().filter_map(|route| route.cache.as_ref());
        let body_bytes_max = caching.map(|cache| cache.body_bytes_max).max().unwrap_or(0);
        Arc::new(Self {
            disk,
            cache: Cache::new(plan.cache_bytes_max, body_bytes_max),
            unstorable: Unstorable::default(),
            flights: Flights::new(plan.waiters_max, plan.waiters_per_key_max),
            metrics: GatewayMetrics::new(registry, &plan),
            plan,
            profiles,
            compute,
            work,
            encoding: AtomicUsize::new(0),
            streaming: AtomicUsize::new(0),
        })
    }
}

impl Gateway {
    /// The routes that personalise, with their rollouts.
    pub fn rollouts(&self) -> impl Iterator<Item = (&str, &Rollout)> {
        let routes = self.plan.routes.iter().filter(|route| route.collect.is_none());
        routes.filter_map(|route| Some((&*route.name, &route.personalise.as_ref()?.rollout)))
    }
}

impl Gateway {
    /// What the cache on disk tells of itself, when there is one.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.disk.as_ref().map(DiskTier::status)
    }

    /// Forgets what is stored under a key, in memory and on disk.
    pub fn forget(&self, route: &Route, key: &[u8]) {
        disk::forget(self, route, key);
        self.cache.remove(key);
    }

    /// Purges areas in memory, and on disk a moment later; returns the number of entries in memory.
    pub fn forget_areas(&self, areas: &[Area], soft: bool) -> usize {
        let count = self.cache.purge(areas, soft);
        if let Some(disk) = &self.disk {
            disk.purged(areas, soft, self.cache.purges.stamp());
        }
        count
    }

    /// Purges what is wanted; returns the number of entries. Takes a while for many of them, so
    /// it is not for an I/O core.
    ///
    /// # Errors
    /// What is wrong with the wish, in words; nothing is purged then.
    pub fn purge(&self, wanted: &Wanted) -> Result<usize, String> {
        let areas = wanted.areas(&self.plan)?;
        let count = self.forget_areas(&areas, wanted.soft);
        if let Some(disk) = &self.disk {
            disk.flush_purges();
        }
        self.metrics.purged.add(count as u64);
        Ok(count)
    }
}

/// One core's part.
pub struct Edge {
    /// What all cores share.
    pub gateway: Arc<Gateway>,
    /// This core's connections, one pool an upstream.
    pub pools: Vec<Pool>,
    /// This core's recorder.
    pub recorder: Option<Box<dyn Record>>,
    /// Requests under way beyond the cache.
    pending: Cell<usize>,
    /// Bodies of computed answers are written here first.
    pub scratch: RefCell<Vec<u8>>,
    /// One instant with the wall clock's microseconds at it.
    anchor: Cell<(Instant, u64)>,
    id_high: u64,
    id_low: RefCell<Random>,
}

impl Edge {
    /// The part of one core.
    pub fn new(gateway: Arc<Gateway>, recorder: Option<Box<dyn Record>>, seed: u128) -> Rc<Self> {
        let pools = gateway.plan.upstreams.iter().map(|u| Pool::new(Arc::clone(u))).collect();
        Rc::new(Self {
            gateway,
            pools,
            recorder,
            pending: Cell::new(0),
            scratch: RefCell::default(),
            anchor: Cell::new((Instant::now(), stdx::unix_micros())),
            id_high: (seed >> 64) as u64,
            id_low: RefCell::new(Random::new(seed as u64)),
        })
    }

    /// Begins an exchange.
    pub fn begin(&self) -> Trace {
        let start = Instant::now();
        let (mut at, mut micros) = self.anchor.get();
        if start.duration_since(at) > ANCHOR_AGE_MAX {
            (at, micros) = (start, stdx::unix_micros());
            self.anchor.set((at, micros));
        }
        let time_us = micros + start.duration_since(at).as_micros() as u64;
        Trace::begin(start, time_us, self.next_id())
    }

    /// A request id: unique by a random half a core and numbers that do not repeat.
    pub fn next_id(&self) -> u128 {
        (u128::from(self.id_high) << 64) | u128::from(self.id_low.borrow_mut().bits())
    }

    /// Admits a request beyond the cache; `None` when the core has enough to do.
    pub fn admit(self: &Rc<Self>) -> Option<Pending> {
        let pending = self.pending.get();
        if pending >= self.gateway.plan.pending_max {
            return None;
        }
        self.pending.set(pending + 1);
        Some(Pending(Rc::clone(self)))
    }
}

/// A request under way beyond the cache; ends when dropped.
pub struct Pending(Rc<Edge>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.pending.set(self.0.pending.get() - 1);
    }
}
