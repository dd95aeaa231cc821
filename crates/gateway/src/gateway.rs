//! The gateway's live objects: what all cores share, and each core's own part.
//!
//! `Gateway` is shared; `Edge` lives on one core and never leaves it: its connections to upstreams,
//! its recorder, its source of request ids. `Exchange` is one request under way on an edge.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use cache::{DiskStatus, Store};
use chassis::WorkPool;
use chassis::http::Reply;
use http1::Head;
use metrics::Registry;
use stdx::Random;

use crate::flight::Flights;
use crate::metrics::GatewayMetrics;
use crate::plan::{Plan, Route};
use crate::ports::{Compute, Profiles, Recorder, Workers};
use crate::purge_request::PurgeRequest;
use crate::rollout::Rollout;
use crate::trace::Trace;
use crate::unstorable::Unstorable;
use crate::upstream::{Upstream, UpstreamPool};

/// Time after which a core reads the wall clock again.
const ANCHOR_AGE_MAX: Duration = Duration::from_millis(200);

/// What a gateway is made of besides its plan.
pub struct Parts {
    /// Knows who has a profile.
    pub profiles: Option<Arc<dyn Profiles>>,
    /// Answers from models.
    pub compute: Option<Arc<dyn Compute>>,
    /// Workers, by the upstream for which they answer.
    pub workers: HashMap<String, Arc<dyn Workers>>,
    /// Takes work that is too long for an I/O core.
    pub work: WorkPool,
}

/// What all cores share.
pub struct Gateway {
    /// What is to be done.
    pub plan: Plan,
    /// Upstreams, as the plan numbers them.
    pub upstreams: Vec<Arc<Upstream>>,
    /// Rollouts, by route; none where a route does not personalise.
    rollouts: Vec<Option<Rollout>>,
    /// Stored responses.
    pub store: Arc<Store>,
    /// Fetches under way.
    pub(crate) flights: Arc<Flights>,
    /// Keys whose responses could not be stored.
    pub(crate) unstorable: Unstorable,
    /// Metrics.
    pub(crate) metrics: GatewayMetrics,
    /// Knows who has a profile.
    pub(crate) profiles: Option<Arc<dyn Profiles>>,
    /// Answers from models.
    pub(crate) compute: Option<Arc<dyn Compute>>,
    /// Takes work that is too long for an I/O core.
    pub(crate) work: WorkPool,
    /// Bodies being encoded as they pass.
    pub(crate) streams: AtomicUsize,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway with nothing in memory.
    pub fn new(plan: Plan, parts: Parts, registry: &Registry) -> Arc<Self> {
        let Parts { profiles, compute, mut workers, work } = parts;
        let upstreams = plan.upstreams.iter().map(|upstream| {
            let workers = workers.remove(&*upstream.name);
            Arc::new(Upstream::new(upstream.clone(), workers))
        });
        let rollout =
            |route: &Route| route.personalise.as_ref().map(|plan| Rollout::new(&plan.rollout));
        let names = plan.routes.iter().map(|route| &*route.name);
        Arc::new(Self {
            upstreams: upstreams.collect(),
            rollouts: plan.routes.iter().map(rollout).collect(),
            store: Store::open(plan.store.clone(), work.clone(), registry),
            flights: Flights::new(plan.waiters_max, plan.waiters_per_key_max),
            unstorable: Unstorable::default(),
            metrics: GatewayMetrics::new(registry, names),
            plan,
            profiles,
            compute,
            work,
            streams: AtomicUsize::new(0),
        })
    }

    /// The routes that personalise, with their rollouts.
    pub fn rollouts(&self) -> impl Iterator<Item = (&str, &Rollout)> {
        let routes = self.plan.routes.iter().zip(&self.rollouts);
        let routes = routes.filter(|(route, _)| route.collect.is_none());
        routes.filter_map(|(route, rollout)| Some((&*route.name, rollout.as_ref()?)))
    }

    /// The rollout of a route, by its index.
    pub(crate) fn rollout(&self, route: usize) -> Option<&Rollout> {
        self.rollouts[route].as_ref()
    }

    /// Fetches under way that others may wait for.
    pub fn flights(&self) -> usize {
        self.flights.count()
    }

    /// Requests that wait for the fetch of another.
    pub fn waiters(&self) -> usize {
        self.flights.waiting()
    }

    /// What the cache on disk tells of itself, when there is one.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.store.disk_status()
    }

    /// Purges what is asked; returns the number of entries. Takes a while for many of them, so it
    /// is not for an I/O core.
    ///
    /// # Errors
    /// What is wrong with the request, in words; nothing is purged then.
    pub fn purge(&self, request: &PurgeRequest) -> Result<usize, String> {
        let areas = request.areas(&self.plan.routes)?;
        let count = self.store.purge(&areas, request.soft);
        self.store.flush_purges();
        self.metrics.purged.add(count as u64);
        Ok(count)
    }
}

/// One core's part.
pub struct Edge {
    /// What all cores share.
    pub gateway: Arc<Gateway>,
    /// This core's connections, one pool an upstream.
    pub(crate) pools: Vec<UpstreamPool>,
    /// This core's recorder.
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    /// Requests under way beyond the cache.
    pending: Cell<usize>,
    /// Bodies of computed answers are written here first.
    pub(crate) scratch: RefCell<Vec<u8>>,
    /// One instant with the wall clock's microseconds at it.
    anchor: Cell<(Instant, u64)>,
    id_high: u64,
    id_low: RefCell<Random>,
}

impl Edge {
    /// The part of one core.
    pub fn new(gateway: Arc<Gateway>, recorder: Option<Box<dyn Recorder>>, seed: u128) -> Rc<Self> {
        let pools = gateway.upstreams.iter().map(|u| UpstreamPool::new(Arc::clone(u))).collect();
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
    pub(crate) fn begin(&self) -> Trace {
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
    pub(crate) fn next_id(&self) -> u128 {
        (u128::from(self.id_high) << 64) | u128::from(self.id_low.borrow_mut().bits())
    }

    /// Admits a request beyond the cache; `None` when the core has enough to do.
    pub(crate) fn admit(self: &Rc<Self>) -> Option<Admission> {
        let pending = self.pending.get();
        if pending >= self.gateway.plan.pending_max {
            return None;
        }
        self.pending.set(pending + 1);
        Some(Admission(Rc::clone(self)))
    }
}

/// A request under way beyond the cache; ends when dropped.
pub(crate) struct Admission(Rc<Edge>);

impl Drop for Admission {
    fn drop(&mut self) {
        self.0.pending.set(self.0.pending.get() - 1);
    }
}

/// One request under way on an edge, its route found.
pub(crate) struct Exchange<'x, 'h> {
    /// Where it lives.
    pub edge: &'x Rc<Edge>,
    /// Its route.
    pub route: &'x Route,
    /// Its head.
    pub head: &'x Head<'h>,
    /// The reply under construction.
    pub reply: &'x mut Reply,
    /// What is remembered of it.
    pub trace: &'x mut Trace,
}

impl<'x> Exchange<'x, '_> {
    /// What all cores share.
    pub(crate) fn gateway(&self) -> &'x Arc<Gateway> {
        &self.edge.gateway
    }
}
