//! Starts the parts that the configuration names, wires them to each other, and stops them in
//! order.
//!
//! It owns that order. A part starts after those it uses. At the stop, connections drain first,
//! then the parts they used end, and then the journal is written and synced. The record process
//! stops last, so that it delivers what was recorded last.
//! Invariant: when `start` returns, the listeners are bound. A `Server` that is dropped without
//! `Server::stop` leaves its threads running. If `start` fails, the caller must end the process:
//! threads that it began may live on. An edge thread that panicked is the only error of a stop.
//! Nothing may hold `Parts` beyond `drop(self.parts)`, or the journal stays open. A new part with
//! threads needs a line in `stop`; one with a state also goes into `parts.rs` and `status` of
//! `admin.rs`.
//! Never here: what a part does (its crate), the adapters between roles (`ports.rs`, `workers.rs`),
//! pages (`admin.rs`).

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chassis::{Cores, Drain, Limits, Listener, WorkPool};
use gateway::{Compute, Edge, Gateway, IsListener, Profiles, Recorder, Tap};
use generation::{FileVersion, Watcher};
use journal::{Journal, JournalError};
use metrics::Registry;
use pipeline::{LossBook, RecordSupervisor};
use profiles::BuildScheduler;
use resolver::Resolver;
use serving::Models;

use crate::admin;
use crate::config::{JournalPlan, Plan, agreement};
use crate::descriptors;
use crate::hint::{self, Hint};
use crate::overrides::Overrides;
use crate::parts::Parts;
use crate::passed::PassedSockets;
use crate::ports::{JournalRecorder, Masking, ModelAnswers, ProfileLookup, WorkThreads, user_key};
use crate::profile_build::{self, BuildStatus};
use crate::record;
use crate::service_manager::{Heart, Watchdog};
use crate::statsd::{ConfigFile, Running};
use crate::tap::Taps;
use crate::workers::Pools;

/// Jobs that may wait for a work thread.
const WORK_QUEUE_MAX: usize = 1024;

/// Longest wait for a process that drains; it ends what takes longer than its `drain_timeout`.
const PREDECESSOR_MAX: Duration = Duration::from_secs(60);
/// Time between two looks whether it has ended.
const PREDECESSOR_STEP: Duration = Duration::from_millis(20);

/// Longest wait for the first look-ups of names. Clients wait in the listeners' queue meanwhile.
/// Afterwards an upstream without an address answers 503.
const NAMES_TIMEOUT: Duration = Duration::from_secs(2);

const LOCKED: Hint = Hint(
    "a `tidegate serve` with this journal is running; end it, or name another `[journal] dir`",
);

/// A process that serves; dropping it without [`Server::stop`] leaves its threads running.
pub(crate) struct Server {
    /// Where the routes are served.
    pub public: SocketAddr,
    /// Where metrics, status and actions are served.
    pub admin: SocketAddr,
    /// What serves.
    pub parts: Arc<Parts>,
    drain: Drain,
    cores: Cores,
    watcher: Watcher,
    profile_builds: Option<BuildScheduler>,
    record: Option<RecordSupervisor>,
    statsd: Option<Running>,
    pools: Pools,
    names: Option<Resolver>,
}

