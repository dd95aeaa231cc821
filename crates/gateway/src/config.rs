//! Defines the configuration of the gateway as a user writes it; `plan::check` checks it.
//!
//! Invariant: every key is optional, and an unknown key is an error, so that all errors of a file
//! can be reported at once. The doc comments are the reference manual (`tidegate config
//! reference`): write them for operators. They state the defaults that `plan::check` and
//! `compression` apply, and so do pages of docs/: all change together. A new key also needs a field
//! of `plan` and a check (CONTRIBUTING, "Add an option of a route"). A new duration or share may
//! need a row in `units` of `chassis::config`, and a renamed key needs one in `renamed`. A new
//! secret goes into `SECRETS` of `commands/redact.rs`. Keys also stand as text in examples/, soak/,
//! bench/ and docs/. The keys that a route sets are hashed into its namespace on disk
//! (`plan::check::route`). So a renamed field or variant of `RouteConfig` or its tables hides what
//! is stored; a new key that nobody sets does not. Never here: checks and defaults in code
//! (`plan::check`), workers, `[listen]` and other sections (the binary).

mod either;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Servers that answer misses over HTTP.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Name by which routes refer to it: `upstream:NAME`.
    pub name: Option<String>,
    /// `HOST:PORT` each: an IP address, or a name. Every address of a name is a server, A and AAAA;
    /// the name is looked up again when its TTL has ended (`[resolver]`).
    pub servers: Option<Vec<String>>,
    /// How a server is chosen: `least-loaded` (default) or `consistent-hash` (by cache key).
    pub balance: Option<String>,
    /// `Host` sent to the servers; default: the host that the client asked for.
    pub host: Option<String>,
    /// Longest time to connect; default `2s`.
    pub connect_timeout: Option<String>,
    /// Longest time from the sent request to the head of the response; default `10s`.
    pub answer_timeout: Option<String>,
    /// Longest time between two pieces of a body; default `10s`.
    pub piece_timeout: Option<String>,
    /// Time after which an unused connection is closed; default `60s`, and `0s` keeps none. Choose
    /// less than the servers' own timeout.
    pub idle_timeout: Option<String>,
    /// Open connections per core and server; default 1024. Each address of a name is a server.
    /// Further requests are shed with 503. Half of them may carry uploads that still arrive.
    pub connections_max: Option<usize>,
    /// Tunnels (such as WebSocket) to the upstream at once, beside `connections_max`; default 4096.
    /// Further ones are shed with 503.
    pub tunnels_max: Option<usize>,
    /// Probes; without them only `passive` keeps requests from a server.
    pub health: Option<HealthConfig>,
    /// When failed requests keep others from a server.
    pub passive: Option<PassiveConfig>,
    /// Retries; without this there are none.
    pub retry: Option<RetryConfig>,
}

/// Health probes: a server is healthy while at least `threshold` of its last `window` probes were
/// good.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthConfig {
    /// Path that a probe asks for by GET; a status of 2xx is good.
    pub path: Option<String>,
    /// Time between probes; default `10s`.
    pub interval: Option<String>,
    /// Longest time for the response to a probe; default `5s`.
    pub timeout: Option<String>,
    /// Number of last probes that count; default 20, at most 64.
    pub window: Option<u32>,
    /// Good probes among these that make a server healthy; default 3.
    pub threshold: Option<u32>,
    /// Good probes assumed at start; default `threshold`. With 0 a server is unhealthy at first.
    pub initial: Option<u32>,
}

/// What failed requests say of a server. One that takes no connection gets no request while there
/// is another. Neither does one at which several requests in a row have failed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassiveConfig {
    /// Failed requests in a row; default 3. A connection that breaks off, a timeout and malformed
    /// HTTP are failures, a status is none. With 0 no number of them counts.
    pub failures: Option<u32>,
    /// How long such a server is left out after each further failure; default `10s`.
    pub pause: Option<String>,
}

