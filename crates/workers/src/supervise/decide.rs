//! Decides what is to be done about a pool, from the whole state, after each event.
//!
//! `WHILE_RUNNING` and `WHILE_ENDING` list the rules in order. Each rule is asked once a turn, and
//! sees what the actions of those before it have changed. So another order is another decision
//! (docs/decisions/workers.md).
//! A request or a loss begins a new generation. It is tried with one worker, and promoted when that
//! serves. Workers of one that was given up are killed. The generation in service gets the planned
//! workers, and one more while a worn one waits for its successor. With memory short, an old or
//! worn one leaves first. Surplus workers leave, those of old generations first. A process that
//! holds nothing any more ends. Requests may wait unless nobody serves and starts fail, or the next
//! one is more than a second away.
//! While the pool ends, nothing is tried or started, no request may wait, and workers finish what
//! they have.
//! Invariant: rules are pure. They change nothing, start nothing, log nothing and read no clock.
//! Never here: deadlines and pings (`deadlines.rs`), doing it (`execute.rs`).

use std::time::{Duration, Instant};

use super::action::Action;
use super::fleet::{LoadStage, ProcessName, Worker};
use super::generations::ReloadRequest;
use super::state::State;
use crate::pool::Availability;
use crate::status::Reason;

/// How long requests wait, at most, for the next start where no worker is left.
const NEXT_START_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads the state, and asks for actions.
pub(super) type DecisionRule = fn(&State, Instant) -> Vec<Action>;

const WHILE_RUNNING: &[DecisionRule] = &[
    promote,
    begin_generation,
    clear_given_up,
    ask_for_parent,
    try_candidate,
    fill_up,
    retire_surplus,
    dismiss_generations,
    dismiss_preloads,
    set_availability,
];

const WHILE_ENDING: &[DecisionRule] = &[
    give_candidate_up,
    clear_given_up,
    wind_down,
    dismiss_generations,
    dismiss_preloads,
    set_availability,
];

/// The rules that hold at present, in order.
pub(super) fn rules(state: &State) -> &'static [DecisionRule] {
    if state.is_ending() { WHILE_ENDING } else { WHILE_RUNNING }
}

/// A candidate serves once its first worker does.
fn promote(state: &State, _: Instant) -> Vec<Action> {
    let candidate = state.generations.candidate();
    let serves = |number: &u64| state.workers.of(*number).any(|(_, worker)| worker.is_serving());
    let candidate = candidate.filter(serves);
    candidate.map(|generation| Action::Promote { generation }).into_iter().collect()
}

/// A new import begins when somebody asks for one, or when none can be forked from.
fn begin_generation(state: &State, now: Instant) -> Vec<Action> {
    if let Some(request) = state.reload {
        return vec![Action::Begin(request)];
    }
    let has_candidate = state.generations.candidate().is_some();
    if has_candidate || !state.pace.may_start(now) || !state.has_lost_its_source() {
        return Vec::new();
    }
    vec![Action::Begin(ReloadRequest { reason: "loss", with_new_preload: false })]
}

/// What belongs to a generation that is not going to serve ends at once.
fn clear_given_up(state: &State, _: Instant) -> Vec<Action> {
    let mut actions = Vec::new();
    for (number, generation) in state.generations.iter().filter(|(_, it)| it.is_given_up) {
        let living = state.workers.of(number).filter(|(_, worker)| !worker.is_doomed());
        let reason = Reason::End;
        actions.extend(living.map(|(worker, _)| Action::Kill { worker, reason, complaint: None }));
        match (generation.contact, generation.stage) {
            (None, _) => actions.push(Action::Forget { generation: number }),
            // What imports does not listen.
            (Some(_), LoadStage::Loading(_)) => {
                actions.push(Action::StopImport { generation: number });
            }
            _ => {}
        }
    }
    actions
}

/// A preload process that has loaded forks the parent of the candidate.
fn ask_for_parent(state: &State, _: Instant) -> Vec<Action> {
    let candidate = state.generations.candidate();
    let waits = |number: &u64| {
        let generation = state.generations.get(*number);
        let preload = generation
            .filter(|it| it.stage == LoadStage::Waiting)
            .and_then(|it| state.preloads.get(it.preload?));
        preload.is_some_and(|it| it.stage == LoadStage::Ready && it.contact.is_some())
    };
    let candidate = candidate.filter(waits);
    candidate.map(|generation| Action::AskForParent { generation }).into_iter().collect()
}

/// A candidate that has imported the app is tried with one worker.
fn try_candidate(state: &State, _: Instant) -> Vec<Action> {
    let candidate = state.generations.candidate();
    let is_untried = |number: &u64| {
        state.generations.can_fork(*number) && state.workers.of(*number).next().is_none()
    };
    let candidate = candidate.filter(is_untried);
    candidate.map(|generation| Action::StartWorker { generation }).into_iter().collect()
}

