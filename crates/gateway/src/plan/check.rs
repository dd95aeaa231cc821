//! Checks the gateway's sections, key by key, and resolves every name in them.
//!
//! Invariant: whatever is wrong is reported at its key, and what stands in for it lets the checking
//! go on, so that all errors come out in one run. A key's default stands here, or with the type
//! that it fills.
//! Never here: key rules (`plan::key`), reading TOML (`chassis::config`).

use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

use chassis::config::{Document, nearest};
use exchange::Filter;
use stdx::{ByteSize, Span};

use super::{
    CachePlan, ClientGone, Coalesce, Collect, Cors, Personalise, RecordMode, Route, ServerTiming,
    Target,
};
use crate::cache::disk;
use crate::cache::disk::DiskPlan;
use crate::compression::Compression;
use crate::config::{
    CacheConfig, CompressConfig, CorsConfig, DiskConfig, HealthConfig, PersonaliseConfig,
    RetryConfig, RouteConfig, ToConfig, UpstreamConfig,
};
use crate::freshness::{Policy, SetCookie};
use crate::pattern::Pattern;
use crate::rollout::{Mode, Rollout};
use crate::upgrade::Upgrade;
use crate::upstream::{Balance, Health, HealthPlan, RetryBudget, Server, Upstream};
use crate::user::UserSource;
use http1::accept::{Coding, Codings};

/// The smallest cache on disk: a few of the batches in which it is written.
const DISK_BYTES_MIN: u64 = 16_000_000;

/// The longest body that is stored where the route does not say.
const STORED_BODY_BYTES_MAX: u64 = 4_000_000;

pub(super) struct Check<'d, 't> {
    pub(super) document: &'d mut Document<'t>,
    /// The table that is being checked, such as `route[2]`.
    pub(super) at: String,
    /// Whether there is a cache on disk that routes may store in.
    pub(super) has_disk: bool,
}

impl Check<'_, '_> {
    pub(super) fn wrong(&mut self, key: &str, message: impl Into<String>) {
        let key = if key.is_empty() { self.at.clone() } else { format!("{}.{key}", self.at) };
        self.document.wrong(&key, message);
    }

    pub(super) fn upstream(&mut self, config: UpstreamConfig) -> Upstream {
        let name = self.required("name", config.name).unwrap_or_default();
        let health = config.health.map(|health| self.health(health));
        let addresses = config.servers.unwrap_or_default();
        if addresses.is_empty() {
            self.wrong("servers", "name at least one server, such as [\"127.0.0.1:9000\"]");
        }
        let mut servers = Vec::new();
        for address in addresses {
            match address.to_socket_addrs().ok().and_then(|mut found| found.next()) {
                Some(address) => {
                    servers.push(Server { address, health: Health::new(health.as_ref()) });
                }
                None => self.wrong("servers", format!("`{address}` is no HOST:PORT that resolves")),
            }
        }
        let balances =
            [("least-loaded", Balance::LeastLoaded), ("consistent-hash", Balance::ConsistentHash)];
        Upstream {
            name: name.into(),
            servers,
            workers: None,
            balance: self.choice("balance", config.balance, &balances),
            host: config.host.map(Into::into),
            connect_timeout: self.span("connect_timeout", config.connect_timeout, 2_000),
            answer_timeout: self.span("answer_timeout", config.answer_timeout, 10_000),
            piece_timeout: self.span("piece_timeout", config.piece_timeout, 10_000),
            idle_timeout: self.span("idle_timeout", config.idle_timeout, 60_000),
            connections_max: config.connections_max.unwrap_or(1024),
            retry: config.retry.map(|retry| self.retry(retry)),
            health,
        }
    }

    fn health(&mut self, config: HealthConfig) -> HealthPlan {
        let path = config.path.unwrap_or_default();
        if !path.starts_with('/') {
            self.wrong("health.path", "a path that begins with `/` is needed");
        }
        let window = config.window.unwrap_or(20);
        let threshold = config.threshold.unwrap_or(3);
        if window > 64 || threshold > window || threshold == 0 {
            self.wrong("health.threshold", "needs 1 ≤ threshold ≤ window ≤ 64");
        }
        HealthPlan {
            path: path.into(),
            interval: self.span("health.interval", config.interval, 10_000),
            timeout: self.span("health.timeout", config.timeout, 5_000),
            window: window.min(64),
            threshold,
            initial: config.initial.unwrap_or(threshold).min(64),
        }
    }

    fn retry(&mut self, config: RetryConfig) -> RetryBudget {
        let share = self.share("retry.share", config.share, 0.2);
        RetryBudget::new(share, config.min_per_second.unwrap_or(10))
    }

