//! Exports the parsers of untrusted bytes, and what judges them, to the fuzz targets.
//!
//! Invariant: nothing in the product uses this module, and it is no part of the interface, so what
//! it exports may change at will. Never here: code that only a fuzz target runs, but for
//! conversions; reading a response in pieces (`upstream::fuzzing`).

use std::time::Instant;

use bytes::Bytes;
use cache::Area;
use http1::Head;

use crate::decide::{Deciders, decide};
use crate::fetch::{OriginRequest, Storage};
use crate::plan::Plan;
use crate::ports::Profiles;
use crate::purge_request::PurgeRequest;
use crate::request::{shared_key, shows_credentials};
use crate::rollout::Rollout;
use crate::route;
use crate::trace::Trace;
use crate::upstream::Upstream;

pub use crate::freshness::{Directives, Policy, RequestFacts, Unstored, lifetime};
pub use crate::key::{Identity, KeyPlan, forwarded, is_override, of as key, without_field};
pub use crate::pattern::{Match, Pattern};
pub use crate::reply::range::{BodyRange, parse as range};
pub use crate::request_directives::RequestDirectives;
pub use crate::upstream::fuzzing::{AnswerReading, read_answer};
pub use crate::user::{Unusable, User, UserSource};

/// Returns the areas of a purge under the routes of a plan.
///
/// # Errors
/// With a message when the request is wrong.
pub fn areas(request: &PurgeRequest, plan: &Plan) -> Result<Vec<Area>, String> {
    request.areas(&plan.routes)
}

/// A fetch whose response may be given to everybody with its key.
#[derive(Debug)]
pub struct SharedFetch {
    /// Index of its route.
    pub route: usize,
    /// Its key.
    pub key: Vec<u8>,
    /// The head of the request to the first upstream.
    pub sent: Vec<u8>,
}

/// Returns the fetch that a request would make; `None` if its response is for it alone.
pub fn shared_fetch(plan: &Plan, users: &dyn Profiles, head: &Head<'_>) -> Option<SharedFetch> {
    let index = route::find(&plan.routes, head, |_| true).ok()?;
    let route = &plan.routes[index];
    let mut trace = Trace::begin(Instant::now(), 0, 0);
    trace.route = Some(index);
    let rollout = route.personalise.as_ref().map(|plan| Rollout::new(&plan.rollout));
    let deciders = Deciders {
        profiles: Some(users),
        rollout: rollout.as_ref(),
        user_bytes_max: plan.limits.user_bytes_max,
    };
    trace.decision = decide(route, head, &deciders, &mut trace.user).decision;
    let is_alone =
        route::is_ambiguous(&plan.routes, head) || shows_credentials(route, head, &trace);
    let key = shared_key(route, head, &trace).filter(|_| !is_alone)?;
    let storage = Storage { base_length: key.len(), key: key.clone(), ..Storage::default() };
    let request = OriginRequest::new(head, route, &trace, Bytes::new()).ok()?;
    let upstream = Upstream::new(plan.upstreams[0].clone(), None);
    let rendered = request.stored_as(route, storage).render(route, &upstream, None);
    Some(SharedFetch { route: index, key: key.to_vec(), sent: rendered.rest(0)[0].to_vec() })
}
