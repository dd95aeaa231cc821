//! A top for PostgreSQL: what a server does, what its sessions waited for, and cancelling exactly
//! the query that was seen.
//!
//! [`FrameSource`] reads [`PgFrame`]s from a server. [`PgView`] makes a [`ViewList`] of them,
//! [`HeaderFigures`] the header.
//! Invariants: the server is only read, but for signals that are checked ([`SignalKind`]). What is
//! read is bounded, and so is what is kept. No password is in anything that is shown or written.
//! Refuses: the environment, the audit trail, HTTP, and threads; the binary has them.

mod activity;
mod address;
mod batch;
mod catalog;
mod config_file;
mod connection;
mod explain;
mod filter;
mod frame;
mod full_screen;
mod group;
mod header;
mod history;
mod listing;
mod record;
mod sample;
mod signal;
mod slow;
mod tls;
mod units;
mod value;
mod view;
mod whole_text;

pub use address::{AddressError, ConnectionSettings, FileError, PgAddress, PgPassword};
pub use batch::BatchFrame;
pub use config_file::{ConfigLines, TopConfig, delay_s};
pub use connection::{APPLICATION_NAME, PgConnection, PgError};
pub use explain::explain;
pub use filter::{FieldMatch, SessionFilter};
pub use frame::{
    BlockedSession, DatabaseTotals, Grid, PgFrame, PgSession, QueryIdentity, ServerFacts,
    SessionClient,
};
pub use full_screen::{SeekStep, TopAction, TopEvent, TopOptions, TopScreen};
pub use group::{FLOOR_S, GroupPlan};
pub use header::{HeaderFigures, HeaderRates, SessionCounts};
pub use history::{WaitChart, WaitHistory, WaitLevel, WaitShare, WaitWindow};
pub use listing::{ListCell, ListColumn, ListOrder, ListRow, ViewList};
pub use record::{FrameRecorder, RecordError, RecordedFrames};
pub use sample::{FrameRequest, FrameSource};
pub use signal::{SignalKind, SignalOutcome, Victim};
pub use slow::{SlowQuery, SlowWatch};
pub use value::SqlScalar;
pub use view::{PgView, ViewedFrames};
pub use whole_text::WholeText;

#[cfg(test)]
mod tests;
