//! Keeps Python apps running as worker processes, and lends them to requests over Unix sockets.
//!
//! [`Workers`] keeps the processes of one pool (`supervise`). [`WorkerPool`] lends them to requests
//! of all cores (`pool`). [`Plan`] says what a pool is to be; `config` checks what users write.
//! `dir`, `wire` and `output` are the ways to a process; `memory` and `process` ask the system
//! about one.
//! Invariants: a worker is in service after its canary was answered; without a canary it need only
//! listen. A retired worker is lent no more. One still busy after its time to drain gets SIGTERM,
//! and SIGKILL 2 seconds later. A new import of the app replaces the one in service only after its
//! first worker is in service. On Linux the processes die with this one (`dir`, the leash);
//! elsewhere they notice a closed connection, unless they hang.
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
