//! Runs the loop of a pool's supervisor: one event, then the decisions that follow, then the
//! status.
//!
//! An event is a message, an exit, a command or the timer. The loop notes in the [`State`] what it
//! means, and executes what the rules of [`super::decide`] ask for. Also here: measuring memory,
//! announcing ends, and clearing away what a dead worker leaves. The logged line `files changed` is
//! in docs/WORKERS.md, too. Whether a worker leads a process group is noted at its hello; Python's
//! `worker.py` makes the group before that.
//! Invariant: each turn ends with all rules applied and the status published.
//! End: once the end has begun, the loop stops when no process is left, or after the time to drain
//! and 10 seconds. On Linux `PoolDir::clear` then kills what still has the pool's control socket in
//! its environment.
//! Refuses: to decide by itself what is to be done, except that a process nobody waits for is
//! killed.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver};
use tokio::time::MissedTickBehavior;

use super::event::Event;
use super::execute::Executor;
use super::exits::{self, Exit};
use super::fleet::ProcessName;
use super::obituary::Dead;
use super::processes::Connected;
use super::state::State;
use super::timeouts::{LIMITED_MEASURE_INTERVAL, MEASURE_INTERVAL, PING_INTERVAL, TIMER_INTERVAL};
use super::{commands, deadlines, decide, listen, messages, report};
use crate::command::PoolCommand;
use crate::dir::{Listeners, PoolDir};
use crate::memory::{self, Memory};
use crate::pool::{Availability, WorkerPool};
use crate::wire::{Hello, Message};

/// Keeps the processes of one pool.
#[derive(Debug)]
pub(super) struct Supervisor {
    state: State,
    executor: Executor,
    pinged: Option<Instant>,
    measured: Option<Instant>,
    /// Kills for want of memory that the kernel had counted at the last end.
    memory_kills: u64,
}

impl Supervisor {
    pub(super) fn new(pool: Arc<WorkerPool>, dir: PoolDir, events: Sender<Event>) -> Self {
        // Pools that fail together need not try again together.
        let seed = stdx::unix_micros();
        Self {
            state: State::new(Arc::clone(&pool.plan), seed),
            executor: Executor::new(pool, dir, events, seed),
            pinged: None,
            measured: None,
            memory_kills: memory::killed_for_memory(),
        }
    }

