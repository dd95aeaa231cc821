//! What processes say, and what that means for them.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fleet::{HolderStage, Member, PreloadProcess, Stage, Who};
use super::listen::Writer;
use super::{Event, Supervisor};
use crate::canary;
use crate::process::Process;
use crate::slot::WorkerSlot;
use crate::status::Incident;
use crate::wire::{Failed, Hello, Ready, Role, Say};

/// Shared memory below this is too small for most tensors.
/// What containers have where nobody asked for more.
const SHM_BYTES_SMALL: u64 = 64 << 20;
/// Exceptions are told one at a time, the others counted: an app may raise in every request.
const ERRORS_TOLD_EVERY: Duration = Duration::from_millis(200);

impl Supervisor {
    /// A process has said hello.
    pub(super) fn join(&mut self, connection: u64, hello: &Hello, pid: i32, writer: Writer) {
        let process = self.watch_process(pid);
        let member = Member::new(process.clone(), writer.0);
        let Some((who, place)) = self.place_of(hello, pid) else {
            tracing::warn!(pool = self.pool.name(), pid, ?hello, "nobody waits for this process");
            process.signal(rustix::process::Signal::KILL);
            return;
        };
        *place = Some(member);
        if let Some(python) = &hello.python {
            self.notes.python = Some(python.clone());
        }
        self.connections.insert(connection, who);
        if let Who::Worker(id) = who
            && let Some(worker) = self.workers.get_mut(&id)
        {
            worker.leads = leads_group(pid);
        }
        tracing::debug!(pool = self.pool.name(), pid, who = who.words(), "said hello");
    }

    /// Where a process that says hello is expected.
    fn place_of(&mut self, hello: &Hello, pid: i32) -> Option<(Who, &mut Option<Member>)> {
        match hello.role {
            Role::Preload => {
                let waits = |keeper: &PreloadProcess| {
                    keeper.member.is_none() && matches!(keeper.stage, HolderStage::Loading(_))
                };
                // One that an interpreter's wrapper has started has another number than that.
                let is_own = self.keepers.values().any(|it| it.child.pid() == pid);
                let mut keepers = self.keepers.iter_mut().rev();
                let found = keepers
                    .find(|(_, keeper)| waits(keeper) && (keeper.child.pid() == pid || !is_own));
                found.map(|(number, keeper)| (Who::Preload(*number), &mut keeper.member))
            }
            Role::Parent => {
                let number = hello.generation?;
                let generation = self.generations.get_mut(&number)?;
                let is_expected = matches!(generation.stage, HolderStage::Loading(_));
                (generation.member.is_none() && is_expected)
                    .then_some((Who::Parent(number), &mut generation.member))
            }
            Role::Worker => {
                let id = hello.id?;
                let worker = self.workers.get_mut(&id)?;
                (worker.member.is_none() && worker.is_starting())
                    .then_some((Who::Worker(id), &mut worker.member))
            }
        }
    }

    pub(super) fn hear(&mut self, connection: u64, say: Say) {
        let Some(who) = self.connections.get(&connection).copied() else { return };
        match say {
            Say::Hello(_) => {}
            Say::Ready(ready) => match who {
                Who::Preload(number) => self.keeper_ready(number, ready),
                Who::Parent(number) => self.parent_ready(number, ready),
                Who::Worker(id) => self.worker_ready(id, ready),
            },
            Say::Failed(failed) => self.failed(who, failed),
            Say::Exited { pid, status } => self.child_exited(who, pid, status),
            Say::Free => {
                if let Who::Worker(id) = who {
                    self.freed(id);
                }
            }
            Say::Error { reason, traceback } => {
                let trouble = Incident { traceback, ..Self::trouble("request", reason) };
                if let Who::Worker(id) = who {
                    self.app_error(id, trouble);
                }
            }
            Say::Pong { n } => self.answered(who, n),
        }
    }

    /// A process has hung up: it is about to end, or is made to.
    pub(super) fn close(&mut self, connection: u64) {
        let Some(who) = self.connections.remove(&connection) else { return };
        let Some(member) = self.member(who) else { return };
        member.closed = Some(Instant::now());
        let pid = member.process.pid();
        if !member.process.is_watched() {
            member.process.signal(rustix::process::Signal::KILL);
            self.ended(pid);
        } else if self.unheard.remove(&pid).is_some() {
            self.ended(pid);
        }
    }

    pub(super) fn member(&mut self, who: Who) -> Option<&mut Member> {
        match who {
            Who::Preload(number) => self.keepers.get_mut(&number)?.member.as_mut(),
            Who::Parent(number) => self.generations.get_mut(&number)?.member.as_mut(),
            Who::Worker(id) => self.workers.get_mut(&id)?.member.as_mut(),
        }
    }

