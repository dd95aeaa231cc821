//! Computes what can be said of measured calls: verdicts, differences and quantiles, with
//! intervals.
//!
//! | item | says, or holds |
//! |---|---|
//! | [`Series`] | the input of [`judge`], [`steps`] and [`attributes`]: columns of calls |
//! | [`judge`] | how the times are distributed |
//! | [`steps`] | which step makes slow calls slow |
//! | [`attributes`] | which property slow calls share |
//! | [`signals`] | which signal of the host goes together with slow calls |
//! | [`cores`] | whether all cores stalled at once |
//! | [`changes`] | since when calls take longer |
//! | [`Split`], [`apart`] | which calls are slow; one call of each burst, which is for [`judge`] |
//! | [`paired`], [`unpaired`] | how two samples of numbers differ |
//! | [`switched`] | whether a switch changes how long calls take, by an experiment of blocks |
//! | [`RelativeChange`] | by which part one is slower than the other, with a verdict |
//! | [`together_share`] | how many calls one hump holds |
//! | [`Sorted`], [`share_bounds`] | quantiles of a sample, the interval of a share |
//! | [`rank_correlation`] | how two columns rise together |
//!
//! A [`Verdict`] of an effect has a 95 % interval, and a p-value where a null was tested.
//! [`Verdict::Excess`] tests none, and [`Verdict::Unclear`] gives a reason only. [`calibration`]
//! counts false alarms of combs, humps, clocks, signals, switches and changes, and intervals of
//! quanta and steps; it does not count attributes.
//! Invariant: no clock and no entropy; the same series and seed give the same verdict on one
//! platform. (`ln` and `exp` may round otherwise on another.)
//!
//! Refuses: input and output of any kind. The module `lab::report` puts verdicts together.

mod attributes;
mod bursts;
pub mod calibration;
mod changes;
mod cores;
mod correlation;
mod count_tests;
mod distribution;
mod paired;
mod quantiles;
mod random;
mod relative_change;
mod series;
mod signals;
mod significance;
mod split;
mod steps;
mod stray;
mod switched;
mod verdict;

pub use attributes::{attributes, significant};
pub use bursts::{BURST, apart};
pub use changes::changes;
pub use cores::{CoresVerdict, STALL_MS, cores};
pub use correlation::{RankCorrelation, rank_correlation};
pub use count_tests::share_bounds;
pub use distribution::judge;
pub use paired::{Difference, paired, unpaired};
pub use quantiles::{Quantile, Sorted};
pub use relative_change::{Direction, RelativeChange, TailChange};
pub use series::{Attribute, AttributeValues, CALL_MS_MAX, LeftOut, PhaseColumn, Series};
pub use signals::{SignalColumn, SignalKind, SignalLooks, SignalVerdict, Signals, signals};
pub use significance::{MODES_P_MAX, SHARED_RATE_P_MIN, SWITCH_P_MAX};
pub use split::Split;
pub use steps::{StepExposure, Steps, UNTRACKED, steps};
pub use stray::together_share;
pub use switched::{
    BlockFigures, SwitchBlock, SwitchEffect, SwitchVerdict, Switched, blocks_needed, p_least,
    switched,
};
pub use verdict::{
    AttributeVerdict, ChangeVerdict, ChangedQuantity, CombEvidence, ExcessVerdict, Judged,
    LatencyMode, Modality, Outside, PhaseLock, Quantised, StepShare, StepVerdict, TickCost, Tooth,
    Unclear, Verdict,
};
