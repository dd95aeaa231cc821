//! Names from which p-value on each verdict is said, and how many draws combs and humps take at
//! most.
//!
//! Plain constants: `distribution`, `steps` and `attributes` decide by them, and `verdict.rs`
//! states them. A change alters what is said, and the tables of `docs/lab/trust.md` must then be
//! counted again. `calibration` counts the rates of combs, humps, clocks, signals, switches and
//! changes, and `steps/tests.rs` that of steps. Those of cores and attributes are nominal only.
//! Never here: figures of one test, which stand beside it (`comb.rs` has the p-value of the other
//! half, `count_tests.rs` its tables). Nor settings: a rate that a user may change is a rate that
//! nobody has counted.

/// How often "quantised" is said of a sample without a comb for the pattern of its places, at most,
/// nominally. The searches behind take parts of it each (`distribution/quantised.rs`).
pub(crate) const COMB_FALSE_ALARM_RATE: f64 = 0.005;
/// Draws for the p-value of a comb at most.
pub(crate) const COMB_DRAWS: u32 = 1999;
/// p-value at which either test of modes says that there are several.
pub const MODES_P_MAX: f64 = 0.005;
/// Draws for Silverman's p-value at most.
pub(crate) const MODES_DRAWS: u32 = 499;
/// p-value at which calls are in step with a clock.
pub(crate) const LOCKED_P_MAX: f64 = 0.001;
/// False alarms of "step", and of the test that all steps share one rate.
pub(crate) const STEP_P_MAX: f64 = 0.01;
/// Above this the steps are said to share one rate; between, nothing is said.
pub const SHARED_RATE_P_MIN: f64 = 0.05;
/// False discoveries among verdicts on attributes.
pub(crate) const ATTRIBUTE_P_MAX: f64 = 0.01;
/// False discoveries among signals that are said to go together with slow calls.
pub(crate) const SIGNAL_P_MAX: f64 = 0.03;
/// Shifts of a signal at most: enough for one of three hundred signals to stand out.
pub(crate) const SIGNAL_DRAWS: u32 = 9_999;
/// p-value at which cores are said to stall together.
pub(crate) const CORES_P_MAX: f64 = 0.001;
/// Shifts of cores against each other.
pub(crate) const CORES_SHIFTS: u32 = 1_999;
/// False alarms of "switch", over all figures of an experiment.
pub const SWITCH_P_MAX: f64 = 0.01;
/// Draws for the p-value of an experiment, where there are too many orders to try them all.
pub(crate) const SWITCH_DRAWS: u32 = 9_999;
/// p-value of a change over time, for each search.
pub(crate) const CHANGE_P_MAX: f64 = 0.001;
/// Draws for it at most: none may be as large as what was seen.
pub(crate) const CHANGE_DRAWS: u32 = 999;
