//! Computes what can be said of measured calls: verdicts, differences and quantiles, with
//! intervals.
//!
//! | item | says, or holds |
//! |---|---|
//! | [`Series`] | the input of [`judge`], [`steps`] and [`attributes`]: columns of calls |
//! | [`judge`] | how the times are distributed |
//! | [`steps`] | which step makes slow calls slow |
//! | [`attributes`] | which property slow calls share |
//! | [`changes`] | since when calls take longer |
//! | [`Split`], [`apart`] | which calls are slow; one call of each burst, which is for [`judge`] |
//! | [`paired`], [`unpaired`] | how two samples of numbers differ |
//! | [`Sorted`] | quantiles of a sample |
//!
//! A [`Verdict`] of an effect has a 95 % interval, and a p-value where a null was tested.
//! [`Verdict::Excess`] tests none, and [`Verdict::Unclear`] gives a reason only. [`calibration`]
//! counts false alarms of combs, humps and clocks, and intervals of quanta and steps; it does not
//! count attributes.
//! Invariant: no clock and no entropy; the same series and seed give the same verdict on one
//! platform. (`ln` and `exp` may round otherwise on another.)
//!
//! Refuses: input and output of any kind. The module `lab::report` puts verdicts together.

mod attributes;
mod bursts;
pub mod calibration;
mod changes;
mod count_tests;
mod distribution;
mod paired;
mod quantiles;
mod random;
mod series;
mod significance;
mod split;
mod steps;
mod verdict;

pub use attributes::{attributes, significant};
pub use bursts::{BURST, apart};
pub use changes::changes;
pub use distribution::judge;
pub use paired::{Difference, paired, unpaired};
pub use quantiles::{Quantile, Sorted};
pub use series::{Attribute, AttributeValues, LeftOut, PhaseColumn, Series};
pub use significance::{MODES_P_MAX, SHARED_RATE_P_MIN};
pub use split::Split;
pub use steps::{Steps, UNTRACKED, steps};
pub use verdict::{
    AttributeVerdict, ChangeVerdict, ChangedQuantity, CombEvidence, ExcessVerdict, Judged,
    LatencyMode, Modality, Outside, PhaseLock, Quantised, StepShare, StepVerdict, TickCost, Tooth,
    Unclear, Verdict,
};
