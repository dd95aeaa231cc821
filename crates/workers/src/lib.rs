//! Python apps behind Unix sockets.
//!
//! Workers are forked from one parent that holds the app, lent to one request at a time, and
//! replaced before they wear out. [`Workers`] keeps the processes of one pool. [`WorkerPool`] lends
//! its workers to requests of all cores. [`Plan`] says what they are to be.
//!
//! Invariants: a worker is in service only after it has answered. A worker that is to go is lent no
//! more, and goes when it has nothing left to do. What cannot start never displaces what serves.
//! When this process is gone, however it went, so are all of its Python processes.
//! Refuses: to fork this process, and HTTP beyond the canary; whoever holds a [`Loan`] speaks to
//! the socket.

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
pub use pool::{LendError, Loan, WorkerPool};
pub use status::{Incident, Reason, Status, WorkerStatus, in_one_line};
pub use supervise::Workers;

#[cfg(test)]
mod tests;
