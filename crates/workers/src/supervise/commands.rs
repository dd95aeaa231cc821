//! Says what the commands of requests and operators mean for a pool.
//!
//! Invariant: as in [`super::messages`], a command is noted in the state, and what else it asks for
//! is returned as actions. Of several abandoned requests of a worker only the first deadline is
//! kept.
//! Refuses: `Reload`, for which files are looked at; `supervisor.rs` does that.

use std::time::Instant;

use super::action::{Action, Complaint};
use super::fleet::{ProcessName, Suspicion};
use super::state::State;
use crate::command::PoolCommand;
use crate::status::Reason;

/// Notes a command; returns what is to be done about it.
pub(super) fn on_command(state: &mut State, command: PoolCommand, now: Instant) -> Vec<Action> {
    match command {
        PoolCommand::Recycle => state.wear_all(),
        PoolCommand::Reload => {}
        PoolCommand::End => state.begin_end(now),
        PoolCommand::Worn(id) => state.wear(id, Reason::Requests),
        PoolCommand::Idle(worker) => return vec![Action::Leave { worker }],
        PoolCommand::Abandoned { worker, deadline } => {
            if let Some(worker) = state.workers.get_mut(worker) {
                worker.abandoned_deadline.get_or_insert(deadline);
            }
        }
        PoolCommand::TimedOut(worker) => {
            let seconds = state.plan.timeout.as_secs_f64();
            let text = format!("a request took longer than {seconds} s");
            let complaint = Complaint { stage: "run", text };
            return vec![Action::Interrupt { worker, complaint }];
        }
        PoolCommand::Suspect(id) => {
            if let Some(worker) = state.workers.get_mut(id)
                && let Some(contact) = worker.contact
            {
                // A request may keep it from answering for as long as requests may take.
                let deadline = worker.suspicion.map(|suspicion| suspicion.deadline);
                let deadline = deadline.unwrap_or(now + state.plan.timeout);
                worker.suspicion = Some(Suspicion { ping: contact.pings + 1, deadline });
                return vec![Action::Ping(ProcessName::Worker(id))];
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