    pub(super) fn route(
        &mut self,
        config: RouteConfig,
        upstreams: &[Arc<Upstream>],
        models: &[&str],
    ) -> Option<Route> {
        let room = disk::room(&config);
        let path = self.required("path", config.path);
        let pattern = path
            .as_ref()
            .and_then(|path| Pattern::parse(path).map_err(|why| self.wrong("path", why)).ok());
        let collect = self.collect(config.collect, config.reply);
        let here = matches!(collect, Some(Collect::Empty | Collect::Gif));
        let targets = self.targets(config.to, here, upstreams, models);
        let (lease_ms, wait_ms) = patience_ms(&targets, upstreams);
        let when = config.when.and_then(|text| {
            Filter::parse(&text).map_err(|error| self.wrong("when", error.to_string())).ok()
        });
        let name: Arc<str> = config.name.or(path).unwrap_or_default().into();
        let personalise = config.personalise.map(|config| self.personalise(config, &name));
        let coalesces =
            [("on", Coalesce::On), ("off", Coalesce::Off), ("strict", Coalesce::Strict)];
        let coalesce = self.choice("coalesce", config.coalesce, &coalesces);
        if coalesce == Coalesce::Strict && personalise.is_some() {
            self.wrong("coalesce", "`strict` shares one answer, so the route may not personalise");
        }
        let hold = self.span("hold", config.hold, 20_000);
        let hold = (coalesce == Coalesce::Strict).then_some(hold);
        let cache = config.cache.map(|cache| self.cache(cache, room));
        let cache = settled(cache, hold, personalise.is_some());
        if cache.is_none() && config.key.is_some() {
            self.wrong("key", "only a route with `cache` has keys");
        }
        let rules = self.rules(config.key, personalise.as_ref());
        let first_upstream = targets.iter().find_map(|(_, target)| match target {
            Target::Upstream(index) => Some(*index),
            _ => None,
        });
        let timings =
            [("debug", ServerTiming::Debug), ("on", ServerTiming::On), ("off", ServerTiming::Off)];
        Some(Route {
            methods: methods(config.methods, &targets, collect),
            host: config.host.map(|host| host.to_ascii_lowercase().into()),
            if_healthy: first_upstream.filter(|_| config.if_healthy == Some(true)),
            hit_for_miss: self.span("hit_for_miss", config.hit_for_miss, 10_000),
            lease: self.span("lease", config.lease, lease_ms),
            wait: self.span("wait", config.wait, wait_ms),
            record: self.record(config.record),
            cors: config.cors.map(|cors| self.cors(cors)),
            upgrade: self.upgrade(config.upgrade, config.tunnel_idle, &targets),
            server_timing: self.choice("server_timing", config.server_timing, &timings),
            body_bytes_max: self.size("body_bytes_max", config.body_bytes_max, 8_000_000),
            compress: self.compress(config.compress),
            client_gone: self.client_gone(config.client_gone, &targets, upstreams),
            pattern: pattern?,
            name,
            when,
            targets,
            cache,
            rules,
            coalesce,
            personalise,
            collect,
        })
    }

    fn client_gone(
        &mut self,
        text: Option<String>,
        targets: &[(u32, Target)],
        upstreams: &[Arc<Upstream>],
    ) -> ClientGone {
        // A worker is one of a few; a server has connections enough for who only closed its side.
        let has_workers = targets.iter().any(|(_, target)| match target {
            Target::Upstream(index) => upstreams[*index].servers.is_empty(),
            _ => false,
        });
        let text = text.or_else(|| has_workers.then(|| "drop".to_owned()));
        let choices = [("finish", ClientGone::Finish), ("drop", ClientGone::Drop)];
        self.choice("client_gone", text, &choices)
    }

