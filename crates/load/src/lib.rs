//! Generates load: HTTP/1.1 requests in an open or a closed loop, idle connections, and datagrams
//! over UDP.
//!
//! A [`Plan`] says where to, how fast and for how long. A [`Requests`] source renders the requests
//! and sees the outcomes. [`run`] drives them from the calling thread, [`run_threads`] from
//! several, and returns a [`Report`]. [`IdleConnections`] are opened and left silent. A [`Blast`]
//! says which datagrams go where, and how fast.
//!
//! Invariants: in an open loop the latency of a request counts from the moment it was meant to be
//! sent. Every measured request that was taken up before the stop ends up in the report, as a reply
//! or as an error. Arrivals that fell due while a late loop slept past the stop are not in it.
//! Requests may go through a [`Channel`] of the caller, such as one of TLS.
//! Refuses: tokio, cryptography, HTTP/2, pinning threads to cores, and judging what it measured.

mod blast;
mod channel;
mod connection_slot;
mod error;
mod event_loop;
mod idle_connections;
mod plan;
mod reply;
mod report;
mod requests;
mod schedule;
mod target;

pub use blast::{Blast, BlastResult};
pub use channel::{Channel, ChannelSource};
pub use error::LoadError;
pub use event_loop::{run, run_threads};
pub use idle_connections::IdleConnections;
pub use plan::{Arrivals, Plan, Ramp, Stop};
pub use reply::{Malformed, ReplyReader};
pub use report::{Errors, Report};
pub use requests::{
    Ask, Loss, LostRequest, Mix, Pulse, ReceivedReply, Request, RequestOutcome, RequestTimes,
    Requests, Template, counter,
};
pub use target::Target;