/// Starts everything; returns when the listeners are bound.
///
/// # Errors
/// When an address is taken, or a directory cannot be written.
pub(crate) fn start(mut plan: Plan, passed: PassedSockets) -> Result<Server> {
    let source = FileVersion::at(&plan.file).ok();
    let registry = Registry::default();
    let addresses = Addresses::fitted(&mut plan, passed);
    let (journal, early) = open_journal(plan.journal.as_ref(), &addresses)?;
    let profiles = open_profiles(&plan);
    let (delivers, losses) = (!plan.events.rollups.is_empty(), LossBook::new(&plan.losses()));
    let profile_builds = if delivers { None } else { profile_build::schedule(&plan)? };
    let work = WorkPool::start(plan.work_threads, WORK_QUEUE_MAX).context("start work threads")?;
    let pool = Arc::new(WorkThreads::new(work.clone()));
    let models = Arc::new(Models::open(plan.models, profiles.clone(), pool));
    let watcher = watch(&models, profiles.as_ref())?;
    let pools = Pools::start(plan.pools, &registry)?;
    let tap = Arc::new(Taps::new(Masking::new(plan.journal.as_ref())));
    let gateway_parts = gateway_parts(&models, profiles.as_ref(), &pools, work, &tap);
    let gateway = Gateway::new(plan.gateway, gateway_parts, &registry);
    let overrides = Overrides::open(&plan.root, &gateway)?;
    let listeners = early.map_or_else(|| addresses.bind(), Ok)?;
    let (public, admin) = (listeners.public[0].address()?, listeners.admin[0].address()?);
    let names = follow_names(&gateway, &registry, [public, admin])?;
    let record = delivers.then(|| record::start(&plan.file)).transpose()?;
    let profile_build = build_status(profile_builds.as_ref(), record.as_ref());
    let statsd = plan.statsd.map(|statsd| start_statsd(statsd, (&plan.file, source), &registry));
    let statsd = statsd.transpose()?;
    let parts = Arc::new(Parts {
        public,
        admin,
        audit: audit::ActionRecorder::new(plan.audit),
        drain_grace: plan.drain,
        registry,
        gateway,
        models,
        profiles,
        journal,
        overrides,
        profile_build,
        record: record.as_ref().map(RecordSupervisor::status),
        losses: delivers.then_some(losses),
        statsd: statsd.as_ref().map(|statsd| Arc::clone(statsd.state())),
        tap,
        workers: pools.pools(),
    });
    let counted = Arc::downgrade(&parts);
    parts.registry.before_reading(move |registry| {
        counted.upgrade().iter().for_each(|parts| admin::refresh(parts, registry));
    });
    if names.as_ref().is_some_and(|names| !names.wait_for_first(NAMES_TIMEOUT)) {
        tracing::warn!("started before every name of an upstream was looked up");
    }
    let drain = Drain::default();
    let cores = start_cores(listeners, &parts, (plan.journal.as_ref(), plan.admin_token), &drain)?;
    Ok(Server {
        public,
        admin,
        parts,
        drain,
        cores,
        watcher,
        profile_builds,
        record,
        statsd,
        pools,
        names,
    })
}

/// Opens the profile file, if there is to be one.
fn open_profiles(plan: &Plan) -> Option<Arc<profiles::Profiles>> {
    let secret = plan.journal.as_ref().and_then(|journal| journal.user_key.as_deref());
    let profiles = plan.profiles.as_ref()?;
    let options = profiles.file_options(user_key(secret));
    Some(Arc::new(profiles::Profiles::open(&profiles.file, options)))
}

/// Where profiles are built.
fn build_status(builds: Option<&BuildScheduler>, record: Option<&RecordSupervisor>) -> BuildStatus {
    match (builds, record) {
        (Some(builds), _) => BuildStatus::Here(builds.last_build()),
        (None, Some(record)) => BuildStatus::InRecordProcess(record.status()),
        (None, None) => BuildStatus::Nowhere,
    }
}

/// What is bound before the edge threads start.
struct Listeners {
    /// One for each edge thread.
    public: Vec<Listener>,
    /// One, for the first edge thread.
    admin: Vec<Listener>,
}

/// Where to listen, unless the sockets are passed.
struct Addresses {
    public: SocketAddr,
    admin: SocketAddr,
    passed: PassedSockets,
    edge_cores: usize,
}

impl Addresses {
    /// Returns the addresses of a plan, whose connections are fitted to the machine.
    fn fitted(plan: &mut Plan, passed: PassedSockets) -> Self {
        descriptors::fit(&mut plan.gateway, plan.edge_cores);
        Self { public: plan.public, admin: plan.admin, passed, edge_cores: plan.edge_cores }
    }

    fn bind(&self) -> Result<Listeners> {
        let public = bind(self.public, (&self.passed.public, self.edge_cores))?;
        Ok(Listeners { public, admin: bind(self.admin, (&self.passed.admin, 1))? })
    }
}

