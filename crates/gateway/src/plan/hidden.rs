//! Finds routes that no request comes to, because an earlier one takes all that they would match.
//!
//! Invariant: a route is named only if that is certain. An earlier route with a filter or with
//! `if_healthy` hides nothing, and several routes that hide one together are not found. Never here:
//! the search for a request's route (`route`), what is said of a hidden one (the binary).

use super::{Plan, Route};

impl Plan {
    /// Returns the indexes of the routes that no request comes to, each with that of the first
    /// route which hides it.
    pub fn hidden_routes(&self) -> Vec<(usize, usize)> {
        let routes = self.routes.iter().enumerate();
        let hidden = routes.filter_map(|(at, route)| {
            let earlier = self.routes[..at].iter().position(|earlier| hides(earlier, route))?;
            Some((at, earlier))
        });
        hidden.collect()
    }
}

fn hides(earlier: &Route, route: &Route) -> bool {
    earlier.when.is_none()
        && earlier.if_healthy.is_none()
        && (earlier.host.is_none() || earlier.host == route.host)
        && takes_methods(earlier, route)
        && earlier.pattern.covers(&route.pattern)
}

fn takes_methods(earlier: &Route, route: &Route) -> bool {
    // A preflight passes the methods of a route with `cors`.
    let takes_preflights = earlier.cors.is_some() || route.cors.is_none();
    let takes = |method| earlier.methods.contains(method);
    earlier.methods.is_empty()
        || (takes_preflights && !route.methods.is_empty() && route.methods.iter().all(takes))
}

#[cfg(test)]
mod tests;
