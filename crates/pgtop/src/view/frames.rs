//! The frames that a list is made of: plain data.

use crate::frame::PgFrame;

/// Frames to make a list of.
#[derive(Debug, Clone, Copy)]
pub struct ViewedFrames<'f> {
    /// The frame.
    pub frame: &'f PgFrame,
    /// The one to count from.
    pub before: Option<&'f PgFrame>,
    /// Seconds from which a query is slow.
    pub slow_threshold_s: f64,
}