/// Starts one edge thread for each public listener; the first one has the admin listener too.
fn start_cores(
    listeners: Listeners,
    parts: &Arc<Parts>,
    (journal, token): (Option<&JournalPlan>, Option<String>),
    drain: &Drain,
) -> Result<Cores> {
    let mut admin = listeners.admin.into_iter();
    let mut watchdog = Watchdog::wanted();
    let limits = parts.gateway.plan.limits.connections.clone();
    let core = |public: Listener| {
        let recorder = journal.zip(parts.journal.as_ref());
        let recorder = recorder.map(|(plan, journal)| JournalRecorder::new(journal.lane(), plan));
        let (parts, token) = (Arc::clone(parts), token.clone());
        let (admin, limits) = (admin.next(), limits.clone());
        let heart = watchdog.as_mut().map(Watchdog::heart);
        Core { public, limits, admin, recorder, parts, token, heart, draining: drain.draining() }
    };
    let cores: Vec<Core> = listeners.public.into_iter().map(core).collect();
    let cores = Cores::start("edge", cores, |number, core| core.run(number))?;
    watchdog.map(Watchdog::start).transpose()?;
    Ok(cores)
}

impl Server {
    /// Ends in order: no new connections, then the ones there are, then what they used.
    ///
    /// # Errors
    /// When an edge thread panicked.
    pub(crate) fn stop(self) -> Result<()> {
        tracing::info!("draining");
        self.drain.begin(self.parts.drain_grace);
        let all_ended_well = self.cores.join();
        if let Some(builds) = self.profile_builds {
            builds.stop();
        }
        self.watcher.stop();
        drop(self.names);
        self.pools.end();
        if let Some(statsd) = self.statsd {
            statsd.end();
        }
        let lost = self.parts.journal.as_ref().map(Journal::lost_at_close);
        // The last holder's drop writes and syncs what is left of the journal.
        drop(self.parts);
        // Last, so that it finds what was recorded last.
        if let Some(record) = self.record {
            record.stop();
        }
        anyhow::ensure!(all_ended_well, "an edge thread ended by a panic; its message is above");
        let lost = lost.map_or(0, |lost| lost());
        anyhow::ensure!(lost == 0, "{lost} lines are lost: the journal could not be written");
        tracing::info!("stopped");
        Ok(())
    }
}

/// What one edge thread runs.
struct Core {
    public: Listener,
    limits: Limits,
    /// The first core has the admin listener too.
    admin: Option<Listener>,
    recorder: Option<JournalRecorder>,
    parts: Arc<Parts>,
    token: Option<String>,
    /// What shows that this thread gets on.
    heart: Option<Heart>,
    draining: chassis::Draining,
}

impl Core {
    async fn run(self, number: usize) {
        let gateway = Arc::clone(&self.parts.gateway);
        if let Some(heart) = self.heart {
            tokio::task::spawn_local(heart.beat());
        }
        if number == 0 {
            probe_all(&gateway, &self.draining);
        }
        let recorder = self.recorder.map(|recorder| Box::new(recorder) as Box<dyn Recorder>);
        let edge = Edge::new(gateway, recorder, random_seed());
        let role = Rc::new(gateway::Role(edge));
        let admin = self.admin.map(|listener| {
            let pages = Rc::new(admin::pages(&self.parts, self.token, &self.draining));
            listener.serve(pages, Limits::default(), self.draining.clone())
        });
        let admin = admin.map(tokio::task::spawn_local);
        if let Err(error) = self.public.serve(role, self.limits, self.draining).await {
            tracing::error!(%error, "the public listener failed");
        }
        if let Some(admin) = admin {
            // The task's own failure was logged; what matters here is that it has ended.
            let _ = admin.await;
        }
    }
}

/// Binds one listener a core, or shares the sockets that are passed instead.
fn bind(address: SocketAddr, (passed, cores): (&[TcpListener], usize)) -> Result<Vec<Listener>> {
    if let Some(first) = passed.first() {
        let at = first.local_addr().context("look at the passed socket")?;
        if at != address {
            tracing::warn!(
                passed = %at, configured = %address,
                "the service manager passed another address than `[listen]` has: clients are \
                 answered at the first, and commands such as `health` ask at the second"
            );
        }
        return chassis::share(passed, cores).context("listen on the passed sockets");
    }
    chassis::bind(address, cores).map_err(|error| {
        let hint = hint::of_bind(&error);
        anyhow::Error::new(error).context(format!("listen on `{address}`")).context(hint)
    })
}

