//! Makes the callers of a thread: one for each target, by its kind.
//!
//! A new kind of target is added here, in `target.rs` and in `pin.rs`. Its phases show only if
//! `ORDER` of `gather.rs` names them.
//! Invariant: callers of one thread share nothing with those of another but the options of HTTP.
//! What can be refused before the first call (authorities, sockets, types of DNS records) is
//! refused then.

use std::sync::Arc;

use super::call::Caller;
use super::plan::{HttpOptions, Plan};
use super::target::ProbeTarget;
use super::{command, dns, http, icmp, tcp};
use crate::LabError;

/// Callers for one thread, one for each target.
pub(super) fn callers(
    plan: &Plan,
    http: &Arc<HttpOptions>,
) -> Result<Vec<Box<dyn Caller>>, LabError> {
    let caller = |target: &ProbeTarget| -> Result<Box<dyn Caller>, LabError> {
        let family = plan.family;
        Ok(match target {
            ProbeTarget::Http(url) => Box::new(http::HttpCaller::new(url, family, http)?),
            ProbeTarget::Tcp(place) => Box::new(tcp::TcpCaller { place: place.clone(), family }),
            ProbeTarget::Dns(question) => Box::new(dns::DnsCaller::new(question, family)?),
            ProbeTarget::Icmp(host) => Box::new(icmp::IcmpCaller::new(host, family)?),
            ProbeTarget::Command(words) => Box::new(command::CommandCaller::new(words)),
        })
    };
    plan.targets.iter().map(caller).collect()
}
