//! Lists notes on a valid configuration: what it asks for and will not get, as it stands.
//!
//! Such are a model whose file is missing, or a route that personalises without profiles. `serve`
//! logs them as warnings, `config check` prints them.
//! Invariant: a note is never an error and changes nothing. Files are looked at for existence and
//! mode only. An option that can be right and yet do nothing gets a note here; nothing else asks
//! for it.
//! Never here: what makes a configuration wrong, which `config.rs` and the roles check.

use std::path::Path;

use chassis::ClientHeaders;
use exchange::FieldName;
use gateway::Route;
use http1::request::Underscores;
use pipeline::{JOURNAL, SketchOf};

use crate::config::Plan;
use crate::environment;
use crate::holders;

/// Returns one line for each.
pub(super) fn of(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let hashed = plan.journal.as_ref().is_some_and(|journal| journal.user_key.is_some());
    if hashed && plan.profiles.is_some() {
        notes.push(
            "`user = \"hash\"`: the profile file must hold hashes, as Tidegate builds it; a file \
             with plain ids gives nobody a profile, and Varnish cannot use it"
                .into(),
        );
    }
    if plan.journal.is_none() && !plan.gateway.routes.is_empty() {
        notes.push("without [journal] nothing is recorded".into());
    }
    if !plan.admin.ip().is_loopback() && plan.admin_token.is_none() {
        let admin = plan.admin;
        notes.push(format!("`listen.admin` {admin} answers loopback only, until there is a token"));
    }
    let trusted = &plan.gateway.limits.connections.trusted;
    if trusted.is_empty() && trusted.headers() != ClientHeaders::default() {
        notes.push("`listen.trusted_headers` does nothing without `listen.trusted`".into());
    }
    for network in trusted.networks().iter().filter(|one| one.is_everything()) {
        notes.push(format!(
            "`listen.trusted` has {network}: every client may choose its address, scheme and host; \
             write the networks of your proxies"
        ));
    }
    pools(plan, &mut notes);
    routes(plan, &mut notes);
    names(plan, &mut notes);
    users(plan, &mut notes);
    for (hidden, earlier) in plan.gateway.hidden_routes() {
        let [hidden, earlier] = [hidden, earlier].map(|at| &plan.gateway.routes[at]);
        let forbids = match earlier.pattern.forbids_values() {
            true => ", which answers 404 to values that its pattern does not name",
            false => "",
        };
        notes.push(format!(
            "no request comes to route `{}`: all that it would match go to route `{}` before \
             it{forbids}",
            hidden.name, earlier.name
        ));
    }
    files(plan, &mut notes);
    notes.extend(plan.umask.wider(&holders::of(plan)));
    notes
}

/// What images for Python APIs do that a pool does not.
fn pools(plan: &Plan, notes: &mut Vec<String>) {
    if plan.pools.is_empty() {
        return;
    }
    for (name, instead) in environment::unused() {
        notes.push(format!("`{name}` of the environment means nothing here: {instead}"));
    }
    if environment::has_endless_timeout() {
        notes.push(
            "`TIMEOUT=0` of the environment is not taken over: a pool ends what hangs".into(),
        );
    }
    for pool in &plan.pools {
        let module = pool.app.split(':').next().unwrap_or_default().replace('.', "/");
        let file = pool.app_dir.join(&module);
        if !file.exists() && !file.with_extension("py").exists() {
            let (name, file) = (&pool.name, file.with_extension("py"));
            notes.push(format!(
                "the app of upstream `{name}`, `{}`, is not at `{}`; so its environment must have \
                 it installed",
                pool.app,
                file.display()
            ));
        }
    }
    let scripts = plan.pools.iter().map(|pool| pool.app_dir.join("prestart.sh"));
    let mut scripts: Vec<_> = scripts.filter(|script| script.exists()).collect();
    scripts.dedup();
    for script in scripts {
        notes.push(format!(
            "`{}` is not run; run it before: `sh prestart.sh && tidegate serve`",
            script.display()
        ));
    }
}

/// Routes of one path have one name unless they say otherwise.
fn names(plan: &Plan, notes: &mut Vec<String>) {
    let routes = &plan.gateway.routes;
    for (at, route) in routes.iter().enumerate() {
        let name = &route.name;
        let earlier = routes[..at].iter().filter(|earlier| earlier.name == *name).count();
        if earlier == 1 {
            notes.push(format!(
                "several routes are called `{name}`: metrics, records and `rollout set` take them \
                 for one; give each a `name`"
            ));
        }
    }
}

