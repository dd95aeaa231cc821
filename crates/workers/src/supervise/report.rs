//! What is told to people: the status document and the alarms.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::Supervisor;
use super::fleet::{Stage, Worker};
use crate::process::Process;
use crate::status::{Incident, Reason, Status, WorkerStatus, in_one_line};

/// What is noted for the status alone.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub python: Option<String>,
    pub preload_s: Option<f64>,
    /// From the begin of the generation in service to its first answer.
    pub in_service_s: Option<f64>,
    pub restarts: BTreeMap<&'static str, u64>,
    pub trouble: Option<Incident>,
    pub reload_failed: Option<String>,
    /// Why nothing could be started at all.
    pub spawn_error: Option<io::Error>,
    pub is_hopeless: bool,
    pub had_bus_error: bool,
    /// Private memory of the last worker when it was fresh.
    pub fresh_private: Option<u64>,
    /// Kills for want of memory that the kernel had counted at the last death.
    pub killed_for_memory: u64,
    /// When an exception of the app was told last, and how many were not since.
    pub told_error: Option<Instant>,
    pub errors_untold: u64,
    pub has_ended: bool,
}

impl Supervisor {
    /// Publishes what is known.
    pub(super) fn report(&mut self) {
        let now = Instant::now();
        let current = self.current.and_then(|number| self.generations.get(&number));
        let keepers = self.keepers.values().filter_map(|it| it.member.as_ref());
        let parents = self.generations.values().filter_map(|it| it.member.as_ref());
        let status = Status {
            name: self.pool.name().to_owned(),
            state: self.state(),
            generation: self.current,
            planned: self.pool.plan.workers,
            ready: false,
            queue: 0,
            in_flight: 0,
            python: self.notes.python.clone(),
            kind: current.and_then(|generation| generation.kind.clone()),
            preload_s: self.notes.preload_s,
            reload_s: self.notes.in_service_s,
            restarts: self.notes.restarts.clone(),
            last_error: self.notes.trouble.clone(),
            alarms: self.alarms(now),
            holders: keepers.chain(parents).map(|it| it.process.pid()).collect(),
            workers: self.workers.iter().map(|(id, worker)| show(*id, worker)).collect(),
        };
        self.pool.last_status.set(status);
    }

    fn state(&self) -> &'static str {
        let serves = self.workers.values().any(Worker::is_serving);
        match (self.notes.has_ended || self.end_by.is_some(), serves) {
            (true, _) => "ended",
            (_, true) if self.candidate.is_some() => "reloading",
            (_, true) => "serving",
            (_, false) if self.pace.failures > 0 => "failing",
            (_, false) => "starting",
        }
    }

    /// Whether what failed is still wanted.
    fn lacks_workers(&self) -> bool {
        let serving = self.workers.values().filter(|worker| worker.is_serving());
        let sound = serving.filter(|worker| worker.reason.is_none()).count();
        sound < self.pool.plan.workers || self.has_lost_its_source()
    }

    fn alarms(&self, now: Instant) -> Vec<String> {
        let mut alarms = Vec::new();
        let pool = self.pool.name();
        let reason = || {
            let trouble = self.notes.trouble.as_ref();
            trouble
                .map_or_else(String::new, |it| format!(": {}", in_one_line(&it.stage, &it.reason)))
        };
        if self.notes.is_hopeless && self.end_by.is_none() {
            alarms.push(format!("workers {pool}: none is in service{}", reason()));
        } else if self.pace.failures > 1 && self.lacks_workers() {
            let wait = self.pace.wait(now).as_secs_f64();
            let failures = self.pace.failures;
            alarms.push(format!(
                "workers {pool}: {failures} starts in a row failed, the next is in {wait:.1} s{}",
                reason()
            ));
        }
        if let Some(reason) = &self.notes.reload_failed {
            alarms
                .push(format!("workers {pool}: new code cannot serve, the old goes on: {reason}"));
        }
        if self.notes.had_bus_error {
            let hint = super::exits::SHM_HINT;
            alarms.push(format!("workers {pool}: a worker died of a bus error; {hint}"));
        }
        let born = self.notes.fresh_private.zip(self.pool.plan.memory_max);
        if let Some((fresh, max)) = born.filter(|(fresh, max)| fresh > max) {
            alarms.push(format!(
                "workers {pool}: a fresh worker has {} MB for itself, more than `memory_max` \
                 ({} MB): none is replaced for its memory",
                fresh / 1_000_000,
                max / 1_000_000
            ));
        }
        alarms
    }
}

fn show(id: u64, worker: &Worker) -> WorkerStatus {
    WorkerStatus {
        id,
        pid: worker.process().map(Process::pid),
        generation: worker.generation,
        state: match worker.stage {
            Stage::Starting(_) => "starting",
            Stage::Serving(_) => "free",
            _ => "leaving",
        },
        requests: 0,
        in_flight: 0,
        age_s: Duration::as_secs_f64(&worker.began.elapsed()),
        memory: worker.memory,
        answered_s_ago: None,
        leaves_for: worker.reason.map(Reason::name),
        last_error: worker.error.clone(),
    }
}
