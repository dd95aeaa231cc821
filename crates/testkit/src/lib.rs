//! Development fixtures: loopback origins, a blocking HTTP client, real servers and databases on
//! free ports, a name server, a proxy that loses answers, temporary directories.
//!
//! Invariants: everything binds loopback. Every wait is bounded and ends with a panic that names
//! what was awaited. Dropping a fixture ends its threads and processes. Nothing here sleeps to let
//! something happen: tests wait at a [`Gate`] or for what they expect. Refuses: tokio, HTTP
//! libraries (a fixture must be able to speak wrongly), product nouns.

mod client;
mod counting;
mod engine;
mod gate;
mod mariadb;
mod message;
mod name_server;
mod origin;
mod port;
mod postgres;
mod proxy;
mod reply;
mod server;
mod session;
mod small_disk;

pub use client::{Call, Client, Reply};
pub use counting::{CountingAllocator, allocated, allocated_bytes};
pub use gate::Gate;
pub use mariadb::MariaDb;
pub use message::Headers;
pub use name_server::{Answers, NameServer};
pub use origin::{Origin, OriginRequest};
pub use port::free_port;
pub use postgres::Postgres;
pub use proxy::{Fault, Proxy};
pub use reply::OriginReply;
pub use server::{Absent, Server, notice, require, skip};
pub use session::Session;
pub use small_disk::SmallDisk;
pub use tempfile::TempDir;

use std::time::Duration;

/// How long any fixture waits for what a test expects before it panics.
///
/// Long, because it is only ever used up by a failing test on a slow machine.
pub const FIXTURE_TIMEOUT: Duration = Duration::from_secs(60);
