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

use ::screen::{Ink, Input};

use crate::frame::PgFrame;
use tab::LostServer;

impl TopScreen {
    /// Takes an event, and returns what has to be done.
    pub fn apply(&mut self, event: TopEvent) -> Option<TopAction> {
        match event {
            TopEvent::Frame { tab, frame, is_full } => self.take(tab, *frame, is_full),
            TopEvent::Lost { tab, what, reason } => {
                let since_us = self.tabs[tab].lost.as_ref().map_or(self.now_us, |it| it.since_us);
                self.tabs[tab].lost = Some(LostServer { since_us, what, reason });
            }
            TopEvent::Replayed { tab, before, frame, place } => {
                self.keeping_selection(|screen| {
                    screen.tabs[tab].replace(before.map(|it| *it), *frame);
                });
                self.place = Some(place);
            }
            TopEvent::Signalled { tab, kind, results } => {
                prompts::signalled(self, tab, (kind, &results));
            }
            TopEvent::Text(title, text) => self.dialog.show(title, text),
            TopEvent::Done(text) => self.dialog.say(Ink::Fine, text),
            TopEvent::Failed(reason) => self.dialog.say(Ink::Alarm, reason),
            TopEvent::Input(Input::Resized(columns, rows)) => {
                self.options.size = (columns.into(), rows.into());
            }
            TopEvent::Input(input) => return self.input(input),
            TopEvent::Time(now_us) => {
                self.now_us = now_us;
                self.dialog.let_messages_go(now_us);
            }
        }
        None
    }

    fn take(&mut self, tab: usize, mut frame: PgFrame, is_full: bool) {
        // A recording has all views, and the screen keeps the rows of one.
        frame.grids.retain(|name, _| name == self.options.view.name());
        let stays = self.is_paused;
        self.tabs[tab].lost = None;
        self.tabs[tab].history.push(&frame);
        prompts::looked_after(&mut self.dialog, tab, &frame);
        if is_full && tab == self.tab {
            self.keeping_selection(|screen| screen.tabs[tab].push(frame, stays));
        } else if is_full {
            self.tabs[tab].push(frame, false);
        }
    }
}

#[cfg(test)]
mod tests;
