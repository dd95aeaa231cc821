//! Says in sentences what a configuration does.
//!
//! What is checked, defaults included, comes from the plan. Matchers, filters and addresses are
//! shown as they are written, without secrets (`commands/redact.rs`). Routes are in `route.rs`.
//! At the end come defaults that matter and stand nowhere in the file, and the notes of
//! `config check`.
//! Invariant: nothing is opened or asked but the file itself.
//! A new section needs a paragraph here; nothing fails without.

mod route;

use std::path::Path;

use anyhow::{Context, Result};
use chassis::config::Document;
use gateway::config::{RouteConfig, UpstreamConfig};
use pipeline::config::{RollupConfig, SinkConfig, SourceConfig};
use screen::{Style, clean, wrapped};
use stdx::{ByteSize, Span};

use crate::commands::{notes, redact};
use crate::config::Plan;

/// The sections as they are written.
struct WrittenSections {
    routes: Vec<RouteConfig>,
    upstreams: Vec<UpstreamConfig>,
    sources: Vec<SourceConfig>,
    rollups: Vec<RollupConfig>,
    sinks: Vec<SinkConfig>,
    has_bytes: bool,
}

/// A page of titles and sentences.
struct Page<'s> {
    text: String,
    style: &'s Style,
}

impl Page<'_> {
    fn title(&mut self, title: &str) {
        self.text += &format!("\n{title}\n");
    }

    /// Sentences of one thing.
    fn point(&mut self, text: &str) {
        let style = Style { width: self.style.columns().min(100) - 2, ..*self.style };
        for (at, line) in wrapped(text, 0, &style).iter().enumerate() {
            self.text += &format!("{}{line}\n", if at == 0 { "- " } else { "  " });
        }
    }
}

/// Returns the sentences about a file, which has this plan.
///
/// # Errors
/// When the file cannot be read again.
pub(super) fn text(file: &Path, plan: &Plan, style: &Style) -> Result<String> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("read `{}`", file.display()))?;
    let text = redact::redacted(&text).with_context(|| format!("show `{}`", file.display()))?;
    let mut document = Document::parse(&text);
    let upstreams = document.sections_by("upstream", "python", false);
    let cache: gateway::config::StoreConfig = document.section("cache");
    let written = WrittenSections {
        routes: document.sections("route"),
        upstreams: upstreams.into_iter().map(|(_, upstream)| upstream).collect(),
        sources: document.sections("source"),
        rollups: document.sections("rollup"),
        sinks: document.sections("sink"),
        has_bytes: cache.bytes.is_some(),
    };
    let mut page = Page { text: String::new(), style };
    page.text += &format!("What {} does:\n", clean(&file.display().to_string()));
    listeners(plan, &mut page);
    routes(plan, &written, &mut page);
    targets(plan, &written, &mut page);
    records(plan, &written, &mut page);
    counts(plan, &written, &mut page);
    defaults(plan, &written, &mut page);
    let notes = notes::of(plan);
    if !notes.is_empty() {
        page.title("Worth a look");
        notes.iter().for_each(|note| page.point(note));
    }
    Ok(page.text)
}

fn listeners(plan: &Plan, page: &mut Page<'_>) {
    page.title("Who listens");
    if !plan.gateway.routes.is_empty() {
        page.point(&format!("Clients are answered at {}.", plan.public));
    }
    let whom = match (&plan.admin_token, plan.admin.ip().is_loopback()) {
        (Some(_), _) => "to whoever has the token",
        (None, true) => "to this machine alone",
        (None, false) => "to this machine alone, until there is a token",
    };
    page.point(&format!("{} shows status and metrics and takes actions, {whom}.", plan.admin));
    let (dir, syslog) = (plan.audit.dir.display(), plan.audit.syslog.as_ref());
    let syslog = syslog.map(|socket| format!(", and at syslog ({})", socket.display()));
    let otherwise = match plan.audit.on_full {
        audit::OnFull::Serve => "done all the same, with an alarm",
        audit::OnFull::Refuse => "refused",
    };
    page.point(&format!(
        "Actions are recorded in `{dir}`{}. Where that fails, they are {otherwise}.",
        syslog.unwrap_or_default()
    ));
    if let Some(statsd) = &plan.statsd {
        let inputs: Vec<String> = statsd.inputs.iter().map(ToString::to_string).collect();
        page.point(&format!(
            "A statsd server takes samples at {}, and flushes them every {}.",
            inputs.join(", "),
            Span(statsd.interval)
        ));
    }
}

