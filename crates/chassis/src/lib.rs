//! What every long-running role is built on: listeners, limits, drain, admin endpoint, work pool,
//! and the reader of the configuration.
//!
//! Invariant: no other crate holds HTTP server plumbing. A role implements [`http::Answer`], and
//! `chassis` calls it once per request. Never here: routes, caches, models.

pub mod admin;
pub mod config;
mod cores;
mod drain;
pub mod http;
mod listen;
mod work;

pub use cores::Cores;
pub use drain::{Drain, Draining};
pub use http::Limits;
pub use listen::{Listener, bind};
pub use work::{Job, WorkPool, WorkRefused};
