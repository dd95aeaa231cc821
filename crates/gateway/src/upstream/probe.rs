//! Probes a server: a GET on a new connection, at an interval, until the drain begins.
//!
//! Invariant: a probe is good only if a status line of 2xx has come within the timeout; the rest is
//! not read. The interval counts from the end of a probe. A change of health is logged. The binary
//! starts one task for each server. Never here: what follows from a probe (`health`), workers.

use std::net::SocketAddr;
use std::sync::Arc;

use chassis::Draining;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::server::Upstream;

/// Probes one server of an upstream until the drain begins.
pub async fn probe(upstream: Arc<Upstream>, server: usize, draining: Draining) {
    let Some(plan) = &upstream.plan.health else { return };
    let watched = &upstream.servers[server];
    let host = upstream.plan.host.clone().unwrap_or_else(|| watched.address.to_string().into());
    while !draining.has_begun() {
        let good = timeout(plan.timeout, ask(watched.address, &plan.path, &host)).await;
        if let Some(healthy) = watched.health.note(good.unwrap_or(false), plan) {
            let (name, address) = (&*upstream.plan.name, watched.address);
            tracing::warn!(upstream = name, server = %address, healthy, "server health changed");
        }
        tokio::select! {
            () = draining.begun() => return,
            () = sleep(plan.interval) => {}
        }
    }
}

/// Asks for the path on a new connection; returns true for 2xx.
async fn ask(address: SocketAddr, path: &str, host: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return false;
    }
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.is_ok() && line.starts_with(b"HTTP/1.") && line[9] == b'2'
}
