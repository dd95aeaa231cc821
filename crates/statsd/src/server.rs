//! A running server: receivers, tables, the clock that flushes, and backends.
//!
//! Life: inputs are bound first, so that a port that is taken is an error and not a surprise; at
//! the end receivers take what still waits in their sockets, a last flush is made of it, and
//! backends deliver that before the server is gone.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metrics::Registry;
use parking_lot::{Condvar, Mutex, RwLock};
use serde_json::{Map, Value, json};

use crate::backend::{self, BackendWorker, Format, PrometheusPage, Scrapes, Status};
use crate::clock::{Clock, Interval, rounded_s};
use crate::error::StatsdError;
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::flushing;
use crate::keys;
use crate::line::BadReason;
use crate::manage;
use crate::plan::{BackendPlan, Input, Plan};
use crate::receive::{Datagrams, Intake, Socket, StreamCounts, Streams};
use crate::reload::ActiveConfig;
use crate::repeat::Repeater;
use crate::self_metrics::SelfMetrics;
use crate::snapshot::SnapshotStore;
use crate::table::{Bounds, Gauges, Table, Totals};

/// What all threads of a server share.
#[derive(Debug)]
pub struct Shared {
    /// A table for each receiver.
    pub tables: Vec<Arc<Mutex<Table>>>,
    /// The gauges of all receivers.
    pub gauges: Arc<Mutex<Gauges>>,
    /// Datagram sockets.
    pub sockets: Vec<Arc<Socket>>,
    /// What happened to connections.
    pub streams: Arc<StreamCounts>,
    /// Seconds since the Unix epoch, rounded as JavaScript rounds.
    pub started_unix_s: u64,
    /// What `health` answers.
    pub is_healthy: AtomicBool,
    /// Backends with their threads.
    pub workers: RwLock<Vec<BackendWorker>>,
    /// What Prometheus is shown, where it is.
    pub board: Option<Arc<PrometheusPage>>,
    /// Repeaters with their threads.
    pub repeaters: Vec<Repeater>,
    /// When the last datagram came, in seconds since the Unix epoch.
    pub last_seen_unix_s: Arc<AtomicU64>,
    /// The process's own metrics, where there are any.
    own: Option<SelfMetrics>,
    /// The last flush, unless it had too many names to be kept.
    pub last_flush: Mutex<Option<Arc<Flush>>>,
    /// The plan by which it works.
    pub active: Arc<ActiveConfig>,
    /// What tables may hold.
    pub bounds: RwLock<Arc<Bounds>>,
    /// The interval that goes on.
    pub interval: Interval,
    /// What is kept for the next start.
    pub snapshot: Option<SnapshotStore>,
    ends: AtomicBool,
    end: (Mutex<bool>, Condvar),
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    receivers: Vec<JoinHandle<()>>,
    /// Flushes, and writes the keys that come most often.
    timed: Vec<JoinHandle<()>>,
    scrapes: Option<Scrapes>,
    waker: Arc<mio::Waker>,
}