    /// The process of `who`, if it has said hello.
    pub(super) fn process(&mut self, who: Who) -> Option<Process> {
        self.member(who).map(|member| member.process.clone())
    }

    fn keeper_ready(&mut self, number: u64, ready: Ready) {
        let Some(keeper) = self.keepers.get_mut(&number) else { return };
        if !matches!(keeper.stage, HolderStage::Loading(_)) {
            return;
        }
        keeper.stage = HolderStage::Ready;
        keeper.seconds = Some(ready.seconds);
        keeper.files = ready.files;
        self.watch.add(&keeper.files, keeper.began_at, true);
        self.notes.preload_s = self.pool.plan.preload.as_ref().map(|_| ready.seconds);
        tracing::info!(pool = self.pool.name(), seconds = ready.seconds, "the keeper is ready");
        let is_small = ready.shm.filter(|shm| shm.free <= SHM_BYTES_SMALL);
        if let Some(shm) = is_small {
            let text = format!(
                "/dev/shm has {} MB free of {} MB, which is too little for `share(model)`; {}",
                shm.free / 1_000_000,
                shm.size / 1_000_000,
                super::exits::SHM_HINT
            );
            tracing::warn!(pool = self.pool.name(), "{text}");
        }
    }

    fn parent_ready(&mut self, number: u64, ready: Ready) {
        let Some(generation) = self.generations.get_mut(&number) else { return };
        if !matches!(generation.stage, HolderStage::Loading(_)) {
            return;
        }
        generation.stage = HolderStage::Ready;
        generation.files = ready.files;
        generation.kind = ready.kind;
        self.watch.add(&generation.files, generation.began_at, false);
        let seconds = ready.seconds;
        tracing::info!(
            pool = self.pool.name(),
            generation = number,
            seconds,
            "the app is imported"
        );
    }

    fn worker_ready(&mut self, id: u64, ready: Ready) {
        let canary = self.pool.plan.canary.clone();
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Stage::Starting(until) = worker.stage else { return };
        let Some(socket) = ready.socket else { return };
        worker.socket = Some(socket.clone());
        // One that was not forked tells what its parent would have told.
        if let Some(generation) = self.generations.get_mut(&worker.generation)
            && !self.pool.plan.share
        {
            // What a change is measured by is what the first one loaded: a later one may have
            // loaded the change.
            let known: HashSet<&PathBuf> = generation.files.iter().collect();
            let more = ready.files.into_iter().filter(|file| !known.contains(file));
            let more: Vec<PathBuf> = more.collect();
            self.watch.add(&more, worker.began_at, false);
            generation.files.extend(more);
            generation.kind = generation.kind.take().or(ready.kind);
        }
        let events = self.events.clone();
        tokio::task::spawn_local(async move {
            let asked = async {
                match &canary {
                    Some(canary) => canary::ask(&socket, canary).await,
                    None => Ok(()),
                }
            };
            // The worker's deadline says so when it is over.
            if let Ok(outcome) = tokio::time::timeout_at(until.into(), asked).await {
                let _ = events.send(Event::Canary { id, outcome }).await;
            }
        });
    }

