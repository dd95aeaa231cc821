//! Holds a host at given addresses, whatever the resolver says: curl's `--resolve`.
//!
//! It reads `HOST:PORT:ADDRESS[,ADDRESS…]` and puts the addresses into targets of HTTP and TCP.
//! Invariant: request, certificate and report keep the name of the host. Only the connection goes
//! to another address, which the report adds as "at …". Other targets are never held.
//!
//! `tcp.rs` connects there; the family of the plan still chooses among the addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::target::{Endpoint, ProbeTarget};
use crate::LabError;

/// Where a host is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The host; any without it.
    host: Option<String>,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Pin {
    /// Makes the target go there, if it connects to this host and port; returns whether it does.
    pub fn hold(&self, target: &mut ProbeTarget) -> bool {
        let place = match target {
            ProbeTarget::Http(url) => &mut url.place,
            ProbeTarget::Tcp(place) => place,
            ProbeTarget::Dns(_) | ProbeTarget::Icmp(_) | ProbeTarget::Command(_) => return false,
        };
        let fits = self.fits(place);
        if fits {
            place.addresses.clone_from(&self.addresses);
        }
        fits
    }

    fn fits(&self, place: &Endpoint) -> bool {
        let is_host = |host: &String| host.eq_ignore_ascii_case(&place.host);
        self.port == place.port && self.host.as_ref().is_none_or(is_host)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("*");
        let addresses: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        write!(f, "{host}:{}:{}", self.port, addresses.join(","))
    }
}

impl FromStr for Pin {
    type Err = LabError;

    /// Reads `HOST:PORT:ADDRESS[,ADDRESS…]`; `*` is any host, IPv6 may stand in brackets.
    fn from_str(text: &str) -> Result<Self, LabError> {
        let wrong = || LabError::Target {
            text: text.to_owned(),
            reason: "write HOST:PORT:ADDRESS, such as example.org:443:10.0.0.1".to_owned(),
        };
        let (host, rest) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").ok_or_else(wrong)?,
            None => text.split_once(':').ok_or_else(wrong)?,
        };
        let (port, addresses) = rest.split_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let bare = |text: &str| {
            let text = text.trim();
            text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).parse()
        };
        let addresses = addresses.split(',').map(bare).collect::<Result<_, _>>();
        let addresses = addresses.map_err(|_| wrong())?;
        match host {
            "" => Err(wrong()),
            "*" => Ok(Self { host: None, port, addresses }),
            host => Ok(Self { host: Some(host.to_owned()), port, addresses }),
        }
    }
}

#[cfg(test)]
mod tests;
