//! Claims about the gateway as a whole, made over real sockets.
//!
//! A listener runs on a thread, with scripted origins behind it. Profiles, a model and a recorder
//! do what the test says.

mod apart;
mod caching;
mod coalescing;
mod collecting;
mod compression;
mod compression_passing;
mod configuration;
mod connections;
mod credentials;
mod decisions;
mod demands;
mod desync;
mod disk;
mod explained;
mod forwarded;
mod hopeless;
mod identifies;
mod inflight;
mod interim;
mod keys;
mod leaving;
mod long_answers;
mod names;
mod personalised;
mod purging;
mod ranges;
mod raw;
mod revalidation;
mod routing;
mod shares;
mod smuggling;
mod spelling;
mod strict;
mod trouble;
mod upgrades;
mod upstreams;
mod workers;

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cache::DiskTimes;
use chassis::config::{Document, Problem};
use chassis::{Drain, WorkPool, bind};
use exchange::{
    CacheResult, Decision, ExchangeRef, Impression, ModelAnswer, ModelRequest, Phase, Refusal,
};
use metrics::Registry;
use resolver::{Resolver, Times};
use testkit::{Client, FIXTURE_TIMEOUT, Origin, Reply};
use tokio::task::LocalSet;

use crate::gateway::{Edge, Gateway, Parts};
use crate::plan::{LOOK_INTERVAL, ModelNames, Plan, PoolUpstream, Sections, UpstreamPlan};
use crate::ports::{AnswerSender, Compute, Durable, Profile, Profiles, Recorder, Workers};
use crate::request::Role;
use crate::upstream::{IsListener, follow_names, probe};

/// A gateway that serves until it is dropped.
struct Served {
    address: SocketAddr,
    gateway: Arc<Gateway>,
    registry: Registry,
    users: Arc<Users>,
    journal: Journal,
    drain: Drain,
    thread: Option<JoinHandle<()>>,
    /// Follows the names of upstreams, if there are any.
    _names: Option<Resolver>,
}

/// Reads a configuration; returns the plan and the problems.
pub(crate) fn check(text: &str) -> (Plan, Vec<Problem>) {
    check_with(text, Vec::new())
}

/// Reads a configuration with workers for some upstreams.
fn check_with(text: &str, pools: Vec<PoolUpstream>) -> (Plan, Vec<Problem>) {
    let mut document = Document::parse(text);
    let sections = Sections {
        upstreams: document.sections_by("upstream", "python", false),
        pools,
        resolver: document.section("resolver"),
        routes: document.sections("route"),
        cache: document.section("cache"),
        limits: document.section("limits"),
    };
    let models = ModelNames { ranking: &["news"], others: &["words"] };
    let plan = Plan::check(sections, models, &mut document);
    (plan, document.into_problems())
}

fn serve(text: &str) -> Served {
    let (plan, problems) = check(text);
    assert!(problems.is_empty(), "{problems:?}");
    serve_plan(plan)
}

fn serve_plan(plan: Plan) -> Served {
    serve_with(plan, HashMap::new())
}

/// Serves with workers for some upstreams. Disk and names have the times for tests.
fn serve_with(mut plan: Plan, workers: HashMap<String, Arc<dyn Workers>>) -> Served {
    if let Some(disk) = &mut plan.store.disk {
        disk.times = DiskTimes::for_tests();
    }
    plan.resolver.times = Times::for_tests();
    let users = Arc::<Users>::default();
    let work = WorkPool::start(1, 16).unwrap();
    let profiles = Some(Arc::clone(&users) as Arc<dyn Profiles>);
    let registry = Registry::default();
    let compute = Some(Arc::new(Scorer) as Arc<dyn Compute>);
    let parts = Parts { profiles, compute, workers, work, tap: None };
    let gateway = Gateway::new(plan, parts, &registry);
    let journal = Journal::default();
    let drain = Drain::default();
    let (address, thread) = start_core(&gateway, &journal, &drain);
    let is_listener: IsListener = Arc::new(|server| server.ip() == names::LISTENER);
    let names =
        follow_names(&gateway.upstreams, &gateway.plan.resolver, &registry, &is_listener).unwrap();
    Served {
        address,
        gateway,
        registry,
        users,
        journal,
        drain,
        thread: Some(thread),
        _names: names,
    }
}