/// A budget for retries of idempotent requests on another server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryConfig {
    /// Retries allowed as a share of requests; default `20%`.
    pub share: Option<String>,
    /// Retries per second allowed in addition to the share; default 10. With 0 only the share is.
    pub min_per_second: Option<u32>,
}

/// Who is asked for the addresses of `[[upstream]]` names, and how often. `/etc/hosts` goes first.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResolverConfig {
    /// Name servers, `IP` or `IP:PORT` each. Names are then taken as full names, without a search
    /// list. Default: those of `/etc/resolv.conf`, with its search list and options.
    pub servers: Option<Vec<String>>,
    /// Least time between two look-ups of a name, where its TTL is shorter; default `1s`.
    pub ttl_min: Option<String>,
    /// Longest time between two look-ups of a name, where its TTL is longer; default `5m`.
    pub ttl_max: Option<String>,
}

/// A matcher of requests, and what happens to them. The first route that matches wins.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteConfig {
    /// Name in the journal and the metrics; default: the path.
    pub name: Option<String>,
    /// Host without port; `*.example.com` matches any subdomain. Default: every host.
    pub host: Option<String>,
    /// Path pattern: `{name}` captures a segment, `{name:a|b}` one of these values, `{*rest}` the
    /// rest of the path. A value that is not allowed is answered with 404. A capture after the last
    /// dot is a format; a path without it counts as its first value.
    pub path: Option<String>,
    /// Methods; any other is answered with 405 and `Allow`. GET includes HEAD.
    /// Default: GET and HEAD for a route to one model; GET, HEAD and POST for a collection route;
    /// all methods otherwise.
    pub methods: Option<Vec<String>>,
    /// Filter over the request, such as `header.user-agent ~ "McHammer"`. A request that does not
    /// match goes on to the next route.
    pub when: Option<String>,
    /// If true, the route matches only while a server of its upstream is healthy.
    pub if_healthy: Option<bool>,
    /// The target: `upstream:NAME`, `model:NAME` or `models` (the model API). Or a list of
    /// `{ to = …, share = "80%" }`; one entry may leave out its share and gets the rest.
    pub to: Option<ToConfig>,
    /// Stores generic responses; `{}` follows the headers of the origin alone.
    pub cache: Option<CacheConfig>,
    /// Which parts of a request the cache key covers; default: host, path and query as sent.
    pub key: Option<KeyConfig>,
    /// The only request headers, beside those of the key, that a fetch carries whose answer may be
    /// stored, such as `["accept", "accept-language", "x-app-*"]`. Default: all but those by which
    /// a client could change what others get; SECURITY.md lists them.
    pub forward: Option<Vec<String>>,
    /// Whether identical requests share a fetch: `off`, `on` (default), or `strict` (they share its
    /// response too, good or bad).
    pub coalesce: Option<String>,
    /// How long the response of a `strict` route is shared; default `20s`.
    pub hold: Option<String>,
    /// How long a key is remembered whose response could not be stored; default `10s`. Meanwhile
    /// requests for it do not wait for each other. A storable response ends this; `0s` disables it.
    pub hit_for_miss: Option<String>,
    /// Longest time of one fetch; then its lease ends and another request may take over.
    /// Default `15s`, or one and a half times the `answer_timeout` of its upstream if that is
    /// longer; `90s` where a model answers.
    pub lease: Option<String>,
    /// Longest time that a request waits for the fetches of others, in all. Default `20s`, or twice
    /// the `answer_timeout` of the upstream if that is longer; `2m` where a model answers.
    pub wait_timeout: Option<String>,
    /// What happens to a request whose client closes its side of the connection before the
    /// response. `drop` (default for an upstream of workers) gives up its place in the queue, its
    /// worker and its connection to the upstream. `finish` (default otherwise) goes on and sends
    /// the response. It is for clients that close their side after the request, and for work that
    /// must be done in any case. A shared fetch and a collected event always go on.
    pub client_gone: Option<String>,
    /// Which users get a personalised response.
    pub personalise: Option<PersonaliseConfig>,
    /// Collects events: `also` forwards them too, `only` answers them here.
    pub collect: Option<String>,
    /// Response to an event with `collect = "only"`: `empty` (204, default) or `gif` (one pixel).
    pub reply: Option<String>,
    /// How exchanges are recorded: `full` (default), `brief`, `off`, or `sample:0.1`.
    pub record: Option<String>,
    /// Protocols to which a client may upgrade, such as `["websocket"]`. When the upstream agrees
    /// (101), bytes pass both ways unparsed. Default: none. The field `Upgrade` is then ignored.
    pub upgrade: Option<Vec<String>>,
    /// Time without a byte after which an upgraded connection is closed; default `5m`.
    pub tunnel_idle_timeout: Option<String>,
    /// Cross-origin access.
    pub cors: Option<CorsConfig>,
    /// Whether responses carry `Tidegate-Decision`: `on` (default) or `off`. It tells anybody who
    /// sends an id whether that user has a profile.
    pub decision_header: Option<String>,
    /// Whether responses carry `Server-Timing`: `off`, `on` or `debug`. The default `debug` sends
    /// it if the request has the header `tidegate-debug`.
    pub server_timing: Option<String>,
    /// Longest request body; default `8MB`. `0B` takes no body.
    pub body_bytes_max: Option<String>,
    /// Encodes responses as the client accepts: `on` (default), `off`, or a table of rules. A
    /// stored response is then fetched once in the identity encoding, and encoded here. A response
    /// is never encoded if the origin has encoded it, marked it `no-transform` or given it a
    /// digest. Neither are ranges and event streams. A response that is not shared is not encoded
    /// either if a page of another site asks for it with its user's credentials.
    pub compress: Option<CompressConfig>,
}