    fn targets(
        &mut self,
        to: Option<ToConfig>,
        here: bool,
        upstreams: &[Arc<Upstream>],
        models: &[&str],
    ) -> Vec<(u32, Target)> {
        let list = match to {
            None if here => return vec![(1_000_000, Target::Here)],
            None => {
                self.wrong("to", "name a target: `upstream:NAME`, `model:NAME` or `models`");
                return vec![(1_000_000, Target::Here)];
            }
            Some(_) if here => {
                self.wrong("to", "a route with `collect = \"only\"` leads nowhere; leave it out");
                return vec![(1_000_000, Target::Here)];
            }
            Some(ToConfig::One(to)) => vec![(to, None)],
            Some(ToConfig::Shared(list)) => {
                list.into_iter().map(|s| (s.to.unwrap_or_default(), s.share)).collect()
            }
        };
        let mut end = 0.0;
        let open = list.iter().filter(|(_, share)| share.is_none()).count();
        let mut targets = Vec::new();
        let shares: Vec<Option<f64>> = list
            .iter()
            .map(|(_, share)| share.clone().map(|share| self.share("to.share", Some(share), 0.0)))
            .collect();
        let left = 1.0 - shares.iter().flatten().sum::<f64>();
        if open > 1 || left < -1e-9 || (open == 0 && left > 1e-9) {
            self.wrong("to", "the shares must add up to 100%; one entry may leave its share out");
        }
        for ((to, _), share) in list.iter().zip(shares) {
            end += share.unwrap_or(left);
            let target = self.target(to, upstreams, models);
            targets.push(((end * 1e6).round() as u32, target));
        }
        if let Some(last) = targets.last_mut() {
            last.0 = 1_000_000;
        }
        targets
    }

    fn target(&mut self, to: &str, upstreams: &[Arc<Upstream>], models: &[&str]) -> Target {
        match to.split_once(':') {
            None if to == "models" => return Target::Models,
            Some(("upstream", name)) => {
                if let Some(index) = upstreams.iter().position(|known| *known.name == *name) {
                    return Target::Upstream(index);
                }
                let known: Vec<&str> = upstreams.iter().map(|known| &*known.name).collect();
                self.unknown("to", "upstream", name, &known);
            }
            Some(("model", name)) if models.contains(&name) => return Target::Model(name.into()),
            Some(("model", name)) => self.unknown("to", "model", name, models),
            _ => self
                .wrong("to", format!("`{to}` is none of `upstream:NAME`, `model:NAME`, `models`")),
        }
        Target::Here
    }

