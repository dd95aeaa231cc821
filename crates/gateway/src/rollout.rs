//! Decides which of the users with a profile are let in, by shares that change while serving.
//!
//! A user's place is a salted hash below a million. The rollout is at the start of that range, the
//! held-out share at its end; a user in both is held out. Invariant: raising one share moves no
//! user of the other while both together are at most 1. With `mode = "dice"` each request is drawn
//! anew; held-out users stay out. The guard judges at most once a second, after 20 personalised
//! responses that bypassed the cache. `request` notes only those, each when its body has ended. It
//! halves the open part if too many were late or failed, to 1 % at least; else it adds a tenth. Its
//! numbers are also in docs/operating/live-changes.md. The kill switch stops all.
//!
//! [`place`] also draws arms (`request`) and sampled records (`record`); changing it moves every
//! user, and breaks evaluations outside, in SQL or Python (docs/decisions/profiles.md). `SHARE_END`
//! of `plan` and the million in `record` must equal `WHOLE`. Never here: profiles and failures
//! (`decide`), what a user gets (`request`), shares at start (`plan::rollout`).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use exchange::Decision;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::plan::{DrawMode, GuardPlan, RolloutPlan};

/// Millionths in the whole: the unit of shares.
const WHOLE: u32 = 1_000_000;
/// Responses that the guard needs for a judgement.
const GUARD_ANSWERS: u32 = 20;
/// Least time between two judgements.
const GUARD_INTERVAL: Duration = Duration::from_secs(1);

/// A rollout whose shares may change while serving.
#[derive(Debug)]
pub struct Rollout {
    salt: Box<str>,
    mode: DrawMode,
    share: AtomicU32,
    held_out: AtomicU32,
    killed: AtomicBool,
    dice: AtomicU64,
    /// The part of the share that the guard allows, in millionths.
    guard_factor: AtomicU32,
    guard: Option<Guard>,
}

#[derive(Debug)]
struct Guard {
    plan: GuardPlan,
    window: Mutex<GuardWindow>,
}

/// The responses since the guard's last judgement.
#[derive(Debug)]
struct GuardWindow {
    since: Instant,
    answers: u32,
    bad: u32,
}

/// Shares of a rollout, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The share of users who are let in.
    pub rollout: f64,
    /// The share of users who are never let in.
    pub hold_out: f64,
    /// The part of `rollout` that the guard allows.
    pub guard: f64,
    /// Whether the kill switch is on, so that nobody is let in.
    pub killed: bool,
}

/// What decides about a user with a profile: the draw, and the shares with which it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// The place of the user, from 0 to 1.
    pub place: f64,
    /// Whether each request is drawn anew (`mode = "dice"`), so that the place counts for the
    /// hold-out only.
    pub by_dice: bool,
    /// The share of users who are let in.
    pub rollout: f64,
    /// The share of users who are never let in.
    pub hold_out: f64,
    /// The part of `rollout` that the brake allows.
    pub guard: f64,
    /// Whether the kill switch is on, so that nobody is let in.
    pub killed: bool,
}

/// A decision, with a word for its reason where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// Its reason.
    pub reason: Option<&'static str>,
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        Self { decision, reason: None }
    }
}

impl Decided {
    /// Returns the generic response in place of the user's own, for this reason.
    pub(crate) fn fallback(reason: &'static str) -> Self {
        Self { decision: Decision::Fallback, reason: Some(reason) }
    }
}

impl Rollout {
    /// Makes the rollout of a plan.
    pub(crate) fn new(plan: &RolloutPlan) -> Self {
        let guard = |plan| {
            let window = GuardWindow { since: Instant::now(), answers: 0, bad: 0 };
            Guard { plan, window: Mutex::new(window) }
        };
        Self {
            salt: plan.salt.clone(),
            mode: plan.mode,
            share: AtomicU32::new(millionths(plan.rollout)),
            held_out: AtomicU32::new(millionths(plan.hold_out)),
            killed: AtomicBool::new(false),
            dice: AtomicU64::new(stdx::unix_micros()),
            guard_factor: AtomicU32::new(WHOLE),
            guard: plan.guard.map(guard),
        }
    }

