//! Says in sentences what a route does to the requests that it matches.
//!
//! Lifetimes and shares come checked; all else is shown as it is written.
//! Never here: which route matches first, and what an upstream is.

use std::time::Duration;

use gateway::config::{CacheConfig, PersonaliseConfig, RouteConfig, ToConfig};
use stdx::Span;

/// How long answers are stored; none: as the origin says.
pub(super) struct Lifetime {
    pub ttl: Option<Duration>,
    pub stale: Option<Duration>,
}

/// Returns the sentences; `shares` are those let in and held out.
pub(super) fn text(
    route: &RouteConfig,
    lifetime: Option<Lifetime>,
    shares: Option<(f64, f64)>,
) -> String {
    let mut sentences = vec![format!("{}: {}.", matched(route), answered(route))];
    match (lifetime, &route.cache) {
        (Some(lifetime), Some(cache)) => sentences.push(stored(&lifetime, cache)),
        _ if route.collect.is_some() => {}
        _ => sentences.push("No answer is stored.".to_owned()),
    }
    if let (Some(personalise), Some(shares)) = (&route.personalise, shares) {
        sentences.push(personalised(personalise, shares, route.collect.is_some()));
    }
    match route.coalesce.as_deref() {
        Some("off") => sentences.push("Identical requests are fetched each for itself.".to_owned()),
        Some("strict") => {
            sentences.push("Identical requests share one answer, good or bad.".to_owned());
        }
        _ => {}
    }
    if let Some(upgrade) = route.upgrade.as_ref().filter(|names| !names.is_empty()) {
        sentences.push(format!("A client may change to {}.", upgrade.join(", ")));
    }
    if let Some(cors) = &route.cors {
        let origins = cors.origins.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        sentences.push(format!("Pages of {origins} may ask."));
    }
    match route.record.as_deref() {
        Some("off") => sentences.push("It is not recorded.".to_owned()),
        Some(mode) if mode != "full" => sentences.push(format!("It is recorded as `{mode}`.")),
        _ => {}
    }
    sentences.join(" ")
}

/// `GET /a of www.example.org, if …`
fn matched(route: &RouteConfig) -> String {
    let methods = route.methods.as_ref().filter(|methods| !methods.is_empty());
    let methods = methods.map_or(String::new(), |methods| format!("{} ", methods.join("/")));
    let path = route.path.as_deref().unwrap_or_default();
    let host = route.host.as_ref().map_or(String::new(), |host| format!(" of {host}"));
    let when = route.when.as_ref().map_or(String::new(), |when| format!(", if `{when}`"));
    let healthy = match route.if_healthy {
        Some(true) => ", while a server of its upstream is healthy",
        _ => "",
    };
    format!("{methods}{path}{host}{when}{healthy}")
}

fn answered(route: &RouteConfig) -> String {
    let recorded = match (route.collect.as_deref(), route.reply.as_deref()) {
        (Some("only"), Some("gif")) => return "recorded, and answered here by a pixel".to_owned(),
        (Some("only"), _) => return "recorded, and answered here with 204".to_owned(),
        (Some(_), _) => "recorded, and sent on; ",
        (None, _) => "",
    };
    let who = match &route.to {
        None => "nobody answers".to_owned(),
        Some(ToConfig::One(to)) => format!("{} answers", target(to)),
        Some(ToConfig::Shared(shares)) => {
            let one = |share: &gateway::config::ShareConfig| {
                let to = target(share.to.as_deref().unwrap_or_default());
                match &share.share {
                    Some(part) => format!("{to} for {part} of the users"),
                    None => format!("{to} for the rest"),
                }
            };
            let all: Vec<String> = shares.iter().map(one).collect();
            format!("answered by {}", all.join(", "))
        }
    };
    format!("{recorded}{who}")
}

/// `upstream:a` as `upstream a`.
fn target(to: &str) -> String {
    match to.split_once(':') {
        Some((kind, name)) => format!("{kind} `{name}`"),
        None => "the model API".to_owned(),
    }
}

fn stored(lifetime: &Lifetime, cache: &CacheConfig) -> String {
    let fresh = match lifetime.ttl {
        Some(ttl) => format!("Answers are stored for {}", Span(ttl)),
        None => "Answers are stored for as long as their headers say".to_owned(),
    };
    let stale = match lifetime.stale {
        Some(stale) if !stale.is_zero() => {
            format!(", and used for {} more while they are fetched again", Span(stale))
        }
        _ => String::new(),
    };
    let disk = if cache.disk == Some(true) { ", on disk too" } else { "" };
    format!("{fresh}{stale}{disk}.")
}

fn personalised(
    config: &PersonaliseConfig,
    (rollout, hold_out): (f64, f64),
    collects: bool,
) -> String {
    let user = config.user.as_deref().unwrap_or_default();
    let user = match user.split_once(':') {
        Some((kind, name)) => format!("the {kind} `{name}`"),
        None => format!("`{user}`"),
    };
    if collects {
        return format!("The user's id is in {user}.");
    }
    let percent = |share: f64| format!("{}%", (share * 1e6).round() / 1e4);
    let hold_out = match hold_out {
        0.0 => String::new(),
        share => format!(" {} of all users are held out to compare with.", percent(share)),
    };
    let from = config.to.as_deref().map_or(String::new(), |to| format!(" from {}", target(to)));
    format!(
        "The user's id is in {user}: of those with a profile, {} get an answer of their own{from}, \
         and all others share one.{hold_out}",
        percent(rollout)
    )
}