/// Which responses are encoded, and how.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(untagged)]
pub enum CompressConfig {
    /// `on` or `off`.
    Switch(String),
    /// Rules.
    Rules(CompressRules),
}

/// Rules for encoding responses.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompressRules {
    /// Media types, such as `application/json`; one `*` in each stands for any characters.
    /// Default: text, JSON, JavaScript, XML, SVG, WebAssembly, YAML, plain fonts and icons.
    pub types: Option<Vec<String>>,
    /// Shortest body that is encoded; default `1KB`, and `0B` encodes all.
    pub bytes_min: Option<String>,
    /// Codings offered, of `zstd`, `br` and `gzip`; default all. A client that prefers several
    /// equally gets the smallest that exists. The first is zstd, else gzip; br is made later, for
    /// stored responses that are used often.
    pub encodings: Option<Vec<String>>,
}

/// The target of a route.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(untagged)]
pub enum ToConfig {
    /// One target.
    One(String),
    /// Targets over which the users are split.
    Shared(Vec<ShareConfig>),
}

/// One of several targets.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShareConfig {
    /// The target.
    pub to: Option<String>,
    /// Its share of the users, such as `80%`.
    pub share: Option<String>,
}

/// How responses are stored.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheConfig {
    /// Freshness lifetime, in place of the origin's; default: the origin's. With `0s` an entry is
    /// stale at once.
    /// It never overrides `no-store`, `private` or `Set-Cookie`.
    pub ttl: Option<String>,
    /// Time after its lifetime for which an entry may be used while it is refetched, or if the
    /// upstream fails; default: what the origin says. `0s` is no time.
    pub stale: Option<String>,
    /// The same for failures alone; default: `stale`, else what the origin says, else `1d`. `0s` is
    /// no time.
    /// A response that must be revalidated (`must-revalidate`, `no-cache`, …) is never used stale.
    pub stale_if_error: Option<String>,
    /// Whether to guess a lifetime if neither the route nor the origin states one: a tenth of the
    /// time since `Last-Modified`. `on` (default) or `off`.
    pub heuristic: Option<String>,
    /// What happens to responses with `Set-Cookie`. `store` (default) stores them with the cookie
    /// if the origin itself states a lifetime; never on a route that personalises or has a `ttl`.
    /// `refuse` never stores them. `strip` stores and sends them without the field.
    pub set_cookie: Option<String>,
    /// Whether `Cache-Control` of requests (`no-cache`, `max-age`, …) is obeyed: `heed` or
    /// `ignore`. Default: `ignore` on a route with a `ttl`, `heed` on others.
    pub client_directives: Option<String>,
    /// Stores personalised responses too, one per user; default false.
    pub per_user: Option<bool>,
    /// Stores responses on disk too, where they survive a restart; needs `[cache] disk`. A
    /// personalised response, and one that sets a cookie, stays in memory. Default false.
    pub disk: Option<bool>,
    /// Longest body that is stored; default `4MB`.
    pub body_bytes_max: Option<String>,
    /// Forwards `Surrogate-Key` and `Cache-Tag` to clients, for a cache in front of this one;
    /// default false.
    pub forward_tags: Option<bool>,
}

