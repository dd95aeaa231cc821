//! Holds what a supervisor knows of its pool, and the changes to it that several events share.
//!
//! Plain data, without handles: processes (`fleet`, `generations`, `worker_table`), the pace of
//! starts, the wish to reload, memory, and the history for people. It also says whose process a
//! hello or a number is, and which starts have failed.
//! Invariant: rules read this and nothing else, and get the time from `supervisor.rs`. An event is
//! noted here before the rules are asked. `supervisor.rs` sets `owing` and `available_bytes` anew
//! before each round; the latter only while something is replaced.
//! A new field of `History` shows only once `report.rs` puts it into the status. Refuses: signals,
//! sockets, files, and the pool's lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::fleet::{Contact, Generation, LoadStage, PreloadProcess, ProcessName};
use super::generations::{Generations, PreloadProcesses, ReloadRequest};
use super::pace::StartPace;
use super::timeouts::{END_TIMEOUT, ERROR_LOG_INTERVAL};
use super::worker_table::WorkerTable;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::status::{Incident, Reason, in_one_line};
use crate::wire::{Hello, ProcessKind};

/// A new worker is assumed to come to take at least so much.
const WORKER_BYTES_MIN: u64 = 16_000_000;

/// Everything that is known of a pool's processes.
#[derive(Debug)]
pub(super) struct State {
    pub plan: Arc<Plan>,
    pub preloads: PreloadProcesses,
    pub generations: Generations,
    pub workers: WorkerTable,
    /// When starts may be tried again.
    pub pace: StartPace,
    /// The import of the app that somebody asked for, until it begins.
    pub reload: Option<ReloadRequest>,
    /// When the end of the pool has to be over; none before it has begun.
    pub end_deadline: Option<Instant>,
    /// Processes that have yet to report how a child of theirs ended.
    pub owing: BTreeSet<ProcessName>,
    /// Memory that a new worker may take; none when nobody knows.
    pub available_bytes: Option<u64>,
    /// Private memory of the last worker when it was fresh.
    pub fresh_private_bytes: Option<u64>,
    /// Whether requests are told not to wait.
    pub is_unavailable: bool,
    pub history: History,
}

/// What has happened so far, for people.
#[derive(Debug, Default)]
pub(super) struct History {
    /// What the interpreter calls itself.
    pub python: Option<String>,
    /// How long what is preloaded took to load.
    pub preload_s: Option<f64>,
    /// From the begin of the generation in service to its first answer.
    pub in_service_s: Option<f64>,
    /// Workers that have ended, by reason.
    pub restarts: BTreeMap<&'static str, u64>,
    /// What went wrong last.
    pub last_incident: Option<Incident>,
    /// Why the last import could not take over; none once one did.
    pub reload_failed: Option<String>,
    pub had_bus_error: bool,
    pub has_ended: bool,
    pub app_errors: AppErrors,
}

/// Exceptions of the app: logged one at a time, counted in between.
#[derive(Debug, Default)]
pub(super) struct AppErrors {
    reported: Option<Instant>,
    unreported: u64,
}

impl AppErrors {
    /// Counts one; returns how many a report stands for, when there is to be one.
    pub(super) fn take_report(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        if self.reported.is_some_and(|at| now.duration_since(at) < ERROR_LOG_INTERVAL) {
            return None;
        }
        self.reported = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}

impl State {
    pub(super) fn new(plan: Arc<Plan>, seed: u64) -> Self {
        Self {
            plan,
            preloads: PreloadProcesses::default(),
            generations: Generations::default(),
            workers: WorkerTable::default(),
            pace: StartPace::new(seed),
            reload: Some(ReloadRequest { reason: "start", with_new_preload: true }),
            end_deadline: None,
            owing: BTreeSet::new(),
            available_bytes: None,
            fresh_private_bytes: None,
            is_unavailable: false,
            history: History::default(),
        }
    }

    /// Begins the end: no request is taken any more, workers finish.
    pub(super) fn begin_end(&mut self, now: Instant) {
        if self.end_deadline.is_none() {
            tracing::info!(pool = self.plan.name, "the pool ends");
            self.end_deadline = Some(now + self.plan.drain_timeout + END_TIMEOUT);
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.end_deadline.is_some()
    }

    /// Whether no process is left.
    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty() && self.generations.is_empty() && self.preloads.is_empty()
    }

    pub(super) fn contact_mut(&mut self, name: ProcessName) -> Option<&mut Contact> {
        match name {
            ProcessName::Preload(number) => self.preloads.get_mut(number)?.contact.as_mut(),
            ProcessName::Parent(number) => self.generations.get_mut(number)?.contact.as_mut(),
            ProcessName::Worker(id) => self.workers.get_mut(id)?.contact.as_mut(),
        }
    }

    /// Whose process this is.
    pub(super) fn find(&self, pid: i32) -> Option<ProcessName> {
        let worker = self.workers.iter().find(|(_, it)| it.pid() == Some(pid));
        let preload = self.preloads.iter().find(|(_, it)| it.pid() == pid);
        let is_parent = |it: &Generation| it.contact.is_some_and(|it| it.pid == pid);
        let parent = self.generations.iter().find(|(_, it)| is_parent(it));
        let worker = worker.map(|(id, _)| ProcessName::Worker(id));
        let preload = preload.map(|(number, _)| ProcessName::Preload(number));
        let parent = parent.map(|(number, _)| ProcessName::Parent(number));
        worker.or(preload).or(parent)
    }

