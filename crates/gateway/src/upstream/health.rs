//! Health of a server by probes: good while at least `threshold` of the last `window` were.
//!
//! The rule, the defaults and the words are Varnish's (source document 000's configuration).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use chassis::Draining;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::Upstream;

/// How a server is probed.
#[derive(Debug, Clone)]
pub struct HealthPlan {
    /// Path asked by GET.
    pub path: Box<str>,
    /// Time between probes.
    pub interval: Duration,
    /// Time for a probe.
    pub timeout: Duration,
    /// Probes that count, at most 64.
    pub window: u32,
    /// Good ones that make a server healthy.
    pub threshold: u32,
    /// Good ones assumed at start.
    pub initial: u32,
}

/// The outcome of a server's last probes.
#[derive(Debug)]
pub struct Health {
    /// The latest probe is the lowest bit.
    recent: AtomicU64,
    healthy: AtomicBool,
}

impl Health {
    /// The health assumed at start; without probes, for ever.
    pub fn new(plan: Option<&HealthPlan>) -> Self {
        let (initial, healthy) = plan.map_or((0, true), |p| (p.initial, p.initial >= p.threshold));
        let recent = if initial >= 64 { u64::MAX } else { (1 << initial) - 1 };
        Self { recent: AtomicU64::new(recent), healthy: AtomicBool::new(healthy) }
    }

    /// Whether the server is in rotation.
    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Counts a probe; returns the new health when it changed.
    pub fn note(&self, good: bool, plan: &HealthPlan) -> Option<bool> {
        let recent = (self.recent.load(Ordering::Relaxed) << 1) | u64::from(good);
        self.recent.store(recent, Ordering::Relaxed);
        let mask = if plan.window >= 64 { u64::MAX } else { (1 << plan.window) - 1 };
        let healthy = (recent & mask).count_ones() >= plan.threshold;
        (self.healthy.swap(healthy, Ordering::Relaxed) != healthy).then_some(healthy)
    }
}

/// Probes one server of an upstream until the drain begins.
pub async fn probe(upstream: Arc<Upstream>, server: usize, draining: Draining) {
    let Some(plan) = &upstream.health else { return };
    let watched = &upstream.servers[server];
    let host = upstream.host.clone().unwrap_or_else(|| watched.address.to_string().into());
    while !draining.has_begun() {
        let good = timeout(plan.timeout, ask(watched.address, &plan.path, &host)).await;
        if let Some(healthy) = watched.health.note(good.unwrap_or(false), plan) {
            let (name, address) = (&*upstream.name, watched.address);
            tracing::warn!(upstream = name, server = %address, healthy, "health changed");
        }
        tokio::select! {
            () = draining.begun() => return,
            () = sleep(plan.interval) => {}
        }
    }
}

/// Asks for the path on a connection of its own; true for 2xx.
async fn ask(address: SocketAddr, path: &str, host: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return false;
    }
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.is_ok() && line.starts_with(b"HTTP/1.") && line[9] == b'2'
}
