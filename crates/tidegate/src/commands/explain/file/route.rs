//! Says in sentences what a route does to the requests that it matches.
//!
//! What is stored for how long, and shares, come checked; all else is shown as it is written.
//! Invariant: no sentence says that an answer is stored which the gateway does not store, nor the
//! other way round.
//! Never here: which route matches first, and what an upstream is.

use std::time::Duration;

use gateway::config::{PersonaliseConfig, RouteConfig, ToConfig, UserConfig};
use stdx::Span;

/// What the check makes of a route.
pub(super) struct CheckedRoute {
    /// How answers are stored; none: they are not.
    pub lifetime: Option<Lifetime>,
    /// The shares of users that are let in and held out, where it personalises.
    pub shares: Option<(f64, f64)>,
    /// Whether an upstream may answer for everybody.
    pub has_upstream: bool,
    /// Whether nothing else does.
    pub has_only_upstreams: bool,
}

/// How long answers are stored.
pub(super) struct Lifetime {
    /// None: as the origin says.
    pub ttl: Option<Duration>,
    pub stale: Option<Duration>,
    /// How long a `strict` route shares an answer.
    pub hold: Option<Duration>,
    /// Whether a user's own answers are stored, too.
    pub is_per_user: bool,
}

/// Returns the sentences about a route as it is written and as it was checked.
pub(super) fn text(route: &RouteConfig, checked: &CheckedRoute) -> String {
    let mut sentences = vec![format!("{}: {}.", matched(route), answered(route))];
    if route.collect.is_none() {
        sentences.push(stored(route, checked));
    }
    if let (Some(personalise), Some(shares)) = (&route.personalise, checked.shares) {
        sentences.push(personalised(personalise, shares, route.collect.is_some()));
    }
    let hold = checked.lifetime.as_ref().and_then(|lifetime| lifetime.hold);
    match (route.coalesce.as_deref(), hold) {
        (Some("off"), _) => {
            sentences.push("Identical requests are fetched each for itself.".to_owned());
        }
        (Some("strict"), Some(hold)) => sentences.push(format!(
            "Identical requests share one answer, good or bad, for {}, unless it says `private` \
             or `no-store`.",
            Span(hold)
        )),
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

/// Whose answers are stored, and for how long.
fn stored(route: &RouteConfig, checked: &CheckedRoute) -> String {
    let (Some(lifetime), Some(cache)) = (&checked.lifetime, &route.cache) else {
        let is_shared = checked.lifetime.is_some();
        let more = if is_shared { " for longer than identical requests share it" } else { "" };
        return format!("No answer is stored{more}.");
    };
    let named = named_in_path(route, checked);
    let is_never = checked.has_only_upstreams && named.iter().any(|one| is_always_in(one, route));
    let place = named.join("`, `");
    let (whose, rest) = match (route.personalise.is_some(), lifetime.is_per_user) {
        (false, _) => ("Answers", String::new()),
        (true, false) if is_never => {
            return format!("No answer is stored: the path has who asks, at `{place}`.");
        }
        (true, true) if is_never => (
            "Each user's own answers",
            format!(", and none for everybody: `{place}` says who asks"),
        ),
        (true, is_per_user) => {
            let each = "Answers for everybody, and each user's own,";
            let rest = match named.is_empty() {
                true => String::new(),
                false => {
                    format!(", but an upstream's for everybody is not if the path has `{place}`")
                }
            };
            (if is_per_user { each } else { "Answers for everybody" }, rest)
        }
    };
    let fresh = match lifetime.ttl {
        Some(ttl) => format!("{whose} are stored for {}", Span(ttl)),
        None => format!("{whose} are stored for as long as their headers say"),
    };
    let stale = match lifetime.stale {
        Some(stale) if !stale.is_zero() => {
            format!(", and used for {} more while they are fetched again", Span(stale))
        }
        _ => String::new(),
    };
    let disk = if cache.disk == Some(true) { ", on disk too" } else { "" };
    format!("{fresh}{stale}{disk}{rest}.")
}

/// The segments of a path, such as `path:2`, that tell an upstream who asks.
fn named_in_path<'r>(route: &'r RouteConfig, checked: &CheckedRoute) -> Vec<&'r str> {
    let personalise = route.personalise.as_ref().filter(|_| checked.has_upstream);
    let Some(personalise) = personalise else { return Vec::new() };
    let user = personalise.user.as_ref().map(UserConfig::places).unwrap_or_default();
    let all = user.iter().chain(personalise.identifies.iter().flatten());
    all.map(String::as_str).filter(|source| source.starts_with("path:")).collect()
}

/// Whether every path that a route matches has the segment of `path:N`.
fn is_always_in(source: &str, route: &RouteConfig) -> bool {
    let place = source.strip_prefix("path:").and_then(|place| place.parse::<usize>().ok());
    let path = route.path.as_deref().unwrap_or_default();
    let segment = place.and_then(|place| path.split('/').nth(place));
    segment.is_some_and(|segment| !segment.starts_with("{*"))
}

fn personalised(
    config: &PersonaliseConfig,
    (rollout, hold_out): (f64, f64),
    collects: bool,
) -> String {
    let places = config.user.as_ref().map(UserConfig::places).unwrap_or_default();
    let places = places.iter().map(|place| match place.split_once(':') {
        Some((kind, name)) => format!("the {kind} `{name}`"),
        None => format!("`{place}`"),
    });
    let user = places.collect::<Vec<_>>().join(" or ");
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
         and all others that for everybody.{hold_out}",
        percent(rollout)
    )
}
