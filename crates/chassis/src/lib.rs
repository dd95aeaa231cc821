//! Carries every long-running role: listeners, HTTP, drain, admin endpoint, work pool.
//!
//! It also reads configuration documents and starts the I/O threads. A role implements
//! [`http::Answer`], and `chassis` calls `answer` once per request. Invariant: of the product
//! crates, only this one serves HTTP. Never here: routes, caches, models, process signals, what a
//! key of the configuration means.

pub mod admin;
mod clients;
pub mod config;
mod cores;
mod drain;
pub mod http;
mod inflight;
mod listen;
mod work;

pub use clients::{ClientBudgets, ClientCounts, ClientId};
pub use cores::Cores;
pub use drain::{Drain, Draining};
pub use http::{ClientHeaders, Limits, TrustedProxies, Underscores};
pub use inflight::{Charge, Inflight};
pub use listen::{Listener, bind, share};
pub use work::{Group, Job, Length, WorkPool, WorkRefused, give_way};
