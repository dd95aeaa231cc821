//! Says what the end of a process means for its pool.
//!
//! A worker's end counts as a success, a failure in service or a failed start, unless it was
//! planned. One that failed its canary was counted then (`messages.rs`). An end in service is a
//! failure if the worker answered nothing and lived for 10 seconds at most; else it is a success.
//! An unplanned end of its parent fails a candidate. So does that of the preload process that it
//! still waits for. Any other parent or preload process that ends unplanned within 10 seconds
//! counts as a failed start. These 10 seconds are `SOUND_AFTER` of `timeouts.rs`. `deadlines.rs`
//! uses them too, to tell when starts have recovered.
//! Invariant: what follows is noted at once, without the exit status. That comes later
//! (`reaper.rs`, `obituary.rs`) and changes what people are told. It only delays the dismissal of
//! the process that is to report it (`State::owing`).

use std::time::Instant;

use super::fleet::{LoadStage, ProcessName, Worker, WorkerStage};
use super::obituary::Dead;
use super::state::State;
use super::timeouts::SOUND_AFTER;
use crate::status::{Incident, Reason};

/// The end of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    pub name: ProcessName,
    pub pid: i32,
    /// Requests that it answered; none when it was never in service.
    pub answered: Option<u64>,
    pub at: Instant,
}

/// Notes that a process has ended; returns what is to be announced of it.
pub(super) fn on_exit(state: &mut State, exit: Exit) -> Option<Dead> {
    match exit.name {
        ProcessName::Worker(id) => worker_ended(state, id, exit),
        ProcessName::Preload(number) => preload_ended(state, number, exit),
        ProcessName::Parent(number) => parent_ended(state, number, exit),
    }
}

fn worker_ended(state: &mut State, id: u64, exit: Exit) -> Option<Dead> {
    let worker = state.workers.remove(id)?;
    let parent = ProcessName::Parent(worker.generation);
    let dead = Dead {
        name: exit.name,
        forked_by: worker.child_pid.is_none().then_some(parent),
        pid: exit.pid,
        printed_by: Some(exit.pid),
        at: exit.at,
        reason: worker.reason.filter(|_| !worker.is_serving()),
        answered: exit.answered,
        failed: worker.failed.clone(),
    };
    let is_expected = worker.is_draining() || matches!(worker.stage, WorkerStage::Terminating(_));
    // What failed the canary has been counted then.
    let is_counted = matches!(worker.stage, WorkerStage::Dying(_)) && exit.answered.is_none();
    if worker.reason != Some(Reason::End) && !is_expected && !is_counted {
        count(state, id, worker, exit);
    }
    Some(dead)
}

/// Counts an end that nobody asked for as a success, a failure in service, or a failed start.
fn count(state: &mut State, id: u64, worker: Worker, exit: Exit) {
    let incident = |stage, text: &str| Incident::new(stage, format!("worker {id} {text}"));
    let lived = exit.at.duration_since(worker.began.instant);
    match exit.answered {
        None => {
            let unknown = || incident("boot", "ended while it started");
            let incident = worker.failed.unwrap_or_else(unknown);
            state.fail_start(worker.generation, incident, exit.at);
        }
        Some(0) if lived <= SOUND_AFTER => {
            let unknown = || incident("run", "ended before it answered");
            state.history.last_incident = Some(worker.failed.unwrap_or_else(unknown));
            state.pace.fail(exit.at);
        }
        Some(_) => state.pace.succeed(),
    }
}

/// Why we ended a process that loads: it was to leave, or took too long.
fn reason_of(stage: LoadStage, at: Instant) -> Option<Reason> {
    match stage.is_leaving() {
        true => Some(Reason::End),
        false => stage.is_overdue(at).then_some(Reason::Boot),
    }
}

fn preload_ended(state: &mut State, number: u64, exit: Exit) -> Option<Dead> {
    let process = state.preloads.remove(number)?;
    let is_planned = process.stage.is_leaving();
    let reason = reason_of(process.stage, exit.at);
    let dead = Dead {
        name: exit.name,
        forked_by: None,
        pid: exit.pid,
        printed_by: Some(process.child_pid),
        at: exit.at,
        reason,
        answered: Some(0),
        failed: process.failed.clone(),
    };
    if is_planned {
        return Some(dead);
    }
    let waits = |candidate: &u64| {
        let generation = state.generations.get(*candidate);
        generation.is_some_and(|it| it.preload == Some(number) && it.stage == LoadStage::Waiting)
    };
    if let Some(candidate) = state.generations.candidate().filter(waits) {
        let unknown = || Incident::new("preload", "the preload process ended".to_owned());
        let incident = process.failed.unwrap_or_else(unknown);
        state.fail_generation(candidate, incident, exit.at);
    } else if exit.at.duration_since(process.began.instant) < SOUND_AFTER {
        state.pace.fail(exit.at);
    }
    Some(dead)
}

fn parent_ended(state: &mut State, number: u64, exit: Exit) -> Option<Dead> {
    let generation = state.generations.get_mut(number)?;
    let is_planned = generation.stage.is_leaving();
    let reason = reason_of(generation.stage, exit.at);
    generation.stage = LoadStage::Lost;
    let failed = generation.failed.take();
    let lived = exit.at.duration_since(generation.began);
    let preload = generation.preload;
    // A parent prints where its preload process does.
    let printed_by = preload.and_then(|it| state.preloads.get(it)).map(|it| it.child_pid);
    let dead = Dead {
        name: exit.name,
        forked_by: preload.map(ProcessName::Preload),
        pid: exit.pid,
        printed_by,
        at: exit.at,
        reason,
        answered: Some(0),
        failed: failed.clone(),
    };
    if is_planned {
        return Some(dead);
    }
    // Workers that it had not forked yet never come.
    while let Some(unborn) = state.workers.awaited(number) {
        state.workers.remove(unborn);
    }
    if state.generations.candidate() == Some(number) {
        let unknown = || Incident::new("import", "the parent ended".to_owned());
        state.fail_generation(number, failed.unwrap_or_else(unknown), exit.at);
    } else if lived < SOUND_AFTER {
        state.pace.fail(exit.at);
    }
    Some(dead)
}

#[cfg(test)]
mod tests;