    /// The canary came back: the worker is in service, or never will be.
    pub(super) fn canary(&mut self, id: u64, outcome: Result<(), String>) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.is_starting()) else {
            return;
        };
        let (Some(socket), Some(member)) = (&worker.socket, &mut worker.member) else { return };
        if let Err(reason) = outcome {
            return self.canary_failed(id, Self::trouble("canary", reason));
        }
        worker.stage = Stage::Serving(Instant::now());
        member.answered = member.asked;
        let socket = Arc::from(socket.as_path());
        let plan = &self.pool.plan;
        let requests_max = plan.requests_max.map(|max| jittered(max, &mut self.random));
        let (pid, seconds) = (member.process.pid(), worker.began.elapsed().as_secs_f64());
        let (concurrency, generation) = (plan.concurrency, worker.generation);
        tracing::info!(pool = plan.name, worker = id, pid, generation, seconds, "in service");
        self.pool.add_slot(WorkerSlot::new(id, socket, concurrency, requests_max));
        self.measure(id);
    }

    fn failed(&mut self, who: Who, failed: Failed) {
        let suspects: Vec<PathBuf> = self.suspects(&failed).collect();
        self.watch.add_suspects(suspects.into_iter());
        let (stage, files) = (failed.stage.clone(), failed.files);
        let trouble = Incident {
            hint: failed.hint,
            traceback: failed.traceback,
            ..Self::trouble(&failed.stage, failed.reason)
        };
        tracing::warn!(
            pool = self.pool.name(),
            who = who.words(),
            stage,
            reason = trouble.reason,
            hint = trouble.hint,
            "failed"
        );
        match who {
            Who::Preload(number) => {
                if let Some(keeper) = self.keepers.get_mut(&number) {
                    keeper.failed = Some(trouble);
                    self.watch.add(&files, keeper.began_at, true);
                }
            }
            Who::Parent(number) => {
                let Some(generation) = self.generations.get_mut(&number) else { return };
                self.watch.add(&files, generation.began_at, false);
                if generation.stage == HolderStage::Ready {
                    // It stays, and cannot fork the worker that was asked for.
                    self.fork_failed(number, trouble);
                } else {
                    generation.failed = Some(trouble);
                }
            }
            Who::Worker(id) => {
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.failed = Some(trouble);
                }
            }
        }
    }

    /// Files of the app whose change may mend what failed.
    fn suspects(&self, failed: &Failed) -> impl Iterator<Item = PathBuf> {
        let plan = &self.pool.plan;
        let module = |name: &str| {
            let path = plan.app_dir.join(name.split(':').next().unwrap_or(name).replace('.', "/"));
            [path.with_extension("py"), path.join("__init__.py")]
        };
        let named = [Some(&plan.app), plan.preload.as_ref()].into_iter().flatten();
        let traceback = failed.traceback.as_deref().unwrap_or_default();
        let told = traceback.lines().filter_map(|line| {
            let path = PathBuf::from(line.trim().strip_prefix("File \"")?.split('"').next()?);
            path.starts_with(&plan.app_dir).then_some(path)
        });
        let all: Vec<PathBuf> = named.flat_map(|name| module(name)).chain(told).collect();
        all.into_iter()
    }

    /// A parent lives, and could not fork.
    fn fork_failed(&mut self, generation: u64, trouble: Incident) {
        let waits = self.workers.iter().find(|(_, worker)| {
            worker.generation == generation && worker.is_starting() && worker.member.is_none()
        });
        if let Some(id) = waits.map(|(id, _)| *id) {
            self.workers.remove(&id);
            self.start_failed(generation, trouble);
        }
    }

    fn child_exited(&mut self, who: Who, pid: i32, status: i32) {
        use std::os::unix::process::ExitStatusExt;
        let status = std::process::ExitStatus::from_raw(status);
        if self.watched.contains_key(&pid) || self.dead.iter().any(|dead| dead.pid == pid) {
            self.ends.insert(pid, status);
        } else if let Who::Parent(generation) = who {
            // One that ended before it could say hello is known by that it is missing.
            let end = crate::process::end_in_words(status);
            let reason = format!("a worker {end} before it said hello");
            self.fork_failed(generation, Self::trouble("fork", reason));
        }
    }

    fn freed(&mut self, id: u64) {
        if self.pool.free(id) == Some(0)
            && let Some(worker) = self.workers.get_mut(&id)
        {
            worker.abandoned_until = None;
        }
    }

    fn app_error(&mut self, id: u64, trouble: Incident) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let pid = worker.process().map(Process::pid);
        self.notes.errors_untold += 1;
        if self.notes.told_error.is_some_and(|at| at.elapsed() < ERRORS_TOLD_EVERY) {
            worker.error = Some(trouble);
            return;
        }
        self.notes.told_error = Some(Instant::now());
        let errors = std::mem::take(&mut self.notes.errors_untold);
        tracing::warn!(
            pool = self.pool.name(),
            worker = id,
            pid,
            reason = trouble.reason,
            traceback = trouble.traceback,
            errors,
            "the app raised"
        );
        worker.error = Some(trouble);
    }

    fn answered(&mut self, who: Who, n: u64) {
        let Some(member) = self.member(who) else { return };
        member.answered = member.answered.max(n.min(member.asked));
        let Who::Worker(id) = who else { return };
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.suspect_until.is_some_and(|ping| ping <= n) {
            worker.suspect_until = None;
            self.pool.change(id, WorkerSlot::clear);
        } else {
            self.pool.with(id, |slot| slot.answered = Instant::now());
        }
    }
}

/// Give or take a tenth, so that workers that start together do not end together.
fn jittered(max: u64, random: &mut stdx::Random) -> u64 {
    let tenth = max / 10;
    (max - tenth + random.up_to(2 * tenth)).max(1)
}

/// Whether the process leads a group, which then ends with it.
fn leads_group(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::getpgid(Some(pid)) == Ok(pid))
}