/// Which parts of a request the cache key covers. A part that the key does not cover is not sent to
/// the upstream either.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyConfig {
    /// Sorts the query fields by name; default false.
    pub sort: Option<bool>,
    /// Query fields that the key does not cover: names, or prefixes such as `utm_*`.
    pub drop: Option<Vec<String>>,
    /// The only query fields that the key covers.
    pub keep: Option<Vec<String>>,
    /// Cookies that the key covers; no other cookie is sent to the upstream, so `[]` sends none.
    /// Default: every cookie is sent and the key covers none. Then a response to a request with
    /// cookies is stored only if the origin itself states a lifetime or `public`.
    pub cookies: Option<Vec<String>>,
    /// Cookies that are not sent to the upstream: names, or prefixes such as `_ga*`.
    pub strip_cookies: Option<Vec<String>>,
    /// Headers that the key covers.
    pub headers: Option<Vec<String>>,
    /// Cookies and headers of which the key distinguishes only some values.
    pub segments: Option<Vec<SegmentConfig>>,
}

/// A cookie or header of which the key distinguishes only some values. The upstream sees one of
/// these values.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// `cookie:NAME` or `header:NAME`.
    pub from: Option<String>,
    /// The values that the key distinguishes.
    pub values: Option<Vec<String>>,
    /// The value that stands for any other, and for none; default: the first of `values`.
    pub default: Option<String>,
}

/// Which users get a personalised response.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersonaliseConfig {
    /// Where the user id is: `cookie:NAME`, `header:NAME`, `query:NAME`, or `path:2` for the second
    /// segment of the path. A list of these names several places; ids in them must not differ.
    pub user: Option<UserConfig>,
    /// What else tells the upstream who asks, in the same form: `["query:user", "header:x-user"]`.
    /// What is fetched for everybody carries none of it, and is not stored where the path names a
    /// user. `[]` says that nothing else does.
    pub identifies: Option<Vec<String>>,
    /// The target of personalised reads, such as `model:NAME`; default: the route's `to`. If it
    /// fails, refuses or is late, the user gets the answer of `to`, with decision `fallback`.
    pub to: Option<String>,
    /// Longest time for a personalised answer; then the user gets everybody's. Default: `1s` with
    /// `to`, else the `lease`.
    pub timeout: Option<String>,
    /// Share of the users with a profile who are let in; default `100%`. Changeable live.
    pub rollout: Option<String>,
    /// Share of the users who are never let in, as a control group; default `0%`. Changeable live.
    pub hold_out: Option<String>,
    /// Makes the draw of this rollout independent of others; default: the name of the route.
    pub salt: Option<String>,
    /// How users are drawn: `sticky` (default: the same users stay in) or `dice` (each request is
    /// drawn anew).
    pub mode: Option<String>,
    /// Lets fewer users in while the personalised response is too slow or fails.
    pub guard: Option<GuardConfig>,
    /// What a personalised response says to other caches: `private` (default) is for its user
    /// alone, `origin` leaves the origin's fields as they are.
    pub cache_control: Option<String>,
}

/// Where a user id is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(untagged)]
pub enum UserConfig {
    /// One place.
    One(String),
    /// Several, of which a request may have any.
    Any(Vec<String>),
}

