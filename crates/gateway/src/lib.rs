//! The gateway: routes, decisions, cache, flights, upstreams. Begin with `request`.
//!
//! Knows models, profiles and the journal only through the traits in `ports`. Never here: sockets
//! of clients (`chassis`), SQL, model formats.

mod cache;
mod collect;
mod compress;
pub mod config;
mod decide;
mod demand;
mod disk;
mod entry;
mod error;
mod fetch;
mod flight;
mod freshness;
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod index;
mod interim;
mod invalidate;
mod key;
mod metrics;
mod miss;
mod order;
mod pattern;
mod plan;
mod ports;
mod purge;
mod range;
mod record;
mod request;
mod respond;
mod rollout;
mod route;
mod tags;
mod trace;
mod unstorable;
mod upgrade;
mod upstream;
mod user;

pub use disk::{DiskPlan, DiskStatus};
pub use gateway::{Edge, Gateway};
pub use metrics::{EXCHANGES, SECONDS};
pub use plan::{Plan, PoolUpstream, Sections};
pub use ports::{
    Asker, Compute, Computed, Durable, Gathered, Loan, NoWorker, Profile, Profiles, Question,
    Record, Shown, Taking, Workers,
};
pub use purge::Wanted;
pub use request::Role;
pub use rollout::{Rollout, Shares, place};
pub use upstream::{Upstream, probe};

#[cfg(test)]
mod tests;
