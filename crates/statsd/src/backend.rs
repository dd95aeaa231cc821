//! Starts the backends of a plan, hands every flush to each of them, and replaces or ends them.
//!
//! Each has a thread and a queue (`backend/worker.rs`), so none waits for another while the server
//! runs. The last flush and a replacement do wait, for one backend after the other. Repeaters get
//! datagrams from receivers themselves; they are only started, counted and ended here.
//! A backend's name (`graphite`, `graphite-2`) is also that of its directory in the spool, where
//! parts wait over restarts. It is in `/status` and `stats`, and a label on the page for
//! Prometheus. So kinds keep their words, and the order of backends of a kind matters.
//! A new kind takes the stations of "Add a backend of statsd" in CONTRIBUTING.md. If it is bound at
//! the start, `may_change` (`reload.rs`) must know it, too.
//! Errors of the start: a taken address of the page, no thread for a repeater. A backend that
//! cannot be reached is no error; its status says so. Never here: what a flush holds (`flush.rs`).

mod carbon;
pub(crate) mod console;
mod delivery;
mod file;
pub(crate) mod graphite;
mod influx;
mod otlp;
mod prometheus;
mod spool;
mod tags;
mod web;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use crate::error::StatsdError;
use crate::flush::Flush;
use crate::plan::{BackendPlan, Plan};
use crate::repeat::{Repeat, Repeater};
use crate::status::BackendStatus;
pub(crate) use prometheus::{Format, PageListener, PageServer, PrometheusPage};
use worker::{BackendWorker, Delivery};

/// How long a backend may take for each step, at least and at most.
const STEP_TIMEOUT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// All backends of a server.
#[derive(Debug)]
pub(crate) struct Backends {
    workers: RwLock<Vec<BackendWorker>>,
    page: Option<Arc<PrometheusPage>>,
    repeaters: Vec<Repeater>,
}

impl Backends {
    /// Starts a thread for each backend of a plan.
    ///
    /// # Errors
    /// When there is no thread left for a repeater.
    pub(crate) fn start(plan: &Plan) -> Result<Self, StatsdError> {
        let page = plan.backends.iter().any(|b| matches!(b, BackendPlan::Prometheus { .. }));
        let page = page.then(|| Arc::new(PrometheusPage::new(plan)));
        let workers = RwLock::new(start_all(plan, page.as_ref()));
        let repeaters = plan.backends.iter().filter_map(|backend| match backend {
            BackendPlan::Repeater { to, is_tcp } => Some(Repeater::start(to, *is_tcp)),
            _ => None,
        });
        Ok(Self { workers, page, repeaters: repeaters.collect::<Result<_, _>>()? })
    }

    /// Hands a flush to every backend; one that has no room gives it up and counts it.
    pub(crate) fn push(&self, flush: &Arc<Flush>) {
        self.workers.read().iter().for_each(|worker| worker.push(flush));
    }

    /// Hands the last flush to every backend, which waits for room.
    pub(crate) fn push_last(&self, flush: &Arc<Flush>) {
        self.workers.read().iter().for_each(|worker| worker.push_last(flush));
    }

    /// Ends the backends that get flushes, with what waits for them, and starts those of a plan.
    pub(crate) fn replace(&self, plan: &Plan) {
        let old = std::mem::take(&mut *self.workers.write());
        old.iter().for_each(BackendWorker::end);
        *self.workers.write() = start_all(plan, self.page.as_ref());
    }

    /// How backends that get flushes do, by name.
    pub(crate) fn statuses(&self) -> Vec<(String, BackendStatus)> {
        let workers = self.workers.read();
        workers.iter().map(|worker| (worker.name().to_owned(), worker.status())).collect()
    }

    /// Times of the flushes that a backend has neither delivered nor spooled yet.
    pub(crate) fn under_way(&self) -> Vec<u64> {
        self.workers.read().iter().flat_map(BackendWorker::under_way).collect()
    }

    /// The page for Prometheus, where there is a backend of that kind.
    pub(crate) fn page(&self) -> Option<&Arc<PrometheusPage>> {
        self.page.as_ref()
    }

