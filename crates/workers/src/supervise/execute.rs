//! Executes actions: starts processes, tells them what to do, ends them, and notes it in the state.
//!
//! Invariants: what an action changes of a process it notes in the state at once, so that the next
//! rule sees it. `KillProcess` notes nothing: it is asked for again until the process has ended. A
//! process that cannot be started counts as a failed start, and ends the list of actions. An action
//! on a worker that has ended does nothing.
//! Also here: asking the canary, reading a worker's memory, and the draw that spreads
//! `requests_max` by a tenth. At SIGUSR2 (`WHERE_ARE_YOU`) `python/tidegate/workers/worker.py`
//! prints where its threads are. docs/WORKERS.md shows the lines logged as `in service`.
//! Refuses: to decide what is to be done. How is decided here: an interrupted worker with other
//! requests drains before it is killed.

use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use rustix::process::Signal;
use stdx::Random;
use tokio::sync::mpsc::Sender;

use super::action::{Action, Complaint};
use super::event::Event;
use super::fleet::{
    Generation, LoadStage, PreloadProcess, ProcessName, StartTime, Worker, WorkerStage,
};
use super::generations::ReloadRequest;
use super::listen::Tails;
use super::processes::ProcessTable;
use super::reaper::Reaper;
use super::reload::ReloadPolicy;
use super::spawn;
use super::state::State;
use super::timeouts::{EXIT_TIMEOUT, LAST_WORDS_TIMEOUT, TERM_TIMEOUT};
use crate::canary;
use crate::dir::PoolDir;
use crate::memory;
use crate::plan::HttpServer;
use crate::pool::{Availability, WorkerPool};
use crate::slot::{Quickness, WorkerSlot};
use crate::status::{Incident, Reason};
use crate::wire::Instruction;

/// The signal at which Python prints where each of its threads is.
const WHERE_ARE_YOU: Signal = Signal::USR2;

/// Handles of everything that actions change beside the state.
#[derive(Debug)]
pub(super) struct Executor {
    pub pool: Arc<WorkerPool>,
    pub dir: PoolDir,
    pub processes: ProcessTable,
    pub reaper: Reaper,
    pub reload: ReloadPolicy,
    pub tails: Tails,
    /// Why no process could be started, until it is taken.
    pub spawn_error: Option<io::Error>,
    events: Sender<Event>,
    random: Random,
}

impl Executor {
    pub(super) fn new(
        pool: Arc<WorkerPool>,
        dir: PoolDir,
        events: Sender<Event>,
        seed: u64,
    ) -> Self {
        Self {
            reload: ReloadPolicy::new(&pool.plan),
            pool,
            dir,
            processes: ProcessTable::new(events.clone()),
            reaper: Reaper::default(),
            tails: Tails::default(),
            spawn_error: None,
            events,
            random: Random::new(seed),
        }
    }

    /// Does what `actions` ask for, in their order. A start that fails ends the list: what follows
    /// was decided for a pool in which it succeeds.
    pub(super) fn execute(&mut self, state: &mut State, actions: Vec<Action>, now: Instant) {
        for action in actions {
            if let Err(error) = self.execute_one(state, action, now) {
                let interpreter = state.plan.interpreter.display();
                let incident = Incident::new("start", format!("start `{interpreter}`: {error}"));
                let hint = Some("name the app's Python with `interpreter`".to_owned());
                state.history.last_incident = Some(Incident { hint, ..incident });
                state.pace.fail_start(now);
                self.spawn_error = Some(error);
                return;
            }
        }
    }

