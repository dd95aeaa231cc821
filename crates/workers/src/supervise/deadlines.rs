//! Finds the deadlines of a pool's processes that are over, and says what follows.
//!
//! [`overdue`] looks at every stage with a deadline (`fleet.rs`), at the age of workers, and at the
//! end of the pool. It also looks at abandoned requests and at workers that hung up, and says when
//! a start has proved sound. Of a worker's stage and age only the first match counts each time.
//! `overdue_stage` passes over stages without an arm, so a new stage with a deadline needs one.
//! [`pings`] asks the processes that ought to answer, and ends the silent ones. Its caller excuses
//! busy workers first (`State::excuse_from_pings`).
//! Invariant: as in [`super::decide`] nothing is changed. A worker that does not leave gets
//! SIGTERM, then SIGKILL; preload processes and parents get SIGKILL. What was killed is waited for
//! without a deadline, until the pool ends.
//! Never here: the bounds (`timeouts.rs`), and waits for last words (`processes.rs`, `reaper.rs`).

use std::time::Instant;

use super::action::{Action, Complaint};
use super::fleet::{Contact, LoadStage, ProcessName, Worker, WorkerStage};
use super::state::State;
use super::timeouts::{HUNG_UP_TIMEOUT, SOUND_AFTER, UNANSWERED_MAX, UNANSWERED_WHILE_FORKING_MAX};
use crate::status::Reason;

/// Returns what to do about the deadlines that are over.
pub(super) fn overdue(state: &State, now: Instant) -> Vec<Action> {
    let preloads = state.preloads.iter().flat_map(|(number, process)| {
        let name = ProcessName::Preload(number);
        let has_failed = process.failed.is_some();
        overdue_loading(state, (name, process.stage, has_failed), now)
    });
    let parents = state.generations.iter().flat_map(|(number, generation)| {
        let name = ProcessName::Parent(number);
        let has_failed = generation.failed.is_some();
        let mut actions = overdue_loading(state, (name, generation.stage, has_failed), now);
        if !actions.is_empty() && generation.contact.is_none() {
            let complaint = not_imported(state);
            actions.push(Action::FailGeneration { generation: number, complaint });
        }
        actions
    });
    let workers = state.workers.iter().flat_map(|(id, worker)| {
        let hung_up = worker.contact.and_then(|contact| contact.closed);
        let is_late = hung_up.is_some_and(|at| now > at + HUNG_UP_TIMEOUT);
        let kill = is_late.then_some(Action::KillProcess(ProcessName::Worker(id)));
        kill.into_iter().chain(overdue_stage(state, (id, worker), now))
    });
    let mut actions: Vec<Action> = preloads.chain(parents).chain(workers).collect();
    if state.end_deadline.is_some_and(|deadline| deadline < now) {
        actions.extend(all(state).map(Action::KillProcess));
    }
    actions
}

/// Returns pings for the processes that ought to answer, and what to do about those that do not.
pub(super) fn pings(state: &State) -> Vec<Action> {
    let serving = || state.workers.serving().filter_map(|(id, it)| Some((id, it.contact?)));
    let silent = serving().filter(|(_, contact)| contact.unanswered() >= UNANSWERED_MAX);
    let kill = silent.map(|(worker, _)| {
        let text = format!("worker {worker} was idle and answered no ping for {UNANSWERED_MAX} s");
        let complaint = Some(Complaint { stage: "run", text });
        Action::Kill { worker, reason: Reason::Silent, complaint }
    });
    let ping = serving().map(|(id, _)| Action::Ping(ProcessName::Worker(id)));
    ping.chain(kill).chain(loaded(state).flat_map(ping_loaded)).collect()
}

/// Preload processes and parents that can fork.
fn loaded(state: &State) -> impl Iterator<Item = (ProcessName, Contact)> {
    let preloads = state
        .preloads
        .iter()
        .map(|(number, process)| (ProcessName::Preload(number), process.stage, process.contact));
    let parents = state.generations.iter().map(|(number, generation)| {
        (ProcessName::Parent(number), generation.stage, generation.contact)
    });
    let ready = preloads.chain(parents).filter(|(_, stage, _)| *stage == LoadStage::Ready);
    ready.filter_map(|(name, _, contact)| Some((name, contact?)))
}

