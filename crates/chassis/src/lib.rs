//! What every long-running role bolts onto: listen, limit, drain, admin endpoint, configuration.
//!
//! The only home of HTTP server plumbing. Never here: routes, caches, models: a role implements
//! [`http::Answer`] and is handed connections.

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