    fn execute_one(&mut self, state: &mut State, action: Action, now: Instant) -> io::Result<()> {
        match action {
            Action::Begin(request) => return self.begin(state, request, now),
            Action::AskForParent { generation } => self.ask_for_parent(state, generation, now),
            Action::Promote { generation } => self.promote(state, generation, now),
            Action::FailGeneration { generation, complaint } => {
                state.fail_generation(generation, complaint.into(), now);
            }
            Action::GiveUp { generation } => state.generations.give_up(generation),
            Action::StopImport { generation } => {
                let parent = ProcessName::Parent(generation);
                self.processes.signal(parent, Signal::KILL);
                leave_by(state, parent, now);
            }
            Action::Forget { generation } => {
                state.generations.forget(generation);
                self.processes.forget(ProcessName::Parent(generation));
            }
            Action::StartWorker { generation } => {
                return self.start_worker(state, generation, now);
            }
            Action::AskCanary { worker, deadline } => self.ask_canary(state, worker, deadline),
            Action::PutInService { worker } => self.put_in_service(state, worker, now),
            Action::NoteAnswer { worker } => {
                self.pool.with(worker, |slot| slot.answered = now);
            }
            Action::ClearSuspicion { worker } => self.pool.change(worker, WorkerSlot::clear),
            Action::EndAbandoned { worker } => match self.pool.free(worker) {
                Some(0) => forget_abandoned(state, worker),
                Some(_) => {}
                None => note_canary_ended(state, worker),
            },
            Action::Wear { worker, reason } => state.wear(worker, reason),
            Action::MakeRoom { worker } => {
                let pool = self.pool.name();
                tracing::warn!(pool, worker, "memory is short: it leaves before its successor");
                self.retire(state, (worker, Reason::Reload), now);
            }
            Action::Retire { worker, reason } => self.retire(state, (worker, reason), now),
            Action::Leave { worker } => self.leave(state, worker, now),
            Action::Interrupt { worker, complaint } => {
                self.interrupt(state, (worker, complaint), now)
            }
            Action::ForgetAbandoned { worker } => {
                forget_abandoned(state, worker);
                self.pool.change(worker, WorkerSlot::forget_abandoned);
            }
            Action::Terminate { worker } => self.terminate(state, worker, now),
            Action::Kill { worker, reason, complaint } => {
                self.pool.close(worker);
                let living = state.workers.get_mut(worker).filter(|worker| !worker.is_doomed());
                if let Some(living) = living {
                    living.kill(reason, complaint.map(Incident::from));
                    self.kill(state, worker, now);
                }
            }
            Action::FailLoading { process, complaint } => fail_loading(state, process, complaint),
            Action::Dismiss(process) => self.dismiss(state, process, now),
            Action::KillProcess(process) => self.processes.kill(process),
            Action::Ping(process) => self.ping(state, process),
            Action::WatchFiles(loaded) => self.reload.add(&loaded),
            Action::WatchSuspects(files) => self.reload.add_suspects(files),
            Action::Recover => state.pace.succeed(),
            Action::SetAvailability(availability) => {
                state.is_unavailable = availability != Availability::Available;
                self.pool.set_availability(availability);
            }
        }
        Ok(())
    }

    fn begin(&mut self, state: &mut State, request: ReloadRequest, now: Instant) -> io::Result<()> {
        let pool = self.pool.name();
        if let Some(candidate) = state.generations.candidate() {
            tracing::info!(pool, generation = candidate, "given up");
            state.generations.give_up(candidate);
        }
        state.reload = None;
        let number = state.generations.take_number();
        tracing::info!(pool, generation = number, reason = request.reason, "begins");
        if request.with_new_preload {
            state.preloads.supersede();
        }
        let preload = match (state.plan.share_memory, state.preloads.usable()) {
            (false, _) => None,
            (true, Some(usable)) => Some(usable),
            (true, None) => Some(self.start_preload(state, now)?),
        };
        state.generations.try_out(number, Generation::new(preload, StartTime::dated(now)));
        Ok(())
    }

    fn start_preload(&mut self, state: &mut State, now: Instant) -> io::Result<u64> {
        let number = state.preloads.take_number();
        let pid = self.spawn(ProcessName::Preload(number), None)?;
        let deadline = now + state.plan.boot_timeout;
        let process = PreloadProcess::new(pid, StartTime::dated(now), deadline);
        state.preloads.insert(number, process);
        Ok(number)
    }

    fn start_worker(&mut self, state: &mut State, generation: u64, now: Instant) -> io::Result<()> {
        let deadline = now + state.plan.boot_timeout;
        let id = state.workers.add(Worker::new(generation, StartTime::dated(now), deadline));
        if state.generations.get(generation).is_some_and(|it| it.contact.is_some()) {
            self.processes.tell(ProcessName::Parent(generation), Instruction::Worker { id });
            return Ok(());
        }
        match self.spawn(ProcessName::Worker(id), Some(generation)) {
            Ok(pid) => {
                if let Some(worker) = state.workers.get_mut(id) {
                    worker.child_pid = Some(pid);
                }
                Ok(())
            }
            Err(error) => {
                state.workers.remove(id);
                Err(error)
            }
        }
    }

