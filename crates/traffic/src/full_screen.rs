//! Holds the state of the full-screen view as plain data: events in, actions out, drawn purely.
//!
//! [`FullScreen::apply`] takes what happens, one event after the other; `keys.rs` says what keys
//! do. [`FullScreen::draw`] draws the state, and changes nothing (`draw.rs`). What has to be done
//! outside comes back as a [`ScreenAction`].
//! Invariants: memory is bounded: `listing` keeps the newest exchanges, `tally` counts all. A pause
//! stops the list, not the counts. With a filter the views count what satisfies it, first of the
//! exchanges that are kept, then of all that come.
//! Refuses: terminals, sockets, threads and clocks; the binary has them.

mod curl;
mod draw;
mod keys;
mod listing;

use std::collections::VecDeque;
use std::time::Duration;

pub use curl::ReplayRequest;

use exchange::Filter;
use screen::{EntryLine, Ink, Input, Scroll};

use crate::limits::WatchCounts;
use crate::owned::OwnedExchange;
use crate::tally::{Dimension, ExchangeTally};
use listing::Listing;

/// Answers of replays that are kept.
const REPLAYS_MAX: usize = 100;
/// Over how long the rate is measured.
const RATE_SPAN: Duration = Duration::from_secs(3);
/// How many samples of it are kept.
const RATE_SAMPLES_MAX: usize = 64;

/// What the screen is told at its beginning.
#[derive(Debug, Clone, Default)]
pub struct ScreenOptions {
    /// What is watched, as it is shown.
    pub source: String,
    /// Whether exchanges come with secret headers, so that `x` shows and hides them.
    pub has_secrets: bool,
}

/// What happens.
pub enum ScreenEvent {
    /// An exchange has come.
    Exchange(Box<OwnedExchange>),
    /// How much was read by now, and how many exchanges the queue had no room for.
    Counts(Box<WatchCounts>, u64),
    /// The source has ended; how, in words.
    Ended(String),
    /// A key, a paste, another size.
    Input(Input),
    /// So much time has passed since the beginning.
    Tick(Duration),
    /// A replay has an answer.
    Answered(Replayed),
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
enum ScreenPage {
    #[default]
    List,
    Detail,
    Top,
    Histogram,
    HeatMap,
}

impl ScreenPage {
    const ALL: [Self; 5] = [Self::List, Self::Detail, Self::Top, Self::Histogram, Self::HeatMap];

    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Detail => "detail",
            Self::Top => "top",
            Self::Histogram => "histogram",
            Self::HeatMap => "heat map",
        }
    }
}

/// A line that is being entered.
enum Prompt {
    Filter(EntryLine),
    Address(EntryLine),
    Confirm(ReplayRequest),
}

/// The columns that `top` is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TopColumn {
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
    const ALL: [Self; 7] =
        [Self::Count, Self::Errors, Self::P50, Self::P90, Self::P99, Self::Bytes, Self::Key];
}

/// The view `top`.
struct Top {
    dimension: Dimension,
    sort: TopColumn,
    ascends: bool,
    scroll: Scroll,
}

/// The exchange that the view `detail` shows; it stays when the list has lost it.
struct Detail {
    number: u64,
    exchange: OwnedExchange,
    /// The first line that is shown.
    first: usize,
}

/// The whole state.
pub struct FullScreen {
    options: ScreenOptions,
    listing: Listing,
    tally: ExchangeTally,
    /// Of what satisfies the filter, where there is one.
    filtered: Option<ExchangeTally>,
    counts: WatchCounts,
    dropped: u64,
    ended: Option<String>,
    samples: VecDeque<(Duration, u64)>,
    page: ScreenPage,
    top: Top,
    routes: Scroll,
    detail: Option<Detail>,
    replays: VecDeque<Replayed>,
    prompt: Option<Prompt>,
    /// Lines over the view, until a key is pressed.
    notice: Option<String>,
    shows_keys: bool,
    message: Option<(Ink, String)>,
    hides_secrets: bool,
    /// Rows of the terminal.
    rows: usize,
}

impl FullScreen {
    /// Begins with nothing seen, on a screen of so many rows.
    pub fn new(options: ScreenOptions, rows: u16) -> Self {
        Self {
            options,
            listing: Listing::default(),
            tally: ExchangeTally::default(),
            filtered: None,
            counts: WatchCounts::default(),
            dropped: 0,
            ended: None,
            samples: VecDeque::new(),
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
            prompt: None,
            notice: None,
            shows_keys: false,
            message: None,
            hides_secrets: false,
            rows: rows.into(),
        }
    }

    /// Takes an event, and returns what has to be done.
    pub fn apply(&mut self, event: ScreenEvent) -> Option<ScreenAction> {
        match event {
            ScreenEvent::Exchange(exchange) => {
                self.tally.add(&exchange);
                if let Some(filtered) = &mut self.filtered
                    && self.listing.selects(&exchange)
                {
                    filtered.add(&exchange);
                }
                self.listing.push(*exchange);
            }
            ScreenEvent::Counts(counts, dropped) => {
                (self.counts, self.dropped) = (*counts, dropped);
            }
            ScreenEvent::Ended(how) => self.ended = Some(how),
            ScreenEvent::Input(input) => return self.input(input),
            ScreenEvent::Tick(now) => {
                self.sample(now);
                self.listing.refresh();
            }
            ScreenEvent::Answered(replayed) => self.answered(replayed),
        }
        None
    }

    /// Returns what was seen, whatever is selected.
    pub fn tally(&self) -> &ExchangeTally {
        &self.tally
    }

    /// What the views count.
    fn counted(&self) -> &ExchangeTally {
        self.filtered.as_ref().unwrap_or(&self.tally)
    }

    fn sample(&mut self, now: Duration) {
        self.samples.push_back((now, self.tally.exchanges() + self.dropped));
        while self.samples.len() > RATE_SAMPLES_MAX
            || self.samples.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) >= RATE_SPAN)
        {
            self.samples.pop_front();
        }
    }

    /// Exchanges a second.
    fn rate(&self) -> f64 {
        let (Some((from, before)), Some((to, after))) = (self.samples.front(), self.samples.back())
        else {
            return 0.0;
        };
        let seconds = to.saturating_sub(*from).as_secs_f64();
        if seconds > 0.0 { (after - before) as f64 / seconds } else { 0.0 }
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing.set_filter(filter);
        self.filtered = self.listing.filter().is_some().then(|| {
            let mut tally = ExchangeTally::default();
            self.listing.kept().filter(|one| self.listing.selects(one)).for_each(|one| {
                tally.add(one);
            });
            tally
        });
    }

    fn answered(&mut self, replayed: Replayed) {
        self.message = Some(match &replayed.outcome {
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

    /// The exchange that keys such as `c` are about.
    fn current(&self) -> Option<(u64, &OwnedExchange)> {
        match (&self.detail, self.page) {
            (Some(detail), ScreenPage::Detail) => Some((detail.number, &detail.exchange)),
            _ => self.listing.selected(),
        }
    }

    fn has_hidden_secrets(&self) -> bool {
        self.hides_secrets || !self.options.has_secrets
    }

    /// Rows for a list.
    fn list_rows(&self) -> usize {
        self.rows.saturating_sub(draw::FRAME_ROWS + 1).max(1)
    }
}

#[cfg(test)]
mod tests;