impl UserConfig {
    /// Returns the places.
    pub fn places(&self) -> &[String] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Any(places) => places,
        }
    }
}

/// The budget of the personalised response.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    /// Longest time of a response that is not late; default `1s`.
    pub latency: Option<String>,
    /// Share of responses that may fail or be late; default `10%`.
    pub errors: Option<String>,
}

/// Cross-origin access (the Fetch standard's CORS protocol).
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorsConfig {
    /// Origins allowed; `*` allows all.
    pub origins: Option<Vec<String>>,
    /// Request headers allowed beyond the simple ones.
    pub headers: Option<Vec<String>>,
    /// Whether cookies may be sent; needs named origins.
    pub credentials: Option<bool>,
    /// How long a browser may remember a preflight; default `10m`. `0s` is never.
    pub max_age: Option<String>,
}

/// The store of responses, in memory and on disk.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Bytes of memory; default `256MB`. At the bound, the entries that are used least are evicted.
    pub bytes: Option<String>,
    /// A second tier on disk, for routes with `cache.disk`.
    pub disk: Option<DiskConfig>,
}

/// The second tier: stored responses on disk.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiskConfig {
    /// Directory, which belongs to this process alone; default `data/cache`. If it cannot be used,
    /// responses are served from memory alone, and an alarm is raised.
    pub dir: Option<String>,
    /// Bytes on disk; default `10GB`. At the bound the oldest responses are evicted, and a response
    /// is written only when its key comes a second time.
    pub bytes: Option<String>,
}

/// Bounds that protect the machine. Requests beyond one are shed with 503 and `Retry-After`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests per core under way beyond the cache; default 4096. The body of a request is
    /// received before it counts.
    pub pending_max: Option<usize>,
    /// Waiters on one flight; default 10000.
    pub waiters_per_key_max: Option<usize>,
    /// Waiters on all flights; default 50000.
    pub waiters_max: Option<usize>,
    /// Open client connections per core; default 50000. One more is answered with 503 and closed.
    pub connections_max: Option<usize>,
    /// Longest user id in bytes; a longer one counts as having no profile. Default 100.
    pub user_bytes_max: Option<usize>,
    /// Bytes that requests under way hold beside the cache: bodies of requests, responses that are
    /// being stored, and what clients have not read yet. Default: an eighth of the memory of the
    /// machine or its control group, at least `64MB`.
    pub inflight_bytes: Option<String>,
    /// Share that one client may hold of `inflight_bytes`, of `connections_max`, of `pending_max`,
    /// and of the connections and tunnels of an upstream; default `50%`. A client is an IPv4
    /// address, or a /64 of IPv6.
    pub client_share: Option<String>,
    /// Reads of one client at once that it keeps out of the cache of a route with `cache`; default
    /// 256. It does so by `Authorization`, `Connection`, a body or `no-store`.
    pub bypass_per_client_max: Option<usize>,
    /// The same for one cache key, over all clients; default 1024.
    pub bypass_per_key_max: Option<usize>,
    /// Longest time between two requests of a connection; default `75s`.
    pub idle_timeout: Option<String>,
    /// Longest time from the first byte of a head to its last; default `20s`.
    pub head_timeout: Option<String>,
    /// Longest time to the next piece of a request body; default `20s`. Then the answer is 408.
    pub receive_timeout: Option<String>,
    /// Longest time spent waiting for one request body; default `5m`. Then the answer is 408.
    pub body_timeout: Option<String>,
    /// Longest time in which a client reads nothing of its response; default `30s`. Then the
    /// connection is closed.
    pub send_timeout: Option<String>,
    /// Bytes per second that a client must send of a body, and read of a response; default `1KB`.
    /// It is the mean over the time spent waiting for the client. `0` sets no least rate.
    pub rate_min: Option<String>,
    /// Time spent waiting for a client after which `rate_min` counts; default `10s`.
    pub rate_grace: Option<String>,
}
