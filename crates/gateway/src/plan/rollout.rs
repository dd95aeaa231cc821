//! Defines the checked configuration of a rollout: which of the users with a profile are let in.
//!
//! Invariant: plain data; `plan::check::route` checks it. It also says how users are drawn
//! (`DrawMode`) and when the guard steps in (`GuardPlan`). An operator changes the shares of the
//! live `Rollout`, never these. Never here: drawing users and guarding (`rollout`).

use std::time::Duration;

/// The checked configuration of a rollout.
#[derive(Debug, Clone)]
pub struct RolloutPlan {
    /// Makes its draw independent of others.
    pub salt: Box<str>,
    /// How users are drawn.
    pub mode: DrawMode,
    /// The share of users who are let in, from 0 to 1.
    pub rollout: f64,
    /// The share of users who are never let in, from 0 to 1.
    pub hold_out: f64,
    /// When the guard reduces the share; `None` means never.
    pub guard: Option<GuardPlan>,
}

/// How users are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DrawMode {
    /// By a hash of their id.
    #[default]
    Sticky,
    /// Anew for each request.
    Dice,
}

/// When the guard reduces the share of users who are let in.
#[derive(Debug, Clone, Copy)]
pub struct GuardPlan {
    /// Longest time of a response that is not late.
    pub latency: Duration,
    /// Share of the responses that may fail or be late.
    pub errors: f64,
}