    fn unknown(&mut self, key: &str, kind: &str, name: &str, known: &[&str]) {
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() && kind == "model" => {
                "there is no [[model]] with `items`; any other is reached by `to = \"models\"`"
                    .into()
            }
            None if known.is_empty() => format!("there is no [[{kind}]] section"),
            None => format!("there are {}", known.join(", ")),
        };
        self.wrong(key, format!("no {kind} is called `{name}`; {hint}"));
    }

    fn collect(&mut self, collect: Option<String>, reply: Option<String>) -> Option<Collect> {
        let replies = [("empty", Collect::Empty), ("gif", Collect::Gif)];
        let reply_given = reply.is_some();
        let reply = reply.map_or(Collect::Empty, |text| {
            self.one_of("reply", &text, &replies).unwrap_or(Collect::Empty)
        });
        let kinds = [("also", Collect::Also), ("only", reply)];
        let kind = collect.and_then(|text| self.one_of("collect", &text, &kinds));
        if reply_given && !matches!(kind, Some(Collect::Empty | Collect::Gif)) {
            self.wrong("reply", "only a route with `collect = \"only\"` replies by itself");
        }
        kind
    }

    pub(super) fn disk(&mut self, config: DiskConfig) -> DiskPlan {
        let bytes = self.size("disk.bytes", config.bytes, 10_000_000_000);
        if bytes < DISK_BYTES_MIN {
            self.wrong("disk.bytes", "less than `16MB` is not worth a disk");
        }
        DiskPlan { dir: config.dir.unwrap_or_else(|| "data/cache".to_owned()).into(), bytes }
    }

    fn cache(&mut self, config: CacheConfig, room: u64) -> CachePlan {
        let on_disk = config.disk.unwrap_or(false);
        if on_disk && !self.has_disk {
            let why = "there is no cache on disk; add `disk = { dir = \"data/cache\" }` to [cache]";
            self.wrong("cache.disk", why);
        }
        let guesses = [("on", true), ("off", false)];
        let heuristic = config.heuristic;
        let heuristic = heuristic.and_then(|text| self.one_of("cache.heuristic", &text, &guesses));
        let policy = Policy {
            ttl: self.optional_span("cache.ttl", config.ttl),
            stale: self.optional_span("cache.stale", config.stale),
            stale_if_error: self.optional_span("cache.stale_if_error", config.stale_if_error),
            hold: None,
            heuristic: heuristic.unwrap_or(true),
            set_cookie: self.choice(
                "cache.set_cookie",
                config.set_cookie,
                &[
                    ("store", SetCookie::Store),
                    ("refuse", SetCookie::Refuse),
                    ("strip", SetCookie::Strip),
                ],
            ),
        };
        let heeds = [("heed", true), ("ignore", false)];
        let heed = config.client_directives;
        let heed = heed.and_then(|text| self.one_of("cache.client_directives", &text, &heeds));
        CachePlan {
            policy,
            heed: heed.unwrap_or(policy.ttl.is_none()),
            per_user: config.per_user.unwrap_or(false),
            body_bytes_max: self.size(
                "cache.body_bytes_max",
                config.body_bytes_max,
                STORED_BODY_BYTES_MAX,
            ),
            forward_tags: config.forward_tags.unwrap_or(false),
            disk: on_disk.then_some(room),
        }
    }

    fn personalise(&mut self, config: PersonaliseConfig, route: &str) -> Personalise {
        let text = config.user.unwrap_or_default();
        let user = UserSource::parse(&text).unwrap_or_else(|| {
            self.wrong("personalise.user", "say where the user id is, such as `cookie:userId`");
            UserSource::Cookie("userId".into())
        });
        let modes = [("sticky", Mode::Sticky), ("dice", Mode::Dice)];
        let mode = self.choice("personalise.mode", config.mode, &modes);
        let share = self.share("personalise.rollout", config.rollout, 1.0);
        let hold_out = self.share("personalise.hold_out", config.hold_out, 0.0);
        let salt = config.salt.as_deref().unwrap_or(route);
        let mut rollout = Rollout::new(salt, mode, share, hold_out);
        if let Some(guard) = config.guard {
            let latency = self.span("personalise.guard.latency", guard.latency, 1_000);
            let errors = self.share("personalise.guard.errors", guard.errors, 0.1);
            rollout = rollout.with_guard(latency, errors);
        }
        Personalise { user, rollout }
    }

    fn upgrade(
        &mut self,
        protocols: Option<Vec<String>>,
        idle: Option<String>,
        targets: &[(u32, Target)],
    ) -> Option<Upgrade> {
        let idle = self.span("tunnel_idle", idle, 300_000);
        let protocols = protocols.unwrap_or_default();
        let to_upstream = targets.iter().any(|(_, target)| matches!(target, Target::Upstream(_)));
        if !protocols.is_empty() && !to_upstream {
            self.wrong("upgrade", "only an upstream can change the protocol");
        }
        for name in &protocols {
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                self.wrong("upgrade", format!("`{name}` is no protocol, such as `websocket`"));
            }
            if matches!(name.to_ascii_lowercase().as_str(), "h2c" | "http" | "tls") {
                let why = "would take requests past the routes, so it is never let through";
                self.wrong("upgrade", format!("`{name}` {why}"));
            }
        }
        let protocols: Vec<Box<str>> =
            protocols.into_iter().map(|name| name.to_ascii_lowercase().into()).collect();
        (!protocols.is_empty()).then_some(Upgrade { protocols, idle })
    }

    fn compress(&mut self, config: Option<CompressConfig>) -> Option<Compression> {
        let usual = Compression::default();
        let rules = match config {
            None => return Some(usual),
            Some(CompressConfig::Switch(text)) => {
                let on = self.one_of("compress", &text, &[("on", true), ("off", false)]);
                return on.unwrap_or(true).then_some(usual);
            }
            Some(CompressConfig::Rules(rules)) => rules,
        };
        let mut codings = Codings::default();
        for name in rules.encodings.iter().flatten() {
            let known = Coding::ALL.map(|coding| (coding.name(), coding));
            codings = match self.one_of("compress.encodings", name, &known) {
                Some(coding) => codings.with(coding),
                None => codings,
            };
        }
        let lower = |name: String| name.to_ascii_lowercase().into();
        Some(Compression {
            types: rules.types.map_or(usual.types, |types| types.into_iter().map(lower).collect()),
            bytes_min: self.size("compress.min_bytes", rules.min_bytes, usual.bytes_min),
            codings: if rules.encodings.is_some() { codings } else { usual.codings },
        })
    }

    fn cors(&mut self, config: CorsConfig) -> Cors {
        let origins = config.origins.unwrap_or_default();
        let all = origins.is_empty() || origins.iter().any(|origin| origin == "*");
        let credentials = config.credentials.unwrap_or(false);
        if credentials && all {
            self.wrong("cors.credentials", "cookies may be sent to named origins only");
        }
        Cors {
            origins: if all { Vec::new() } else { origins.into_iter().map(Into::into).collect() },
            headers: config.headers.unwrap_or_default().join(", ").into(),
            credentials,
            max_age: self.span("cors.max_age", config.max_age, 600_000).as_secs(),
        }
    }

    fn record(&mut self, text: Option<String>) -> RecordMode {
        let text = text.unwrap_or_else(|| "full".to_owned());
        if let Some(share) = text.strip_prefix("sample:") {
            match share.parse() {
                Ok(share) if (0.0..=1.0).contains(&share) => return RecordMode::Sample(share),
                _ => self.wrong("record", "write a share from 0 to 1, such as `sample:0.1`"),
            }
        }
        let modes =
            [("full", RecordMode::Full), ("brief", RecordMode::Brief), ("off", RecordMode::Off)];
        self.one_of("record", &text, &modes).unwrap_or_default()
    }

    fn required(&mut self, key: &str, value: Option<String>) -> Option<String> {
        if value.is_none() {
            self.wrong("", format!("`{key}` is missing"));
        }
        value
    }

    fn choice<T: Copy + Default>(
        &mut self,
        key: &str,
        text: Option<String>,
        choices: &[(&str, T)],
    ) -> T {
        text.and_then(|text| self.one_of(key, &text, choices)).unwrap_or_default()
    }

    fn one_of<T: Copy>(&mut self, key: &str, text: &str, choices: &[(&str, T)]) -> Option<T> {
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.wrong(key, format!("`{text}` is none of {}", names.join(", ")));
        }
        found
    }

    fn span(&mut self, key: &str, text: Option<String>, default_ms: u64) -> Duration {
        self.optional_span(key, text).unwrap_or(Duration::from_millis(default_ms))
    }

    fn optional_span(&mut self, key: &str, text: Option<String>) -> Option<Duration> {
        let parsed = text?.parse::<Span>();
        parsed.map_err(|error| self.wrong(key, error.to_string())).ok().map(|span| span.0)
    }

    pub(super) fn size(&mut self, key: &str, text: Option<String>, default: u64) -> u64 {
        let Some(text) = text else { return default };
        match text.parse::<ByteSize>() {
            Ok(size) => size.0,
            Err(error) => {
                self.wrong(key, error.to_string());
                default
            }
        }
    }

    fn share(&mut self, key: &str, text: Option<String>, default: f64) -> f64 {
        let Some(text) = text else { return default };
        let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        match number {
            Some(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
            _ => {
                self.wrong(key, format!("`{text}` is no share; write 0% to 100%"));
                default
            }
        }
    }
}

