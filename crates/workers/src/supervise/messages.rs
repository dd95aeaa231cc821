//! Says what the messages of Python processes mean for a pool, and what a canary's answer means.
//!
//! Invariant: a message is noted in the state, and what else it asks for is returned as actions, so
//! nothing here needs a process. A `ready` or a canary's answer that comes at the wrong stage
//! changes nothing. A `failed` is noted at any stage, for the end that follows; of a ready parent
//! it counts at once as a failed start.
//! `on_message` ignores a message from a process for which it has no arm; so a new message
//! (`wire.rs`) needs one.
//! Also here: the warning of a small `/dev/shm`, a child that ended before its hello, and the files
//! whose change may mend what failed. Tracebacks name these in lines `File "…"`, as Python writes
//! them. The line `the app is imported` is in docs/WORKERS.md, too.
//! Never here: `hello` (`State::join`), `exited` (`supervisor.rs`), the connections (`listen.rs`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

use super::action::Action;
use super::fleet::{LoadStage, LoadedFiles, ProcessName, WorkerStage};
use super::obituary::SHM_HINT;
use super::state::State;
use crate::plan::Plan;
use crate::process::end_in_words;
use crate::status::{Incident, Reason};
use crate::wire::{Failed, Message, Ready, Shm};

/// What an exception means before a worker is in service.
const CANARY: &str = "Tidegate asks `canary.path` once before a worker serves; without \
    `canary.status` any answer will do";

/// Shared memory below this is too small for most tensors.
/// What containers have where nobody asked for more.
const SHM_BYTES_SMALL: u64 = 64 << 20;

/// Notes a message of the process `from`; returns what is to be done about it.
pub(super) fn on_message(
    state: &mut State,
    from: ProcessName,
    message: Message,
    now: Instant,
) -> Vec<Action> {
    match (message, from) {
        (Message::Ready(ready), ProcessName::Preload(number)) => {
            preload_ready(state, number, ready)
        }
        (Message::Ready(ready), ProcessName::Parent(number)) => parent_ready(state, number, ready),
        (Message::Ready(ready), ProcessName::Worker(id)) => worker_ready(state, id, ready),
        (Message::Failed(failed), _) => process_failed(state, from, failed, now),
        (Message::Free, ProcessName::Worker(worker)) => vec![Action::EndAbandoned { worker }],
        (Message::Leaving, ProcessName::Worker(id)) => {
            state.wear(id, Reason::Command);
            Vec::new()
        }
        (Message::Error { reason, traceback }, ProcessName::Worker(id)) => {
            // A worker that is not in service yet has only Tidegate's own request.
            let worker = state.workers.get_mut(id);
            let is_canary = worker.is_some_and(|worker| worker.is_starting());
            let stage = if is_canary { "canary" } else { "request" };
            let hint = is_canary.then(|| CANARY.to_owned());
            let incident = Incident { traceback, hint, ..Incident::new(stage, reason) };
            app_error(state, id, incident, now);
            Vec::new()
        }
        (Message::Pong { n }, _) => answered(state, from, n),
        _ => Vec::new(),
    }
}

/// Notes the answer to a worker's canary: the worker is in service, or never will be.
pub(super) fn on_canary(
    state: &mut State,
    id: u64,
    outcome: Result<(), String>,
    now: Instant,
) -> Vec<Action> {
    let worker = state.workers.get_mut(id).filter(|worker| worker.is_starting());
    let Some(worker) = worker else { return Vec::new() };
    let Err(reason) = outcome else { return vec![Action::PutInService { worker: id }] };
    let incident = Incident::new("canary", reason);
    let generation = worker.generation;
    // One that dies of the canary says more by its death.
    worker.fail_to_start(incident.clone(), now);
    state.fail_start(generation, incident, now);
    Vec::new()
}

/// Notes the end of a child that never said hello: it is known by that it is missing.
pub(super) fn on_lost_child(state: &mut State, generation: u64, status: ExitStatus, now: Instant) {
    let reason = format!("a worker {} before it said hello", end_in_words(status));
    fork_failed(state, generation, Incident::new("fork", reason), now);
}

fn preload_ready(state: &mut State, number: u64, ready: Ready) -> Vec<Action> {
    let process = state.preloads.get_mut(number).filter(|it| it.stage.is_loading());
    let Some(process) = process else { return Vec::new() };
    process.stage = LoadStage::Ready;
    process.files.clone_from(&ready.files);
    let since = process.began.date;
    state.history.preload_s = state.plan.preload.as_ref().map(|_| ready.seconds);
    let pool = &state.plan.name;
    tracing::info!(pool, seconds = ready.seconds, "the preload process is ready");
    if let Some(shm) = ready.shm.filter(|shm| shm.free <= SHM_BYTES_SMALL) {
        tracing::warn!(pool, "{}", small_shm(shm));
    }
    vec![Action::WatchFiles(LoadedFiles { files: ready.files, since, by_preload: true })]
}

fn small_shm(shm: Shm) -> String {
    let (free, size) = (shm.free / 1_000_000, shm.size / 1_000_000);
    format!(
        "/dev/shm has {free} MB free of {size} MB, which is too little for `share(model)`; \
         {SHM_HINT}"
    )
}

