//! Makes servers of what look-ups found: every address of a name is a server of its upstream.
//!
//! Invariants: servers are listed in the order of the configuration, and those of a name by
//! address. An address is listed once. A server that is still listed is the same object as before.
//! An address where this process listens is never a server. Requests to the public listener would
//! go round in a circle, and those to the admin listener would come from this machine. A problem
//! lasts until a look-up without one; its beginning and its end are logged. `resolver` keeps the
//! last good addresses. docs/operating/status.md lists the metrics. Never here: asking
//! (`resolver`), connections (`servers`).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use metrics::{Counter, Gauge, Registry};
use resolver::{Followed, LookupResult, Options, Report, Resolver};

use super::health::Health;
use super::place::Place;
use super::server::{Upstream, UpstreamServer};
use super::trouble::Trouble;
use crate::plan::ServerPlan;

/// Says whether this process listens at an address.
pub type IsListener = Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>;

/// A name of an upstream, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameStatus {
    /// The name, with its port.
    pub name: String,
    /// The number of its addresses in use.
    pub addresses: usize,
    /// What is wrong, if anything is.
    pub problem: Option<String>,
}

/// The metrics of an upstream with names.
struct NameMetrics {
    found: Counter,
    unknown: Counter,
    failed: Counter,
    servers: Gauge,
    stale: Gauge,
}

/// Starts to follow the names of all upstreams, if there are any; it ends when that is dropped.
///
/// # Errors
/// When there is no thread for it.
pub fn follow_names(
    upstreams: &[Arc<Upstream>],
    options: &Options,
    registry: &Registry,
    is_listener: &IsListener,
) -> io::Result<Option<Resolver>> {
    let mut names = Vec::new();
    for upstream in upstreams {
        let mut metrics = None;
        for (place, server) in upstream.plan.servers.iter().enumerate() {
            let ServerPlan::Name { host, port } = server else { continue };
            let metrics = metrics
                .get_or_insert_with(|| Arc::new(NameMetrics::new(registry, &upstream.plan.name)));
            let (metrics, is_listener, port) =
                (Arc::clone(metrics), Arc::clone(is_listener), *port);
            let upstream = Arc::clone(upstream);
            let report = move |report: &Report<'_>| {
                metrics.count(report.result);
                upstream.take_report(place, port, report, &is_listener);
                metrics.servers.set(upstream.servers.borrow().len() as i64);
                metrics.stale.set(upstream.name_problems() as i64);
            };
            names.push(Followed { host: host.to_string(), report: Box::new(report) });
        }
    }
    match names.is_empty() {
        true => Ok(None),
        false => Resolver::start(options.clone(), names).map(Some),
    }
}

impl Upstream {
    /// Returns what is known of its names, in the order of the configuration.
    pub fn names(&self) -> Vec<NameStatus> {
        let places = self.places.lock();
        let status = |(server, place): (&ServerPlan, &Place)| match server {
            ServerPlan::Address(_) => None,
            ServerPlan::Name { host, port } => Some(NameStatus {
                name: format!("{host}:{port}"),
                addresses: place.addresses.len(),
                problem: place.problem.clone(),
            }),
        };
        self.plan.servers.iter().zip(places.iter()).filter_map(status).collect()
    }

    fn name_problems(&self) -> usize {
        self.places.lock().iter().filter(|place| place.problem.is_some()).count()
    }

    /// Takes what a look-up of the name at a place found.
    fn take_report(&self, place: usize, port: u16, report: &Report<'_>, is_listener: &IsListener) {
        let all = report.addresses.iter().map(|ip| SocketAddr::new(*ip, port));
        let (looped, addresses): (Vec<_>, Vec<_>) = all.partition(|address| is_listener(*address));
        let left_out =
            |server: &SocketAddr| format!("{server} is left out: this process listens there");
        let problem = report.problem.map(str::to_owned).or_else(|| looped.first().map(left_out));
        let mut places = self.places.lock();
        self.log(place, places[place].problem.as_deref(), problem.as_deref());
        places[place] = Place { addresses, problem };
        self.list_servers(&mut places);
    }

    /// Lists the servers of all places, if they are others than before.
    pub(super) fn list_servers(&self, places: &mut [Place]) {
        let before = self.servers();
        let mut servers: Vec<Arc<UpstreamServer>> = Vec::new();
        for (place, known) in places.iter().enumerate() {
            for address in &known.addresses {
                let is_it = |server: &&Arc<UpstreamServer>| server.address == *address;
                if servers.iter().any(|server| is_it(&server)) {
                    continue;
                }
                servers.push(before.iter().find(is_it).map_or_else(
                    || {
                        let health = Health::new(self.plan.health.as_ref());
                        let trouble = Trouble::none();
                        Arc::new(UpstreamServer { address: *address, health, trouble, place })
                    },
                    Arc::clone,
                ));
            }
        }
        let is_same = |(one, other): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(one, other);
        if servers.len() != before.len() || !servers.iter().zip(before.iter()).all(is_same) {
            self.servers.send_replace(servers.into());
            self.judge();
        }
    }

    fn log(&self, place: usize, before: Option<&str>, now: Option<&str>) {
        let ServerPlan::Name { host, .. } = &self.plan.servers[place] else { return };
        let upstream = &*self.plan.name;
        match (before, now) {
            (before, Some(problem)) if before != Some(problem) => {
                tracing::warn!(upstream, host, problem, "a name of an upstream is not resolved");
            }
            (Some(_), None) => tracing::info!(upstream, host, "a name of an upstream is resolved"),
            _ => {}
        }
    }
}

impl NameMetrics {
    fn new(registry: &Registry, upstream: &str) -> Self {
        let counter = |result| {
            let help = "Look-ups of names of upstreams, by result.";
            let labels = [("upstream", upstream), ("result", result)];
            registry.counter("tidegate_name_lookups_total", help, &labels)
        };
        let gauge = |name, help| registry.gauge(name, help, &[("upstream", upstream)]);
        Self {
            found: counter("found"),
            unknown: counter("unknown"),
            failed: counter("failed"),
            servers: gauge("tidegate_upstream_servers", "Servers of an upstream with names."),
            stale: gauge("tidegate_names_stale", "Names whose last look-up has a problem."),
        }
    }

    fn count(&self, result: LookupResult) {
        let counter = match result {
            LookupResult::Found => &self.found,
            LookupResult::Unknown => &self.unknown,
            LookupResult::Failed => &self.failed,
        };
        counter.add(1);
    }
}
