//! The gateway's configuration as meant: checked, with every name resolved.
//!
//! `Plan::check` reports every error with the key at which it stands and still returns a plan, so
//! that the errors of other roles come out in the same run.

mod check;
mod key;

use std::sync::Arc;
use std::time::Duration;

use chassis::config::Document;
use exchange::Filter;

use self::check::Check;
use crate::cache::disk::DiskPlan;
use crate::compression::Compression;
use crate::config::{LimitsConfig, RouteConfig, StoreConfig, UpstreamConfig};
use crate::freshness::Policy;
use crate::key::Rules;
use crate::pattern::Pattern;
use crate::ports::Workers;
use crate::rollout::Rollout;
use crate::upgrade::Upgrade;
use crate::upstream::Upstream;
use crate::user::UserSource;

/// Everything the gateway is to do.
#[derive(Debug)]
pub struct Plan {
    /// Upstreams.
    pub upstreams: Vec<Arc<Upstream>>,
    /// Routes, in the order of the file.
    pub routes: Vec<Route>,
    /// Bytes of the cache.
    pub cache_bytes_max: u64,
    /// The cache on disk.
    pub disk: Option<DiskPlan>,
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
    /// Targets with the place (0 to a million) at which each one's share ends.
    pub targets: Vec<(u32, Target)>,
    /// Storing.
    pub cache: Option<CachePlan>,
    /// What keys are made of, where that is not all of the target and nothing else.
    pub rules: Option<Box<Rules>>,
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
    pub upgrade: Option<Upgrade>,
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
    /// Whether its answers are stored on disk too.
    pub fn is_on_disk(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.disk.is_some())
    }

    /// Whether its lifetime is its own, while the upstream sees cookies that no key tells apart.
    pub fn keeps_nothing_for_cookies(&self) -> bool {
        let has_ttl = self.cache.as_ref().is_some_and(|cache| cache.policy.ttl.is_some());
        let names_cookies = self.rules.as_ref().is_some_and(|rules| rules.names_cookies());
        let is_upstream = |target: &(u32, Target)| matches!(target.1, Target::Upstream(_));
        has_ttl
            && !names_cookies
            && self.personalise.is_none()
            && self.targets.iter().any(is_upstream)
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
    /// Heeds `Cache-Control` of requests.
    pub heed: bool,
    /// Stores personalised answers, one per user.
    pub per_user: bool,
    /// Longest body stored.
    pub body_bytes_max: u64,
    /// Sends the fields that name tags on to clients.
    pub forward_tags: bool,
    /// Stores on disk too, in the room of this route as it is configured.
    pub disk: Option<u64>,
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
    pub rollout: Rollout,
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

/// An upstream whose answers workers give.
#[derive(Debug)]
pub struct PoolUpstream {
    /// Its place among all upstreams.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// Time for an answer, both to wait for a worker and for its head.
    pub answer_timeout: Duration,
}

impl Plan {
    /// Checks the sections; `models` are the names that routes may lead to.
    pub fn check(sections: Sections, models: &[&str], document: &mut Document<'_>) -> Self {
        let mut check =
            Check { document, at: String::new(), has_disk: sections.cache.disk.is_some() };
        let servers = sections.upstreams.into_iter().map(|(place, config)| {
            check.at = format!("upstream[{place}]");
            (place, check.upstream(config))
        });
        let mut all: Vec<(usize, Upstream)> = servers.collect();
        all.extend(sections.pools.into_iter().map(|pool| (pool.place, Upstream::of_workers(pool))));
        all.sort_by_key(|(place, _)| *place);
        let mut upstreams: Vec<Arc<Upstream>> = Vec::new();
        for (place, upstream) in all {
            check.at = format!("upstream[{place}]");
            if upstreams.iter().any(|other| other.name == upstream.name) {
                check.wrong("name", format!("two upstreams are called `{}`", upstream.name));
            }
            upstreams.push(Arc::new(upstream));
        }
        let mut routes = Vec::new();
        for (index, config) in sections.routes.into_iter().enumerate() {
            check.at = format!("route[{index}]");
            routes.extend(check.route(config, &upstreams, models));
        }
        check.at = "cache".to_owned();
        let cache_bytes_max = check.size("bytes", sections.cache.bytes, 256_000_000);
        let disk = sections.cache.disk.map(|disk| check.disk(disk));
        let limits = sections.limits;
        Self {
            disk,
            upstreams,
            routes,
            cache_bytes_max,
            pending_max: limits.pending_max.unwrap_or(4096),
            waiters_per_key_max: limits.waiters_per_key_max.unwrap_or(10_000),
            waiters_max: limits.waiters_max.unwrap_or(50_000),
            connections_max: limits.connections_max.unwrap_or(50_000),
            user_bytes_max: limits.user_bytes_max.unwrap_or(100),
        }
    }

    /// Has these workers answer for the upstream `name`, which was planned with some.
    ///
    /// # Panics
    /// When the plan is shared already.
    pub fn staff(&mut self, name: &str, workers: Arc<dyn Workers>) {
        let upstream = self.upstreams.iter_mut().find(|upstream| *upstream.name == *name);
        if let Some(upstream) = upstream {
            let upstream = Arc::get_mut(upstream).expect("a plan is staffed before it is shared");
            upstream.workers = Some(workers);
        }
    }
}