impl Server {
    /// Binds every input and starts all threads; the metrics of `registry` are flushed, too, if the
    /// plan has a prefix for them.
    ///
    /// # Errors
    /// When an address or a path cannot be bound, or a thread cannot be started.
    pub fn start(plan: Plan, registry: Option<&Registry>) -> Result<Self, StatsdError> {
        let mut bound = Bound::new(&plan)?;
        let bounds = Arc::new(Bounds::of(&plan, None));
        let table = || Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
        let tables: Vec<_> = (0..bound.sockets.len() + 1).map(|_| table()).collect();
        show_own_names(&plan, &tables[0]);
        let mut gauges = Gauges::new(Arc::clone(&bounds));
        let (snapshot, interval) = match &plan.snapshot {
            Some(path) => {
                let (keeper, interval) =
                    SnapshotStore::open(path, &mut tables[0].lock(), &mut gauges);
                (Some(keeper), interval)
            }
            None => (None, Interval::new(0, Duration::ZERO)),
        };
        let management = manage::bind(&plan)?;
        let page = page(&plan)?;
        let board = plan.backends.iter().any(|b| matches!(b, BackendPlan::Prometheus { .. }));
        let board = board.then(|| Arc::new(PrometheusPage::new(&plan)));
        let started_us = stdx::unix_micros();
        let shared = Arc::new(Shared {
            gauges: Arc::new(Mutex::new(gauges)),
            sockets: std::mem::take(&mut bound.sockets),
            streams: bound.streams.counts(),
            started_unix_s: rounded_s(started_us),
            is_healthy: AtomicBool::new(plan.is_healthy),
            workers: RwLock::new(BackendWorker::start_all(&plan, board.as_ref())),
            board,
            repeaters: repeaters(&plan)?,
            last_seen_unix_s: Arc::new(AtomicU64::new(rounded_s(started_us))),
            own: registry
                .cloned()
                .zip(plan.process_prefix.as_deref())
                .map(|(r, p)| SelfMetrics::new(r, p)),
            last_flush: Mutex::default(),
            ends: AtomicBool::new(false),
            end: (Mutex::new(false), Condvar::new()),
            active: Arc::new(ActiveConfig::new(plan)),
            tables,
            bounds: RwLock::new(bounds),
            interval,
            snapshot,
        });
        if let Some(keeper) = &shared.snapshot {
            // Before anything is flushed: what was taken over is bound to an interval of this run.
            keeper.write(&shared);
        }
        let waker = bound.streams.waker();
        let receivers = receivers(&shared, bound.streams)?;
        if let Some(listener) = management {
            manage::start(listener, &shared)?;
        }
        let timed = timed(&shared, started_us)?;
        let scrapes = page.zip(shared.board.as_ref());
        let scrapes = scrapes.map(|(page, board)| page.start(board, &shared)).transpose();
        let scrapes = scrapes.map_err(|source| StatsdError::Thread { name: "scrape", source })?;
        Ok(Self { shared, receivers, timed, scrapes, waker })
    }

    /// What its threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Takes what still waits, flushes it, and waits until backends have delivered.
    pub fn end(mut self) {
        self.shared.ends.store(true, Ordering::Release);
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "connections cannot be told to end");
        }
        for receiver in self.receivers.drain(..) {
            // A receiver that panicked has taken nothing more.
            let _ = receiver.join();
        }
        self.shared.sockets.iter().for_each(|socket| socket.retire());
        *self.shared.end.0.lock() = true;
        self.shared.end.1.notify_all();
        for thread in self.timed {
            // One that panicked has nothing left to do.
            let _ = thread.join();
        }
        if let Some(keeper) = &self.shared.snapshot {
            keeper.write(&self.shared);
        }
        self.shared.repeaters.iter().for_each(Repeater::end);
        self.shared.workers.read().iter().for_each(BackendWorker::end);
        self.scrapes.into_iter().for_each(Scrapes::end);
    }
}

impl Shared {
    /// What it is to do.
    pub fn plan(&self) -> Arc<Plan> {
        self.active.plan()
    }