    /// The ways of one receiver to all repeaters.
    pub(crate) fn repeats(&self) -> Vec<Repeat> {
        self.repeaters.iter().filter_map(Repeater::way).collect()
    }

    /// Datagrams that no repeater had room for.
    pub(crate) fn repeated_dropped(&self) -> u64 {
        self.repeaters.iter().map(Repeater::dropped).sum()
    }

    /// Datagrams that a server could not be sent.
    pub(crate) fn repeated_failed(&self) -> u64 {
        self.repeaters.iter().map(Repeater::failed).sum()
    }

    /// Waits until all have delivered what they have; receivers must have ended before.
    pub(crate) fn end(&self) {
        self.repeaters.iter().for_each(Repeater::end);
        self.workers.read().iter().for_each(BackendWorker::end);
    }
}

/// Binds the listener for Prometheus, where there is to be one.
///
/// # Errors
/// When the address is taken or not ours.
pub(crate) fn page_listener(plan: &Plan) -> Result<Option<PageListener>, StatsdError> {
    let listen: Option<SocketAddr> = plan.backends.iter().find_map(|backend| match backend {
        BackendPlan::Prometheus { listen } => *listen,
        _ => None,
    });
    let bind = |address| {
        let bound = PageListener::bind(address);
        bound.map_err(StatsdError::bind(format!("tcp:{address}")))
    };
    listen.map(bind).transpose()
}

/// Starts a thread for each backend, but those that work without flushes. A second one of a kind is
/// called `KIND-2`.
fn start_all(whole: &Plan, page: Option<&Arc<PrometheusPage>>) -> Vec<BackendWorker> {
    let mut kinds: Vec<&str> = Vec::new();
    let backends = whole.backends.iter().filter_map(|plan| {
        let (kind, delivery) = delivery(plan, whole, page)?;
        kinds.push(kind);
        let name = match kinds.iter().filter(|known| **known == kind).count() {
            1 => kind.to_owned(),
            count => format!("{kind}-{count}"),
        };
        let may_wait = plan.may_come_later();
        Some(BackendWorker::start(name, delivery, whole.spool.as_ref().filter(|_| may_wait)))
    });
    backends.collect()
}

/// The kind of a backend, and how it delivers; none where it gets no flushes.
fn delivery(
    plan: &BackendPlan,
    whole: &Plan,
    page: Option<&Arc<PrometheusPage>>,
) -> Option<(&'static str, Delivery)> {
    // Longer, and flushes would come faster than they are found to be undeliverable.
    let timeout = whole.interval.clamp(STEP_TIMEOUT.0, STEP_TIMEOUT.1);
    Some(match plan {
        BackendPlan::Graphite(graphite) => {
            // Without a host flushes go nowhere, as in statsd.
            let carbon = carbon::Carbon::new(graphite.to.clone()?, timeout, graphite.closing);
            ("graphite", Delivery::new(graphite::GraphiteNames::new(graphite, whole), carbon))
        }
        BackendPlan::Console { is_pretty } => {
            let console = console::Console::new(*is_pretty, whole.flavour);
            ("console", Delivery::new(console.clone(), console))
        }
        BackendPlan::File(path) => {
            let appender = file::Appender::new(path, whole);
            ("file", Delivery::new(appender.clone(), appender))
        }
        BackendPlan::Influx(web) => {
            let text = "text/plain; charset=utf-8";
            let post = web::Post::new(web, text, timeout, influx::may_try_again);
            ("influx", Delivery::new(influx::LineProtocol, post))
        }
        BackendPlan::Otlp(web) => {
            ("otlp", Delivery::new(otlp::Documents, otlp::Export::new(web, timeout)))
        }
        BackendPlan::Prometheus { .. } => {
            let page = prometheus::PageUpdate(Arc::clone(page?));
            ("prometheus", Delivery::new(page.clone(), page))
        }
        // Receivers hand it their datagrams themselves.
        BackendPlan::Repeater { .. } => return None,
    })
}

#[cfg(test)]
mod tests;