/// Starts a core of the gateway on a new port.
fn start_core(
    gateway: &Arc<Gateway>,
    journal: &Journal,
    drain: &Drain,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap().remove(0);
    let address = listener.address().unwrap();
    let (own, recorder, draining) = (Arc::clone(gateway), journal.clone(), drain.draining());
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async move {
            // Looks would count among the connections of an origin.
            let is_watched =
                |plan: &UpstreamPlan| plan.health.is_some() || plan.look_interval != LOOK_INTERVAL;
            for upstream in own.upstreams.iter().filter(|upstream| is_watched(&upstream.plan)) {
                tokio::task::spawn_local(probe(Arc::clone(upstream), draining.clone()));
            }
            let limits = own.plan.limits.connections.clone();
            let role = Role(Edge::new(own, Some(Box::new(recorder)), 7));
            listener.serve(Rc::new(role), limits, draining).await.unwrap();
        });
    });
    (address, thread)
}

/// Returns the configuration of one upstream with these servers, and one route for every path.
fn route_to(origins: &[&Origin], upstream: &str, route: &str) -> String {
    let addresses: Vec<SocketAddr> = origins.iter().map(|origin| origin.address()).collect();
    route_to_addresses(&addresses, upstream, route)
}

fn route_to_addresses(addresses: &[SocketAddr], upstream: &str, route: &str) -> String {
    let servers: Vec<String> = addresses.iter().map(|address| format!("\"{address}\"")).collect();
    let servers = servers.join(", ");
    format!(
        "[[upstream]]\nname = \"o\"\nservers = [{servers}]\n{upstream}\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n{route}\n"
    )
}

/// Serves in front of one origin.
fn before(origin: &Origin, route: &str) -> Served {
    serve(&route_to(&[origin], "", route))
}

impl Served {
    fn get(&self, target: &str) -> Reply {
        Client::get(self.address, target).send()
    }

    /// Sends a request with these header lines.
    fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        let call = Client::get(self.address, target);
        headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send()
    }

    /// Sends a request from another thread.
    fn ask(&self, target: &str, headers: &[(&str, &str)]) -> JoinHandle<Reply> {
        let call = Client::get(self.address, target);
        let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
        std::thread::spawn(move || call.send())
    }

    /// Waits until this number of requests wait on flights.
    fn wait_for_waiters(&self, count: usize) {
        eventually("waiters", || self.gateway.flights.waiting() == count);
    }

    /// Waits until there is no flight.
    fn wait_for_landing(&self) {
        eventually("no flights", || self.gateway.flights.count() == 0);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.drain.begin(Duration::ZERO);
        let ended = self.thread.take().is_none_or(|thread| thread.join().is_ok());
        assert!(ended || std::thread::panicking(), "the gateway panicked");
    }
}

/// Waits until a condition holds; panics after [`FIXTURE_TIMEOUT`].
#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + FIXTURE_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// Returns the value of `Cache-Status`.
fn cache_status(reply: &Reply) -> &str {
    reply.header("cache-status").expect("every answer has a Cache-Status")
}

#[track_caller]
fn assert_hit(reply: &Reply) {
    let status = cache_status(reply);
    assert!(status.starts_with("tidegate; hit"), "{status}");
}

#[track_caller]
fn assert_miss(reply: &Reply) {
    let status = cache_status(reply);
    assert!(status.starts_with("tidegate; fwd="), "{status}");
}

fn decision(reply: &Reply) -> &str {
    decision_field(reply).split(';').next().unwrap_or_default()
}

/// Returns the decision with its detail.
fn decision_field(reply: &Reply) -> &str {
    reply.header("tidegate-decision").expect("every answer names its decision")
}

/// Profiles of the users whose id begins with `p`; every look-up fails while `broken`.
#[derive(Debug, Default)]
struct Users {
    broken: AtomicBool,
    asked: Mutex<Vec<Vec<u8>>>,
}

impl Profiles for Users {
    fn look_up(&self, user: &[u8]) -> Profile {
        self.asked.lock().unwrap().push(user.to_vec());
        match user.first() {
            _ if self.broken.load(Ordering::SeqCst) => Profile::Unavailable,
            Some(b'p') => Profile::Present,
            _ => Profile::Absent,
        }
    }
}

/// A model that answers with what it was asked. In the query `fail` makes it fail, `slow` makes it
/// leave the I/O core, and `long` makes its answer long.
struct Scorer;

impl Compute for Scorer {
    fn cost(&self, request: &ModelRequest<'_>) -> Duration {
        Duration::from_millis(u64::from(request.query.contains("slow")))
    }

