//! The gateway's configuration as meant: checked, every name resolved, plain data.
//!
//! Invariant: a plan holds no state that changes while serving (no atomic, no `dyn`): the gateway
//! makes live objects of it. `check` fills it, and reports every error with its key.

mod check;
mod rollout;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use cache::StorePlan;
use exchange::Filter;

use crate::compression::Compression;
use crate::config::{LimitsConfig, RouteConfig, StoreConfig, UpstreamConfig};
use crate::freshness::Policy;
use crate::key::KeyPlan;
use crate::pattern::Pattern;
use crate::user::UserSource;

pub(crate) use rollout::{DrawMode, GuardPlan, RolloutPlan};
pub(crate) use upstream::{Balance, HealthPlan, RetryPlan};
pub use upstream::{PoolUpstream, UpstreamPlan};

/// Everything the gateway is to do.
#[derive(Debug)]
pub struct Plan {
    /// Upstreams.
    pub upstreams: Vec<UpstreamPlan>,
    /// Routes, in the order of the file.
    pub routes: Vec<Route>,
    /// The store of responses.
    pub store: StorePlan,
    /// Requests a core under way beyond the cache.
    pub pending_max: usize,
    /// Waiters on one flight.
    pub waiters_per_key_max: usize,
    /// Waiters on all flights.
    pub waiters_max: usize,
    /// Client connections a core.
    pub connections_max: usize,
    /// Longest user id.
    pub user_bytes_max: usize,
}

/// A route.
#[derive(Debug)]
pub struct Route {
    /// Its name.
    pub name: Arc<str>,
    /// Host, without port; a leading `*` matches any subdomain.
    pub host: Option<Box<str>>,
    /// Path.
    pub pattern: Pattern,
    /// Methods; empty means all.
    pub methods: Vec<Box<str>>,
    /// Filter.
    pub when: Option<Filter>,
    /// Matches only while this upstream is healthy.
    pub if_healthy: Option<usize>,
    /// Where it leads, and which share of the users each target gets.
    pub arms: Vec<Arm>,
    /// Storing.
    pub cache: Option<CachePlan>,
    /// What its keys are made of.
    pub key: KeyPlan,
    /// Coalescing.
    pub coalesce: Coalesce,
    /// Requests whose clients left.
    pub client_gone: ClientGone,
    /// How long a key is remembered whose answer could not be stored.
    pub hit_for_miss: Duration,
    /// Time of a fetch.
    pub lease: Duration,
    /// Time of a waiter.
    pub wait: Duration,
    /// Personalisation.
    pub personalise: Option<Personalise>,
    /// Collection.
    pub collect: Option<Collect>,
    /// Recording.
    pub record: RecordMode,
    /// Protocols that are let through.
    pub upgrade: Option<UpgradePlan>,
    /// Cross-origin access.
    pub cors: Option<Cors>,
    /// `Server-Timing`.
    pub server_timing: ServerTiming,
    /// Longest request body.
    pub body_bytes_max: u64,
    /// Encoding of answers; `None` when they pass as they are.
    pub compress: Option<Compression>,
}

impl Route {
    /// Where its requests go, by arm.
    pub fn target(&self, arm: usize) -> &Target {
        &self.arms[arm].target
    }

    /// Whether its answers are stored on disk too.
    pub fn is_on_disk(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.namespace.is_some())
    }

    /// Whether a response to a request with cookies is never stored.
    ///
    /// So it is where the route states the lifetime, and the upstream sees cookies that no key
    /// tells apart.
    pub fn keeps_nothing_for_cookies(&self) -> bool {
        let has_ttl = self.cache.as_ref().is_some_and(|cache| cache.policy.ttl.is_some());
        let names_cookies = self.key.rules.as_ref().is_some_and(|rules| rules.names_cookies());
        has_ttl
            && !names_cookies
            && self.personalise.is_none()
            && self.arms.iter().any(|arm| arm.upstream().is_some())
    }
}

/// Where shares end: they are counted in millionths.
pub(crate) const SHARE_END: u32 = 1_000_000;

/// A target, with the share of the users that it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Where its share ends, in millionths; it begins where that of the arm before ends.
    pub share_end: u32,
    /// Where it leads.
    pub target: Target,
}

impl Arm {
    /// The index of the upstream that it leads to.
    pub fn upstream(&self) -> Option<usize> {
        match self.target {
            Target::Upstream(index) => Some(index),
            _ => None,
        }
    }
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An upstream, by index.
    Upstream(usize),
    /// A model.
    Model(Box<str>),
    /// The model API: the path names the model.
    Models,
    /// Nowhere: the route answers by itself.
    Here,
}

/// How a route stores answers.
#[derive(Debug)]
pub struct CachePlan {
    /// Lifetimes.
    pub policy: Policy,
    /// Obeys `Cache-Control` of requests.
    pub client_directives: bool,
    /// Stores personalised answers, one per user.
    pub per_user: bool,
    /// Longest body stored.
    pub body_bytes_max: u64,
    /// Sends the fields that name tags on to clients.
    pub forward_tags: bool,
    /// Stores on disk too, in the namespace of this route as it is configured.
    pub namespace: Option<u64>,
}

/// Whether identical requests share a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coalesce {
    /// They do not.
    Off,
    /// They do when the answer can be stored.
    #[default]
    On,
    /// They share one answer, good or bad.
    Strict,
}

/// What becomes of a request whose client left before it had its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientGone {
    /// It goes on.
    #[default]
    Finish,
    /// It is given up.
    Drop,
}

/// Who gets an answer of their own.
#[derive(Debug)]
pub struct Personalise {
    /// Where the user id is.
    pub user: UserSource,
    /// Who is let in.
    pub rollout: RolloutPlan,
}

/// The protocols a route lets through.
#[derive(Debug)]
pub struct UpgradePlan {
    /// Their names, in lower case.
    pub protocols: Vec<Box<str>>,
    /// How long a tunnel may be quiet.
    pub idle_timeout: Duration,
}

/// What a collection route does with an event besides recording it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// Forwards it.
    Also,
    /// Answers 204.
    Empty,
    /// Answers a 1×1 GIF.
    Gif,
}

/// How much of an exchange is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RecordMode {
    /// Everything.
    #[default]
    Full,
    /// The main fields.
    Brief,
    /// Everything, of this share of the exchanges.
    Sample(f64),
    /// Nothing.
    Off,
}

/// Cross-origin access.
#[derive(Debug)]
pub struct Cors {
    /// Origins; empty means all.
    pub origins: Vec<Box<str>>,
    /// Request headers, as one list.
    pub headers: Box<str>,
    /// Cookies may be sent.
    pub credentials: bool,
    /// Seconds a preflight may be remembered.
    pub max_age: u64,
}

/// When `Server-Timing` is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerTiming {
    /// Never.
    Off,
    /// Always.
    On,
    /// To requests with the header `tidegate-debug`.
    #[default]
    Debug,
}

/// The gateway's sections as written.
#[derive(Debug, Default)]
pub struct Sections {
    /// `[[upstream]]` with servers, with their places among all upstreams.
    pub upstreams: Vec<(usize, UpstreamConfig)>,
    /// `[[upstream]]` with workers.
    pub pools: Vec<PoolUpstream>,
    /// `[[route]]`
    pub routes: Vec<RouteConfig>,
    /// `[cache]`
    pub cache: StoreConfig,
    /// `[limits]`
    pub limits: LimitsConfig,
}
