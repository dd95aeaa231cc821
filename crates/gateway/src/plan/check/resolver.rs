//! Checks `[resolver]`: name servers and the bounds of TTLs.
//!
//! Invariant: name servers are IP addresses, for nobody could look up their names. The doc comments
//! of `config` and docs/operating/upstream-names.md state the defaults, which are those of
//! `resolver::Times`. Never here: which names are looked up (`plan::check::upstream`).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use resolver::{Options, Times};

use super::section::Section;
use crate::config::ResolverConfig;

/// The port of name servers (RFC 1035 §4.2).
const PORT: u16 = 53;

pub(super) fn resolver(section: &mut Section<'_, '_>, config: ResolverConfig) -> Options {
    let mut servers = Vec::new();
    if config.servers.as_ref().is_some_and(Vec::is_empty) {
        section.wrong("servers", "name at least one name server, such as [\"10.0.0.53\"]");
    }
    for text in config.servers.unwrap_or_default() {
        let with_port = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
        match with_port.or_else(|_| text.parse()) {
            Ok(server) => servers.push(server),
            Err(_) => {
                section.wrong("servers", format!("`{text}` is no address; write IP or IP:PORT"))
            }
        }
    }
    let defaults = Times::default();
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let ttl_min = section.span_above_zero("ttl_min", config.ttl_min, ms(defaults.ttl_min));
    let ttl_max = section.span_above_zero("ttl_max", config.ttl_max, ms(defaults.ttl_max));
    if ttl_min > ttl_max {
        section.wrong("ttl_min", "is longer than `ttl_max`");
    }
    Options { servers, times: Times { ttl_min, ttl_max, ..defaults } }
}