    /// Listens, and starts the first process.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(super) fn begin(&mut self, listeners: Listeners, events: Sender<Event>) -> io::Result<()> {
        let control = tokio::net::UnixListener::from_std(listeners.control)?;
        let output = tokio::net::UnixListener::from_std(listeners.output)?;
        tokio::task::spawn_local(listen::control(control, events));
        let (pool, tails) = (self.executor.pool.name().into(), self.executor.tails.clone());
        tokio::task::spawn_local(listen::printed(output, pool, tails));
        self.decide(Instant::now());
        if let Some(error) = self.executor.spawn_error.take() {
            return Err(error);
        }
        self.publish(Instant::now());
        Ok(())
    }

    /// Runs until the pool has ended.
    pub(super) async fn run(
        mut self,
        mut events: Receiver<Event>,
        mut commands: UnboundedReceiver<PoolCommand>,
    ) {
        let mut timer = tokio::time::interval(TIMER_INTERVAL);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_over() {
            tokio::select! {
                Some(event) = events.recv() => self.on_event(event, Instant::now()),
                Some(command) = commands.recv() => self.on_command(command, Instant::now()),
                _ = timer.tick() => self.on_timer(Instant::now()),
            }
            self.decide(Instant::now());
            self.publish(Instant::now());
        }
        self.end();
    }

    /// Whether the pool has ended, or its end has taken too long.
    fn is_over(&self) -> bool {
        let is_empty = self.state.is_empty() && self.executor.reaper.is_done();
        self.state.end_deadline.is_some_and(|deadline| is_empty || deadline < Instant::now())
    }

    fn end(&mut self) {
        let reason = "the pool has ended".into();
        let pool = &self.executor.pool;
        pool.set_availability(Availability::Unavailable(reason));
        if let Err(error) = self.executor.dir.clear() {
            tracing::warn!(pool = pool.name(), %error, "the pool's directory cannot be cleared");
        }
        pool.measure_queue();
        self.executor.reaper.reap();
        self.add_up_memory();
        self.state.history.has_ended = true;
        self.publish(Instant::now());
    }

    /// Does what the whole picture asks for.
    fn decide(&mut self, now: Instant) {
        self.state.owing = self.executor.reaper.owing(now);
        // Reading this takes a while, and is of use only when a worker is to be replaced.
        let is_wanted = self.state.is_replacing();
        self.state.available_bytes = if is_wanted { memory::available() } else { None };
        for rule in decide::rules(&self.state) {
            let actions = rule(&self.state, now);
            self.executor.execute(&mut self.state, actions, now);
        }
    }

    fn publish(&self, now: Instant) {
        self.executor.pool.last_status.set(report::status(&self.state, now));
    }

    fn on_event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Joined { connection, hello, pid, writer } => {
                let process = self.executor.processes.watch(pid);
                self.on_hello(connection, &hello, Connected { process, writer });
            }
            Event::Message { connection, message } => {
                if let Some(from) = self.executor.processes.speaker(connection) {
                    self.on_message(from, message, now);
                }
            }
            Event::HungUp { connection } => {
                let Some(hung_up) = self.executor.processes.hang_up(connection) else { return };
                if let Some(contact) = self.state.contact_mut(hung_up.name) {
                    contact.closed = Some(now);
                }
                if let Some(pid) = hung_up.ended {
                    self.on_exit(pid, now);
                }
            }
            Event::Exited { pid } => {
                if self.executor.processes.exit(pid, now) {
                    self.on_exit(pid, now);
                }
            }
            Event::CanaryAnswered { worker, outcome } => {
                let actions = messages::on_canary(&mut self.state, worker, outcome, now);
                self.executor.execute(&mut self.state, actions, now);
            }
        }
    }

    fn on_command(&mut self, command: PoolCommand, now: Instant) {
        if command == PoolCommand::Reload {
            self.state.reload = Some(self.executor.reload.on_command());
        }
        let actions = commands::on_command(&mut self.state, command, now);
        self.executor.execute(&mut self.state, actions, now);
    }

    /// A process has said hello.
    fn on_hello(&mut self, connection: u64, hello: &Hello, process: Connected) {
        let (pool, pid) = (self.executor.pool.name(), process.process.pid());
        let Some(name) = self.state.join(hello, pid) else {
            tracing::warn!(pool, pid, ?hello, "nobody waits for this process");
            return process.process.signal(rustix::process::Signal::KILL);
        };
        tracing::debug!(pool, pid, process = %name, "said hello");
        if let ProcessName::Worker(id) = name
            && let Some(worker) = self.state.workers.get_mut(id)
        {
            worker.leads_group = leads_group(pid);
        }
        self.executor.processes.connect(name, connection, process);
    }

    fn on_message(&mut self, from: ProcessName, message: Message, now: Instant) {
        if let Message::Exited { pid, status } = message {
            return self.on_child_exit(from, (pid, status), now);
        }
        let actions = messages::on_message(&mut self.state, from, message, now);
        self.executor.execute(&mut self.state, actions, now);
    }

    /// A process has reported how a child of its own ended.
    fn on_child_exit(&mut self, parent: ProcessName, (pid, status): (i32, i32), now: Instant) {
        let status = std::os::unix::process::ExitStatusExt::from_raw(status);
        if self.executor.processes.is_watched(pid) || self.executor.reaper.is_dead(pid) {
            self.executor.reaper.note_status(pid, status);
        } else if let ProcessName::Parent(generation) = parent {
            messages::on_lost_child(&mut self.state, generation, status, now);
        }
    }

    /// The end of a process is known, and all that it said.
    fn on_exit(&mut self, pid: i32, now: Instant) {
        self.executor.processes.unwatch(pid);
        self.executor.reaper.reap();
        let Some(name) = self.state.find(pid) else { return };
        let answered = match name {
            ProcessName::Worker(id) => self.clear_after(id, pid, now),
            ProcessName::Preload(_) | ProcessName::Parent(_) => None,
        };
        let exit = Exit { name, pid, answered, at: now };
        if let Some(dead) = exits::on_exit(&mut self.state, exit) {
            self.executor.reaper.bury(dead);
        }
        self.executor.processes.forget(name);
    }

    /// Clears away what a worker leaves; returns how many requests it has answered.
    fn clear_after(&mut self, id: u64, pid: i32, now: Instant) -> Option<u64> {
        let worker = self.state.workers.get(id)?;
        if worker.leads_group {
            self.executor.reaper.end_group(pid, now);
        }
        if let Some(socket) = &worker.socket {
            self.executor.dir.forget(socket);
        }
        self.executor.pool.remove_slot(id).map(|slot| slot.requests)
    }

    /// Looks at the clock.
    fn on_timer(&mut self, now: Instant) {
        for pid in self.executor.processes.take_unheard(now) {
            self.on_exit(pid, now);
        }
        self.announce_ends(now);
        let actions = deadlines::overdue(&self.state, now);
        self.executor.execute(&mut self.state, actions, now);
        if is_due(&mut self.pinged, PING_INTERVAL, now) {
            let idle: HashSet<u64> = self.executor.pool.idle_workers().into_iter().collect();
            self.state.excuse_from_pings(|id| idle.contains(&id));
            let actions = deadlines::pings(&self.state);
            self.executor.execute(&mut self.state, actions, now);
            self.executor.pool.measure_queue();
        }
        let is_limited = self.state.plan.memory_bytes_max.is_some();
        let interval = if is_limited { LIMITED_MEASURE_INTERVAL } else { MEASURE_INTERVAL };
        if is_due(&mut self.measured, interval, now) {
            let ids: Vec<u64> = self.state.workers.iter().map(|(id, _)| id).collect();
            ids.into_iter().for_each(|id| self.executor.measure(&mut self.state, id));
            self.add_up_memory();
        }
        if !self.state.is_ending()
            && let Some(request) = self.executor.reload.on_timer(self.state.reload, now)
        {
            let (pool, with_preload) = (self.executor.pool.name(), request.with_new_preload);
            tracing::info!(pool, with_preload, "files changed");
            self.state.reload = Some(request);
        }
    }

    /// Tells of the dead what is known by now.
    fn announce_ends(&mut self, now: Instant) {
        for (dead, status) in self.executor.reaper.take_due(now) {
            self.announce_end(dead, status);
        }
        let Executor { processes, reaper, .. } = &mut self.executor;
        reaper.forget_statuses(|pid| processes.is_watched(pid));
    }

    fn announce_end(&mut self, dead: Dead, status: Option<std::process::ExitStatus>) {
        let tails = &self.executor.tails;
        let output = dead.printed_by.map(|pid| tails.lines(pid)).unwrap_or_default();
        if let Some(pid) = dead.printed_by.filter(|_| !matches!(dead.name, ProcessName::Parent(_)))
        {
            tails.forget(pid);
        }
        let kills = memory::killed_for_memory();
        let is_out_of_memory = kills > std::mem::replace(&mut self.memory_kills, kills);
        let ending = dead.ending(status, is_out_of_memory);
        let history = &mut self.state.history;
        if matches!(dead.name, ProcessName::Worker(_)) {
            *history.restarts.entry(ending.reason.name()).or_default() += 1;
            self.executor.pool.metrics.ended(ending.reason);
        }
        report::log_end(self.executor.pool.name(), &dead, &ending, &output);
        if !ending.reason.is_planned() {
            history.had_bus_error |= ending.is_bus_error;
            history.last_incident = Some(dead.incident(&ending, output));
        }
    }

    /// Sets the gauges of memory.
    fn add_up_memory(&self) {
        let all = self.state.workers.iter().filter_map(|(_, worker)| worker.memory);
        let sum = all.fold(Memory::default(), |sum, memory| Memory {
            private: sum.private + memory.private,
            shared: sum.shared + memory.shared,
            pss: sum.pss + memory.pss,
        });
        let metrics = &self.executor.pool.metrics;
        metrics.private_bytes.set(i64::try_from(sum.private).unwrap_or(i64::MAX));
        metrics.pss_bytes.set(i64::try_from(sum.pss).unwrap_or(i64::MAX));
    }
}

fn is_due(last: &mut Option<Instant>, interval: Duration, now: Instant) -> bool {
    let is_due = last.is_none_or(|last| now >= last + interval);
    if is_due {
        *last = Some(now);
    }
    is_due
}

/// Whether the process leads a group, which then ends with it.
fn leads_group(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::getpgid(Some(pid)) == Ok(pid))
}
