//! The full-screen view as plain data: events in, actions out, drawn purely.
//!
//! [`TopScreen::apply`] takes what happens into the state (`state.rs`); `keys.rs` says what keys
//! do. [`TopScreen::draw`] draws the state, and changes nothing (`draw.rs`). What has to be done
//! outside comes back as a [`TopAction`].
//! Invariants: a signal is for the query that was on the screen when its key was pressed, whatever
//! frames have come since. Nothing is signalled from a recording. Memory is bounded: a server's
//! last frames and its history.
//! Refuses: terminals, sockets, threads and clocks; the binary has them.

mod dialog;
mod draw;
mod event;
mod keys;
mod prompts;
mod state;
mod tab;
mod waits;

pub use event::{SeekStep, TopAction, TopEvent};
pub use state::{TopOptions, TopScreen};

#[cfg(test)]
mod tests;
