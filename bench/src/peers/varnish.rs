//! Varnish with its cache in memory.

use std::fs;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// Starts Varnish before the origin, without a log reader.
pub(crate) fn start(setup: &Setup, name: &str) -> Result<Server> {
    let dir = setup.dir("varnish")?;
    let memory = setup.memory_dir("varnish")?;
    let address = free_address()?;
    let origin = setup.origin.address;
    let vcl = format!(
        "vcl 4.1;
backend origin {{ .host = \"{}\"; .port = \"{}\"; .first_byte_timeout = 60s; }}
sub vcl_recv {{ if (req.method == \"GET\") {{ unset req.http.Cookie; }} }}
",
        origin.ip(),
        origin.port(),
    );
    let file = dir.join("default.vcl");
    fs::write(&file, vcl)?;
    let (listen, file, memory) =
        (address.to_string(), file.to_string_lossy(), memory.to_string_lossy());
    let command = [
        "varnishd",
        "-F",
        "-j",
        "none",
        "-n",
        &memory,
        "-a",
        &listen,
        "-f",
        &file,
        "-s",
        "malloc,256m",
        "-p",
        "thread_pools=1",
        "-p",
        "thread_pool_min=200",
        "-p",
        "thread_pool_max=2000",
        "-p",
        "timeout_idle=600",
    ];
    Server::start(name, &command, &dir, address, "/json/4096/ready")
}
