//! Defines the verdicts on a series, as `--format json` prints them, and how each was judged.
//!
//! Plain data with serde names. The modules `distribution`, `steps` and `attributes` fill it in.
//! [`Verdict::judged`] tells the nominal rate of false alarms and the most draws, from
//! `significance`.
//! Invariant: times are milliseconds, shares are fractions of 1, and p-values are in 0..=1. An
//! effect has a 95 % interval. `Excess` has no p-value, and `Unclear` has a reason only.
//!
//! A renamed field, or another text in `spacing` or `within`, changes the JSON that users and
//! `soak/src/lab/arm.rs` parse; docs/lab/report.md lists the kinds. `lab` compares these two texts
//! (`report.rs`, `report/words.rs`). Its JSON has the fields of [`Judged`] beside a verdict's, so
//! no field of a verdict may have their names. It prints a `reason` within a sentence and adds the
//! full stop. A new variant: "Add a statistic of the laboratory" in CONTRIBUTING.md.
//! Never here: sentences (`report/words.rs`), the difference of two samples (`paired.rs`),
//! quantiles (`quantiles.rs`).

use serde::{Deserialize, Serialize};

use crate::cores::CoresVerdict;
use crate::signals::SignalVerdict;
use crate::significance::{
    ATTRIBUTE_P_MAX, CHANGE_DRAWS, CHANGE_P_MAX, COMB_DRAWS, COMB_FALSE_ALARM_RATE, CORES_P_MAX,
    CORES_SHIFTS, LOCKED_P_MAX, MODES_DRAWS, MODES_P_MAX, SIGNAL_DRAWS, SIGNAL_P_MAX, STEP_P_MAX,
    SWITCH_DRAWS, SWITCH_P_MAX,
};
use crate::switched::SwitchVerdict;

/// One statement about a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// Latencies stand at multiples of a quantum: the teeth of a comb.
    Quantised(Quantised),
    /// Several modes, but no comb.
    Multimodal(Modality),
    /// One mode.
    Unimodal(Modality),
    /// Calls end at multiples of a period of the clock, whenever they began.
    Locked(PhaseLock),
    /// One step makes the slow calls slow.
    Step(StepVerdict),
    /// Slow-downs strike steps in proportion to the time spent there: they come from outside the
    /// request.
    Outside(Outside),
    /// Where the time of slow calls goes, when neither a step nor what is outside is blamed.
    Excess(ExcessVerdict),
    /// Slow calls share a property.
    Attribute(AttributeVerdict),
    /// A signal of the host goes together with slow calls.
    Signal(SignalVerdict),
    /// Which cores of the host stalled together.
    Cores(CoresVerdict),
    /// Whether a switch changes how long calls take, by an experiment.
    Switch(SwitchVerdict),
    /// Calls take longer or shorter, or come more or less often, since some moment.
    Change(ChangeVerdict),
    /// Nothing can be said, for a reason.
    Unclear(Unclear),
}

/// How a verdict was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Judged {
    /// How often it is said of calls of which it is not true: nominally, and at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_alarm_rate: Option<f64>,
    /// How often chance was drawn for its p-value at most; absent where that is calculated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws_max: Option<u32>,
}

impl Verdict {
    /// Returns at which rate of false alarms, and by how many draws, this was judged. Of "unimodal"
    /// it is the rate of "multimodal". "Outside" has none: it is said where no step stands out.
    pub fn judged(&self) -> Judged {
        let (false_alarm_rate, draws_max) = match self {
            Self::Quantised(_) => (Some(COMB_FALSE_ALARM_RATE), Some(COMB_DRAWS)),
            // Either of two tests.
            Self::Multimodal(_) | Self::Unimodal(_) => (Some(2.0 * MODES_P_MAX), Some(MODES_DRAWS)),
            Self::Locked(_) => (Some(LOCKED_P_MAX), None),
            Self::Step(_) => (Some(STEP_P_MAX), None),
            Self::Attribute(_) => (Some(ATTRIBUTE_P_MAX), None),
            Self::Signal(_) => (Some(SIGNAL_P_MAX), Some(SIGNAL_DRAWS)),
            Self::Cores(_) => (Some(CORES_P_MAX), Some(CORES_SHIFTS)),
            Self::Switch(_) => (Some(SWITCH_P_MAX), Some(SWITCH_DRAWS)),
            Self::Change(_) => (Some(CHANGE_P_MAX), Some(CHANGE_DRAWS)),
            Self::Outside(_) | Self::Excess(_) | Self::Unclear(_) => (None, None),
        };
        Judged { false_alarm_rate, draws_max }
    }
}

