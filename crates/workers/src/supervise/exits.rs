//! How processes end, by us and by themselves, and what is told of it.
//!
//! Invariant: each end has one reason, told once: in the log, in the counters, in the status. What
//! follows from an end for the pool is decided at once; the telling waits a moment for the exit
//! status and the last lines.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use super::fleet::{Dead, HolderStage, Stage, Who, Worker};
use super::{Supervisor, WELL_AFTER};
use crate::memory;
use crate::process::end_in_words;
use crate::status::{Incident, Reason, in_one_line};

/// How long a process that hangs may take to say where.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(300);
/// What a dead process printed is on its way so long.
const OUTPUT_WITHIN: Duration = Duration::from_millis(100);
/// What a dead process said on its control connection is on its way so long.
const HEARD_WITHIN: Duration = Duration::from_millis(200);
/// How a process ended is known after this, or never.
const STATUS_WITHIN: Duration = Duration::from_secs(1);
/// What a worker's app had forked has ended by then.
const ORPHANS_WITHIN: Duration = Duration::from_secs(10);
/// The signal at which Python prints where each of its threads is.
const WHERE_ARE_YOU: Signal = Signal::USR2;

pub(super) const SHM_HINT: &str = "give the container more: `--shm-size=1g` (docker), or a \
                                   memory-backed `emptyDir` at /dev/shm (Kubernetes)";

impl Supervisor {
    /// Kills a worker; `trouble` when that is news.
    pub(super) fn kill(&mut self, id: u64, reason: Reason, trouble: Option<Incident>) {
        self.pool.close(id);
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if matches!(worker.stage, Stage::Dying(_) | Stage::Killed) {
            return;
        }
        worker.reason = Some(reason);
        worker.failed = worker.failed.take().or(trouble);
        let was_starting = worker.is_starting();
        worker.stage = Stage::Killed;
        match worker.process() {
            Some(process) => process.signal(Signal::KILL),
            // It may yet come, and is turned away then.
            None => {
                let generation = worker.generation;
                let worker = self.workers.remove(&id).expect("it was just there");
                if was_starting && reason == Reason::Boot {
                    let trouble = worker.failed.unwrap_or_default();
                    self.start_failed(generation, trouble);
                }
            }
        }
    }

