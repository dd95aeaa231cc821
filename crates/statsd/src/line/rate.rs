//! Cuts sample rates out of lines as both references do, and divides values by them.
//!
//! Invariant: `scaled` returns a finite number; what would be none is a bad rate. `rate_prefix`
//! returns a rate above 0, or none; rates above 1 pass, as in the references. Natively they do not
//! (`native.rs`).

use super::sink::BadReason;
use crate::number;

/// What a value stands for by its sample rate; too much to be counted is no rate.
pub(super) fn scaled(value: f64, rate: f64) -> Result<f64, BadReason> {
    let scaled = value / rate;
    if scaled.is_finite() { Ok(scaled) } else { Err(BadReason::Rate) }
}

/// A sample rate of digits and points after `@`, as both references cut it out.
pub(super) fn rate_prefix(field: &[u8]) -> Option<f64> {
    let text = field.strip_prefix(b"@")?;
    let length = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    number::perl(&text[..length]).filter(|rate| *rate > 0.0)
}
