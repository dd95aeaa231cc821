//! Holds the live objects of the gateway: the part that all cores share, and the part of each core.
//!
//! [`Gateway`] is shared: plan, upstreams, store, flights, rollouts, metrics; operators purge
//! through it. An [`Edge`] never leaves its core. It has connections to upstreams, a recorder and a
//! source of request ids. These must not repeat, over all cores and runs: crates/training joins
//! records by them. An edge reads the wall clock at most every 200 ms, and counts on by the
//! monotonic one. [`Exchange`] is one request under way on an edge, after its route was found.
//! Invariant: the plan never changes while serving; shares of rollouts and health do. Upstreams,
//! pools, rollouts and metrics of routes are found by the index of their plan. Bound: `pending_max`
//! requests per core beyond the cache, and a share of it for one client; `admit` gives none beyond.
//! The bytes that they hold are charged to one budget, by client (`clients`). Never here: what
//! happens to a request (`request`), checks (`plan`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use cache::{DiskStatus, Store};
use chassis::http::Reply;
use chassis::{ClientCounts, ClientId, Inflight, WorkPool};
use http1::Head;
use metrics::Registry;
use parking_lot::Mutex;
use stdx::Random;

use crate::clients::Clients;
use crate::error::Refusal;
use crate::flight::Flights;
use crate::metrics::GatewayMetrics;
use crate::plan::{Plan, Route};
use crate::ports::{Compute, Profiles, Recorder, Tap, Workers};
use crate::purge_request::PurgeRequest;
use crate::rollout::Rollout;
use crate::trace::Trace;
use crate::unstorable::Unstorable;
use crate::upstream::{Upstream, UpstreamPool};

/// Time after which a core reads the wall clock again.
const ANCHOR_AGE_MAX: Duration = Duration::from_millis(200);

/// Least time between two lines about answers that broke off; the metric counts all.
const BROKEN_LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The parts that the binary gives a gateway, besides its plan.
pub struct Parts {
    /// Look-up of profiles.
    pub profiles: Option<Arc<dyn Profiles>>,
    /// Models in this process.
    pub compute: Option<Arc<dyn Compute>>,
    /// Workers, by the name of the upstream for which they answer.
    pub workers: HashMap<String, Arc<dyn Workers>>,
    /// Threads for work that is too long for an I/O core.
    pub work: WorkPool,
    /// Who watches exchanges.
    pub tap: Option<Arc<dyn Tap>>,
}

/// The part of the gateway that all cores share.
pub struct Gateway {
    /// The checked configuration.
    pub plan: Plan,
    /// Upstreams, by the index of the plan.
    pub upstreams: Vec<Arc<Upstream>>,
    /// Rollouts, by route; `None` if the route does not personalise.
    rollouts: Vec<Option<Rollout>>,
    /// Stored responses.
    pub store: Arc<Store>,
    /// Flights.
    pub(crate) flights: Arc<Flights>,
    /// What the clients hold.
    pub(crate) clients: Arc<Clients>,
    /// Keys whose responses could not be stored.
    pub(crate) unstorable: Unstorable,
    /// Metrics.
    pub(crate) metrics: GatewayMetrics,
    /// Look-up of profiles.
    pub(crate) profiles: Option<Arc<dyn Profiles>>,
    /// Models in this process.
    pub(crate) compute: Option<Arc<dyn Compute>>,
    /// Threads for work that is too long for an I/O core.
    pub(crate) work: WorkPool,
    /// Who watches exchanges.
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// Number of bodies that are encoded as they stream.
    pub(crate) streams: AtomicUsize,
    /// When an answer that broke off was logged last.
    broken_logged: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Makes the live objects of a plan. Memory begins empty.
    pub fn new(plan: Plan, parts: Parts, registry: &Registry) -> Arc<Self> {
        let Parts { profiles, compute, mut workers, work, tap } = parts;
        let upstreams = plan.upstreams.iter().map(|upstream| {
            let workers = workers.remove(&*upstream.name);
            Arc::new(Upstream::new(upstream.clone(), workers))
        });
        let rollout =
            |route: &Route| route.personalise.as_ref().map(|plan| Rollout::new(&plan.rollout));
        let names = plan.routes.iter().map(|route| &*route.name);
        let budget = Inflight::new(plan.limits.inflight_bytes, registry);
        Arc::new(Self {
            upstreams: upstreams.collect(),
            rollouts: plan.routes.iter().map(rollout).collect(),
            store: Store::open(plan.store.clone(), work.clone(), &budget, registry),
            flights: Flights::new(plan.limits.waiters_max, plan.limits.waiters_per_key_max),
            clients: Arc::new(Clients::new(&plan.limits, budget)),
            unstorable: Unstorable::default(),
            metrics: GatewayMetrics::new(registry, names),
            plan,
            profiles,
            compute,
            work,
            tap,
            streams: AtomicUsize::new(0),
            broken_logged: Mutex::default(),
        })
    }

