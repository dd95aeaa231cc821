//! Describes calls that nearly all stand at narrow places which are apart.
//!
//! Invariant: two places or more, in order; together they hold nine in ten calls. Whether a quantum
//! explains them is asked before (`quantised.rs`).
//! Never here: wide modes and those that touch, which `modes.rs` finds.

use super::places::CallPlace;
use crate::verdict::{LatencyMode, Modality};

/// Part of the calls that fixed places hold, at least.
const FIXED_MIN: f64 = 0.9;
/// Deviations that fixed places are apart, at least.
const FIXED_APART: f64 = 5.0;

/// Returns the modes of calls that nearly all stand at narrow places, if there are two or more.
pub(super) fn modality(places: &[CallPlace], calls: usize) -> Option<Modality> {
    let at_places: f64 = places.iter().map(|place| place.calls).sum();
    let explained = (at_places / calls as f64).min(1.0);
    let are_apart = places.windows(2).all(|pair| {
        pair[1].at - pair[0].at > FIXED_APART * (pair[0].deviation + pair[1].deviation) / 2.0
    });
    if places.len() < 2 || explained < FIXED_MIN || !are_apart {
        return None;
    }
    let mode = |place: &CallPlace| LatencyMode {
        at_ms: place.at,
        ci_ms: [-1.96, 1.96].map(|errors| place.at + errors * place.error),
        share: place.calls / calls as f64,
        width_ms: 1.349 * place.deviation,
    };
    let modes = places.iter().map(mode).collect();
    Some(Modality { modes, is_fixed: true, explained, ..Modality::default() })
}
