//! Rollouts as planned: who of the users with a profile is let in.

use std::time::Duration;

/// A rollout as planned.
#[derive(Debug, Clone)]
pub struct RolloutPlan {
    /// Makes its draw independent of others.
    pub salt: Box<str>,
    /// How users are drawn.
    pub mode: DrawMode,
    /// The share let in, from 0 to 1.
    pub rollout: f64,
    /// The share never let in, from 0 to 1.
    pub hold_out: f64,
    /// When the share is taken back.
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

/// When the share is taken back.
#[derive(Debug, Clone, Copy)]
pub struct GuardPlan {
    /// Time that a response may take.
    pub latency: Duration,
    /// Share of the responses that may fail or be late.
    pub errors: f64,
}
