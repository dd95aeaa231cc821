//! Defines the checked configuration of the gateway: plain data, with indexes for upstreams.
//!
//! Invariant: a plan holds no state that changes while serving (no atomic, no `dyn`). `plan::check`
//! fills it, and reports every error with its key. A plan of a document with errors holds stand-ins
//! and must not be used. Here are routes, and `Sections` for the binary. Upstreams, rollouts and
//! limits are in `upstream`, `rollout` and `limits`; keys, patterns, lifetimes and compression are
//! beside the code that applies them. A new matcher of a route goes into `route` and `hidden`;
//! other options follow CONTRIBUTING ("Add an option of a route"). `SHARE_END` must equal `WHOLE`
//! of `rollout`, by which users are drawn for arms. `Gateway::new` makes the live objects of a
//! plan. Never here: the form in which a user writes it (`config`), defaults (`check`).

mod check;
mod hidden;
mod limits;
mod rollout;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use cache::StorePlan;
use exchange::{Decision, Filter};

use crate::compression::Compression;
use crate::config::{LimitsConfig, ResolverConfig, RouteConfig, StoreConfig, UpstreamConfig};
use crate::freshness::Policy;
use crate::key::KeyPlan;
use crate::pattern::Pattern;
use crate::user::{UserPlaces, UserSource};

pub use limits::LimitsPlan;
pub(crate) use rollout::{DrawMode, GuardPlan, RolloutPlan};
pub(crate) use upstream::{Balance, HealthPlan, LOOK_INTERVAL, PassivePlan, RetryPlan};
pub use upstream::{PoolUpstream, ServerPlan, UpstreamPlan};

/// The checked configuration of the gateway.
#[derive(Debug)]
pub struct Plan {
    /// Upstreams.
    pub upstreams: Vec<UpstreamPlan>,
    /// Who is asked for the addresses of names.
    pub resolver: resolver::Options,
    /// Routes, in the order of the file.
    pub routes: Vec<Route>,
    /// The store of responses.
    pub store: StorePlan,
    /// The bounds that protect the machine.
    pub limits: LimitsPlan,
}

impl Plan {
    /// Returns a target as a configuration names it.
    pub fn named(&self, target: &Target) -> String {
        match target {
            Target::Upstream(index) => format!("upstream:{}", self.upstreams[*index].name),
            Target::Model(name) => format!("model:{name}"),
            Target::Models => "models".to_owned(),
            Target::Here => "here".to_owned(),
        }
    }

    /// Whether no route needs this upstream but for personalised responses.
    pub fn only_personalises_by(&self, upstream: usize) -> bool {
        self.is_private(&Target::Upstream(upstream))
    }

    /// Whether no route needs this model but for personalised responses. The model API may have
    /// any.
    pub fn only_personalises(&self, model: &str) -> bool {
        self.is_private(&Target::Model(model.into())) && !self.answers(&Target::Models)
    }

    fn is_private(&self, target: &Target) -> bool {
        let is_apart =
            |route: &Route| route.private_arm().is_some_and(|arm| route.target(arm) == target);
        self.routes.iter().any(is_apart) && !self.answers(target)
    }

    /// Whether a target answers for everybody on some route.
    fn answers(&self, target: &Target) -> bool {
        self.routes.iter().flat_map(Route::generic_arms).any(|arm| arm.target == *target)
    }
}

/// A route.
#[derive(Debug)]
pub struct Route {
    /// The name of the route.
    pub name: Arc<str>,
    /// Host, without port; a leading `*` matches any subdomain.
    pub host: Option<Box<str>>,
    /// Path pattern.
    pub pattern: Pattern,
    /// The same in lower case, for upstreams that ignore case.
    pub folded: Pattern,
    /// Methods; empty means all.
    pub methods: Vec<Box<str>>,
    /// Filter over the request.
    pub when: Option<Filter>,
    /// The route matches only while this upstream is healthy.
    pub if_healthy: Option<usize>,
    /// The targets, with the share of the users that each gets. The last one may be that of
    /// personalised responses, for which no user is drawn.
    pub arms: Vec<Arm>,
    /// How responses are stored; `None` if they are not.
    pub cache: Option<CachePlan>,
    /// The parts of a request that its keys cover.
    pub key: KeyPlan,
    /// Whether identical requests share a fetch.
    pub coalesce: Coalesce,
    /// What happens to a request whose client has left.
    pub client_gone: ClientGone,
    /// How long a key is remembered whose response could not be stored.
    pub hit_for_miss: Duration,
    /// Longest time of a fetch.
    pub lease: Duration,
    /// Longest time that a request waits on flights.
    pub wait: Duration,
    /// Which users get a personalised response; `None` if none does.
    pub personalise: Option<Personalise>,
    /// What a collection route does; `None` for any other route.
    pub collect: Option<Collect>,
    /// How much of an exchange is recorded.
    pub record: RecordMode,
    /// Protocols to which a client may upgrade.
    pub upgrade: Option<UpgradePlan>,
    /// Cross-origin access.
    pub cors: Option<Cors>,
    /// Whether clients do not see the decision about them.
    pub hides_decision: bool,
    /// When `Server-Timing` is sent.
    pub server_timing: ServerTiming,
    /// Bytes of a request body.
    pub body_bytes_max: u64,
    /// How responses are encoded; `None` if they pass unchanged.
    pub compress: Option<Compression>,
}