/// A comb of latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantised {
    /// `linear` (teeth at offset + k quanta) or `geometric` (each tooth twice the one before).
    pub spacing: String,
    /// Milliseconds from tooth to tooth.
    pub quantum_ms: f64,
    /// 95 % interval of the quantum.
    pub ci_ms: [f64; 2],
    /// Milliseconds by which the teeth lie above whole quanta.
    pub offset_ms: f64,
    /// The occupied teeth.
    pub teeth: Vec<Tooth>,
    /// Where undelayed calls stand, in milliseconds; absent where none are seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ms: Option<f64>,
    /// Share of calls that wait: those on teeth, undelayed ones left out.
    pub share: f64,
    /// 95 % interval of the share.
    pub share_ci: [f64; 2],
    /// Share of the time above the base, or else above the fastest call, that they account for.
    pub excess_share: f64,
    /// 95 % interval of that.
    pub excess_share_ci: [f64; 2],
    /// What the comb stands on.
    #[serde(flatten)]
    pub evidence: CombEvidence,
    /// Of which calls it is: the `tail` of slow ones above a base, or `all`.
    pub within: String,
    /// Whether the calls also end in step with a clock of this period: false says that the timer
    /// starts with the call. Absent when the times of the calls are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_locked: Option<bool>,
    /// The known timer of nearest period; a hint, never evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// What a comb stands on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CombEvidence {
    /// Global p-value of the search: calculated where places stand out, else by simulation.
    pub p: f64,
    /// The least p-value that so many draws can give; absent where it is calculated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_least: Option<f64>,
    /// p-value of the quantum on the half of the calls that the search did not see; absent where
    /// all calls were needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_confirmed: Option<f64>,
    /// Chance that the teeth are fixed places which fit a law by accident, even odds before.
    pub p_places: f64,
    /// Share of the calls that stand on a tooth or around the base.
    pub explained: f64,
    /// Whether the calls have times. Without, the order of rows means nothing.
    pub is_ordered: bool,
    /// How the calls leave, if one at a time: `convoy` or `tokens`. Known from their times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<String>,
}

/// A tooth of a comb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tooth {
    /// How many quanta.
    pub k: u64,
    /// Calls on it.
    pub calls: u64,
}

/// How many modes a distribution has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Modality {
    /// The modes, from the fastest.
    pub modes: Vec<LatencyMode>,
    /// p-value of one mode by Silverman's test, calibrated as Hall and York do.
    pub p: f64,
    /// p-value of one mode by Hartigans' dip.
    pub p_dip: f64,
    /// Milliseconds of the finest step that the times are measured in, where that shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_ms: Option<f64>,
    /// Whether the modes are fixed places: narrow ones, which no quantum explains better.
    pub is_fixed: bool,
    /// Share of the calls that stand at the modes.
    pub explained: f64,
}

/// A mode: a hump of the distribution that holds enough calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyMode {
    /// Where it is highest.
    pub at_ms: f64,
    /// 95 % interval of that.
    pub ci_ms: [f64; 2],
    /// Share of the calls between the valleys around it.
    pub share: f64,
    /// Its width: interquartile range of its calls.
    pub width_ms: f64,
}

/// Completion in step with a clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseLock {
    /// Period of the clock.
    pub period_ms: f64,
    /// 95 % interval of the period.
    pub ci_ms: [f64; 2],
    /// Share of the calls that end with the tick.
    pub share: f64,
    /// What the tick may cost; absent when nearly all calls end with it, so that none are left to
    /// hold them against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<TickCost>,
    /// Global p-value.
    pub p: f64,
    /// The known timer of nearest period; a hint, never evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// How much longer calls take that end with a tick.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TickCost {
    /// Milliseconds by which they take longer than the others.
    pub longer_ms: f64,
    /// 95 % interval of that.
    pub ci_ms: [f64; 2],
    /// Part of the time of all calls that this is.
    pub part: f64,
    /// Too little to matter: less than 2 % of all time. That holds for a wait of half a period by
    /// those that end with the tick, and for what they are seen to take longer.
    pub is_slight: bool,
}