fn routes(plan: &Plan, written: &WrittenSections, page: &mut Page<'_>) {
    if plan.gateway.routes.is_empty() {
        return;
    }
    page.title("What happens to a request: the first route that matches answers");
    for (route, checked) in written.routes.iter().zip(&plan.gateway.routes) {
        let lifetime = checked.cache.as_ref().map(|cache| route::Lifetime {
            ttl: cache.policy.ttl,
            stale: cache.policy.stale,
            hold: cache.policy.hold,
            is_per_user: cache.per_user,
        });
        let shares = checked.personalise.as_ref();
        let mut generic = checked.generic_arms().iter().map(|arm| arm.upstream().is_some());
        let facts = route::CheckedRoute {
            lifetime,
            shares: shares.map(|one| (one.rollout.rollout, one.rollout.hold_out)),
            has_upstream: generic.clone().any(|is_upstream| is_upstream),
            has_only_upstreams: generic.all(|is_upstream| is_upstream),
        };
        page.point(&route::text(route, &facts));
    }
    let takes_all = |route: &RouteConfig| {
        let is_rest = route.path.as_deref().is_some_and(|path| path.starts_with("/{*"));
        is_rest && route.host.is_none() && route.when.is_none() && route.if_healthy != Some(true)
    };
    if !written.routes.iter().any(takes_all) {
        page.point("Any other path: 404.");
    }
}

fn targets(plan: &Plan, written: &WrittenSections, page: &mut Page<'_>) {
    let models = &plan.models;
    let names = models.rankers.len() + models.predictors.len() + models.texts.len();
    if plan.gateway.upstreams.is_empty() && names == 0 && plan.profiles.is_none() {
        return;
    }
    page.title("Who answers, and from what");
    let all = plan.gateway.upstreams.iter();
    let of_servers = all.filter(|upstream| !upstream.is_of_workers());
    for (upstream, checked) in written.upstreams.iter().zip(of_servers) {
        let servers = upstream.servers.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        let probes = match &checked.health {
            None if checked.passive.failures == 0 => {
                "None is probed; one that takes no connection is passed over.".to_owned()
            }
            Some(health) => format!(
                "Each is asked for {} every {}, and is in use while {} of its last {} answers were \
                 good.",
                health.path,
                Span(health.interval),
                health.threshold,
                health.window
            ),
            None => {
                "None is probed; one that fails requests is passed over for a while.".to_owned()
            }
        };
        let retries = match checked.retry {
            Some(_) => "A failed request is tried at another server.",
            None => "A failed request is not tried again.",
        };
        page.point(&format!(
            "Upstream `{}`: {servers}. {probes} {retries} An answer may take {} to begin.",
            checked.name,
            Span(checked.answer_timeout)
        ));
    }
    for pool in &plan.pools {
        let (name, workers, app) = (&pool.name, pool.workers, &pool.app);
        page.point(&format!("Upstream `{name}`: {workers} Python workers of `{app}`."));
    }
    for model in &models.rankers {
        let (file, items) = (model.file.display(), model.items.display());
        page.point(&format!("Model `{}`: {file} ranks the items of {items}.", model.name));
    }
    for model in &models.predictors {
        let file = model.file.display();
        page.point(&format!("Model `{}`: {file} predicts from rows.", model.name));
    }
    for model in &models.texts {
        let dir = model.dir.display();
        page.point(&format!("Model `{}`: {dir} makes vectors of texts.", model.name));
    }
    if let Some(profiles) = &plan.profiles {
        let file = profiles.file.display();
        let place = if profiles.database.is_some() { "another database" } else { "a sink" };
        let made = match (profiles.every, &profiles.query) {
            (Some(time), Some(_)) => format!("built every {} by a query in {place}", Span(time)),
            (Some(time), None) => format!("built every {} from the journal", Span(time)),
            (None, _) => "made elsewhere, or by `tidegate profiles build`".to_owned(),
        };
        page.point(&format!("Profiles of users: {file}, {made}."));
    }
}

