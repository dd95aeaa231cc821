//! HAProxy with one thread, with its cache or without.

use std::fs;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// What a row wants of HAProxy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// No cache: every request goes to the origin.
    pub pass: bool,
}

/// Starts HAProxy before the origin, without a log.
pub(crate) fn start(setup: &Setup, name: &str, options: Options) -> Result<Server> {
    let dir = setup.dir("haproxy")?;
    let address = free_address()?;
    let cached = match options.pass {
        true => "",
        false => "http-request cache-use hits\n    http-response cache-store hits\n    ",
    };
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
    {cached}default_backend origin
backend origin
    server origin {origin}
",
        origin = setup.origin.address,
    );
    let file = dir.join("haproxy.cfg");
    fs::write(&file, config)?;
    let file = file.to_string_lossy();
    Server::start(name, &["haproxy", "-db", "-f", &file], &dir, address, "/json/4096/ready")
}