fn ping_loaded((name, contact): (ProcessName, Contact)) -> impl Iterator<Item = Action> {
    let is_silent = contact.unanswered() >= UNANSWERED_WHILE_FORKING_MAX;
    let kill = is_silent.then_some(Action::KillProcess(name));
    kill.into_iter().chain([Action::Ping(name)])
}

fn all(state: &State) -> impl Iterator<Item = ProcessName> {
    let workers = state.workers.iter().map(|(id, _)| ProcessName::Worker(id));
    let preloads = state.preloads.iter().map(|(number, _)| ProcessName::Preload(number));
    let parents = state.generations.iter().map(|(number, _)| ProcessName::Parent(number));
    workers.chain(preloads).chain(parents)
}

/// What takes too long to load or to end is killed; why it was, unless it has said so itself.
fn overdue_loading(
    state: &State,
    (process, stage, has_failed): (ProcessName, LoadStage, bool),
    now: Instant,
) -> Vec<Action> {
    if !stage.is_overdue(now) {
        return Vec::new();
    }
    let mut actions = vec![Action::KillProcess(process)];
    if stage.is_loading() && !has_failed {
        let complaint = match process {
            ProcessName::Preload(_) => not_loaded(state),
            ProcessName::Parent(_) | ProcessName::Worker(_) => not_imported(state),
        };
        actions.push(Action::FailLoading { process, complaint });
    }
    actions
}

fn not_loaded(state: &State) -> Complaint {
    let seconds = state.plan.boot_timeout.as_secs_f64();
    let text = format!("the preload process did not load within {seconds} s");
    Complaint { stage: "preload", text }
}

fn not_imported(state: &State) -> Complaint {
    let seconds = state.plan.boot_timeout.as_secs_f64();
    Complaint { stage: "import", text: format!("the app was not imported within {seconds} s") }
}

fn overdue_stage(state: &State, (id, worker): (u64, &Worker), now: Instant) -> Option<Action> {
    let is_old = state.plan.age_max.is_some_and(|max| worker.began.instant + max < now);
    match worker.stage {
        WorkerStage::Starting(deadline) if now > deadline => {
            let complaint = Some(not_started(state, id, worker));
            Some(Action::Kill { worker: id, reason: Reason::Boot, complaint })
        }
        WorkerStage::Serving(_) if worker.abandoned_deadline.is_some_and(|it| now > it) => {
            // The other requests that a worker has need not die for this one.
            if state.plan.concurrency > 1 {
                return Some(Action::ForgetAbandoned { worker: id });
            }
            let seconds = state.plan.timeout.as_secs_f64();
            let text = format!("a request that was given up went on for more than {seconds} s");
            Some(Action::Interrupt { worker: id, complaint: Complaint { stage: "run", text } })
        }
        WorkerStage::Serving(_) if worker.suspicion.is_some_and(|it| now > it.deadline) => {
            let seconds = state.plan.timeout.as_secs_f64();
            let text = format!("it broke a connection off, and answered no ping for {seconds} s");
            let complaint = Some(Complaint { stage: "run", text });
            Some(Action::Kill { worker: id, reason: Reason::Silent, complaint })
        }
        WorkerStage::Serving(since)
            if now > since + SOUND_AFTER && state.pace.is_mended_by(worker.began.instant) =>
        {
            Some(Action::Recover)
        }
        WorkerStage::Serving(_) if is_old && worker.reason.is_none() => {
            Some(Action::Wear { worker: id, reason: Reason::Age })
        }
        WorkerStage::Draining(deadline) | WorkerStage::Leaving(deadline) if now > deadline => {
            Some(Action::Terminate { worker: id })
        }
        WorkerStage::Terminating(deadline) | WorkerStage::Dying(deadline) if now > deadline => {
            Some(Action::KillProcess(ProcessName::Worker(id)))
        }
        _ => None,
    }
}

fn not_started(state: &State, id: u64, worker: &Worker) -> Complaint {
    let seconds = state.plan.boot_timeout.as_secs_f64();
    // A worker that has a socket listens.
    let (stage, missed) = match &worker.socket {
        Some(_) => ("canary", "answer the canary"),
        None => ("boot", "start"),
    };
    Complaint { stage, text: format!("worker {id} did not {missed} within {seconds} s") }
}

#[cfg(test)]
mod tests;