    fn compute(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        let own = request.decision == Decision::Personalised;
        if request.query.contains("panic") {
            panic!("the model was told to panic");
        }
        if request.query.contains("fail") || (own && request.query.contains("own")) {
            return Err(Refusal::new(500, "the model was told to fail"));
        }
        let user = String::from_utf8_lossy(request.user.unwrap_or(b"-")).into_owned();
        let thread = std::thread::current().name().unwrap_or("").to_owned();
        out.extend_from_slice(format!("{} {user} {thread}", request.decision.name()).as_bytes());
        if request.query.contains("long") {
            out.extend_from_slice(" and so on".repeat(500).as_bytes());
        }
        let impression = Impression {
            model: "news".into(),
            version: "1".into(),
            propensity: 1.0,
            items: ["12", "7"].into_iter().collect(),
        };
        let decision_at = Some(0..request.decision.name().len());
        let detail = if request.query.contains("lacks") { "no-affinity" } else { "" };
        let impression = Some(impression);
        Ok(ModelAnswer { impression, decision_at, detail, ..ModelAnswer::default() })
    }

    fn is_queued(&self, request: &ModelRequest<'_>) -> bool {
        request.model.is_none()
    }

    /// Answers from a new thread, or drops the request.
    fn queue(&self, request: &ModelRequest<'_>, body: Bytes, sender: AnswerSender) {
        let (path, json_length) = (request.path.to_owned(), request.json_length);
        std::thread::spawn(move || match &*body {
            b"drop" => drop(sender),
            b"form" => {
                let body = Some(r#"{"error":{"message":"no"}}"#.into());
                sender.send(Err(Refusal { body, ..Refusal::new(404, "no") }));
            }
            b"busy" => sender.send(Err(Refusal::new(429, "the model is busy"))),
            body => {
                assert!(sender.is_waiting());
                let body = [path.as_bytes(), b" ", body].concat();
                let json_length = json_length.map(|_| 3);
                let answer = ModelAnswer {
                    content_type: "text/plain",
                    json_length,
                    ..ModelAnswer::default()
                };
                sender.send(Ok((answer, body.into())));
            }
        });
    }
}

/// The record of an exchange.
#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    path: String,
    status: u16,
    bytes_in: u64,
    bytes_out: u64,
    decision: Decision,
    cache: CacheResult,
    user: Option<Vec<u8>>,
    upstream: Option<String>,
    client_ip: Option<IpAddr>,
    scheme: String,
    id: u128,
    ranked_by: Option<u128>,
    fetched_by: Option<u128>,
    has_queued: bool,
    items: Vec<String>,
    durably: bool,
}

/// Keeps records; refuses them while the disk is `full`.
#[derive(Debug, Clone, Default)]
struct Journal {
    records: Arc<Mutex<Vec<Recorded>>>,
    full: Arc<AtomicBool>,
}

impl Journal {
    /// Waits until this number of exchanges are recorded.
    fn wait_for(&self, count: usize) -> Vec<Recorded> {
        eventually("records", || self.records.lock().unwrap().len() >= count);
        self.records.lock().unwrap().clone()
    }

    fn keep(&self, exchange: &ExchangeRef<'_>, durably: bool) -> bool {
        if self.full.load(Ordering::SeqCst) {
            return false;
        }
        let shown = exchange.impression.iter().flat_map(|shown| shown.items.iter());
        self.records.lock().unwrap().push(Recorded {
            path: String::from_utf8_lossy(exchange.path).into_owned(),
            status: exchange.status,
            bytes_in: exchange.bytes_in,
            bytes_out: exchange.bytes_out,
            decision: exchange.decision,
            cache: exchange.cache,
            user: exchange.user.map(<[u8]>::to_vec),
            upstream: exchange.upstream.map(str::to_owned),
            client_ip: exchange.client_ip,
            scheme: exchange.scheme.to_owned(),
            id: exchange.id,
            ranked_by: exchange.ranked_by,
            fetched_by: exchange.fetched_by,
            has_queued: exchange.phases[Phase::Queue.index()] > 0,
            items: shown.map(Cow::into_owned).collect(),
            durably,
        });
        true
    }
}

impl Recorder for Journal {
    fn record(&self, exchange: &ExchangeRef<'_>, _: bool) -> bool {
        self.keep(exchange, false)
    }

    fn record_durably(&self, exchange: &ExchangeRef<'_>, _: bool) -> Durable {
        let kept = self.keep(exchange, true);
        Box::pin(async move { kept })
    }
}
