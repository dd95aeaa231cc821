//! The latency laboratory: measures calls, and says in words what their times are made of.
//!
//! Every source of measurements (a probe, a load run, a command, a journal, a CSV) becomes a
//! [`Series`]; every statement about one is a [`Verdict`] with an effect, an interval and a stated
//! rate of false alarms.
//! Invariant: a verdict is a function of the series and of a fixed seed, so it can be repeated.
//!
//! Refuses: tokio, sampling profilers, and verdicts without a null model.

mod attributes;
mod bursts;
pub mod calibration;
pub mod command;
mod error;
pub mod from;
mod hdr;
pub mod loading;
mod pages;
mod paired;
pub mod probe;
mod quantiles;
mod random;
mod report;
pub mod saved;
mod series;
mod shape;
mod split;
mod steps;
mod verdict;

pub use attributes::{attributes, convicted};
pub use bursts::BURST;
pub use error::LabError;
pub use hdr::{IntervalLog, write_percentiles};
pub use paired::{Difference, paired, unpaired};
pub use quantiles::{Quantile, Sorted};
pub use report::{Counted, Moments, PhaseSummary, Report, ReportOptions, Versus, Words, in_words};
pub use series::{Attribute, LeftOut, Phase, Series, Values};
pub use shape::{FALSE_ALARM_RATE, judge};
pub use split::Split;
pub use steps::{Steps, UNTRACKED, steps};
pub use verdict::{
    AttributeVerdict, ExcessVerdict, Judged, Lock, Modality, Mode, Outside, Quantised, StepShare,
    StepVerdict, TickCost, Tooth, Unclear, Verdict,
};
