//! Answers requests by routes, decisions, flights and upstreams, with a cache.
//!
//! Begin with `request`. Invariant: it knows models, profiles, workers and the journal only through
//! the traits in `ports`, which the binary fills. `config` is what a user writes, `plan` the
//! checked form, `gateway` the live objects. It opens sockets to upstreams only. Never here:
//! sockets of clients (`chassis`), the parsers of HTTP (`http1`), stored responses (`cache`),
//! records (`exchange`), SQL, model formats.

mod body;
mod clients;
mod collect;
mod compression;
pub mod config;
mod decide;
mod error;
mod explain;
mod fallback;
mod fetch;
mod flight;
mod freshness;
#[doc(hidden)]
pub mod fuzzing;
mod gateway;
mod invalidate;
mod key;
mod metrics;
mod miss;
mod pattern;
mod plan;
mod ports;
mod purge_request;
mod record;
mod reply;
mod request;
mod request_directives;
mod rollout;
mod route;
mod spelling;
mod trace;
mod unstorable;
mod upgrade;
mod upstream;
mod user;
mod via;

pub use explain::{CacheFacts, EntryFacts, ExplainRequest, Explanation, RouteFacts, UserFacts};
pub use gateway::{Edge, Gateway, Parts, Purged};
pub use metrics::{EXCHANGES, SECONDS};
pub use plan::{
    LimitsPlan, ModelNames, Plan, PoolUpstream, Route, Sections, ServerPlan, UpstreamPlan,
};
pub use ports::{
    Acquire, AnswerSender, Compute, Durable, Loan, NoWorker, Profile, Profiles, QueuedAnswer,
    Recorder, Tap, Workers,
};
pub use purge_request::PurgeRequest;
pub use request::Role;
pub use rollout::{Decided, Draw, Rollout, Shares, place};
pub use upstream::{IsListener, NameStatus, Upstream, UpstreamServer, follow_names, probe};
pub use user::names_somebody_unknown;

#[cfg(test)]
mod tests;
