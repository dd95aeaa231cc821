//! The gateway's configuration as written; `plan` checks it and says what is meant.
//!
//! Every key is optional here, so that all errors of a file can be reported at once. The doc
//! comments are the reference manual (`tidegate config reference`).

mod either;

use schemars::JsonSchema;
use serde::Deserialize;

/// Whatever answers a miss over HTTP.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Name by which routes refer to it: `upstream:NAME`.
    pub name: Option<String>,
    /// Addresses, `HOST:PORT` each.
    pub servers: Option<Vec<String>>,
    /// How a server is chosen: `least-loaded` (default) or `consistent-hash` (by cache key).
    pub balance: Option<String>,
    /// `Host` sent to the servers; default: what the client asked for.
    pub host: Option<String>,
    /// Time to connect; default `2s`.
    pub connect_timeout: Option<String>,
    /// Time from the sent request to the head of the answer; default `10s`.
    pub answer_timeout: Option<String>,
    /// Time between two pieces of a body; default `10s`.
    pub piece_timeout: Option<String>,
    /// Time that a connection is kept unused; default `60s`. Below the servers' own is best.
    pub idle_timeout: Option<String>,
    /// Open connections a core and server; default 1024. At the bound requests are shed with 503.
    pub connections_max: Option<usize>,
    /// Probes; without them a server is always in rotation.
    pub health: Option<HealthConfig>,
    /// Retries; without them there are none.
    pub retry: Option<RetryConfig>,
}

/// Health probes: a server is healthy while at least `threshold` of its last `window` probes were.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthConfig {
    /// Path asked by GET; 2xx is good.
    pub path: Option<String>,
    /// Time between probes; default `10s`.
    pub interval: Option<String>,
    /// Time for a probe to answer; default `5s`.
    pub timeout: Option<String>,
    /// Probes that count; default 20, at most 64.
    pub window: Option<u32>,
    /// Good ones among them that make a server healthy; default 3.
    pub threshold: Option<u32>,
    /// Good ones assumed at start; default `threshold`.
    pub initial: Option<u32>,
}

/// A budget for retries of idempotent requests on another server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryConfig {
    /// Retries allowed as a share of requests; default `20%`.
    pub share: Option<String>,
    /// Retries a second allowed whatever the share; default 10.
    pub min_per_second: Option<u32>,
}

/// A matcher, with what happens to what it matches. The first route that matches wins.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteConfig {
    /// Name in the journal and the metrics; default: the path.
    pub name: Option<String>,
    /// Host without port; `*.example.com` matches any subdomain. Default: every host.
    pub host: Option<String>,
    /// Path pattern: `{name}` captures a segment, `{name:a|b}` one of these values, `{*rest}` all
    /// that is left. A capture behind a last dot is a format: it may be left out, which means its
    /// first value; a value that is not allowed is 404.
    pub path: Option<String>,
    /// Methods; another one is answered 405 with `Allow`. GET brings HEAD with it.
    /// Default: GET and HEAD for a model's route, GET, HEAD and POST for a collection route, all
    /// methods otherwise.
    pub methods: Option<Vec<String>>,
    /// Filter over the request, such as `header.user-agent ~ "McHammer"`; a request that does not
    /// match goes on to the next route.
    pub when: Option<String>,
    /// The route matches only while a server of its upstream is healthy.
    pub if_healthy: Option<bool>,
    /// `upstream:NAME`, `model:NAME`, `models` (the model API), or a list of
    /// `{ to = …, share = "80%" }`; one entry may leave out its share and gets what is left.
    pub to: Option<ToConfig>,
    /// Stores generic answers; `{}` goes by the origin's headers alone.
    pub cache: Option<CacheConfig>,
    /// What tells requests apart whose answers are stored; default: host, path and query as sent.
    pub key: Option<KeyConfig>,
    /// `off`, `on` (default) or `strict`.
    pub coalesce: Option<String>,
    /// How long a `strict` answer is shared; default `20s`.
    pub hold: Option<String>,
    /// How long it is remembered that the answer for a key could not be stored, so that requests
    /// for it do not wait for each other; a storable answer ends it. Default `10s`; `0s` never.
    pub hit_for_miss: Option<String>,
    /// Time that one fetch may take before its lease ends; default `15s`, or one and a half times
    /// its upstream's time for an answer where that is longer.
    pub lease: Option<String>,
    /// Time that a waiter waits in all; default `20s`, or twice the upstream's time for an answer
    /// where that is longer.
    pub wait: Option<String>,
    /// What becomes of a request whose client closes its side of the connection before it has its
    /// answer. `drop` (default where workers answer) gives it up: its place in a queue, its worker,
    /// its connection to the upstream. `finish` (default elsewhere) carries it to its end and
    /// answers, for clients that say by closing that they will send no more, and for work that is
    /// to be done whoever waits. A fetch that others may wait for, and an event that is collected,
    /// go on either way.
    pub client_gone: Option<String>,
    /// Who gets an answer of their own.
    pub personalise: Option<PersonaliseConfig>,
    /// Collects events: `also` forwards them too, `only` answers them here.
    pub collect: Option<String>,
    /// What `collect = "only"` answers: `empty` (204, default) or `gif` (a 1×1 picture).
    pub reply: Option<String>,
    /// `full` (default), `brief`, `off`, or `sample:0.1`.
    pub record: Option<String>,
    /// Protocols that a client may change to with the upstream, such as `["websocket"]`: when the
    /// upstream agrees (101), bytes go both ways and are not looked at. Default: none; the offer
    /// is ignored and the request answered as any other.
    pub upgrade: Option<Vec<String>>,
    /// How long a connection that changed its protocol may be quiet; default `5m`.
    pub tunnel_idle: Option<String>,
    /// Cross-origin access.
    pub cors: Option<CorsConfig>,
    /// `off`, `on`, or `debug` (default): only for requests with the header `tidegate-debug`.
    pub server_timing: Option<String>,
    /// Longest request body; default `8MB`.
    pub body_bytes_max: Option<String>,
    /// Encodes answers by what the client accepts: `on` (default), `off`, or a table that says
    /// which and how. A stored answer is then fetched once, as it is, whatever clients accept, and
    /// encoded here. Never encoded: what the origin encoded, signed or forbade to transform, parts,
    /// event streams, and what a page of another site asks for with its user's credentials.
    pub compress: Option<CompressConfig>,
}

