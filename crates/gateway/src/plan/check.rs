//! Checks the sections of the gateway key by key, and resolves names of upstreams to indexes.
//!
//! Invariant: an error is reported at its key, and a stand-in for the value lets the check go on.
//! So all errors come out in one run. The result must not be used if the `Document` has an error.
//! Upstreams are checked before routes, which name them. The default of `[cache] bytes` is
//! here, those of other keys in the modules or with the type of their value. A
//! changed default also changes the doc of its key (`config`) and pages of docs/ that state it.
//! Never here: reading TOML (`chassis::config`), workers (the binary), live objects (`gateway`).

mod foreign_path;
mod key;
mod limits;
mod references;
mod resolver;
mod route;
mod section;
mod storing;
mod target;
mod upstream;

use cache::StorePlan;
use chassis::config::Document;

use super::{ModelNames, Plan, Route, Sections, UpstreamPlan};
use references::References;
use section::Section;

impl Plan {
    /// Checks the sections; `models` are those that a route may name.
    pub fn check(sections: Sections, models: ModelNames<'_>, document: &mut Document<'_>) -> Self {
        let mut all: Vec<(usize, UpstreamPlan)> = Vec::new();
        for (place, config) in sections.upstreams {
            let section = &mut Section::new(document, format!("upstream[{place}]"));
            all.push((place, upstream::upstream(section, config)));
        }
        let pools = sections.pools.into_iter();
        all.extend(pools.map(|pool| (pool.place, UpstreamPlan::of_workers(pool))));
        all.sort_by_key(|(place, _)| *place);
        let mut upstreams: Vec<UpstreamPlan> = Vec::new();
        for (place, upstream) in all {
            if upstreams.iter().any(|other| other.name == upstream.name) {
                let section = &mut Section::new(document, format!("upstream[{place}]"));
                section.wrong("name", format!("two upstreams are called `{}`", upstream.name));
            }
            upstreams.push(upstream);
        }
        let has_disk = sections.cache.disk.is_some();
        let known = References { upstreams: &upstreams, models, has_disk };
        let mut routes: Vec<Route> = Vec::new();
        for (index, config) in sections.routes.into_iter().enumerate() {
            let section = &mut Section::new(document, format!("route[{index}]"));
            let is_named = config.name.is_some();
            let route = route::route(section, config, &known);
            // Routes of one path may differ in host, method and filter, and then have one name.
            if let Some(Route { name, .. }) = route.as_ref().filter(|_| is_named)
                && routes.iter().any(|other| other.name == *name)
            {
                section.wrong("name", format!("two routes are called `{name}`"));
            }
            routes.extend(route);
        }
        let caching = routes.iter().filter_map(|route| route.cache.as_ref());
        let body_bytes_max = caching.map(|cache| cache.body_bytes_max).max().unwrap_or(0);
        let section = &mut Section::new(document, "cache");
        let store = StorePlan {
            bytes_max: section.size_above_zero("bytes", sections.cache.bytes, 256_000_000),
            body_bytes_max,
            disk: sections.cache.disk.map(|disk| storing::disk(section, disk)),
        };
        let section = &mut Section::new(document, "resolver");
        let resolver = resolver::resolver(section, sections.resolver);
        let limits = limits::limits(&mut Section::new(document, "limits"), sections.limits);
        Self { upstreams, resolver, routes, store, limits }
    }
}
