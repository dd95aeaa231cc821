//! Python apps behind Unix sockets: workers forked from one parent that holds the app, lent to one
//! request at a time, replaced before they wear out.
//!
//! [`Workers`] keeps the processes of one pool; [`Pool`] lends its workers to requests of all
//! cores; [`Plan`] says what they are to be.
//!
//! Invariants: a worker is in service only after it has answered; a worker that is to go is lent
//! no more, and goes when it has nothing left to do; what cannot start never displaces what
//! serves; when this process is gone, however it went, so are all of its Python processes.
//! Refuses: HTTP beyond the canary (whoever holds a [`Loan`] speaks to the socket), and to fork
//! this process.

mod canary;
mod command;
pub mod config;
mod dir;
mod error;
mod memory;
mod metrics;
mod output;
mod plan;
mod pool;
mod process;
mod slot;
mod status;
mod supervise;
mod wire;

pub use error::WorkersError;
pub use memory::Memory;
pub use plan::{Canary, HttpServer, Kind, Lifespan, Plan};
pub use pool::{LendError, Loan, Pool};
pub use status::{Incident, Reason, Status, WorkerStatus, in_one_line};
pub use supervise::Workers;

#[cfg(test)]
mod tests;
