//! Probes servers: a GET on a new connection, at an interval, until the drain begins.
//!
//! Where no probes are configured, it only looks whether servers take connections (`passive`).
//! Invariants: a probe is good only if a status line of 2xx has come within the timeout; the rest
//! is not read. The interval counts from the end of a probe. A change of health is logged. Each
//! server of the list has one task, which ends after its server has left the list. The binary
//! starts one for each upstream. Never here: what follows from a probe (`health`), workers.

use std::net::SocketAddr;
use std::sync::Arc;

use chassis::Draining;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::passive::look_at;
use super::server::{ServerList, Upstream, UpstreamServer};
use crate::plan::HealthPlan;

/// Probes the servers of an upstream until the drain begins, or looks at them, without probes.
pub async fn probe(upstream: Arc<Upstream>, draining: Draining) {
    if upstream.plan.is_of_workers() {
        return;
    }
    let mut changes = upstream.servers.subscribe();
    let mut probed = ServerList::default();
    while !draining.has_begun() {
        let servers = Arc::clone(&changes.borrow_and_update());
        for server in servers.iter().filter(|server| !has(&probed, server)) {
            let (upstream, server) = (Arc::clone(&upstream), Arc::clone(server));
            let draining = draining.clone();
            match upstream.plan.health {
                Some(_) => tokio::task::spawn_local(probe_server(upstream, server, draining)),
                None => tokio::task::spawn_local(look_at(upstream, server, draining)),
            };
        }
        probed = servers;
        tokio::select! {
            () = draining.begun() => return,
            // The sender is a part of the upstream.
            _ = changes.changed() => {}
        }
    }
}

/// Probes one server until it has left the list, or the drain begins.
async fn probe_server(upstream: Arc<Upstream>, server: Arc<UpstreamServer>, draining: Draining) {
    let Some(plan) = &upstream.plan.health else { return };
    let address = server.address;
    let host = upstream.plan.host.clone().unwrap_or_else(|| address.to_string().into());
    while !draining.has_begun() && upstream.has(&server) {
        let good = timeout(plan.timeout, ask(address, plan, &host)).await;
        if let Some(healthy) = upstream.note(&server, good.unwrap_or(false)) {
            let name = &*upstream.plan.name;
            tracing::warn!(upstream = name, server = %address, healthy, "server health changed");
        }
        tokio::select! {
            () = draining.begun() => return,
            () = sleep(plan.interval) => {}
        }
    }
}

fn has(servers: &ServerList, server: &Arc<UpstreamServer>) -> bool {
    servers.iter().any(|other| Arc::ptr_eq(other, server))
}

/// Asks for the path on a new connection; returns true for 2xx.
async fn ask(address: SocketAddr, plan: &HealthPlan, host: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let path = &plan.path;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return false;
    }
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.is_ok() && line.starts_with(b"HTTP/1.") && line[9] == b'2'
}
