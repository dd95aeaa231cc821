//! nginx with one worker: with a cache in memory, tuned for hits, or without, tuned for passing.

use std::fs;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// What a row wants of nginx.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// `access_log … buffer=64k` instead of none.
    pub log: bool,
    /// `proxy_cache_lock on`.
    pub lock: bool,
    /// No cache: every request goes to the origin.
    pub pass: bool,
}

/// Starts nginx before the origin.
pub(crate) fn start(setup: &Setup, name: &str, options: Options) -> Result<Server> {
    let dir = setup.dir("nginx")?;
    let cache = setup.memory_dir("nginx")?;
    let address = free_address()?;
    let log = match options.log {
        true => format!("access_log {}/access.log combined buffer=64k flush=1s;", dir.display()),
        false => "access_log off;".to_owned(),
    };
    let lock = if options.lock { "on" } else { "off" };
    // One buffer that takes head and body of the usual answer saves nginx a second read.
    let cached = match options.pass {
        true => "proxy_buffer_size 8k;".to_owned(),
        false => format!("proxy_cache hits; proxy_cache_lock {lock};"),
    };
    let config = format!(
        "user root; worker_processes 1; daemon off; pid {dir}/nginx.pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 16000; }}
http {{
    {log}
    sendfile off; tcp_nodelay on;
    keepalive_timeout 600; keepalive_requests 1000000000;
    open_file_cache max=10000 inactive=60m; open_file_cache_valid 60m;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path \
    {dir}/scgi;
    proxy_cache_path {cache} levels=1:2 keys_zone=hits:16m inactive=60m max_size=512m \
    use_temp_path=off;
    upstream origin {{ server {origin}; keepalive 64; keepalive_requests 1000000000; }}
    server {{
        listen {address} backlog=4096;
        location / {{
            proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection \"\";
            {cached}
        }}
    }}
}}
",
        dir = dir.display(),
        cache = cache.display(),
        origin = setup.origin.address,
    );
    let file = dir.join("nginx.conf");
    fs::write(&file, config)?;
    let file = file.to_string_lossy();
    let command = ["nginx", "-e", "stderr", "-c", &file];
    Server::start(name, &command, &dir, address, "/json/4096/ready")
}
