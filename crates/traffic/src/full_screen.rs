//! The full-screen view as plain data: events in, actions out, drawn purely.
//!
//! [`FullScreen::apply`] takes what happens, one event after the other, into the state
//! (`state.rs`); `keys.rs` says what keys do. [`FullScreen::draw`] draws the state, and changes
//! nothing (`draw.rs`). What has to be done outside comes back as a [`ScreenAction`].
//! Invariants: memory is bounded: `listing` keeps the newest exchanges, `tallies` count all. A
//! pause stops the list, not the counts. With a filter the views count what satisfies it, first of
//! the exchanges that are kept, then of all that come.
//! Refuses: terminals, sockets, threads and clocks; the binary has them.

mod curl;
mod dialog;
mod draw;
mod keys;
mod listing;
mod source_state;
mod state;
mod tallies;

use std::time::Duration;

pub use curl::ReplayRequest;
pub use state::{FullScreen, Replayed, ScreenAction, ScreenOptions};

use screen::{Ink, Input};

use crate::limits::WatchCounts;
use crate::owned::OwnedExchange;

/// Answers of replays that are kept.
const REPLAYS_MAX: usize = 100;

/// What happens.
pub enum ScreenEvent {
    /// An exchange has come.
    Exchange(Box<OwnedExchange>),
    /// How much was read by now, and how many exchanges nobody had room for.
    Counts(Box<WatchCounts>, u64),
    /// Whether the server that is watched has gone; it is asked again.
    ServerGone(bool),
    /// The source has ended; how, in words.
    Ended(String),
    /// A key, a paste, another size.
    Input(Input),
    /// So much time has passed since the beginning.
    Tick(Duration),
    /// A replay has an answer.
    Answered(Replayed),
}

impl FullScreen {
    /// Takes an event, and returns what has to be done.
    pub fn apply(&mut self, event: ScreenEvent) -> Option<ScreenAction> {
        match event {
            ScreenEvent::Exchange(exchange) => {
                self.tallies.add(&exchange, |exchange| self.listing.selects(exchange));
                self.listing.push(*exchange);
            }
            ScreenEvent::Counts(counts, dropped) => {
                (self.source.counts, self.source.dropped) = (*counts, dropped);
            }
            ScreenEvent::ServerGone(is_gone) => self.source.is_gone = is_gone,
            ScreenEvent::Ended(how) => self.source.ended = Some(how),
            ScreenEvent::Input(input) => return self.input(input),
            ScreenEvent::Tick(now) => {
                self.source.sample(now, self.tallies.all.exchanges());
                self.listing.refresh();
            }
            ScreenEvent::Answered(replayed) => self.answered(replayed),
        }
        None
    }

    fn answered(&mut self, replayed: Replayed) {
        self.dialog.message = Some(match &replayed.outcome {
            Ok((status, us)) => {
                let ms = draw::milliseconds(*us);
                (Ink::Fine, format!("{} answered {status} in {ms} ms", replayed.address))
            }
            Err(error) => (Ink::Alarm, format!("replay to {}: {error}", replayed.address)),
        });
        if self.replays.len() == REPLAYS_MAX {
            self.replays.pop_front();
        }
        self.replays.push_back(replayed);
    }
}

#[cfg(test)]
mod tests;