    /// The canary was not answered as it ought to be: one that dies of it says more by its death.
    pub(super) fn canary_failed(&mut self, id: u64, trouble: Incident) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.reason = Some(Reason::Boot);
        worker.failed = Some(trouble.clone());
        worker.stage = Stage::Dying(Instant::now() + LAST_WORDS);
        let generation = worker.generation;
        self.start_failed(generation, trouble);
    }

    /// A request took too long: the worker says where it hangs, and is killed; if it has others,
    /// it may finish these first.
    pub(super) fn timed_out(&mut self, id: u64) {
        let seconds = self.pool.plan.timeout.as_secs_f64();
        let trouble = Self::trouble("run", format!("a request took longer than {seconds} s"));
        let has_others = self.pool.with(id, |slot| slot.loans > slot.abandoned).unwrap_or(false);
        let stage = if has_others {
            Stage::Draining(Instant::now() + self.pool.plan.drain_timeout)
        } else {
            Stage::Dying(Instant::now() + LAST_WORDS)
        };
        self.hang(id, trouble, stage);
    }

    /// A worker hangs: it is lent no more and says where.
    pub(super) fn hang(&mut self, id: u64, trouble: Incident, stage: Stage) {
        self.pool.close(id);
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let drains = matches!(worker.stage, Stage::Draining(_) | Stage::Leaving(_));
        if matches!(worker.stage, Stage::Dying(_) | Stage::Killed)
            || drains && matches!(stage, Stage::Draining(_))
        {
            return;
        }
        worker.reason = Some(Reason::Timeout);
        worker.failed = Some(trouble);
        worker.stage = stage;
        if let Some(process) = worker.process() {
            process.signal(WHERE_ARE_YOU);
        }
    }

    /// A process has ended; what it said before that is heard first, for it may say why.
    pub(super) fn hear_out(&mut self, pid: i32) {
        let speakers: Vec<Who> = self.connections.values().copied().collect();
        let mut speakers = speakers.into_iter().filter_map(|who| self.process(who));
        if speakers.any(|it| it.pid() == pid) || self.has_said_nothing(pid) {
            self.unheard.insert(pid, Instant::now());
        } else {
            self.ended(pid);
        }
    }

    /// Whether a process that we have started has not said hello.
    fn has_said_nothing(&self, pid: i32) -> bool {
        let keepers = self.keepers.values().map(|it| (Some(&it.child), &it.member));
        let workers = self.workers.values().map(|it| (it.child.as_ref(), &it.member));
        let mut silent = keepers.chain(workers).filter(|(_, member)| member.is_none());
        silent.any(|(child, _)| child.is_some_and(|child| child.pid() == pid))
    }

    /// Waits no longer for last words: what an app has forked may hold the connection.
    pub(super) fn stop_listening(&mut self, now: Instant) {
        let late = self.unheard.iter().filter(|(_, since)| now > **since + HEARD_WITHIN);
        let late: Vec<i32> = late.map(|(pid, _)| *pid).collect();
        for pid in late {
            self.unheard.remove(&pid);
            self.ended(pid);
        }
    }

    /// The end of a process is known, and all that it said.
    pub(super) fn ended(&mut self, pid: i32) {
        self.watched.remove(&pid);
        self.reap();
        let is_its = |worker: &Worker| worker.process().is_some_and(|it| it.pid() == pid);
        let worker = self.workers.iter().find(|(_, worker)| is_its(worker)).map(|(id, _)| *id);
        if let Some(id) = worker {
            return self.worker_ended(id, pid);
        }
        let keeper = self.keepers.iter().find(|(_, keeper)| {
            keeper.member.as_ref().map_or(keeper.child.pid(), |it| it.process.pid()) == pid
        });
        if let Some(number) = keeper.map(|(number, _)| *number) {
            return self.keeper_ended(number, pid);
        }
        let has_pid = |member: &super::fleet::Member| member.process.pid() == pid;
        let mut generations = self.generations.iter();
        let parent = generations.find(|(_, it)| it.member.as_ref().is_some_and(has_pid));
        if let Some(number) = parent.map(|(number, _)| *number) {
            self.parent_ended(number, pid);
        }
    }

    fn worker_ended(&mut self, id: u64, pid: i32) {
        let Some(worker) = self.workers.remove(&id) else { return };
        if worker.leads {
            self.end_group(pid);
        }
        let slot = self.pool.remove_slot(id);
        if let Some(socket) = &worker.socket {
            self.dir.forget(socket);
        }
        let now = Instant::now();
        let requests = slot.as_ref().map_or(0, |slot| slot.requests);
        let served = slot.is_some();
        let is_planned =
            matches!(worker.stage, Stage::Draining(_) | Stage::Leaving(_) | Stage::Terminating(_));
        let dead = Dead {
            who: Who::Worker(id),
            forked_by: worker.child.is_none().then_some(Who::Parent(worker.generation)),
            pid,
            printed_by: Some(pid),
            at: now,
            reason: worker.reason.filter(|_| !worker.is_serving()),
            served,
            requests,
            failed: worker.failed.clone(),
        };
        self.dead.push(dead);
        let is_counted = matches!(worker.stage, Stage::Dying(_)) && !served;
        if worker.reason == Some(Reason::End) || is_planned || is_counted {
            return;
        }
        if !served {
            let unknown = || Self::trouble("boot", format!("worker {id} ended while it started"));
            self.start_failed(worker.generation, worker.failed.unwrap_or_else(unknown));
        } else if requests > 0 || worker.began.elapsed() > WELL_AFTER {
            self.pace.succeed();
        } else {
            let unknown = || Self::trouble("run", format!("worker {id} ended before it answered"));
            self.notes.trouble = Some(worker.failed.unwrap_or_else(unknown));
            self.pace.fail(now);
        }
    }

    fn keeper_ended(&mut self, number: u64, pid: i32) {
        let Some(keeper) = self.keepers.remove(&number) else { return };
        let reason = matches!(keeper.stage, HolderStage::Leaving(_)).then_some(Reason::End);
        let failed = keeper.failed.clone();
        let child = keeper.child.pid();
        self.bury_holder((Who::Preload(number), None), (pid, Some(child)), reason, failed);
        if reason.is_some() {
            return;
        }
        let waits = self.candidate.filter(|candidate| {
            let generation = self.generations.get(candidate);
            generation
                .is_some_and(|it| it.keeper == Some(number) && it.stage == HolderStage::Waiting)
        });
        let unknown = || Self::trouble("preload", "the keeper ended".to_owned());
        if let Some(candidate) = waits {
            self.generation_failed(candidate, keeper.failed.unwrap_or_else(unknown));
        } else if keeper.began.elapsed() < WELL_AFTER {
            self.pace.fail(Instant::now());
        }
    }

    fn parent_ended(&mut self, number: u64, pid: i32) {
        let Some(generation) = self.generations.get_mut(&number) else { return };
        let stage = std::mem::replace(&mut generation.stage, HolderStage::Lost);
        let failed = generation.failed.take();
        let lived = generation.began.elapsed();
        let reason = matches!(stage, HolderStage::Leaving(_)).then_some(Reason::End);
        let keeper = generation.keeper;
        // A parent prints where its keeper does.
        let printed_by = keeper.and_then(|it| self.keepers.get(&it)).map(|it| it.child.pid());
        let who = (Who::Parent(number), keeper.map(Who::Preload));
        self.bury_holder(who, (pid, printed_by), reason, failed.clone());
        if reason.is_some() {
            return;
        }
        // Workers that it had not forked yet never come.
        let unborn = |worker: &Worker| {
            worker.generation == number && worker.is_starting() && worker.member.is_none()
        };
        self.workers.retain(|_, worker| !unborn(worker));
        if self.candidate == Some(number) {
            let unknown = || Self::trouble("import", "the parent ended".to_owned());
            self.generation_failed(number, failed.unwrap_or_else(unknown));
        } else if lived < WELL_AFTER {
            self.pace.fail(Instant::now());
        }
    }

    fn bury_holder(
        &mut self,
        (who, forked_by): (Who, Option<Who>),
        (pid, printed_by): (i32, Option<i32>),
        reason: Option<Reason>,
        failed: Option<Incident>,
    ) {
        let at = Instant::now();
        let dead =
            Dead { who, forked_by, pid, printed_by, at, reason, served: true, requests: 0, failed };
        self.dead.push(dead);
    }

    /// Whether a process has yet to say how a child of it ended, or takes too long for that.
    pub(super) fn owes_an_end(dead: &[Dead], ends: &HashMap<i32, ExitStatus>, who: Who) -> bool {
        let mut its = dead.iter().filter(|dead| dead.forked_by == Some(who));
        its.any(|dead| !ends.contains_key(&dead.pid) && dead.at.elapsed() < STATUS_WITHIN)
    }

    /// A worker did not come into service.
    pub(super) fn start_failed(&mut self, generation: u64, trouble: Incident) {
        if self.candidate == Some(generation) {
            return self.generation_failed(generation, trouble);
        }
        self.notes.trouble = Some(trouble);
        self.pace.fail(Instant::now());
    }

    /// A generation did not come into service: the one before it stays.
    pub(super) fn generation_failed(&mut self, number: u64, trouble: Incident) {
        if self.candidate == Some(number) {
            self.candidate = None;
        }
        if self.current.is_some() {
            tracing::error!(
                pool = self.pool.name(),
                generation = number,
                reason = trouble.reason,
                "the new code cannot serve, the old goes on"
            );
            self.notes.reload_failed = Some(in_one_line(&trouble.stage, &trouble.reason));
        }
        self.notes.trouble = Some(trouble);
        self.abandon_generation(number);
        self.pace.fail(Instant::now());
    }

    /// Ends what belongs to a generation that is not going to serve.
    pub(super) fn abandon_generation(&mut self, number: u64) {
        let own = self.workers.iter().filter(|(_, worker)| worker.generation == number);
        let ids: Vec<u64> = own.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.kill(id, Reason::End, None));
        let Some(generation) = self.generations.get_mut(&number) else { return };
        match (&generation.member, generation.stage) {
            // What imports does not listen.
            (Some(member), HolderStage::Loading(_)) => {
                member.process.signal(Signal::KILL);
                generation.stage = HolderStage::Leaving(Instant::now());
            }
            (None, _) => drop(self.generations.remove(&number)),
            _ => {}
        }
    }

    /// Tells of the dead what is known by now.
    pub(super) fn bury(&mut self, now: Instant) {
        self.reap();
        self.adopt();
        self.reap_orphans(now);
        let is_due = |dead: &Dead, known: bool| {
            let since = now.duration_since(dead.at);
            since > STATUS_WITHIN || (known && since > OUTPUT_WITHIN)
        };
        let due: Vec<Dead> = {
            let ends = &self.ends;
            self.dead.extract_if(.., |dead| is_due(dead, ends.contains_key(&dead.pid))).collect()
        };
        due.into_iter().for_each(|dead| self.tell_of(dead));
        let (watched, dead) = (&self.watched, &self.dead);
        self.ends
            .retain(|pid, _| watched.contains_key(pid) || dead.iter().any(|it| it.pid == *pid));
    }

    fn tell_of(&mut self, dead: Dead) {
        let status = self.ends.remove(&dead.pid);
        let output = dead.printed_by.map(|pid| self.tails.lines(pid)).unwrap_or_default();
        if let Some(pid) = dead.printed_by.filter(|_| !matches!(dead.who, Who::Parent(_))) {
            self.tails.forget(pid);
        }
        let (reason, how) = self.how(&dead, status);
        let who = dead.who.words();
        if matches!(dead.who, Who::Worker(_)) {
            *self.notes.restarts.entry(reason.name()).or_default() += 1;
            self.pool.metrics.ended(reason);
        }
        let (pool, pid, requests) = (self.pool.name(), dead.pid, dead.requests);
        let is_news = !matches!(
            reason,
            Reason::Requests
                | Reason::Memory
                | Reason::Age
                | Reason::Command
                | Reason::Reload
                | Reason::End
        );
        if !is_news {
            let reason = reason.name();
            tracing::info!(pool, pid, who, reason, requests, how, "left");
            return;
        }
        tracing::warn!(
            pool,
            pid,
            who,
            reason = reason.name(),
            requests,
            how,
            last_lines = output.join("\n"),
            "ended"
        );
        let mut trouble = dead.failed.unwrap_or_else(|| {
            Self::trouble(if dead.served { "run" } else { "boot" }, format!("{who} {how}"))
        });
        if status.and_then(|it| std::os::unix::process::ExitStatusExt::signal(&it)) == Some(SIGBUS)
        {
            trouble.hint = Some(format!("if it shares tensors by /dev/shm, {SHM_HINT}"));
            self.notes.had_bus_error = true;
        }
        if trouble.stage == "canary" && reason == Reason::Boot {
            trouble.reason = format!("{}; {who} {how}", trouble.reason);
        }
        if reason == Reason::Timeout {
            trouble.traceback = where_it_hung(&output);
        }
        trouble.output = output;
        self.notes.trouble = Some(trouble);
    }

    /// Why it ended, and how, in words.
    fn how(&mut self, dead: &Dead, status: Option<ExitStatus>) -> (Reason, String) {
        use std::os::unix::process::ExitStatusExt;
        let killed = memory::killed_for_memory();
        let has_killed = killed > std::mem::replace(&mut self.notes.killed_for_memory, killed);
        let end = status.map_or_else(
            || "ended, nobody knows how: its parent had ended before".to_owned(),
            end_in_words,
        );
        let signal = status.and_then(|status| status.signal());
        match (dead.reason, signal) {
            (Some(reason), _) => (reason, end),
            (None, Some(9)) if has_killed => {
                (Reason::Oom, "was killed by the kernel, which was out of memory (OOM)".to_owned())
            }
            (None, Some(9)) => (Reason::Signal, format!("{end} from outside")),
            (None, Some(_)) => (Reason::Signal, end),
            (None, None) if !dead.served => (Reason::Boot, end),
            (None, None) if status.is_none() => (Reason::Unknown, end),
            (None, None) => (Reason::Exit, end),
        }
    }

    /// Takes the exit status of processes whose parent has ended, where they have become ours: the
    /// first process of a container is the parent of all orphans.
    fn adopt(&mut self) {
        use std::os::unix::process::ExitStatusExt;
        let is_child = |pid| self.children.iter().any(|child| i64::from(child.id()) == pid);
        for dead in &self.dead {
            if self.ends.contains_key(&dead.pid) || is_child(i64::from(dead.pid)) {
                continue;
            }
            let waited = rustix::process::waitpid(Pid::from_raw(dead.pid), WaitOptions::NOHANG);
            if let Ok(Some((_, status))) = waited {
                self.ends.insert(dead.pid, ExitStatus::from_raw(status.as_raw()));
            }
        }
    }

    /// Ends what the app of a dead worker has forked.
    fn end_group(&mut self, leader: i32) {
        let Some(group) = Pid::from_raw(leader) else { return };
        // Most workers leave nobody behind.
        if rustix::process::kill_process_group(group, Signal::KILL).is_ok() {
            self.orphans.push((group, Instant::now()));
        }
    }

    /// Waits for what was ended so and has become ours.
    fn reap_orphans(&mut self, now: Instant) {
        let next = |group| rustix::process::waitpgid(group, WaitOptions::NOHANG);
        self.orphans.retain(|(group, since)| {
            while matches!(next(*group), Ok(Some(_))) {}
            now < *since + ORPHANS_WITHIN
        });
    }

    /// Takes the exit status of our own children.
    pub(super) fn reap(&mut self) {
        let ends = &mut self.ends;
        self.children.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                let pid = i32::try_from(child.id()).expect("process numbers fit an i32");
                ends.insert(pid, status);
                false
            }
            Err(_) => false,
        });
    }
}

/// What Python printed when it was asked.
fn where_it_hung(output: &[String]) -> Option<String> {
    let begins =
        |line: &String| line.starts_with("Thread 0x") || line.starts_with("Current thread");
    output.iter().position(begins).map(|at| output[at..].join("\n"))
}

const SIGBUS: i32 = Signal::BUS.as_raw();