    /// What tables may hold.
    pub fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&self.bounds.read())
    }

    /// Takes over another plan with the next flush, as far as a running server can; what it cannot
    /// change is said, and stays.
    pub fn reload(&self, plan: Plan) {
        let stuck = self.active.leave(plan);
        if stuck.is_empty() {
            tracing::info!("the configuration was read again, and comes with the next flush");
        } else {
            let needs_restart = stuck.join(", ");
            tracing::warn!(
                needs_restart,
                "the configuration was read again, and comes with the next flush, but for this"
            );
        }
    }

    /// Waits for so long; true when the server ends meanwhile.
    pub fn ends_within(&self, time: Duration) -> bool {
        let due = Instant::now() + time;
        let mut has_ended = self.end.0.lock();
        while !*has_ended && Instant::now() < due {
            self.end.1.wait_until(&mut has_ended, due);
        }
        *has_ended
    }

    /// Counts what the process's own metrics have gained.
    pub fn take_own(&self) {
        if let Some(own) = &self.own {
            let table = self.tables.last().expect("connections have a table");
            own.take(table, &self.gauges);
        }
    }

    /// The last flush; none before the first one, or if it had more than 10,000 names.
    pub fn last_flush(&self) -> Option<Arc<Flush>> {
        self.last_flush.lock().clone()
    }

    /// What came in since the start, of all receivers.
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for table in &self.tables {
            all.add(&table.lock().totals);
        }
        all
    }

    /// How it does, as one JSON document.
    pub fn status(&self) -> Value {
        let totals = self.totals();
        let bad = BadReason::ALL.iter().zip(totals.bad);
        let bad: Map<String, Value> =
            bad.map(|(reason, count)| (reason.name().to_owned(), count.into())).collect();
        let last_bad = totals.last_bad.map(
            |(reason, line)| json!({ "why": reason.name(), "line": String::from_utf8_lossy(&line) }),
        );
        let sockets = self.sockets.iter().map(|socket| {
            json!({
                "address": socket.address(),
                "buffer_bytes": socket.buffer_bytes(),
                "dropped_by_kernel": socket.dropped(),
            })
        });
        let backends = self.backends().into_iter().map(|(name, status)| {
            json!({
                "name": name,
                "last_flush_unix_s": status.last_flush,
                "last_flush_ms": status.flush_time_ms,
                "last_flush_bytes": status.flush_length,
                "delivered": status.delivered,
                "lost": status.lost,
                "spooled_bytes": status.spooled_bytes,
                "last_error": status.last_error,
            })
        });
        let bounds = self.bounds();
        let names = bounds.budget.usage().into_iter().map(|usage| {
            json!({ "prefix": usage.prefix, "bytes": usage.used, "bytes_max": usage.bytes_max })
        });
        json!({
            "packets": totals.packets,
            "bytes": totals.bytes,
            "lines": totals.lines,
            "bad_lines": bad,
            "last_bad_line": last_bad,
            "notices_dropped": totals.notices_dropped,
            "values_summarised": totals.values_summarised,
            "members_summarised": totals.members_summarised,
            "names": names.collect::<Vec<_>>(),
            "overflowed": bounds.budget.overflowed(),
            "sockets": sockets.collect::<Vec<_>>(),
            "connections": self.streams.open.load(Ordering::Relaxed),
            "connections_displaced": self.streams.displaced.load(Ordering::Relaxed),
            "connections_endless": self.streams.endless.load(Ordering::Relaxed),
            "repeated_dropped": self.repeaters.iter().map(Repeater::dropped).sum::<u64>(),
            "repeated_failed": self.repeaters.iter().map(Repeater::failed).sum::<u64>(),
            "backends": backends.collect::<Vec<_>>(),
            "prometheus": self.board.as_ref().map(|board| shown(board)),
            "snapshot": self.snapshot.as_ref().map(SnapshotStore::status),
        })
    }

    /// Whether there is a page for Prometheus: a backend of that kind.
    pub fn has_page(&self) -> bool {
        self.board.is_some()
    }

    /// That page, in Prometheus' text format.
    pub fn page(&self) -> Option<Vec<u8>> {
        self.board.as_ref().map(|board| backend::page(board, self, Format::Text))
    }

    /// What an operator has to see to, in words.
    pub fn alarms(&self) -> Vec<String> {
        let failing = self.backends().into_iter().filter_map(|(name, status)| {
            let error = status.last_error?;
            Some(format!("statsd: the backend {name} does not take flushes: {error}"))
        });
        let snapshot = self.snapshot.iter().flat_map(SnapshotStore::alarms);
        failing.chain(snapshot).collect()
    }

    /// How backends do, by name.
    pub fn backends(&self) -> Vec<(String, Status)> {
        let workers = self.workers.read();
        workers.iter().map(|worker| (worker.name().to_owned(), worker.status())).collect()
    }
}

/// What the page for Prometheus shows.
fn shown(board: &PrometheusPage) -> Value {
    let (families, series, oddities) = board.status();
    json!({
        "families": families,
        "series": series,
        "refused_names": oddities.refused,
        "merged_names": oddities.merged,
        "negative_sums": oddities.negative_sums,
        "last_refused": oddities.last_refused.as_deref(),
    })
}

/// The listener for Prometheus, where there is to be one.
fn page(plan: &Plan) -> Result<Option<backend::Bound>, StatsdError> {
    let listen = plan.backends.iter().find_map(|backend| match backend {
        BackendPlan::Prometheus { listen } => *listen,
        _ => None,
    });
    let bind = |address| {
        let bound = backend::Bound::new(address);
        bound.map_err(StatsdError::bind(format!("tcp:{address}")))
    };
    listen.map(bind).transpose()
}

/// Inputs that are bound, and not read yet.
struct Bound {
    sockets: Vec<Arc<Socket>>,
    streams: Streams,
}

