//! Takes a URL of a load test apart: where to connect, and what to ask for there.
//!
//! [`ServerAddresses`] looks each `host:port` up once. Which of several addresses is called,
//! `Target::reachable` of `load` decides. The binary cuts the server off the first URL in code of
//! its own (`lab/load/plan.rs`, `base`).
//! Invariant: the path begins with a slash. The port is 80, or 443 of `https`, unless the URL says
//! another. A fragment is dropped, and so is a login, without a word.
//! Refuses: what the load engine cannot speak (HTTP/2); the error names it. URLs of probes are
//! read in `probe/target.rs`.

use std::collections::HashMap;

use load::Target;

use crate::LabError;

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAddress {
    /// Whether it is `https`.
    pub(crate) is_tls: bool,
    /// `host:port`, as the `Host` header has it.
    pub(crate) host: String,
    /// Path and query.
    pub(crate) path: String,
}

impl HttpAddress {
    /// Reads `http://host[:port][/path]` or `https://…`.
    ///
    /// # Errors
    /// When it is another scheme or no URL.
    pub(crate) fn parse(url: &str) -> Result<Self, LabError> {
        let wrong =
            |reason: &str| LabError::Url { text: url.to_owned(), reason: reason.to_owned() };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("write a URL such as http://127.0.0.1:8080/path"));
        };
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            "h2" | "h2c" | "http2" => {
                return Err(wrong("the generator speaks HTTP/1.1 only, also over TLS"));
            }
            _ => return Err(wrong("the generator knows no other schemes than http and https")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or("");
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong("write a URL such as http://127.0.0.1:8080/path"));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { is_tls, host: host.to_owned(), path: format!("{slash}{path}") })
    }

    /// Where to connect: its port is 80 unless it says another, and 443 for TLS.
    fn authority(&self) -> String {
        match (self.port_at(), self.is_tls) {
            (Some(_), _) => self.host.clone(),
            (None, true) => format!("{}:443", self.host),
            (None, false) => format!("{}:80", self.host),
        }
    }

    /// Returns the name that the server's certificate has to have, where it needs one.
    pub(crate) fn certified(&self) -> Option<String> {
        let host = self.port_at().map_or(self.host.as_str(), |at| &self.host[..at]);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.is_tls.then(|| bare.to_owned())
    }

    fn port_at(&self) -> Option<usize> {
        let after_bracket = self.host.rfind(']').map_or(0, |at| at + 1);
        self.host[after_bracket..].find(':').map(|at| after_bracket + at)
    }
}

/// Looks names up, each once.
#[derive(Debug, Default)]
pub(crate) struct ServerAddresses(HashMap<String, Target>);

impl ServerAddresses {
    /// Returns the address to connect to.
    ///
    /// # Errors
    /// When the name has none.
    pub(crate) fn of(&mut self, address: &HttpAddress) -> Result<Target, LabError> {
        let authority = address.authority();
        if let Some(known) = self.0.get(&authority) {
            return Ok(known.clone());
        }
        let target = Target::reachable(&authority)?;
        self.0.insert(authority, target.clone());
        Ok(target)
    }
}

#[cfg(test)]
mod tests;
