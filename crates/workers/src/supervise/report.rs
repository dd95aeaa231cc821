//! Writes what people are told of a pool: the status document, the alarms, and the log line of each
//! end.
//!
//! Invariant: the status is made from the state alone, so it never says what decisions do not know.
//! What changes with each loan is left at 0, none or `free`; `WorkerPool::status` adds it.
//! Others compare with the words of `state`, and rely on the order of `holders`, preload processes
//! first (`status.rs`). Tests of the binary and `soak/src/workers` look for words of the alarms. A
//! stage that `describe` does not name counts as `leaving`.
//! Refuses: to change anything.

use std::time::Instant;

use super::fleet::{Worker, WorkerStage};
use super::obituary::{Dead, Ending, SHM_HINT};
use super::state::State;
use crate::status::{Reason, Status, WorkerStatus, in_one_line};

/// Returns what is known; the pool adds what it knows of loans.
pub(super) fn status(state: &State, now: Instant) -> Status {
    let current = state.generations.current().and_then(|number| state.generations.get(number));
    let preloads = state.preloads.iter().filter_map(|(_, it)| it.contact);
    let parents = state.generations.iter().filter_map(|(_, it)| it.contact);
    let history = &state.history;
    Status {
        name: state.plan.name.clone(),
        state: phase(state),
        generation: state.generations.current(),
        planned: state.plan.workers,
        ready: false,
        queue: 0,
        in_flight: 0,
        python: history.python.clone(),
        kind: current.and_then(|generation| generation.kind.clone()),
        preload_s: history.preload_s,
        reload_s: history.in_service_s,
        restarts: history.restarts.clone(),
        last_error: history.last_incident.clone(),
        alarms: alarms(state, now),
        holders: preloads.chain(parents).map(|contact| contact.pid).collect(),
        workers: state.workers.iter().map(|(id, worker)| describe(id, worker, now)).collect(),
    }
}

fn phase(state: &State) -> &'static str {
    let serves = state.workers.serving().next().is_some();
    match (state.history.has_ended || state.is_ending(), serves) {
        (true, _) => "ended",
        (_, true) if state.generations.candidate().is_some() => "reloading",
        (_, true) => "serving",
        (_, false) if state.pace.failures > 0 => "failing",
        (_, false) => "starting",
    }
}

/// Whether what failed is still wanted.
fn lacks_workers(state: &State) -> bool {
    let sound = state.workers.serving().filter(|(_, worker)| worker.reason.is_none()).count();
    sound < state.plan.workers || state.has_lost_its_source()
}

fn alarms(state: &State, now: Instant) -> Vec<String> {
    let mut alarms = Vec::new();
    let (pool, history) = (&state.plan.name, &state.history);
    let reason = || {
        let incident = history.last_incident.as_ref();
        incident.map_or_else(String::new, |it| format!(": {}", in_one_line(&it.stage, &it.reason)))
    };
    if state.is_unavailable && !state.is_ending() {
        alarms.push(format!("workers {pool}: none is in service{}", reason()));
    } else if state.pace.failures > 1 && lacks_workers(state) {
        let wait = state.pace.wait(now).as_secs_f64();
        let failures = state.pace.failures;
        alarms.push(format!(
            "workers {pool}: {failures} starts in a row failed, the next is in {wait:.1} s{}",
            reason()
        ));
    }
    if let Some(reason) = &history.reload_failed {
        alarms.push(format!("workers {pool}: new code cannot serve, the old goes on: {reason}"));
    }
    if history.had_bus_error {
        alarms.push(format!("workers {pool}: a worker died of a bus error; {SHM_HINT}"));
    }
    let born = state.fresh_private_bytes.zip(state.plan.memory_bytes_max);
    if let Some((fresh, max)) = born.filter(|(fresh, max)| fresh > max) {
        alarms.push(format!(
            "workers {pool}: a fresh worker has {} MB for itself, more than `memory_bytes_max` \
             ({} MB): none is replaced for its memory",
            fresh / 1_000_000,
            max / 1_000_000
        ));
    }
    alarms
}

fn describe(id: u64, worker: &Worker, now: Instant) -> WorkerStatus {
    WorkerStatus {
        id,
        pid: worker.pid(),
        generation: worker.generation,
        state: match worker.stage {
            WorkerStage::Starting(_) => "starting",
            WorkerStage::Serving(_) => "free",
            _ => "leaving",
        },
        requests: 0,
        in_flight: 0,
        age_s: now.duration_since(worker.began.instant).as_secs_f64(),
        memory: worker.memory,
        answered_s_ago: None,
        leaving_reason: worker.reason.map(Reason::name),
        last_error: worker.error.clone(),
    }
}

/// Logs how a process ended; an end that we planned is no warning.
pub(super) fn log_end(pool: &str, dead: &Dead, ending: &Ending, output: &[String]) {
    let (process, pid, requests) = (dead.name, dead.pid, dead.answered.unwrap_or(0));
    let (reason, how) = (ending.reason.name(), &ending.text);
    if ending.reason.is_planned() {
        tracing::info!(pool, pid, %process, reason, requests, how, "left");
    } else {
        let last_lines = output.join("\n");
        tracing::warn!(pool, pid, %process, reason, requests, how, last_lines, "ended");
    }
}
