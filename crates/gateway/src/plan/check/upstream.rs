//! Checks `[[upstream]]` with servers, with its health probes and retries.
//!
//! Invariant: no name is looked up here, so a configuration is checked offline. Names are letters,
//! digits, `-` and `_` (RFC 1123 §2.1, and what container networks add). At most 64 probes count,
//! the bits of `upstream::health`. The doc comments of `config` state the
//! defaults, docs/operating/failures.md those of probes; they change with them. Never here:
//! upstreams of workers, which the binary checks; two upstreams of one name (`plan::check`).

use std::net::IpAddr;
use std::time::Duration;

use super::section::Section;
use crate::config::{HealthConfig, PassiveConfig, RetryConfig, UpstreamConfig};
use crate::plan::{
    Balance, HealthPlan, LOOK_INTERVAL, PassivePlan, RetryPlan, ServerPlan, UpstreamPlan,
};

/// How long an unused connection is kept, unless said otherwise.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn upstream(section: &mut Section<'_, '_>, config: UpstreamConfig) -> UpstreamPlan {
    let balances =
        [("least-loaded", Balance::LeastLoaded), ("consistent-hash", Balance::ConsistentHash)];
    let is_plain = |text: &String| text.bytes().all(|byte| byte.is_ascii_graphic());
    if config.host.as_ref().is_some_and(|host| host.is_empty() || !is_plain(host)) {
        section.wrong("host", "write a host, without blanks and line breaks");
    }
    UpstreamPlan {
        name: section.required("name", config.name).unwrap_or_default().into(),
        health: config.health.map(|config| health(section, config)),
        look_interval: LOOK_INTERVAL,
        passive: passive(section, config.passive.unwrap_or_default()),
        servers: servers(section, config.servers.unwrap_or_default()),
        balance: section.choice("balance", config.balance, &balances),
        host: config.host.map(Into::into),
        connect_timeout: section.span_above_zero("connect_timeout", config.connect_timeout, 2_000),
        answer_timeout: section.span_above_zero("answer_timeout", config.answer_timeout, 10_000),
        piece_timeout: section.span_above_zero("piece_timeout", config.piece_timeout, 10_000),
        idle_timeout: section
            .span_or_zero("idle_timeout", config.idle_timeout)
            .unwrap_or(IDLE_TIMEOUT),
        connections_max: section.at_least_one("connections_max", config.connections_max, 1024),
        tunnels_max: section.at_least_one("tunnels_max", config.tunnels_max, 4096),
        retry: config.retry.map(|config| retry(section, config)),
    }
}

fn servers(section: &mut Section<'_, '_>, places: Vec<String>) -> Vec<ServerPlan> {
    if places.is_empty() {
        section.wrong("servers", "name at least one server, such as [\"127.0.0.1:9000\"]");
    }
    let mut servers = Vec::new();
    for place in places {
        match server(&place) {
            Ok(server) => servers.push(server),
            Err(message) => section.wrong("servers", message),
        }
    }
    servers
}

/// Reads `IP:PORT` or `NAME:PORT`.
fn server(place: &str) -> Result<ServerPlan, String> {
    if let Some((scheme, rest)) = place.split_once("://") {
        let rest = rest.split('/').next().unwrap_or_default();
        return Err(format!("`{place}` is a URL; leave `{scheme}://` out, and write `{rest}`"));
    }
    if place.rsplit_once(':').is_some_and(|(_, port)| port.parse() == Ok(0_u16)) {
        return Err(format!("`{place}` has port 0, where nothing listens"));
    }
    if let Ok(address) = place.parse() {
        return Ok(ServerPlan::Address(address));
    }
    let shown = match place.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => format!("[{place}]"),
        _ => place.to_owned(),
    };
    let port = |port: &str| port.parse::<u16>().ok();
    match shown.rsplit_once(':').map(|(host, text)| (host, port(text))) {
        Some((host, Some(port))) if is_name(host) => {
            Ok(ServerPlan::Name { host: host.into(), port })
        }
        Some((host, Some(_))) if !host.is_empty() => {
            Err(format!("`{host}` is neither an IP address nor a name; write HOST:PORT"))
        }
        Some((host, None)) if place.matches(':').count() == 1 => {
            let port = &place[host.len() + 1..];
            Err(format!("`{place}` has no port: `{port}` is no number from 1 to 65535"))
        }
        _ => Err(format!("`{place}` has no port; write HOST:PORT, such as `{shown}:9000`")),
    }
}

/// Whether a text is a name, and no address with a mistake in it: those end in a number.
fn is_name(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        (1..=63).contains(&label.len())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = name.rsplit('.').next().unwrap_or("");
    name.len() <= 253
        && name.split('.').all(is_label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn health(section: &mut Section<'_, '_>, config: HealthConfig) -> HealthPlan {
    let path = config.path.unwrap_or_default();
    if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        section.wrong("health.path", "write a path that begins with `/`, without blanks");
    }
    let window = config.window.unwrap_or(20);
    let threshold = config.threshold.unwrap_or(3);
    if window > 64 || threshold > window || threshold == 0 {
        section.wrong("health.threshold", "needs 1 ≤ threshold ≤ window ≤ 64");
    }
    HealthPlan {
        path: path.into(),
        interval: section.span_above_zero("health.interval", config.interval, 10_000),
        timeout: section.span_above_zero("health.timeout", config.timeout, 5_000),
        window: window.min(64),
        threshold,
        initial: config.initial.unwrap_or(threshold).min(64),
    }
}

fn passive(section: &mut Section<'_, '_>, config: PassiveConfig) -> PassivePlan {
    let usual = PassivePlan::default();
    let pause_ms = usual.pause.as_millis() as u64;
    PassivePlan {
        failures: config.failures.unwrap_or(usual.failures),
        pause: section.span_above_zero("passive.pause", config.pause, pause_ms),
    }
}

fn retry(section: &mut Section<'_, '_>, config: RetryConfig) -> RetryPlan {
    let share = section.share("retry.share", config.share, 0.2);
    RetryPlan { share, min_per_second: config.min_per_second.unwrap_or(10) }
}
