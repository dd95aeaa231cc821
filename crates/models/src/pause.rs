//! Lets other work in between the parts of a long computation.
//!
//! Encoders, trees, graphs and clusterings call [`pause`] every few milliseconds or more often; a
//! process says once what happens then. What is called may compute with other models on the same
//! thread: a caller's scratch is its for the whole call.

use std::sync::OnceLock;

static HOOK: OnceLock<fn()> = OnceLock::new();

/// Has `hook` called within long computations, on the thread that computes. The first call counts.
pub fn on_pause(hook: fn()) {
    HOOK.set(hook).ok();
}

/// Lets other work in, where a process has any.
#[inline]
pub fn pause() {
    if let Some(hook) = HOOK.get() {
        hook();
    }
}