/// Which answers are encoded, and how.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum CompressConfig {
    /// `on` or `off`.
    Switch(String),
    /// Rules.
    Rules(CompressRules),
}

/// Rules for encoding answers.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompressRules {
    /// Media types, such as `application/json`; one `*` in each stands for any characters.
    /// Default: text, JSON, JavaScript, XML, SVG, WebAssembly, YAML, plain fonts and icons.
    pub types: Option<Vec<String>>,
    /// Shortest body that is encoded; default `1KB`.
    pub min_bytes: Option<String>,
    /// Codings offered, of `zstd`, `br` and `gzip`; default all. Whose client likes several equally
    /// gets the smallest that has been made: br of what is asked for often, zstd, gzip.
    pub encodings: Option<Vec<String>>,
}

/// Where a route leads.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum ToConfig {
    /// One target.
    One(String),
    /// Targets that share the users.
    Shared(Vec<ShareConfig>),
}

/// One of several targets.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShareConfig {
    /// The target.
    pub to: Option<String>,
    /// Its share of the users, such as `80%`.
    pub share: Option<String>,
}

/// How answers are stored.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheConfig {
    /// Freshness lifetime, whatever the origin says of it; default: what the origin says.
    /// It never overrides `no-store`, `private` or `Set-Cookie`.
    pub ttl: Option<String>,
    /// How long past its lifetime an entry may answer while it is fetched anew, or when the
    /// upstream fails; default: what the origin says.
    pub stale: Option<String>,
    /// The same for failures alone; default: `stale`, else what the origin says, else `1d`.
    /// An answer that must be revalidated (`must-revalidate`, `no-cache`, …) is never used stale.
    pub stale_if_error: Option<String>,
    /// Guesses a lifetime of a tenth of the time since `Last-Modified` where neither the route nor
    /// the origin states one: `on` (default) or `off`.
    pub heuristic: Option<String>,
    /// Answers with `Set-Cookie`: `store` them, cookie and all, when the origin itself states a
    /// lifetime (default; never on a route that personalises or has a `ttl`), `refuse` to, or
    /// `strip` the field.
    pub set_cookie: Option<String>,
    /// Whether `Cache-Control` of requests (`no-cache`, `max-age`, …) is `heed`ed or `ignore`d;
    /// default: `ignore` on a route with a `ttl`, `heed` on others.
    pub client_directives: Option<String>,
    /// Stores personalised answers too, one per user; default false.
    pub per_user: Option<bool>,
    /// Stores answers on disk too, where they outlive a restart; needs `[cache] disk`. A user's own
    /// answer, and one that sets a cookie, stays in memory. Default false.
    pub disk: Option<bool>,
    /// Longest body that is stored; default `4MB`.
    pub body_bytes_max: Option<String>,
    /// Sends `Surrogate-Key` and `Cache-Tag` on to clients, for a cache between here and them;
    /// default false.
    pub forward_tags: Option<bool>,
}