fn start_statsd(
    plan: statsd::plan::Plan,
    (file, source): (&Path, Option<FileVersion>),
    registry: &Registry,
) -> Result<Running> {
    let path = file.to_owned();
    let read = Box::new(move || crate::statsd::of_tidegate_file(&path));
    let file = ConfigFile { path: file.to_owned(), source, read };
    Running::start(plan, Some(registry), file)
}

/// Opens the journal, if there is one. While the process before this one drains, it holds the
/// journal. Then the listeners are bound at once, so that clients wait in their queue.
fn open_journal(
    plan: Option<&JournalPlan>,
    addresses: &Addresses,
) -> Result<(Option<Journal>, Option<Listeners>)> {
    let Some(plan) = plan else { return Ok((None, None)) };
    let deadline = Instant::now() + PREDECESSOR_MAX;
    let mut early = None;
    loop {
        match Journal::open(plan.options.clone(), Arc::new(stdx::RealDisk)) {
            Err(JournalError::Locked { .. }) if Instant::now() < deadline => {
                if early.is_none() {
                    // A server that still listens is no predecessor: this fails.
                    early = Some(addresses.bind()?);
                    tracing::info!("waiting for the process before this one to end");
                }
                std::thread::sleep(PREDECESSOR_STEP);
            }
            Err(error @ JournalError::Locked { .. }) => {
                return Err(anyhow::Error::new(error).context(LOCKED));
            }
            opened => return Ok((Some(opened?), early)),
        }
    }
}

fn watch(models: &Models, profiles: Option<&Arc<profiles::Profiles>>) -> Result<Watcher> {
    let mut watched = models.watched();
    if let Some(profiles) = profiles {
        watched.push(Arc::clone(profiles) as Arc<dyn generation::Poll>);
    }
    Watcher::start(watched).context("watch files")
}

/// What the gateway needs of the other roles.
fn gateway_parts(
    models: &Arc<Models>,
    profiles: Option<&Arc<profiles::Profiles>>,
    pools: &Pools,
    work: WorkPool,
    tap: &Arc<Taps>,
) -> gateway::Parts {
    let look_up =
        |p: &Arc<profiles::Profiles>| Arc::new(ProfileLookup(Arc::clone(p))) as Arc<dyn Profiles>;
    gateway::Parts {
        profiles: profiles.map(look_up),
        compute: Some(Arc::new(ModelAnswers(Arc::clone(models))) as Arc<dyn Compute>),
        workers: pools.workers(),
        work,
        tap: Some(Arc::clone(tap) as Arc<dyn Tap>),
    }
}

/// Follows the names of upstreams; none of their addresses may be one of these listeners.
fn follow_names(
    gateway: &Gateway,
    registry: &Registry,
    listeners: [SocketAddr; 2],
) -> Result<Option<Resolver>> {
    let is_listener: IsListener = Arc::new(move |server| {
        listeners.iter().any(|listener| agreement::is_listener(server, *listener))
    });
    gateway::follow_names(&gateway.upstreams, &gateway.plan.resolver, registry, &is_listener)
        .context("follow the names of upstreams")
}

fn probe_all(gateway: &Arc<Gateway>, draining: &chassis::Draining) {
    for upstream in &gateway.upstreams {
        tokio::task::spawn_local(gateway::probe(Arc::clone(upstream), draining.clone()));
    }
}

fn random_seed() -> u128 {
    let mut seed = [0; 16];
    if getrandom::fill(&mut seed).is_err() {
        // Without a random source the clock and the process still tell cores and machines apart.
        let clock = u128::from(stdx::unix_micros()) << 64;
        return clock | u128::from(std::process::id()) << 32;
    }
    u128::from_le_bytes(seed)
}