fn records(plan: &Plan, written: &WrittenSections, page: &mut Page<'_>) {
    page.title("What is recorded");
    let Some(journal) = &plan.journal else {
        return page.point("Nothing: there is no [journal].");
    };
    let options = &journal.options;
    let sync = match options.sync {
        journal::Sync::Always => "at once".to_owned(),
        journal::Sync::Interval(interval) => format!("within {}", Span(interval)),
    };
    let is_off = |route: &RouteConfig| route.record.as_deref() == Some("off");
    let which = if written.routes.iter().any(is_off) { "Every other" } else { "Every" };
    page.point(&format!(
        "{which} request goes to {}, is on disk {sync}, and is kept for {}, up to {} in all.",
        options.dir.display(),
        Span(options.keep.age),
        ByteSize(options.keep.bytes)
    ));
    if journal.truncate_ip {
        page.point("Addresses of clients are recorded without their last part.");
    }
    if journal.user_key.is_some() {
        page.point("User ids are recorded as hashes.");
    }
}

fn counts(plan: &Plan, written: &WrittenSections, page: &mut Page<'_>) {
    if written.rollups.is_empty() {
        return;
    }
    page.title("What is counted");
    for source in &written.sources {
        let name = source.name.as_deref().unwrap_or_default();
        let format = source.format.as_deref().unwrap_or("combined");
        let files = source.files.join(", ");
        page.point(&format!("Source `{name}`: lines of {files}, read as `{format}`."));
    }
    for (rollup, checked) in written.rollups.iter().zip(&plan.events.rollups) {
        let name = rollup.name.as_deref().unwrap_or_default();
        let all = plan.events.sources.iter().filter(|source| checked.counts(&source.name));
        let from: Vec<&str> = all.map(|source| source.name.as_str()).collect();
        let from = from.join(" and ");
        let lines = match &rollup.filter {
            Some(filter) => format!("the lines of {from} with `{filter}`"),
            None => format!("the lines of {from}"),
        };
        let what = match rollup.raw {
            Some(true) => format!("a row for each of {lines}"),
            _ => format!("{lines} by {}", rollup.by.join(", ")),
        };
        let kept = kept(rollup);
        page.point(&format!("Rollup `{name}`: {what}{kept}; into sink `{}`.", checked.sink));
    }
    for (sink, checked) in written.sinks.iter().zip(&plan.events.sinks) {
        let url = sink.url.as_deref().unwrap_or_default();
        let flush = Span(checked.flush);
        page.point(&format!("Sink `{}`: {url}, every {flush}.", checked.name));
    }
}

/// What is kept of the lines beside their number.
fn kept(rollup: &RollupConfig) -> String {
    let parts = [
        ("sums of", &rollup.sum),
        ("least", &rollup.min),
        ("greatest", &rollup.max),
        ("means of", &rollup.mean),
        ("the last", &rollup.last),
        ("unique", &rollup.unique),
        ("quantiles of", &rollup.quantiles),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> =
        parts.map(|(what, names)| format!("{what} {}", names.join(", "))).collect();
    if parts.is_empty() { String::new() } else { format!(", with {}", parts.join("; ")) }
}

/// Defaults that matter, of what the file uses.
fn defaults(plan: &Plan, written: &WrittenSections, page: &mut Page<'_>) {
    let mut sentences = Vec::new();
    if written.routes.iter().any(|route| route.cache.is_some()) && !written.has_bytes {
        let bytes = ByteSize(plan.gateway.store.bytes_max);
        sentences.push(format!(
            "`cache.bytes`: stored answers take {bytes} of memory; then the least used go."
        ));
    }
    if !written.routes.is_empty() && written.routes.iter().any(|r| r.body_bytes_max.is_none()) {
        sentences
            .push("`route.body_bytes_max`: a request's body has at most 8MB; more is 413.".into());
    }
    if written.routes.iter().any(|route| route.cache.is_some() && route.coalesce.is_none()) {
        sentences.push("`route.coalesce`: identical requests share one fetch.".into());
    }
    if written.routes.iter().any(|route| route.compress.is_none()) {
        sentences.push("`route.compress`: text is compressed as the client accepts.".into());
    }
    if plan.gateway.routes.iter().any(|route| route.personalise.is_some())
        && written.routes.iter().any(|route| route.decision_header.is_none())
    {
        sentences
            .push("`route.decision_header`: `Tidegate-Decision` says why an answer is so.".into());
    }
    if !sentences.is_empty() {
        page.title("At its default (`tidegate config explain KEY` says more)");
        sentences.iter().for_each(|text| page.point(text));
    }
}

#[cfg(test)]
mod tests;
