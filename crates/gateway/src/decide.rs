//! Decides at the edge who gets an answer of their own.
//!
//! Source document 000, "Fast VCL checks for personalized backend responses": no id, no profile,
//! a profile but not let in: all get the shared answer; only who is left costs a fetch.

use exchange::Decision;
use http1::Head;

use crate::gateway::Gateway;
use crate::plan::Route;
use crate::ports::Profile;
use crate::trace::Trace;
use crate::user::User;

/// Decides, and notes the user id in the trace.
pub(crate) fn decide(
    gateway: &Gateway,
    route: &Route,
    head: &Head<'_>,
    trace: &mut Trace,
) -> Decision {
    let Some(personalise) = &route.personalise else { return Decision::Generic };
    let id = match personalise.user.find(head, gateway.plan.user_bytes_max) {
        User::Nobody => return Decision::Anonymous,
        User::Unacceptable => return Decision::NoProfile,
        User::Id(id) => id,
    };
    trace.user.extend_from_slice(&id);
    if route.collect.is_some() {
        // An event is recorded with its user; its reply is the same for all.
        return Decision::Generic;
    }
    let profile = gateway.profiles.as_ref().map_or(Profile::Unavailable, |p| p.look_up(&id));
    match profile {
        Profile::Unavailable => Decision::Fallback,
        Profile::Absent => Decision::NoProfile,
        Profile::Present => personalise.rollout.decide(&id),
    }
}
