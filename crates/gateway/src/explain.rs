//! Explains what a request would get now, and why, without making it.
//!
//! It goes through the steps of `request` in their order: route, user, decision, key, what memory
//! holds, and what would follow. Each step asks the code that serves, so that both say the same. A
//! new step there goes in here, too.
//! Invariant: nothing is fetched, stored or counted for a rollout. In the mode `dice` the decision
//! is drawn anew, as for each request. The disk of the cache is not read.
//! An [`Explanation`] is JSON for programs, by its field names; `tidegate explain` prints it for
//! people. Never here: profiles and scores, which the binary adds (`ports` knows neither).

mod cached;
mod question;

use std::time::Instant;

use exchange::Decision;
use http1::Head;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;
use crate::plan::{Route, Target};
use crate::ports::Profile;
use crate::request;
use crate::rollout::Draw;
use crate::route::{self, Fit};
use crate::spelling;
use crate::trace::Trace;
use crate::user::{User, UserPlaces};

pub use cached::{CacheFacts, EntryFacts};
pub use question::ExplainRequest;

/// What a request would get now, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The method.
    pub method: String,
    /// The host, as the request has it.
    pub host: String,
    /// Path and query, as the route's upstream would see them from this client.
    pub target: String,
    /// The routes that were asked, in order; the last one takes the request, if any does.
    pub routes: Vec<RouteFacts>,
    /// Why the request is refused at once.
    pub refused: Option<String>,
    /// The user, on a route that personalises.
    pub user: Option<UserFacts>,
    /// The draw, for a user with a profile.
    pub draw: Option<Draw>,
    /// The decision.
    pub decision: String,
    /// The reason for the decision.
    pub decided_by: String,
    /// Where the answer comes from, where memory has none: `upstream:NAME`, `model:NAME`.
    pub target_name: String,
    /// The least status of a personalised answer that everybody's takes the place of.
    pub fallback_from: u16,
    /// What the cache knows.
    pub cache: CacheFacts,
    /// What would happen now.
    pub now: String,
}

/// A route that was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFacts {
    /// Its name, by default its path.
    pub name: String,
    /// Why it does not take the request; `None` if it does.
    pub refused_by: Option<String>,
}

/// The user of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFacts {
    /// Where the route looks for the id.
    pub source: String,
    /// The id; `None` without an acceptable one.
    pub id: Option<String>,
    /// `present`, `absent` or `unavailable`; `None` if it was not looked up.
    pub profile: Option<String>,
    /// How many requests the route has had so far, if all of them were without a user id.
    pub anonymous: Option<u64>,
}

impl Gateway {
    /// Explains what a request would get now.
    ///
    /// # Errors
    /// With a message when the question is no request.
    pub fn explain(&self, question: &ExplainRequest) -> Result<Explanation, String> {
        let plain = question.head_bytes(None)?;
        let index = question::with_head(&plain, question, self, |head| self.takes(head))?;
        // The route says where its users are named.
        let personalise = index.and_then(|index| self.plan.routes[index].personalise.as_ref());
        let places = personalise.map(|personalise| &personalise.user);
        let is_there = question::with_head(&plain, question, self, |head| {
            places.is_some_and(|places| question.has_user(places, head))
        })?;
        let bytes = question.head_bytes(places.filter(|_| !is_there).map(UserPlaces::first))?;
        question::with_head(&bytes, question, self, |head| {
            question.check_user(places, head)?;
            Ok(self.explained(head, question.falls_back))
        })?
    }

    fn takes(&self, head: &Head<'_>) -> Option<usize> {
        let is_healthy = |upstream: usize| self.upstreams[upstream].is_healthy();
        route::find(&self.plan.routes, head, is_healthy).ok()
    }

    fn explained(&self, head: &Head<'_>, falls_back: bool) -> Explanation {
        let mut explanation = Explanation {
            method: head.method().to_owned(),
            host: head.host().to_owned(),
            target: head.path_and_query().to_owned(),
            routes: self.routes_asked(head),
            ..Explanation::default()
        };
        let is_healthy = |upstream: usize| self.upstreams[upstream].is_healthy();
        let index = match route::find(&self.plan.routes, head, is_healthy) {
            Ok(index) => index,
            Err(refusal) => {
                let text = format!("{}: {}", refusal.status(), refusal.message());
                explanation.now = format!("The request is refused with {}.", refusal.status());
                explanation.refused = Some(text);
                return explanation;
            }
        };
        let route = &self.plan.routes[index];
        let mut trace = Trace::begin(Instant::now(), 0, 0);
        trace.route = Some(index);
        request::decide_and_draw(self, index, head, &mut trace);
        explanation.user = self.user_facts(route, head, &trace);
        explanation.draw = explanation.user.as_ref().and_then(|user| {
            let is_present = user.profile.as_deref() == Some(PRESENT);
            Some(self.rollout(index)?.draw(trace.user()?)).filter(|_| is_present)
        });
        // A change is the user's own, and does not fall back.
        let is_private = trace.decision == Decision::Personalised && request::only_reads(head);
        if is_private && (falls_back || self.is_down(route.target(trace.arm))) {
            (trace.decision, trace.detail) = (Decision::Fallback, Some(FAILS));
            trace.arm = request::arm(route, head, &trace);
        }
        trace.decision.name().clone_into(&mut explanation.decision);
        let because = because(&trace, explanation.user.as_ref(), explanation.draw.as_ref());
        explanation.decided_by = because.to_owned();
        explanation.target_name = self.target_name(route.target(trace.arm));
        let is_apart = route.private_arm() == Some(trace.arm);
        explanation.fallback_from = if is_apart { 400 } else { 500 };
        if route.cors.is_some() && route::is_preflight(head) {
            explanation.now = "Tidegate answers the preflight itself, with 204.".to_owned();
            return explanation;
        }
        let (cache, now) = cached::explain(self, route, head, &trace);
        explanation.cache = cache;
        explanation.now = now;
        explanation
    }