    /// Takes in a process that says hello; none when nobody waits for it.
    pub(super) fn join(&mut self, hello: &Hello, pid: i32) -> Option<ProcessName> {
        let (name, contact) = self.place_of(hello, pid)?;
        *contact = Some(Contact::new(pid));
        if let Some(python) = &hello.python {
            self.history.python = Some(python.clone());
        }
        Some(name)
    }

    fn place_of(&mut self, hello: &Hello, pid: i32) -> Option<(ProcessName, &mut Option<Contact>)> {
        match hello.role {
            ProcessKind::Preload => {
                // One that an interpreter's wrapper has started has another number than that.
                let is_child = self.preloads.iter().any(|(_, it)| it.child_pid == pid);
                let is_it = |it: &PreloadProcess| it.child_pid == pid || !is_child;
                let waiting = self
                    .preloads
                    .iter()
                    .rev()
                    .find(|(_, it)| it.contact.is_none() && it.stage.is_loading() && is_it(it));
                let number = waiting?.0;
                let process = self.preloads.get_mut(number)?;
                Some((ProcessName::Preload(number), &mut process.contact))
            }
            ProcessKind::Parent => {
                let number = hello.generation?;
                let generation = self.generations.get_mut(number)?;
                (generation.contact.is_none() && generation.stage.is_loading())
                    .then_some((ProcessName::Parent(number), &mut generation.contact))
            }
            ProcessKind::Worker => {
                let id = hello.id?;
                let worker = self.workers.get_mut(id)?;
                (worker.contact.is_none() && worker.is_starting())
                    .then_some((ProcessName::Worker(id), &mut worker.contact))
            }
        }
    }

    /// Marks a worker in service for replacement.
    pub(super) fn wear(&mut self, id: u64, reason: Reason) {
        if let Some(worker) = self.workers.get_mut(id)
            && worker.is_serving()
        {
            worker.reason.get_or_insert(reason);
        }
    }

    /// Marks all workers in service for replacement.
    pub(super) fn wear_all(&mut self) {
        tracing::info!(pool = self.plan.name, "all workers are to be replaced");
        let ids: Vec<u64> = self.workers.serving().map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| self.wear(id, Reason::Command));
    }

    /// Notes the memory of a worker, and marks the worker when that is too much.
    pub(super) fn note_memory(&mut self, id: u64, memory: Memory) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let is_first = worker.memory.is_none();
        worker.memory = Some(memory);
        let Some(max) = self.plan.memory_bytes_max else { return };
        if is_first {
            self.fresh_private_bytes = Some(memory.private);
        }
        // Replacing what is too large from the start would go on for ever.
        let is_born_large = self.fresh_private_bytes.is_some_and(|fresh| fresh > max);
        if memory.private > max && !is_born_large {
            self.wear(id, Reason::Memory);
        }
    }

    /// A worker that has a request need not answer pings: the request has its own deadline.
    pub(super) fn excuse_from_pings(&mut self, is_idle: impl Fn(u64) -> bool) {
        for (id, worker) in self.workers.iter_mut() {
            if let Some(contact) = worker.contact.as_mut().filter(|_| !is_idle(id)) {
                contact.answered = contact.pings;
            }
        }
    }

    /// Whether nothing new could be forked, or imported with what is preloaded at hand.
    pub(super) fn has_lost_its_source(&self) -> bool {
        let current = self.generations.current().and_then(|number| self.generations.get(number));
        let Some(generation) = current else { return true };
        let has_lost_preload =
            generation.preload.is_some_and(|number| self.preloads.get(number).is_none());
        generation.stage != LoadStage::Ready || has_lost_preload
    }

    /// Whether a worker may have to start beside one that it replaces.
    pub(super) fn is_replacing(&self) -> bool {
        let current = self.generations.current();
        self.generations.candidate().is_some()
            || self
                .workers
                .iter()
                .any(|(_, worker)| worker.reason.is_some() || Some(worker.generation) != current)
    }

    /// Whether a new worker would find too little memory.
    pub(super) fn is_memory_short(&self) -> bool {
        let Some(available) = self.available_bytes else { return false };
        let private = self.workers.iter().filter_map(|(_, it)| it.memory.map(|it| it.private));
        let largest = private.max().unwrap_or(0);
        available < self.plan.memory_reserve_bytes.saturating_add(largest.max(WORKER_BYTES_MIN))
    }

    /// A worker did not come into service.
    pub(super) fn fail_start(&mut self, generation: u64, incident: Incident, now: Instant) {
        if self.generations.candidate() == Some(generation) {
            return self.fail_generation(generation, incident, now);
        }
        self.history.last_incident = Some(incident);
        self.pace.fail_start(now);
    }

    /// A generation did not come into service: the one before it stays.
    pub(super) fn fail_generation(&mut self, number: u64, incident: Incident, now: Instant) {
        if self.generations.current().is_some() {
            tracing::error!(
                pool = self.plan.name,
                generation = number,
                reason = incident.reason,
                "the new code cannot serve, the old goes on"
            );
            self.history.reload_failed = Some(in_one_line(&incident.stage, &incident.reason));
        }
        self.generations.give_up(number);
        self.history.last_incident = Some(incident);
        // Workers of the generation in service start as before, if that has its source.
        match self.has_lost_its_source() {
            true => self.pace.fail_start(now),
            false => self.pace.fail(now),
        }
    }
}