/// A rollup counts users of the journal, where no request has one.
fn users(plan: &Plan, notes: &mut Vec<String>) {
    if plan.gateway.routes.iter().any(|route| route.personalise.is_some()) {
        return;
    }
    for rollup in plan.events.rollups.iter().map(|plan| &plan.rollup) {
        let is_of_users = |sketch: &SketchOf| *sketch == SketchOf::Unique(FieldName::User);
        let [source] = plan.events.sources.as_slice() else { continue };
        if source.name == JOURNAL && rollup.sketches.iter().any(is_of_users) {
            let name = &rollup.table.name;
            notes.push(format!(
                "rollup `{name}` will count 0 users: no route says where a request has its user \
                 (`personalise = {{ user = \"cookie:NAME\" }}`)"
            ));
        }
    }
}

fn routes(plan: &Plan, notes: &mut Vec<String>) {
    for route in &plan.gateway.routes {
        let name = &route.name;
        if route.keeps_nothing_for_cookies() {
            notes.push(format!(
                "route `{name}` has a ttl and sends cookies on: it keeps no answer to a request \
                 with cookies unless the origin allows it, by `public` or by `max-age` alone; such \
                 a request also gets what is stored for everybody; `key = {{ cookies = [] }}` \
                 sends none"
            ));
        }
        if route.stores_what_cookies_may_change() {
            notes.push(format!(
                "route `{name}` sends cookies on, and stores what the origin allows: `max-age` \
                 without `private` allows it, and one user's page then goes to all others; \
                 `key = {{ cookies = [] }}` sends none, and `personalise` gives users their own"
            ));
        }
        if route.has_ttl() && route.key.forward.is_none() {
            notes.push(format!(
                "route `{name}` has a ttl and sends on all request headers but known overrides; \
                 `forward = [\"accept\", \"accept-language\"]` names the only ones to send"
            ));
        }
        users_of(route, plan, notes);
        if route.pattern.has_empty_segment() {
            notes.push(format!("route `{name}` matches only paths with two slashes in a row"));
        }
        let shares =
            route.personalise.as_ref().map(|plan| (plan.rollout.rollout, plan.rollout.hold_out));
        if let Some((rollout, hold_out)) =
            shares.filter(|(rollout, out)| *rollout < 1.0 && rollout + out > 1.0)
        {
            notes.push(format!(
                "route `{name}`: `rollout` {:.0}% and `hold_out` {:.0}% are more than all users; \
                 who is in both is held out",
                rollout * 100.0,
                hold_out * 100.0
            ));
        }
        if route.collect.is_some() && plan.journal.is_none() {
            notes.push(format!("route `{name}` collects, but there is no [journal] to keep it"));
        } else if route.personalise.is_some() && route.collect.is_none() && plan.profiles.is_none()
        {
            notes.push(format!(
                "route `{name}` personalises, but without [profiles] everybody gets the generic \
                 answer"
            ));
        }
    }
}

/// How a route knows its users, and what it tells of them.
fn users_of(route: &Route, plan: &Plan, notes: &mut Vec<String>) {
    let name = &route.name;
    if route.may_store_what_a_query_names() {
        notes.push(format!(
            "route `{name}` personalises, and sends and stores by the whole query: a field \
             such as `user=` makes one user's answer everybody's; name what tells your app \
             who asks in `personalise.identifies`, `[]` if nothing does, or write \
             `key = {{ keep = […] }}`"
        ));
    }
    if route.is_ranked_in_other_formats() {
        notes.push(format!(
            "route `{name}` allows other formats than json, but a model answers in JSON: its \
             users get JSON there; write before it a route with the path of the other format, \
             such as `/list.xml`; `{{format:json}}` alone answers others with 404"
        ));
    }
    if plan.gateway.limits.connections.underscores == Underscores::Drop {
        for header in route.user_headers().filter(|name| name.contains('_')) {
            notes.push(format!(
                "route `{name}`: no request has `header:{header}`, for headers with `_` are \
                 dropped; write `listen.underscores = \"keep\"`, or `-` in its place"
            ));
        }
    }
    if let Some(header) = route.guessable_user().filter(|_| route.is_ranked_apart()) {
        notes.push(format!(
            "route `{name}`: a model answers whoever sends `header:{header}`; let only what \
             checks it set that header, or name a cookie that nobody can guess"
        ));
    }
}

fn files(plan: &Plan, notes: &mut Vec<String>) {
    let mut missing = |what: &str, file: &Path| {
        if !file.exists() {
            notes.push(format!("{what} `{}` is not there yet", file.display()));
        }
    };
    for model in &plan.models.rankers {
        missing("the model file", &model.file);
        missing("the items file", &model.items);
    }
    plan.models.predictors.iter().for_each(|model| missing("the model file", &model.file));
    plan.models.texts.iter().for_each(|model| missing("the model's directory", &model.dir));
    if let Some(profiles) = &plan.profiles {
        if profiles.every.is_none() {
            missing("the profile file", &profiles.file);
        }
        profiles.items.iter().for_each(|items| missing("the items file of [profiles]", items));
    }
}