impl CachePlan {
    fn bare() -> Self {
        Self {
            policy: Policy::default(),
            heed: false,
            per_user: false,
            body_bytes_max: STORED_BODY_BYTES_MAX,
            forward_tags: false,
            disk: None,
        }
    }
}

/// How long a fetch, and whoever waits for it, has where the route does not say: an upstream's own
/// time for an answer is never cut short.
fn patience_ms(targets: &[(u32, Target)], upstreams: &[Arc<Upstream>]) -> (u64, u64) {
    let answers = targets.iter().filter_map(|(_, target)| match target {
        Target::Upstream(index) => Some(upstreams.get(*index)?.answer_timeout),
        _ => None,
    });
    let answer = answers.max().unwrap_or_default().as_millis();
    let answer_ms = u64::try_from(answer).unwrap_or(u64::MAX / 2);
    (answer_ms.saturating_add(answer_ms / 2).max(15_000), answer_ms.saturating_mul(2).max(20_000))
}

/// How a route stores, by what else it does.
fn settled(
    cache: Option<CachePlan>,
    hold: Option<Duration>,
    personalises: bool,
) -> Option<CachePlan> {
    let mut cache = cache.or_else(|| hold.map(|_| CachePlan::bare()))?;
    // Where users are known a cookie may be one's own, whatever the origin says.
    if personalises && cache.policy.set_cookie == SetCookie::Store {
        cache.policy.set_cookie = SetCookie::Refuse;
    }
    cache.policy.hold = hold;
    Some(cache)
}

fn methods(
    given: Option<Vec<String>>,
    targets: &[(u32, Target)],
    collect: Option<Collect>,
) -> Vec<Box<str>> {
    let default: &[&str] = match targets.first() {
        _ if collect.is_some() => &["GET", "HEAD", "POST"],
        Some((_, Target::Model(_))) => &["GET", "HEAD"],
        _ => &[],
    };
    match given {
        Some(given) => {
            let mut methods: Vec<Box<str>> =
                given.into_iter().map(|method| method.to_ascii_uppercase().into()).collect();
            // Whoever may GET a resource may ask for its head (RFC 9110 §9.3.2).
            if methods.iter().any(|m| **m == *"GET") && !methods.iter().any(|m| **m == *"HEAD") {
                methods.push("HEAD".into());
            }
            methods
        }
        None => default.iter().map(|m| (*m).into()).collect(),
    }
}
