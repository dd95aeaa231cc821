//! Holds the state of the full screen as plain data, and answers what more than one module asks.
//!
//! Invariants: an exchange in detail stays when the list has lost it. With a filter, the views
//! count what satisfies it.
//! Refuses: what keys do (`keys.rs`), how it is drawn (`draw.rs`), events (`full_screen.rs`).

use std::collections::VecDeque;

use exchange::Filter;
use screen::Scroll;

use super::curl::ReplayRequest;
use super::dialog::Dialog;
use super::listing::Listing;
use super::source_state::SourceState;
use super::tallies::Tallies;
use crate::owned::OwnedExchange;
use crate::tally::{Dimension, ExchangeTally};

/// Rows around the view.
pub(super) const FRAME_ROWS: usize = 3;

/// What the screen is told at its beginning.
#[derive(Debug, Clone, Default)]
pub struct ScreenOptions {
    /// What is watched, as it is shown.
    pub source: String,
    /// Whether exchanges come with secret headers, so that `x` shows and hides them.
    pub has_secrets: bool,
}

/// What has to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScreenAction {
    /// The user has seen enough.
    Quit,
    /// A text goes to the clipboard.
    Copy(String),
    /// A request is to be sent.
    Replay(ReplayRequest),
}

/// The answer to a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Which exchange was replayed.
    pub number: u64,
    /// Where to.
    pub address: String,
    /// Status and microseconds, or why there are none.
    pub outcome: Result<(u16, u64), String>,
}

/// The views, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ScreenPage {
    #[default]
    List,
    Detail,
    Top,
    Histogram,
    HeatMap,
}

impl ScreenPage {
    pub(super) const ALL: [Self; 5] =
        [Self::List, Self::Detail, Self::Top, Self::Histogram, Self::HeatMap];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Detail => "detail",
            Self::Top => "top",
            Self::Histogram => "histogram",
            Self::HeatMap => "heat map",
        }
    }
}

/// The columns that `top` is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TopColumn {
    #[default]
    Count,
    Errors,
    P50,
    P90,
    P99,
    Bytes,
    Key,
}

impl TopColumn {
    pub(super) const ALL: [Self; 7] =
        [Self::Count, Self::Errors, Self::P50, Self::P90, Self::P99, Self::Bytes, Self::Key];
}

/// The view `top`.
pub(super) struct Top {
    pub(super) dimension: Dimension,
    pub(super) sort: TopColumn,
    pub(super) ascends: bool,
    pub(super) scroll: Scroll,
}

/// The exchange that the view `detail` shows; it stays when the list has lost it.
pub(super) struct Detail {
    pub(super) number: u64,
    pub(super) exchange: OwnedExchange,
    /// The first line that is shown.
    pub(super) first: usize,
}

/// The whole state.
pub struct FullScreen {
    pub(super) options: ScreenOptions,
    pub(super) listing: Listing,
    pub(super) tallies: Tallies,
    pub(super) source: SourceState,
    pub(super) page: ScreenPage,
    pub(super) top: Top,
    pub(super) routes: Scroll,
    pub(super) detail: Option<Detail>,
    pub(super) replays: VecDeque<Replayed>,
    pub(super) dialog: Dialog,
    pub(super) hides_secrets: bool,
    /// Rows of the terminal.
    pub(super) rows: usize,
}

impl FullScreen {
    /// Begins with nothing seen, on a screen of so many rows.
    pub fn new(options: ScreenOptions, rows: u16) -> Self {
        Self {
            options,
            listing: Listing::default(),
            tallies: Tallies::default(),
            source: SourceState::default(),
            page: ScreenPage::List,
            top: Top {
                dimension: Dimension::Route,
                sort: TopColumn::Count,
                ascends: false,
                scroll: Scroll::default(),
            },
            routes: Scroll::default(),
            detail: None,
            replays: VecDeque::new(),
            dialog: Dialog::default(),
            hides_secrets: false,
            rows: rows.into(),
        }
    }

    /// Returns what was seen, whatever is selected.
    pub fn tally(&self) -> &ExchangeTally {
        &self.tallies.all
    }

    /// What the views count.
    pub(super) fn counted(&self) -> &ExchangeTally {
        self.tallies.counted()
    }

    pub(super) fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing.set_filter(filter);
        self.tallies.filtered = self.listing.filter().is_some().then(|| {
            let mut tally = ExchangeTally::default();
            self.listing.kept().filter(|one| self.listing.selects(one)).for_each(|one| {
                tally.add(one);
            });
            tally
        });
    }

    /// The exchange that keys such as `c` are about.
    pub(super) fn current(&self) -> Option<(u64, &OwnedExchange)> {
        match (&self.detail, self.page) {
            (Some(detail), ScreenPage::Detail) => Some((detail.number, &detail.exchange)),
            _ => self.listing.selected(),
        }
    }

    pub(super) fn has_hidden_secrets(&self) -> bool {
        self.hides_secrets || !self.options.has_secrets
    }

    /// Rows for a list.
    pub(super) fn list_rows(&self) -> usize {
        self.rows.saturating_sub(FRAME_ROWS + 1).max(1)
    }
}
