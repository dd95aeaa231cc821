//! Decides whether a user gets a personalised response, and writes the user's id into the trace.
//!
//! Users without an id, without a profile, or outside the rollout get the generic response, which
//! the cache can answer for all. Invariant: any failure means the generic response. A profile that
//! cannot be looked up is a `Fallback`; two different ids, a path that may name two, and a long id
//! are `NoProfile`. On a collection route a user with an acceptable id is `Generic`, and the id is
//! still written: it goes into the record. It asks for the profile, and in the mode `dice` draws
//! anew; else it is pure. docs/operating/status.md explains each decision to operators. Never here:
//! the rollout's shares (`rollout`), where the id is (`user`), the personalised response
//! (`request`).

use exchange::Decision;
use http1::Head;

use crate::plan::Route;
use crate::ports::{Profile, Profiles};
use crate::rollout::{Decided, Rollout};
use crate::trace::UserId;
use crate::user::User;

/// What the decision depends on besides the request.
pub(crate) struct Deciders<'d> {
    /// Look-up of profiles.
    pub profiles: Option<&'d dyn Profiles>,
    /// Which of the users with a profile are let in.
    pub rollout: Option<&'d Rollout>,
    /// Bytes of a user id.
    pub user_bytes_max: usize,
}

/// Decides, and writes the user id to `user`.
pub(crate) fn decide(
    route: &Route,
    head: &Head<'_>,
    deciders: &Deciders<'_>,
    user: &mut UserId,
) -> Decided {
    let Some(personalise) = &route.personalise else { return Decision::Generic.into() };
    let id = match personalise.user.find(head, deciders.user_bytes_max) {
        User::Nobody => return Decision::Anonymous.into(),
        User::Unacceptable(reason) => {
            let reason = Some(reason.detail());
            return Decided { decision: Decision::NoProfile, reason };
        }
        User::Id(id) => id,
    };
    user.extend_from_slice(&id);
    if route.collect.is_some() {
        // An event is recorded with its user, but its reply is the same for everyone.
        return Decision::Generic.into();
    }
    let profile = deciders.profiles.map_or(Profile::Unavailable, |p| p.look_up(&id));
    match (profile, deciders.rollout) {
        (Profile::Absent, _) => Decision::NoProfile.into(),
        (Profile::Present, Some(rollout)) => rollout.decide(&id),
        (Profile::Unavailable, _) | (Profile::Present, None) => Decided::fallback("profiles"),
    }
}