    /// Returns the names of the routes that personalise, with their rollouts.
    pub fn rollouts(&self) -> impl Iterator<Item = (&str, &Rollout)> {
        let routes = self.plan.routes.iter().zip(&self.rollouts);
        let routes = routes.filter(|(route, _)| route.collect.is_none());
        routes.filter_map(|(route, rollout)| Some((&*route.name, rollout.as_ref()?)))
    }

    /// Returns the targets for personalised responses alone, each with the name of its route.
    pub fn private_targets(&self) -> impl Iterator<Item = (&str, String)> {
        self.plan.routes.iter().filter_map(|route| {
            let arm = route.private_arm()?;
            Some((&*route.name, self.plan.named(route.target(arm))))
        })
    }

    /// Returns routes that personalise, and have had no request with a user id so far. With each
    /// come the places of the id, and the number of requests.
    pub fn routes_without_users(&self) -> impl Iterator<Item = (&str, String, u64)> {
        self.plan.routes.iter().enumerate().filter_map(|(index, route)| {
            let places = &route.personalise.as_ref()?.user;
            let requests = self.metrics.route(index).only_anonymous()?;
            Some((&*route.name, places.to_string(), requests))
        })
    }

    /// Returns the rollout of a route.
    pub(crate) fn rollout(&self, route: usize) -> Option<&Rollout> {
        self.rollouts[route].as_ref()
    }

    /// Returns the budget for the bytes of requests under way.
    pub fn inflight(&self) -> &Inflight {
        self.clients.budget()
    }

    /// Returns the number of flights.
    pub fn flights(&self) -> usize {
        self.flights.count()
    }

    /// Returns the number of requests that wait on a flight.
    pub fn waiters(&self) -> usize {
        self.flights.waiting()
    }

    /// Returns the status of the cache on disk, if there is one.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.store.disk_status()
    }

    /// Counts and logs that a client is refused, because it has too many of something.
    pub(crate) fn note_client_refusal(&self, client: ClientId, what: &'static str) {
        self.metrics.client_refusals.add(1);
        if self.clients.may_warn(Instant::now()) {
            let hint = "if it is a proxy, name it in `listen.trusted`";
            tracing::warn!(%client, hint, "a client or a key has too many {what}");
        }
    }

    /// Counts an answer whose body ended early, and logs it: its client saw no status that says so.
    pub(crate) fn note_broken_answer(&self, head: &Head<'_>, trace: &Trace, bytes: u64) {
        self.metrics.broken_answers.add(1);
        let (now, mut logged) = (Instant::now(), self.broken_logged.lock());
        if logged.is_some_and(|logged| now.duration_since(logged) < BROKEN_LOG_INTERVAL) {
            return;
        }
        *logged = Some(now);
        drop(logged);
        let route = trace.route.map(|index| &*self.plan.routes[index].name);
        let (method, path, id) = (head.method(), head.path(), format!("{:032x}", trace.id));
        tracing::warn!(method, path, route, id, bytes, "an answer broke off in its body");
    }

    /// Purges entries, and waits for a bounded time until that is durable. It may take long, so it
    /// must not run on an I/O core.
    ///
    /// # Errors
    /// With a message when the request is wrong. Then nothing is purged.
    pub fn purge(&self, request: &PurgeRequest) -> Result<Purged, String> {
        let areas = request.areas(&self.plan.routes)?;
        let entries = self.store.purge(&areas, request.soft);
        let is_durable = self.store.flush_purges();
        self.metrics.purged.add(entries as u64);
        Ok(Purged { entries, is_durable })
    }
}