    /// Decides about a user who has a profile.
    pub fn decide(&self, user: &[u8]) -> Decided {
        if self.killed.load(Ordering::Relaxed) {
            return Decided::fallback("killed");
        }
        let place = self.place(user);
        let held_out = self.held_out.load(Ordering::Relaxed);
        if place >= WHOLE - held_out {
            return Decision::HeldOut.into();
        }
        let share = u64::from(self.share.load(Ordering::Relaxed));
        let factor = u64::from(self.guard_factor.load(Ordering::Relaxed));
        let open = (share * factor / u64::from(WHOLE)) as u32;
        let drawn = match self.mode {
            DrawMode::Sticky => place,
            DrawMode::Dice => self.throw(),
        };
        if drawn < open {
            Decision::Personalised.into()
        } else if drawn < share as u32 {
            Decided::fallback("guard")
        } else {
            Decision::OutsideRollout.into()
        }
    }

    /// Counts a personalised response for the guard.
    pub fn note(&self, took: Duration, failed: bool) {
        self.note_at(Instant::now(), took, failed);
    }

    pub(crate) fn note_at(&self, now: Instant, took: Duration, failed: bool) {
        let Some(guard) = &self.guard else { return };
        let mut window = guard.window.lock();
        window.answers += 1;
        window.bad += u32::from(failed || took > guard.plan.latency);
        if window.answers < GUARD_ANSWERS || now < window.since + GUARD_INTERVAL {
            return;
        }
        let over = f64::from(window.bad) > guard.plan.errors * f64::from(window.answers);
        *window = GuardWindow { since: now, answers: 0, bad: 0 };
        drop(window);
        let factor = self.guard_factor.load(Ordering::Relaxed);
        // Halve over the budget, add a tenth within it, as TCP finds its rate (AIMD). Never below
        // 1 %, because without responses the guard could not see that the backend has recovered.
        let next = if over { (factor / 2).max(WHOLE / 100) } else { factor + WHOLE / 10 };
        self.guard_factor.store(next.min(WHOLE), Ordering::Relaxed);
    }

    /// Returns what decides about a user with a profile.
    pub(crate) fn draw(&self, user: &[u8]) -> Draw {
        let Shares { rollout, hold_out, guard, killed } = self.shares();
        let place = f64::from(self.place(user)) / f64::from(WHOLE);
        let by_dice = matches!(self.mode, DrawMode::Dice);
        Draw { place, by_dice, rollout, hold_out, guard, killed }
    }

    /// Returns the current shares.
    pub fn shares(&self) -> Shares {
        let share = |cell: &AtomicU32| f64::from(cell.load(Ordering::Relaxed)) / f64::from(WHOLE);
        Shares {
            rollout: share(&self.share),
            hold_out: share(&self.held_out),
            guard: share(&self.guard_factor),
            killed: self.killed.load(Ordering::Relaxed),
        }
    }

    /// Changes the share of users who are let in.
    pub fn set_rollout(&self, share: f64) {
        self.share.store(millionths(share), Ordering::Relaxed);
    }

    /// Changes the share of users who are never let in.
    pub fn set_hold_out(&self, share: f64) {
        self.held_out.store(millionths(share), Ordering::Relaxed);
    }

    /// Sets the kill switch: if true, nobody is let in.
    pub fn set_killed(&self, killed: bool) {
        self.killed.store(killed, Ordering::Relaxed);
    }

    /// Returns the place of a user, the same on every machine and after every restart.
    fn place(&self, user: &[u8]) -> u32 {
        place(&self.salt, user)
    }

    fn throw(&self) -> u32 {
        let throw = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        place("dice", &throw.to_le_bytes())
    }
}

/// Returns a place from 0 to a million by salt and id, stable across machines and versions.
pub fn place(salt: &str, id: &[u8]) -> u32 {
    // FNV-1a (Fowler, Noll, Vo) with a finaliser: simple enough to repeat in SQL or Python.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in salt.bytes().chain([0]).chain(id.iter().copied()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The finaliser of MurmurHash3.
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    ((u128::from(hash) * u128::from(WHOLE)) >> 64) as u32
}

fn millionths(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * f64::from(WHOLE)).round() as u32
}

#[cfg(test)]
mod tests;
