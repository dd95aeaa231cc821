//! Runs a drop-in statsd server: receives samples, adds them up by name, flushes them to backends.
//!
//! [`Flavour::Statsd`] and [`Flavour::Perl`] read the files of the servers that they replace, and
//! keep their names and numbers; `docs/STATSD.md` lists the exceptions. [`Flavour::Native`] mends
//! what is odd in those.
//! Life of a sample: `receive` reads it, `line` says what it means, and `table` adds it up. Then
//! `flush` takes it out, `statistics` describes timers, and `backend` shows them.
//! Around that: `server` starts and ends threads, `state` is what they share, `config` and `legacy`
//! make a `plan`. `manage` answers operators, `snapshot` survives a restart. Without a server:
//! `eval`, `munin`, `fuzzing`.
//! Never here: what roles count of themselves (`metrics`); `self_metrics` takes it from there.

mod active_config;
mod backend;
mod budget;
mod clock;
pub mod config;
mod distribution;
mod error;
pub mod eval;
mod figures;
mod flavour;
mod flush;
mod flushing;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod legacy;
mod line;
mod manage;
mod management_connections;
mod members;
pub mod munin;
mod name_costs;
mod names;
mod number;
mod plain_file;
pub mod plan;
mod receive;
mod reload;
mod repeat;
mod samples;
mod self_metrics;
mod server;
mod shutdown;
mod snapshot;
mod state;
mod statistics;
mod status;
mod table;
mod tally;
#[cfg(test)]
mod tests;

pub use error::StatsdError;
pub use flavour::Flavour;
pub use flush::{Flush, FlushedTimer};
pub use legacy::{LegacyError, is_legacy, read as read_legacy};
pub use server::StatsdServer;
pub use state::ServerState;
pub use status::SocketStatus;
