//! Decides at the edge who gets an answer of their own.
//!
//! No id, no profile, a profile but not let in: all get the shared answer; only who is left costs a
//! fetch. Pure but for the look-up of the profile.

use exchange::Decision;
use http1::Head;

use crate::plan::Route;
use crate::ports::{Profile, Profiles};
use crate::rollout::Rollout;
use crate::trace::UserId;
use crate::user::User;

/// What decides besides the request.
pub(crate) struct Deciders<'d> {
    /// Knows who has a profile.
    pub profiles: Option<&'d dyn Profiles>,
    /// Who of them is let in.
    pub rollout: Option<&'d Rollout>,
    /// Longest user id.
    pub user_bytes_max: usize,
}

/// Decides, and notes the user id.
pub(crate) fn decide(
    route: &Route,
    head: &Head<'_>,
    deciders: &Deciders<'_>,
    user: &mut UserId,
) -> Decision {
    let Some(personalise) = &route.personalise else { return Decision::Generic };
    let id = match personalise.user.find(head, deciders.user_bytes_max) {
        User::Nobody => return Decision::Anonymous,
        User::Unacceptable => return Decision::NoProfile,
        User::Id(id) => id,
    };
    user.extend_from_slice(&id);
    if route.collect.is_some() {
        // An event is recorded with its user; its reply is the same for all.
        return Decision::Generic;
    }
    let profile = deciders.profiles.map_or(Profile::Unavailable, |p| p.look_up(&id));
    match (profile, deciders.rollout) {
        (Profile::Absent, _) => Decision::NoProfile,
        (Profile::Present, Some(rollout)) => rollout.decide(&id),
        (Profile::Unavailable, _) | (Profile::Present, None) => Decision::Fallback,
    }
}