impl Bound {
    fn new(plan: &Plan) -> Result<Self, StatsdError> {
        let streams = Streams::new().map_err(StatsdError::bind("connections"))?;
        let mut bound = Self { sockets: Vec::new(), streams };
        for input in &plan.inputs {
            bound.input(input, plan)?;
        }
        Ok(bound)
    }

    fn input(&mut self, input: &Input, plan: &Plan) -> Result<(), StatsdError> {
        let (bytes, trains) = (plan.receive_buffer_bytes, plan.takes_trains);
        let wrong = |source| StatsdError::Bind { what: input.to_string(), source };
        match input {
            Input::Udp(address) => {
                let mut address = *address;
                let is_shared = plan.receivers > 1;
                if is_shared && address.port() != 0 {
                    // Sockets that share a port share it with another server, too, and then each
                    // would get some of the samples: so it must be free before.
                    drop(UdpSocket::bind(address).map_err(wrong)?);
                }
                for _ in 0..plan.receivers {
                    let socket = Socket::udp(address, is_shared, trains, bytes).map_err(wrong)?;
                    // Port 0 is one port for all of them.
                    address.set_port(socket.port());
                    self.sockets.push(Arc::new(socket));
                }
            }
            Input::Tcp(address) => drop(self.streams.listen_tcp(*address).map_err(wrong)?),
            Input::Unix(path, mode) => self.streams.listen_unix(path, *mode).map_err(wrong)?,
            Input::UnixDatagram(path, mode) => {
                let socket = Socket::unix(path, *mode, bytes).map_err(wrong)?;
                self.sockets.push(Arc::new(socket));
            }
        }
        Ok(())
    }
}

fn receivers(shared: &Arc<Shared>, streams: Streams) -> Result<Vec<JoinHandle<()>>, StatsdError> {
    let intake = |at: usize| {
        let table = Arc::clone(&shared.tables[at]);
        let seen = Arc::clone(&shared.last_seen_unix_s);
        let repeats = shared.repeaters.iter().filter_map(Repeater::way).collect();
        let intake =
            Intake::new(Arc::clone(&shared.active), table, Arc::clone(&shared.gauges), seen);
        intake.repeating(repeats)
    };
    let mut threads = Vec::new();
    for (at, socket) in shared.sockets.iter().enumerate() {
        let datagrams = Datagrams::new(Arc::clone(socket), intake(at));
        let shared = Arc::clone(shared);
        threads.push(spawn("statsd receive", move || datagrams.run(&shared.ends))?);
    }
    let (last, shared) = (intake(shared.sockets.len()), Arc::clone(shared));
    threads.push(spawn("statsd streams", move || streams.run(last, &shared.ends))?);
    Ok(threads)
}

/// Flushes, writes snapshots, and writes the keys that come most often.
fn timed(shared: &Arc<Shared>, started_us: u64) -> Result<Vec<JoinHandle<()>>, StatsdError> {
    let plan = shared.plan();
    let clock = Clock::new(plan.flavour, plan.interval, started_us);
    let flushing = Arc::clone(shared);
    let mut threads = vec![spawn("statsd flush", move || flushing::run(&flushing, clock))?];
    if shared.snapshot.is_some() {
        let shared = Arc::clone(shared);
        let run = move || shared.snapshot.iter().for_each(|keeper| keeper.run(&shared));
        threads.push(spawn("statsd snapshot", run)?);
    }
    let shared = Arc::clone(shared);
    threads.push(spawn("statsd keys", move || keys::run(&shared))?);
    Ok(threads)
}

fn repeaters(plan: &Plan) -> Result<Vec<Repeater>, StatsdError> {
    let repeaters = plan.backends.iter().filter_map(|backend| match backend {
        BackendPlan::Repeater { to, is_tcp } => Some(Repeater::start(to, *is_tcp)),
        _ => None,
    });
    repeaters.collect()
}

fn spawn(
    name: &'static str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StatsdError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|source| StatsdError::Thread { name, source })
}

/// The references show their own counters from the first flush on.
pub(crate) fn show_own_names(plan: &Plan, table: &Mutex<Table>) {
    let mut names = vec!["bad_lines_seen", "packets_received"];
    if plan.flavour != Flavour::Perl {
        names.push("metrics_received");
    }
    for name in names {
        table.lock().add(format!("{}.{name}", plan.self_prefix).as_bytes(), 0.0);
    }
}
