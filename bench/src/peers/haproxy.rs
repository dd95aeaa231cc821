//! HAProxy with one thread and its cache.

use std::fs;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// Starts HAProxy before the origin, without a log.
pub fn start(setup: &Setup, name: &str) -> Result<Server> {
    let folder = setup.folder("haproxy")?;
    let address = free_address()?;
    let config = format!(
        "global
    nbthread 1
    maxconn 9000
defaults
    mode http
    timeout connect 5s
    timeout client 600s
    timeout server 60s
    timeout http-keep-alive 600s
    http-reuse always
cache hits
    total-max-size 256
    max-object-size 1000000
    max-age 3600
frontend public
    bind {address} backlog 4096
    http-request cache-use hits
    http-response cache-store hits
    default_backend origin
backend origin
    server origin {origin}
",
        origin = setup.origin.address,
    );
    let file = folder.join("haproxy.cfg");
    fs::write(&file, config)?;
    let file = file.to_string_lossy();
    Server::start(name, &["haproxy", "-db", "-f", &file], &folder, address, "/json/4096/ready")
}