/// What a purge has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    /// The entries that it removed from memory, or made stale there.
    pub entries: usize,
    /// Whether it holds after a crash. If not, the cache on disk is out of use or slow; the purge
    /// is written to it later.
    pub is_durable: bool,
}

/// The part of the gateway that lives on one core.
pub struct Edge {
    /// The shared part.
    pub gateway: Arc<Gateway>,
    /// The connections of this core, one pool per upstream.
    pub(crate) pools: Vec<UpstreamPool>,
    /// The recorder of this core.
    pub(crate) recorder: Option<Box<dyn Recorder>>,
    /// Requests under way beyond the cache.
    pending: Cell<usize>,
    /// Those of each client.
    pending_of_clients: ClientCounts,
    /// Buffer in which models write the bodies of their responses.
    pub(crate) scratch: RefCell<Vec<u8>>,
    /// An instant, and the time of the wall clock then, in microseconds.
    anchor: Cell<(Instant, u64)>,
    id_high: u64,
    id_low: RefCell<Random>,
}

impl Edge {
    /// Makes the part of one core.
    pub fn new(gateway: Arc<Gateway>, recorder: Option<Box<dyn Recorder>>, seed: u128) -> Rc<Self> {
        let pools = gateway.upstreams.iter().map(|u| UpstreamPool::new(Arc::clone(u))).collect();
        Rc::new(Self {
            gateway,
            pools,
            recorder,
            pending: Cell::new(0),
            pending_of_clients: ClientCounts::default(),
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

    /// Returns a new request id: a random half per core, and a number that does not repeat.
    pub(crate) fn next_id(&self) -> u128 {
        (u128::from(self.id_high) << 64) | u128::from(self.id_low.borrow_mut().bits())
    }

    /// Admits a request beyond the cache.
    ///
    /// # Errors
    /// When the core is at its bound, or the client at its share of that.
    pub(crate) fn admit(self: &Rc<Self>, client: ClientId) -> Result<Admission, Refusal> {
        let (pending, pending_max) = (self.pending.get(), self.gateway.plan.limits.pending_max);
        if pending >= pending_max {
            return Err(Refusal::Overloaded("requests"));
        }
        if self.pending_of_clients.of(client) >= self.gateway.clients.share_of(pending_max) {
            self.gateway.note_client_refusal(client, "requests");
            return Err(Refusal::Overloaded("requests of one client"));
        }
        self.pending.set(pending + 1);
        self.pending_of_clients.add(client);
        Ok(Admission { edge: Rc::clone(self), client })
    }
}

/// A request under way beyond the cache; ends when dropped.
pub(crate) struct Admission {
    edge: Rc<Edge>,
    client: ClientId,
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.edge.pending.set(self.edge.pending.get() - 1);
        self.edge.pending_of_clients.remove(self.client);
    }
}

/// One request under way on an edge, after its route was found.
pub(crate) struct Exchange<'x, 'h> {
    /// The part of the gateway on this core.
    pub edge: &'x Rc<Edge>,
    /// The route of the request.
    pub route: &'x Route,
    /// The head of the request.
    pub head: &'x Head<'h>,
    /// The reply under construction.
    pub reply: &'x mut Reply,
    /// The times and decisions that become the record.
    pub trace: &'x mut Trace,
}

impl<'x> Exchange<'x, '_> {
    /// Returns the shared part.
    pub(crate) fn gateway(&self) -> &'x Arc<Gateway> {
        &self.edge.gateway
    }

    /// Counts and returns the refusal of a client that has too many of something.
    pub(crate) fn refuse_client(&self, what: &'static str) -> Refusal {
        self.gateway().note_client_refusal(self.client(), what);
        Refusal::Overloaded(what)
    }

    /// Returns the client, as bounds know it.
    pub(crate) fn client(&self) -> ClientId {
        self.head.client().into()
    }
}