fn parent_ready(state: &mut State, number: u64, ready: Ready) -> Vec<Action> {
    let generation = state.generations.get_mut(number).filter(|it| it.stage.is_loading());
    let Some(generation) = generation else { return Vec::new() };
    generation.stage = LoadStage::Ready;
    generation.files.clone_from(&ready.files);
    generation.kind = ready.kind;
    let (pool, seconds) = (&state.plan.name, ready.seconds);
    tracing::info!(pool, generation = number, seconds, "the app is imported");
    let since = generation.import_began;
    vec![Action::WatchFiles(LoadedFiles { files: ready.files, since, by_preload: false })]
}

fn worker_ready(state: &mut State, id: u64, ready: Ready) -> Vec<Action> {
    let Some(worker) = state.workers.get_mut(id) else { return Vec::new() };
    let WorkerStage::Starting(deadline) = worker.stage else { return Vec::new() };
    let Some(socket) = ready.socket else { return Vec::new() };
    worker.socket = Some(socket);
    let mut actions = Vec::new();
    // One that was not forked reports what its parent would have reported.
    if let Some(generation) = state.generations.get_mut(worker.generation)
        && !state.plan.share_memory
    {
        // A change is measured by what the first worker loaded: a later one may have loaded the
        // change.
        let known: HashSet<&PathBuf> = generation.files.iter().collect();
        let more = ready.files.into_iter().filter(|file| !known.contains(file));
        let files: Vec<PathBuf> = more.collect();
        generation.files.extend_from_slice(&files);
        generation.kind = generation.kind.take().or(ready.kind);
        let since = worker.began.date;
        actions.push(Action::WatchFiles(LoadedFiles { files, since, by_preload: false }));
    }
    actions.push(Action::AskCanary { worker: id, deadline });
    actions
}

fn process_failed(
    state: &mut State,
    from: ProcessName,
    failed: Failed,
    now: Instant,
) -> Vec<Action> {
    let suspects = suspects(&state.plan, failed.traceback.as_deref().unwrap_or_default());
    let incident = Incident {
        hint: failed.hint,
        traceback: failed.traceback,
        ..Incident::new(&failed.stage, failed.reason)
    };
    tracing::warn!(
        pool = state.plan.name,
        process = %from,
        stage = failed.stage,
        reason = incident.reason,
        hint = incident.hint,
        "failed"
    );
    let mut actions = vec![Action::WatchSuspects(suspects)];
    let watch = |since, by_preload| {
        let loaded = LoadedFiles { files: failed.files, since, by_preload };
        actions.push(Action::WatchFiles(loaded));
    };
    match from {
        ProcessName::Preload(number) => {
            if let Some(process) = state.preloads.get_mut(number) {
                process.failed = Some(incident);
                watch(process.began.date, true);
            }
        }
        ProcessName::Parent(number) => {
            if let Some(generation) = state.generations.get_mut(number) {
                watch(generation.import_began, false);
                if generation.stage == LoadStage::Ready {
                    // It stays, and cannot fork the worker that was asked for.
                    fork_failed(state, number, incident, now);
                } else {
                    generation.failed = Some(incident);
                }
            }
        }
        ProcessName::Worker(id) => {
            if let Some(worker) = state.workers.get_mut(id) {
                worker.failed = Some(incident);
            }
        }
    }
    actions
}

/// Files of the app whose change may mend what failed: those that the configuration names, and
/// those of the traceback.
fn suspects(plan: &Plan, traceback: &str) -> Vec<PathBuf> {
    let module = |name: &str| {
        let path = name.split(':').next().unwrap_or(name).replace('.', "/");
        let path = plan.app_dir.join(path);
        [path.with_extension("py"), path.join("__init__.py")]
    };
    let named = [Some(&plan.app), plan.preload.as_ref()].into_iter().flatten();
    let in_traceback = traceback.lines().filter_map(|line| {
        let path = Path::new(line.trim().strip_prefix("File \"")?.split('"').next()?);
        path.starts_with(&plan.app_dir).then(|| path.to_owned())
    });
    named.flat_map(|name| module(name)).chain(in_traceback).collect()
}

/// A parent lives, and could not fork.
fn fork_failed(state: &mut State, generation: u64, incident: Incident, now: Instant) {
    if let Some(id) = state.workers.awaited(generation) {
        state.workers.remove(id);
        state.fail_start(generation, incident, now);
    }
}

/// Notes an exception of the app, and logs it unless others were logged just before.
fn app_error(state: &mut State, id: u64, incident: Incident, now: Instant) {
    let Some(worker) = state.workers.get_mut(id) else { return };
    if let Some(errors) = state.history.app_errors.take_report(now) {
        tracing::warn!(
            pool = state.plan.name,
            worker = id,
            pid = worker.pid(),
            stage = incident.stage,
            reason = incident.reason,
            traceback = incident.traceback,
            errors,
            "the app raised"
        );
    }
    worker.error = Some(incident);
}

fn answered(state: &mut State, from: ProcessName, ping: u64) -> Vec<Action> {
    let Some(contact) = state.contact_mut(from) else { return Vec::new() };
    contact.answered = contact.answered.max(ping.min(contact.pings));
    let ProcessName::Worker(id) = from else { return Vec::new() };
    let Some(worker) = state.workers.get_mut(id) else { return Vec::new() };
    if worker.suspicion.is_some_and(|suspicion| suspicion.ping <= ping) {
        worker.suspicion = None;
        return vec![Action::ClearSuspicion { worker: id }];
    }
    vec![Action::NoteAnswer { worker: id }]
}

#[cfg(test)]
mod tests;
