//! The statistics of the latency laboratory: a series of measured calls in, verdicts out.
//!
//! [`Series`] is the input of everything here.
//!
//! | function | says |
//! |---|---|
//! | [`judge`] | how the times are distributed |
//! | [`steps`] | which step makes slow calls slow |
//! | [`attributes`] | which property slow calls share |
//! | [`paired`], [`unpaired`] | how two series differ |
//!
//! Each [`Verdict`] has an effect, a 95 % interval, and a p-value or a stated rate of false alarms;
//! [`calibration`] counts whether those rates hold.
//! Invariant: a verdict is a function of the series and of a seed, so it can be repeated.
//!
//! Refuses: input and output of any kind, clocks, and verdicts without a null model.

mod attributes;
mod bursts;
pub mod calibration;
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
pub use distribution::judge;
pub use paired::{Difference, paired, unpaired};
pub use quantiles::{Quantile, Sorted};
pub use series::{Attribute, AttributeValues, LeftOut, PhaseColumn, Series};
pub use significance::{MODES_P_MAX, SHARED_RATE_P_MIN};
pub use split::Split;
pub use steps::{Steps, UNTRACKED, steps};
pub use verdict::{
    AttributeVerdict, ExcessVerdict, Judged, LatencyMode, Modality, Outside, PhaseLock, Quantised,
    StepShare, StepVerdict, TickCost, Tooth, Unclear, Verdict,
};