/// A step that is slow by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepVerdict {
    /// Its name.
    pub step: String,
    /// Slowdowns in it, over those that its share of the time would get.
    pub ratio: f64,
    /// 95 % interval of the ratio.
    pub ci: [f64; 2],
    /// p-value, after Benjamini and Hochberg over the steps.
    pub p: f64,
    /// Every step's part of what slow calls take longer.
    pub shares: Vec<StepShare>,
}

/// Slowdowns that choose no step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// Slowdowns per second of a step's usual time.
    pub rate_per_second: f64,
    /// Exact 95 % interval of the rate.
    pub ci: [f64; 2],
    /// p-value of the test that all steps share this rate: large.
    pub p: f64,
    /// The step with more slow-downs than that, of calls that arrived during a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_step: Option<String>,
    /// Every step's part of what slow calls take longer.
    pub shares: Vec<StepShare>,
}

/// What slow calls take longer, and which step has most of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExcessVerdict {
    /// The step with the largest part.
    pub step: String,
    /// Its part of the whole excess; over 1 where other steps are shorter in slow calls.
    pub part: f64,
    /// 95 % interval of the part.
    pub ci: [f64; 2],
    /// Milliseconds by which slow calls take longer than typical ones.
    pub whole_ms: f64,
    /// The reason for which neither the step nor what is outside is blamed.
    pub reason: String,
    /// How many calls would very likely have slow-downs enough, where too few are the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_needed: Option<u64>,
    /// Every step's part of what slow calls take longer.
    pub shares: Vec<StepShare>,
}

/// A step's part of the excess of slow calls over typical ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepShare {
    /// The step; `untracked` is what no step covers.
    pub step: String,
    /// Milliseconds by which it is longer in slow calls than in typical ones; all steps add up to
    /// the whole excess.
    pub excess_ms: f64,
    /// 95 % interval of that.
    pub ci_ms: [f64; 2],
    /// Median of the step over all calls.
    pub median_ms: f64,
    /// Share of calls in which the step was slowed down.
    pub slowed: f64,
}

/// A property that slow calls share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeVerdict {
    /// The property.
    pub attribute: String,
    /// Its value; for numbers, the side of a threshold, as `> 4096`.
    pub value: String,
    /// Share of the slow calls that have it.
    pub share_slow: f64,
    /// Share of the typical calls that have it.
    pub share_typical: f64,
    /// 95 % interval of the difference.
    pub ci: [f64; 2],
    /// p-value, after Benjamini and Hochberg over all values looked at.
    pub p: f64,
}

/// A change over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeVerdict {
    /// Milliseconds from the first call's beginning to the change, or to where a ramp begins.
    pub at_ms: f64,
    /// 95 % interval of that, at least a bin to either side.
    pub at_ci_ms: [f64; 2],
    /// Where a ramp ends; absent of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<f64>,
    /// Milliseconds since the Unix epoch at which the first call began, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_unix_ms: Option<f64>,
    /// What changes, the median first.
    pub quantities: Vec<ChangedQuantity>,
    /// Whether it takes back the change before it.
    pub is_recovery: bool,
    /// p-value at most, by simulation.
    pub p: f64,
}

/// What changes, and by how much.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangedQuantity {
    /// `p50`, `p90` or `p99` in milliseconds, `rate` in calls a second, or `share` of the calls
    /// over `over_ms`.
    pub name: String,
    /// The bound of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ms: Option<f64>,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// The change as a part of what was before; of a share, of all calls.
    pub part: f64,
    /// 95 % interval of that.
    pub ci: [f64; 2],
}

/// No verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Unclear {
    /// The reason, in words: `3 calls; at least 15 are needed`, `all calls took 5 ms`.
    pub reason: String,
}
