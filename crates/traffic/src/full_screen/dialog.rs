//! Holds what stands between the user and the view: a line, a notice, the keys, a message.
//!
//! Invariant: of the notice and the keys at most one covers the view, for the next key takes it
//! away.
//! Refuses: what a line means (`keys.rs`), and how it is drawn (`draw.rs`).

use screen::{EntryLine, Ink};

use super::curl::ReplayRequest;

/// A line that is being entered.
pub(super) enum Prompt {
    Filter(EntryLine),
    Address(EntryLine),
    Confirm(ReplayRequest),
}

/// What is asked and told.
#[derive(Default)]
pub(super) struct Dialog {
    pub(super) prompt: Option<Prompt>,
    /// Lines over the view, until a key is pressed.
    pub(super) notice: Option<String>,
    pub(super) shows_keys: bool,
    pub(super) message: Option<(Ink, String)>,
}

impl Dialog {
    /// Takes away what covers the view, and returns whether something did.
    pub(super) fn uncover(&mut self) -> bool {
        self.notice.take().is_some() || std::mem::take(&mut self.shows_keys)
    }
}
