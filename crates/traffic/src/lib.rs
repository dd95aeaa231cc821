//! Shows exchanges as they happen, from logs of Varnish, journals and access logs.
//!
//! [`watch`] reads a source and writes the exchanges that satisfy a filter; `watch.rs` is its
//! story. A source is told apart by its first lines (`guess`). Records of Varnish become
//! transactions (`varnish`, `assembly`), then views (`summary`); a line of another log is a view by
//! itself (`access`). Filters are those of `exchange`, queries those of Varnish ([`Query`]), and
//! vlogdump's options ([`VlogdumpOptions`]) become filters.
//! Invariants: memory is bounded however long and however broken the source is. Whatever is not
//! used is counted ([`WatchCounts`]). No bytes of a source make it fail.
//! Refuses: sockets, clocks, the environment, and to change what it watches.

mod absent;
mod access;
mod assembly;
mod follow;
mod full_screen;
mod guess;
mod limits;
mod lines;
mod output;
mod owned;
mod query;
mod records;
mod report;
mod seconds;
mod summary;
mod tag;
mod tally;
mod transaction;
mod varnish;
mod view;
mod vlogdump;
mod watch;

pub use assembly::Grouping;
pub use follow::{FollowedFile, JournalSource, Start};
pub use full_screen::{
    FullScreen, ReplayRequest, Replayed, ScreenAction, ScreenEvent, ScreenOptions,
};
pub use guess::InputFormat;
pub use limits::{Rate, WatchCounts, WatchLimits};
pub use output::{OutputFormat, OutputOptions};
pub use owned::OwnedExchange;
pub use query::{Query, QueryError, QueryOptions};
pub use report::ReportAbout;
pub use tally::ExchangeTally;
pub use vlogdump::{OPTION_NAMES, OptionError, VlogdumpOptions};
pub use watch::{WatchError, WatchOptions, Watched, watch, watch_exchanges};