/// The generation in service gets as many workers as planned, and one more while a worn one waits
/// for its successor. With memory short, the worn one leaves first.
fn fill_up(state: &State, now: Instant) -> Vec<Action> {
    let current = state.generations.current().filter(|it| state.generations.can_fork(*it));
    let Some(generation) = current.filter(|_| state.pace.may_start(now)) else {
        return Vec::new();
    };
    let counted = || state.workers.of(generation).filter(|(_, worker)| worker.counts());
    let worn = counted().filter(|(_, worker)| worker.reason.is_some()).count();
    let planned = state.plan.workers;
    let missing = (planned + worn.min(1)).saturating_sub(counted().count());
    let all = state.workers.iter().filter(|(_, worker)| worker.counts()).count();
    let beside_others = (all + missing).saturating_sub(planned).min(missing);
    if beside_others == 0 || !state.is_memory_short() {
        return vec![Action::StartWorker { generation }; missing];
    }
    let mut actions = vec![Action::StartWorker { generation }; missing - beside_others];
    let is_starting = state.workers.iter().any(|(_, worker)| worker.is_starting());
    if actions.is_empty() && !is_starting {
        let first = state.workers.departures(Some(generation)).first().copied();
        actions.extend(first.map(|worker| Action::MakeRoom { worker }));
    }
    actions
}

/// No more workers serve than planned.
fn retire_surplus(state: &State, _: Instant) -> Vec<Action> {
    let surplus = state.workers.serving().count().saturating_sub(state.plan.workers);
    let departures = state.workers.departures(state.generations.current());
    let retire = |worker| Action::Retire { worker, reason: Reason::Reload };
    departures.into_iter().take(surplus).map(retire).collect()
}

/// A generation that neither serves nor is tried ends with its last worker.
fn dismiss_generations(state: &State, _: Instant) -> Vec<Action> {
    let in_use = [state.generations.current(), state.generations.candidate()];
    let mut actions = Vec::new();
    for (number, generation) in state.generations.iter() {
        let is_kept = !state.is_ending() && in_use.contains(&Some(number));
        let has_workers = state.workers.of(number).next().is_some();
        let owes = state.owing.contains(&ProcessName::Parent(number));
        if is_kept || has_workers || (owes && generation.stage != LoadStage::Lost) {
            continue;
        }
        match (generation.contact, generation.stage) {
            (None, LoadStage::Loading(_)) | (Some(_), LoadStage::Leaving(_)) => {}
            (None, _) | (Some(_), LoadStage::Lost) => {
                actions.push(Action::Forget { generation: number });
            }
            (Some(_), _) => actions.push(Action::Dismiss(ProcessName::Parent(number))),
        }
    }
    actions
}

/// A preload process ends with its last generation, unless the next one is forked from it. So what
/// is loaded stays loaded while no import of the app succeeds.
fn dismiss_preloads(state: &State, _: Instant) -> Vec<Action> {
    let usable = state.preloads.usable().filter(|_| !state.is_ending());
    let is_dismissed = |(number, stage): &(u64, LoadStage)| {
        let has_generation = state.generations.iter().any(|(_, it)| it.preload == Some(*number));
        let owes = state.owing.contains(&ProcessName::Preload(*number));
        usable != Some(*number) && !has_generation && !owes && !stage.is_leaving()
    };
    let preloads = state.preloads.iter().map(|(number, it)| (number, it.stage));
    let dismissed = preloads.filter(is_dismissed);
    dismissed.map(|(number, _)| Action::Dismiss(ProcessName::Preload(number))).collect()
}

/// Requests wait while workers are there or about to come.
fn set_availability(state: &State, now: Instant) -> Vec<Action> {
    let serves = |worker: &Worker| worker.is_serving() || worker.is_draining();
    // Once is an accident, and the next try is on its way.
    let failures_max = u32::from(state.generations.current().is_some());
    let is_broken =
        state.pace.failed_starts > failures_max || state.pace.wait(now) > NEXT_START_TIMEOUT;
    let reason = if state.is_ending() {
        "the pool ends"
    } else if is_broken && !state.workers.iter().any(|(_, worker)| serves(worker)) {
        let incident = state.history.last_incident.as_ref();
        incident.map_or("none could be started", |it| it.reason.as_str())
    } else if state.is_unavailable {
        return vec![Action::SetAvailability(Availability::Available)];
    } else {
        return Vec::new();
    };
    vec![Action::SetAvailability(Availability::Unavailable(reason.into()))]
}

/// While the pool ends no generation is tried any more.
fn give_candidate_up(state: &State, _: Instant) -> Vec<Action> {
    let candidate = state.generations.candidate();
    candidate.map(|generation| Action::GiveUp { generation }).into_iter().collect()
}

/// While the pool ends workers finish what they have, and none starts.
fn wind_down(state: &State, _: Instant) -> Vec<Action> {
    let reason = Reason::End;
    let actions = state.workers.iter().filter_map(|(worker, it)| match () {
        () if it.is_starting() => Some(Action::Kill { worker, reason, complaint: None }),
        () if it.is_serving() => Some(Action::Retire { worker, reason }),
        () => None,
    });
    actions.collect()
}

#[cfg(test)]
mod tests;