impl Route {
    /// Returns the target of an arm.
    pub fn target(&self, arm: usize) -> &Target {
        &self.arms[arm].target
    }

    /// Returns the arm of personalised responses, if they have a target apart.
    pub fn private_arm(&self) -> Option<usize> {
        self.personalise.as_ref()?.arm
    }

    /// Returns the arms whose targets answer for everybody.
    pub fn generic_arms(&self) -> &[Arm] {
        &self.arms[..self.private_arm().unwrap_or(self.arms.len())]
    }

    /// Returns the longest time of a fetch after this decision.
    pub(crate) fn lease_of(&self, decision: Decision) -> Duration {
        let personalise = self.personalise.as_ref();
        let is_private = decision == Decision::Personalised;
        let timeout = personalise.filter(|_| is_private).and_then(|plan| plan.timeout);
        timeout.unwrap_or(self.lease)
    }

    /// Whether its responses are stored on disk too.
    pub fn is_on_disk(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.namespace.is_some())
    }

    /// Whether the route itself says how long responses are fresh.
    pub fn has_ttl(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.policy.ttl.is_some())
    }

    /// Whether its upstream may be told by the query who asks, and nothing says that it is not.
    ///
    /// Then the upstream may answer with a list of one user's own, which is stored for everybody.
    pub fn may_store_what_a_query_names(&self) -> bool {
        let is_open = |personalise: &Personalise| {
            let has_query = personalise.user.all().iter().any(|source| source.query().is_some());
            !personalise.says_who_identifies && !has_query
        };
        self.personalise.as_ref().is_some_and(is_open)
            && self.cache.is_some()
            && self.collect.is_none()
            && self.key.has_whole_query()
            && self.generic_arms().iter().any(|arm| arm.upstream().is_some())
    }

    /// Returns the headers in which its users are named.
    pub fn user_headers(&self) -> impl Iterator<Item = &str> {
        let places = self.personalise.iter().flat_map(|personalise| personalise.user.all());
        places.filter_map(|place| match place {
            UserSource::Header(name) => Some(&**name),
            _ => None,
        })
    }

    /// Returns a header in which a client names any user, unless it is one for credentials.
    pub fn guessable_user(&self) -> Option<&str> {
        self.user_headers().find(|name| *name != "authorization")
    }

    /// Whether a model answers its users, and an app all others: the app checks nobody then.
    pub fn is_ranked_apart(&self) -> bool {
        let arm = self.personalise.as_ref().and_then(|personalise| personalise.arm);
        arm.is_some_and(|arm| matches!(self.target(arm), Target::Model(_)))
    }

    /// Whether a model answers its users in JSON, though an app answers all others in the format
    /// that the path names.
    pub fn is_ranked_in_other_formats(&self) -> bool {
        self.is_ranked_apart() && self.pattern.allows_other_formats()
    }

    /// Whether a response to a request with cookies is stored only if the origin allows it, though
    /// the route has a `ttl`.
    ///
    /// This is so if the upstream sees cookies that the key does not cover.
    pub fn keeps_nothing_for_cookies(&self) -> bool {
        self.has_ttl() && self.shows_unkeyed_cookies()
    }

    /// Whether the origin alone says what is stored, though it sees cookies that the key does not
    /// cover.
    pub fn stores_what_cookies_may_change(&self) -> bool {
        self.cache.is_some() && !self.has_ttl() && self.shows_unkeyed_cookies()
    }

    fn shows_unkeyed_cookies(&self) -> bool {
        let names_cookies = self.key.rules.as_ref().is_some_and(|rules| rules.names_cookies());
        !names_cookies
            && self.personalise.is_none()
            && self.arms.iter().any(|arm| arm.upstream().is_some())
    }
}