    /// Starts a process that Python does not fork; its output is followed, its end is watched.
    fn spawn(&mut self, name: ProcessName, generation: Option<u64>) -> io::Result<i32> {
        let mut child = spawn::spawn(&self.pool.plan, &self.dir, (name, generation))?;
        let pid = i32::try_from(child.id()).expect("the system counts processes in an i32");
        spawn::follow(&mut child, spawn::printer(self.pool.name(), name, pid), &self.tails)?;
        self.reaper.add_child(child);
        self.processes.add_started(name, pid);
        Ok(pid)
    }

    fn ask_for_parent(&mut self, state: &mut State, number: u64, now: Instant) {
        let deadline = now + state.plan.boot_timeout;
        let Some(generation) = state.generations.get_mut(number) else { return };
        let Some(preload) = generation.preload else { return };
        let instruction = Instruction::Parent { generation: number };
        self.processes.tell(ProcessName::Preload(preload), instruction);
        generation.stage = LoadStage::Loading(deadline);
        generation.import_began = SystemTime::now();
    }

    fn promote(&mut self, state: &mut State, number: u64, now: Instant) {
        let Some(generation) = state.generations.get(number) else { return };
        let seconds = now.duration_since(generation.began).as_secs_f64();
        tracing::info!(pool = self.pool.name(), generation = number, seconds, "in service");
        let preload = generation.preload.and_then(|number| state.preloads.get(number));
        let preloaded = preload.map(|it| it.files.as_slice()).unwrap_or_default();
        self.reload.keep(preloaded, &generation.files);
        state.generations.promote(number);
        state.history.in_service_s = Some(seconds);
        state.history.reload_failed = None;
        state.pace.succeed();
    }

    /// Sends the canary request; without one, or when it is answered, the worker is in service.
    fn ask_canary(&self, state: &State, worker: u64, deadline: Instant) {
        let socket = state.workers.get(worker).and_then(|it| it.socket.clone());
        let Some(socket) = socket else { return };
        let (canary, events) = (self.pool.plan.canary.clone(), self.events.clone());
        tokio::task::spawn_local(async move {
            let asked = async {
                match &canary {
                    Some(canary) => canary::ask(&socket, canary).await,
                    None => Ok(()),
                }
            };
            // The worker's deadline says so when it is over.
            if let Ok(outcome) = tokio::time::timeout_at(deadline.into(), asked).await {
                let _ = events.send(Event::CanaryAnswered { worker, outcome }).await;
            }
        });
    }

    fn put_in_service(&mut self, state: &mut State, id: u64, now: Instant) {
        let Some(worker) = state.workers.get_mut(id) else { return };
        let (Some(socket), Some(contact)) = (&worker.socket, &mut worker.contact) else { return };
        worker.stage = WorkerStage::Serving(now);
        contact.answered = contact.pings;
        state.pace.start();
        let plan = &self.pool.plan;
        let requests_max = plan.requests_max.map(|max| jittered(max, &mut self.random));
        let mut slot = WorkerSlot::new(id, socket.as_path().into(), plan.concurrency, requests_max);
        // Of other servers nobody knows that they begin one request after the other.
        slot.quickness = (plan.server == HttpServer::BuiltIn).then(Quickness::default);
        slot.owes_canary = plan.canary.is_some() && !worker.has_ended_canary;
        let seconds = now.duration_since(worker.began.instant).as_secs_f64();
        let (pid, generation) = (contact.pid, worker.generation);
        tracing::info!(pool = plan.name, worker = id, pid, generation, seconds, "in service");
        self.pool.add_slot(slot);
        self.measure(state, id);
    }

    /// Reads the memory of a worker.
    pub(super) fn measure(&self, state: &mut State, id: u64) {
        let pid = state.workers.get(id).and_then(Worker::pid);
        if let Some(memory) = pid.and_then(memory::of) {
            state.note_memory(id, memory);
        }
    }

    fn retire(&self, state: &mut State, (id, reason): (u64, Reason), now: Instant) {
        let deadline = now + state.plan.drain_timeout;
        let Some(worker) = state.workers.get_mut(id) else { return };
        worker.reason.get_or_insert(reason);
        worker.stage = WorkerStage::Draining(deadline);
        if self.pool.close(id) {
            self.leave(state, id, now);
        }
    }