    fn routes_asked(&self, head: &Head<'_>) -> Vec<RouteFacts> {
        let host = route::plain_host(head.host());
        let path = spelling::canonical(head.path());
        let is_healthy = |upstream: usize| self.upstreams[upstream].is_healthy();
        let mut asked = Vec::new();
        for route in &self.plan.routes {
            let fit = route::fit(route, head, (host, &path), is_healthy);
            let refused_by = self.refused_by(route, fit);
            asked.push(RouteFacts { name: route.name.to_string(), refused_by });
            if matches!(fit, Fit::Takes | Fit::Value) {
                break;
            }
        }
        asked
    }

    fn refused_by(&self, route: &Route, fit: Fit) -> Option<String> {
        Some(match fit {
            Fit::Takes => return None,
            Fit::Host => format!("host: it takes `{}`", route.host.as_deref().unwrap_or("")),
            Fit::Path => "path: its pattern does not match".to_owned(),
            Fit::Value => {
                "path: a value is not one of those it allows, so no other route is asked".to_owned()
            }
            Fit::Method => format!("method: it takes {}", route.methods.join(", ")),
            Fit::Filter => format!(
                "when: `{}` does not hold",
                route.key.condition.as_deref().unwrap_or_default()
            ),
            Fit::Health => {
                let upstream = route.if_healthy.map(|index| &self.plan.upstreams[index].name);
                format!("if_healthy: upstream `{}` is not healthy", upstream?)
            }
        })
    }

    fn user_facts(&self, route: &Route, head: &Head<'_>, trace: &Trace) -> Option<UserFacts> {
        let source = &route.personalise.as_ref()?.user;
        let mut facts = UserFacts { source: source.to_string(), ..UserFacts::default() };
        let index = trace.route?;
        facts.anonymous = self.metrics.route(index).only_anonymous();
        let found = source.find(head, self.plan.limits.user_bytes_max);
        if matches!(found, User::Unacceptable(_)) {
            return Some(facts);
        }
        let Some(id) = trace.user() else { return Some(facts) };
        facts.id = Some(String::from_utf8_lossy(id).into_owned());
        if route.collect.is_none() {
            let found = self.profiles.as_ref().map_or(Profile::Unavailable, |it| it.look_up(id));
            let name = match found {
                Profile::Present => PRESENT,
                Profile::Absent => "absent",
                Profile::Unavailable => "unavailable",
            };
            facts.profile = Some(name.to_owned());
        }
        Some(facts)
    }

    fn is_down(&self, target: &Target) -> bool {
        matches!(target, Target::Upstream(index) if !self.upstreams[*index].is_healthy())
    }

    fn target_name(&self, target: &Target) -> String {
        match target {
            Target::Upstream(index) => format!("upstream:{}", self.plan.upstreams[*index].name),
            Target::Model(name) => format!("model:{name}"),
            Target::Models => "models".to_owned(),
            Target::Here => "the gateway itself".to_owned(),
        }
    }
}

const PRESENT: &str = "present";
/// The detail of an explained fallback whose answer would fail.
const FAILS: &str = "fails";

/// The reason for a decision, as docs/operating/status.md has it.
fn because(trace: &Trace, user: Option<&UserFacts>, draw: Option<&Draw>) -> &'static str {
    let is_unavailable = user.is_some_and(|user| user.profile.as_deref() == Some("unavailable"));
    match trace.decision {
        Decision::Generic if user.is_some() => "an event is recorded alike for everybody",
        Decision::Generic => "the route does not personalise",
        Decision::Anonymous => "the request carries no user id",
        Decision::NoProfile => match trace.detail {
            Some("two-ids") => "the request carries two different user ids",
            Some("long-id") => "the user id is longer than `limits.user_bytes_max`",
            Some(_) => "the path may name two different users",
            None => {
                "the profile file does not name the user; where Tidegate builds it, it leaves out \
                 who has read fewer items than `profiles.items_min` (by default 5)"
            }
        },
        Decision::OutsideRollout => "the user's draw is not below the share of the rollout",
        Decision::HeldOut => "the user's draw is in the share that is held out",
        Decision::Personalised => "the user has a profile, and the draw is below the share",
        Decision::Fallback if trace.detail == Some(FAILS) => "the user's own answer fails now",
        Decision::Fallback if is_unavailable => "no profile file is loaded, or it cannot be read",
        Decision::Fallback if draw.is_some_and(|draw| draw.killed) => "the kill switch is on",
        Decision::Fallback => "the brake lets only a part of the rollout in",
    }
}