/// The end of all shares, which are counted in millionths.
pub(crate) const SHARE_END: u32 = 1_000_000;

/// A target, with the share of the users that it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// The end of its share in millionths; the share begins at the end of the previous arm.
    pub share_end: u32,
    /// The target of its requests.
    pub target: Target,
}

impl Arm {
    /// Returns the index of its upstream, if its target is one.
    pub fn upstream(&self) -> Option<usize> {
        match self.target {
            Target::Upstream(index) => Some(index),
            _ => None,
        }
    }

    /// Whether models answer.
    pub fn has_models(&self) -> bool {
        matches!(self.target, Target::Model(_) | Target::Models)
    }
}

/// The target of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An upstream, by index.
    Upstream(usize),
    /// A model, by name.
    Model(Box<str>),
    /// The model API, where the path names the model.
    Models,
    /// The gateway itself: nothing is fetched.
    Here,
}

/// How a route stores responses.
#[derive(Debug)]
pub struct CachePlan {
    /// Rules for lifetimes.
    pub policy: Policy,
    /// Whether `Cache-Control` of requests is obeyed.
    pub client_directives: bool,
    /// Whether personalised responses are stored, one per user.
    pub per_user: bool,
    /// Bytes of a stored body.
    pub body_bytes_max: u64,
    /// Whether clients get the fields that name tags.
    pub forward_tags: bool,
    /// The namespace on disk of this route as configured; `None` if the disk is not used.
    pub namespace: Option<u64>,
}

/// Whether identical requests share a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coalesce {
    /// They do not.
    Off,
    /// They share a fetch; its response only if it can be stored.
    #[default]
    On,
    /// They share one response, good or bad.
    Strict,
}

/// What happens to a request whose client has left before the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientGone {
    /// It goes on.
    #[default]
    Finish,
    /// It is given up.
    Drop,
}

/// Which users get a personalised response.
#[derive(Debug)]
pub struct Personalise {
    /// Where the user id is.
    pub user: UserPlaces,
    /// What else names a user to the upstream.
    pub identifies: Vec<UserSource>,
    /// Whether the configuration says what else does, if only that nothing does.
    pub says_who_identifies: bool,
    /// The arm of their responses; `None` if they are those of `to`.
    pub arm: Option<usize>,
    /// Longest time of their fetches; `None` if it is that of all.
    pub timeout: Option<Duration>,
    /// Which of the users with a profile are let in.
    pub rollout: RolloutPlan,
    /// Whether a response for one user leaves with the origin's `Cache-Control`, not `private`.
    pub keeps_cache_control: bool,
}

impl Personalise {
    /// Returns all that names a user: first the source of the id.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &UserSource> + Clone {
        self.user.all().iter().chain(&self.identifies)
    }
}

/// The protocols to which a client of a route may upgrade.
#[derive(Debug)]
pub struct UpgradePlan {
    /// Their names, in lower case.
    pub protocols: Vec<Box<str>>,
    /// Time without a byte after which a tunnel is closed.
    pub idle_timeout: Duration,
}

/// What a collection route does with an event besides recording it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// Forwards it to the target.
    Also,
    /// Answers 204.
    Empty,
    /// Answers a GIF of one pixel.
    Gif,
}

/// How much of an exchange is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RecordMode {
    /// All fields.
    #[default]
    Full,
    /// The main fields.
    Brief,
    /// All fields, of this share of the exchanges.
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
    /// Whether cookies may be sent.
    pub credentials: bool,
    /// Seconds for which a browser may remember a preflight.
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

/// Names of the models of a configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelNames<'n> {
    /// Those with items, which a route may name.
    pub ranking: &'n [&'n str],
    /// Those without, which answer by the model API only.
    pub others: &'n [&'n str],
}

/// The sections of the gateway as a user writes them.
#[derive(Debug, Default)]
pub struct Sections {
    /// `[[upstream]]` with servers, each with its index among all upstreams.
    pub upstreams: Vec<(usize, UpstreamConfig)>,
    /// `[[upstream]]` with workers.
    pub pools: Vec<PoolUpstream>,
    /// `[resolver]`
    pub resolver: ResolverConfig,
    /// `[[route]]`
    pub routes: Vec<RouteConfig>,
    /// `[cache]`
    pub cache: StoreConfig,
    /// `[limits]`
    pub limits: LimitsConfig,
}