    fn leave(&self, state: &mut State, id: u64, now: Instant) {
        let deadline = now + state.plan.drain_timeout;
        if let Some(worker) = state.workers.get_mut(id)
            && matches!(worker.stage, WorkerStage::Draining(_))
        {
            worker.stage = WorkerStage::Leaving(deadline);
            self.processes.tell(ProcessName::Worker(id), Instruction::Leave);
        }
    }

    fn interrupt(&self, state: &mut State, (id, complaint): (u64, Complaint), now: Instant) {
        let has_others = self.pool.with(id, |slot| slot.loans > slot.abandoned).unwrap_or(false);
        self.pool.close(id);
        let drain_deadline = now + state.plan.drain_timeout;
        let Some(worker) = state.workers.get_mut(id) else { return };
        worker.abandoned_deadline = None;
        if worker.is_doomed() || (worker.is_draining() && has_others) {
            return;
        }
        worker.reason = Some(Reason::Timeout);
        worker.failed = Some(complaint.into());
        worker.stage = if has_others {
            WorkerStage::Draining(drain_deadline)
        } else {
            WorkerStage::Dying(now + LAST_WORDS_TIMEOUT)
        };
        self.processes.signal(ProcessName::Worker(id), WHERE_ARE_YOU);
    }

    fn terminate(&self, state: &mut State, id: u64, now: Instant) {
        let Some(worker) = state.workers.get_mut(id) else { return };
        tracing::warn!(pool = self.pool.name(), worker = id, "does not leave in time");
        worker.stage = WorkerStage::Terminating(now + TERM_TIMEOUT);
        // A server of its own that can close what is open, such as WebSockets by 1012, does so.
        self.processes.tell(ProcessName::Worker(id), Instruction::Leave);
        self.processes.signal(ProcessName::Worker(id), Signal::TERM);
    }

    /// Kills the process of a worker; one that has none may yet come, and is turned away then.
    fn kill(&self, state: &mut State, id: u64, now: Instant) {
        if state.workers.get(id).and_then(Worker::pid).is_some() {
            return self.processes.kill(ProcessName::Worker(id));
        }
        let unborn = state.workers.remove(id);
        if let Some(worker) = unborn.filter(|worker| worker.reason == Some(Reason::Boot)) {
            state.fail_start(worker.generation, worker.failed.unwrap_or_default(), now);
        }
    }

    fn dismiss(&self, state: &mut State, process: ProcessName, now: Instant) {
        if state.contact_mut(process).is_some() {
            self.processes.tell(process, Instruction::Exit);
        } else {
            self.processes.kill(process);
        }
        leave_by(state, process, now + EXIT_TIMEOUT);
    }

    fn ping(&self, state: &mut State, process: ProcessName) {
        if let Some(contact) = state.contact_mut(process) {
            contact.pings += 1;
            self.processes.tell(process, Instruction::Ping { n: contact.pings });
        }
    }
}

/// A preload process or a parent is to end until `deadline`.
fn leave_by(state: &mut State, process: ProcessName, deadline: Instant) {
    let stage = match process {
        ProcessName::Preload(number) => state.preloads.get_mut(number).map(|it| &mut it.stage),
        ProcessName::Parent(number) => state.generations.get_mut(number).map(|it| &mut it.stage),
        ProcessName::Worker(_) => None,
    };
    if let Some(stage) = stage {
        *stage = LoadStage::Leaving(deadline);
    }
}

fn fail_loading(state: &mut State, process: ProcessName, complaint: Complaint) {
    let failed = match process {
        ProcessName::Preload(number) => state.preloads.get_mut(number).map(|it| &mut it.failed),
        ProcessName::Parent(number) => state.generations.get_mut(number).map(|it| &mut it.failed),
        ProcessName::Worker(_) => None,
    };
    if let Some(failed) = failed {
        *failed = Some(complaint.into());
    }
}

fn forget_abandoned(state: &mut State, worker: u64) {
    if let Some(worker) = state.workers.get_mut(worker) {
        worker.abandoned_deadline = None;
    }
}

/// A worker that is not lent yet has no connection but the canary's.
fn note_canary_ended(state: &mut State, worker: u64) {
    if let Some(worker) = state.workers.get_mut(worker) {
        worker.has_ended_canary = true;
    }
}

/// Give or take a tenth, so that workers that start together do not end together.
fn jittered(max: u64, random: &mut Random) -> u64 {
    let tenth = max / 10;
    (max - tenth + random.up_to(2 * tenth)).max(1)
}