/// What tells requests apart whose answers are stored. What is left out of the key is not sent to
/// the upstream either.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyConfig {
    /// Orders the query fields by name; default false.
    pub sort: Option<bool>,
    /// Query fields that do not count: names, or beginnings such as `utm_*`.
    pub drop: Option<Vec<String>>,
    /// The query fields that count; all others do not.
    pub keep: Option<Vec<String>>,
    /// Cookies that count; no other one is sent on, so `[]` sends none. Default: all are sent on
    /// and none counts, and then a request with cookies has its answer stored only if the origin
    /// itself says for how long, or `public`.
    pub cookies: Option<Vec<String>>,
    /// Cookies that are not sent on: names, or beginnings such as `_ga*`.
    pub strip_cookies: Option<Vec<String>>,
    /// Headers that count.
    pub headers: Option<Vec<String>>,
    /// Cookies and headers of which only some values are told apart.
    pub segments: Option<Vec<SegmentConfig>>,
}

/// A cookie or header of which only some values are told apart, and sent on.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// `cookie:NAME` or `header:NAME`.
    pub from: Option<String>,
    /// The values that are told apart.
    pub values: Option<Vec<String>>,
    /// What every other value counts as, and none at all; default: the first of `values`.
    pub default: Option<String>,
}

/// Who gets an answer of their own.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersonaliseConfig {
    /// Where the user id is: `cookie:NAME`, `header:NAME` or `query:NAME`.
    pub user: Option<String>,
    /// Share of the users with a profile who are let in; default `100%`. Changeable live.
    pub rollout: Option<String>,
    /// Share of the users who never are, for comparison; default `0%`. Changeable live.
    pub hold_out: Option<String>,
    /// Makes this rollout's draw independent of others; default: the route's name.
    pub salt: Option<String>,
    /// `sticky` (default): the same users stay in; `dice`: each request is drawn anew.
    pub mode: Option<String>,
    /// When the personalised answer is too slow or fails, fewer get it.
    pub guard: Option<GuardConfig>,
}

/// The budget of the personalised answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    /// Time that an answer may take; default `1s`.
    pub latency: Option<String>,
    /// Share of answers that may fail or be late; default `10%`.
    pub errors: Option<String>,
}

/// Cross-origin access (the Fetch standard's CORS protocol).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorsConfig {
    /// Origins allowed; `*` allows all.
    pub origins: Option<Vec<String>>,
    /// Request headers allowed beyond the simple ones.
    pub headers: Option<Vec<String>>,
    /// Whether cookies may be sent; needs named origins.
    pub credentials: Option<bool>,
    /// How long a browser may remember a preflight; default `10m`.
    pub max_age: Option<String>,
}

/// Room for stored answers, in memory and on disk.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Bytes of memory; default `256MB`. At the bound the entries asked for least make room.
    pub bytes: Option<String>,
    /// A second tier on disk, for routes with `cache.disk`.
    pub disk: Option<DiskConfig>,
}

/// The second tier: stored answers on disk.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiskConfig {
    /// Folder, which belongs to this process alone; default `data/cache`. When it cannot be used,
    /// answers are served from memory alone, and an alarm is raised.
    pub dir: Option<String>,
    /// Bytes of it; default `10GB`. At the bound the oldest answers make room, and only what comes
    /// a second time is written.
    pub bytes: Option<String>,
}

/// Bounds that protect the machine. What exceeds one is shed with 503 and `Retry-After`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests a core that may be under way beyond the cache; default 4096.
    pub pending_max: Option<usize>,
    /// Waiters on one flight; default 10000.
    pub waiters_per_key_max: Option<usize>,
    /// Waiters on all flights; default 50000.
    pub waiters_max: Option<usize>,
    /// Open client connections a core; default 50000. One more is told 503 and closed.
    pub connections_max: Option<usize>,
    /// Longest user id in bytes; a longer one has no profile. Default 100.
    pub user_bytes_max: Option<usize>,
}
