//! Starts and ends a running server: receivers, the threads that wait for a time, and backends.
//!
//! Start: inputs, management port and page are bound before any thread runs, so that a taken port
//! is an error of the start. Then the snapshot is taken over, backends start, and the snapshot is
//! written once, before anything comes. Receivers, management port, flushes and page follow.
//! End: receivers take what waits in their sockets, for a second (but see `receive/streams.rs`).
//! Then the interval goes into a last snapshot or into a last flush, backends deliver, and the page
//! goes. Only the management port stays until the process ends (`manage.rs`).
//! Invariant: receivers have ended before the interval ends and before repeaters end. A new thread
//! that waits for a time is started in `timed` and waits by `ends_within` (`shutdown.rs`).
//! Never here: what threads share (`state.rs`), signals of the process.

use std::sync::Arc;
use std::thread::JoinHandle;

use metrics::Registry;

use crate::backend::{self, PageServer};
use crate::clock::FlushClock;
use crate::error::StatsdError;
use crate::flushing;
use crate::keys;
use crate::manage;
use crate::plan::Plan;
use crate::receive::{BoundInputs, Datagrams, Intake, Streams};
use crate::snapshot::SnapshotStore;
use crate::state::ServerState;

/// A running server.
#[derive(Debug)]
pub struct StatsdServer {
    state: Arc<ServerState>,
    receivers: Vec<JoinHandle<()>>,
    /// Flushes, and writes the keys that come most often.
    timed: Vec<JoinHandle<()>>,
    scrapes: Option<PageServer>,
    waker: Arc<mio::Waker>,
}

impl StatsdServer {
    /// Binds every input and starts all threads; the metrics of `registry` are flushed, too, if the
    /// plan has a prefix for them.
    ///
    /// # Errors
    /// When an address or a path cannot be bound, or a thread cannot be started.
    pub fn start(plan: Plan, registry: Option<&Registry>) -> Result<Self, StatsdError> {
        let (inputs, streams) = BoundInputs::bind(&plan)?.split();
        let management = manage::bind(&plan)?;
        let page = backend::page_listener(&plan)?;
        let started_us = stdx::unix_micros();
        let state = Arc::new(ServerState::start(plan, registry, inputs)?);
        if let Some(snapshot) = &state.snapshot {
            // Before anything is flushed: what was taken over is bound to an interval of this run.
            snapshot.write(&state.tally, &Vec::new);
        }
        let clock = flushing::begin(&state, started_us);
        let waker = streams.waker();
        let receivers = receivers(&state, streams)?;
        if let Some(listener) = management {
            manage::start(listener, &state)?;
        }
        let timed = timed(&state, clock)?;
        let scrapes = page.zip(state.backends.page()).map(|(listener, page)| {
            let (page, state) = (Arc::clone(page), Arc::clone(&state));
            listener.start(move |format| page.render(&state.figures(), format))
        });
        let scrapes = scrapes.transpose();
        let scrapes = scrapes.map_err(|source| StatsdError::Thread { name: "scrape", source })?;
        Ok(Self { state, receivers, timed, scrapes, waker })
    }

    /// What its threads share.
    pub fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// Takes what still waits, keeps or flushes it, and waits until backends have delivered.
    pub fn end(mut self) {
        self.state.shutdown.end_receivers();
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "connections cannot be told to end");
        }
        for receiver in self.receivers.drain(..) {
            // A receiver that panicked has taken nothing more.
            let _ = receiver.join();
        }
        self.state.inputs.sockets.iter().for_each(|socket| socket.retire());
        self.state.shutdown.end_all();
        for thread in self.timed {
            // One that panicked has nothing left to do.
            let _ = thread.join();
        }
        flushing::end(&self.state);
        self.scrapes.into_iter().for_each(PageServer::end);
    }
}

/// Starts a thread for each socket, and one for all connections.
fn receivers(
    state: &Arc<ServerState>,
    streams: Streams,
) -> Result<Vec<JoinHandle<()>>, StatsdError> {
    let intake = |at: usize| {
        let (config, table) = (Arc::clone(&state.config), Arc::clone(&state.tally.tables[at]));
        let last_received = Arc::clone(&state.inputs.last_received);
        let intake = Intake::new(config, table, Arc::clone(&state.tally.gauges), last_received);
        intake.repeating(state.backends.repeats())
    };
    let mut threads = Vec::new();
    for (at, socket) in state.inputs.sockets.iter().enumerate() {
        let datagrams = Datagrams::new(Arc::clone(socket), intake(at));
        let state = Arc::clone(state);
        let run = move || datagrams.run(&state.shutdown.receivers);
        threads.push(spawn("statsd receive", run)?);
    }
    let (last, state) = (intake(state.inputs.sockets.len()), Arc::clone(state));
    let run = move || streams.run(last, &state.shutdown.receivers);
    threads.push(spawn("statsd streams", run)?);
    Ok(threads)
}

/// Flushes, writes snapshots, and writes the keys that come most often.
fn timed(state: &Arc<ServerState>, clock: FlushClock) -> Result<Vec<JoinHandle<()>>, StatsdError> {
    let flushing = Arc::clone(state);
    let mut threads = vec![spawn("statsd flush", move || flushing::run(&flushing, clock))?];
    if state.snapshot.is_some() {
        let state = Arc::clone(state);
        let run = move || {
            let under_way = || state.under_way();
            let run = |store: &SnapshotStore| store.run(&state.tally, &under_way, &state.shutdown);
            state.snapshot.iter().for_each(run);
        };
        threads.push(spawn("statsd snapshot", run)?);
    }
    let state = Arc::clone(state);
    threads.push(spawn("statsd keys", move || keys::run(&state))?);
    Ok(threads)
}

fn spawn(
    name: &'static str,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StatsdError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|source| StatsdError::Thread { name, source })
}
