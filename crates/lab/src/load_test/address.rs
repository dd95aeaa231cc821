//! Takes a URL of a load test apart: where to connect, and what to ask for there.
//!
//! [`ServerAddresses`] looks each `host:port` up once. Which of several addresses is called,
//! `Target::reachable` of `load` decides. The binary cuts the server off the first URL in code of
//! its own (`lab/load/plan.rs`, `base`).
//! Invariant: the path begins with a slash. The port is 80 unless the URL says another. A fragment
//! is dropped, and so is a login, without a word.
//! Refuses: what the load engine cannot speak (TLS, HTTP/2); the error names it. URLs of probes are
//! read in `probe/target.rs`.

use std::collections::HashMap;

use load::Target;

use crate::LabError;

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAddress {
    /// `host:port`, as the `Host` header has it.
    pub(crate) host: String,
    /// Path and query.
    pub(crate) path: String,
}

impl HttpAddress {
    /// Reads `http://host[:port][/path]`.
    ///
    /// # Errors
    /// When it is another scheme or no URL.
    pub(crate) fn parse(url: &str) -> Result<Self, LabError> {
        let wrong =
            |reason: &str| LabError::Url { text: url.to_owned(), reason: reason.to_owned() };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("write a URL such as http://127.0.0.1:8080/path"));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => {
                return Err(wrong(
                    "the generator speaks HTTP/1.1 without TLS; load the plain port behind the \
                     TLS, or measure single calls with `tidegate lab probe`",
                ));
            }
            "h2" | "h2c" | "http2" => return Err(wrong("the generator speaks HTTP/1.1 only")),
            _ => return Err(wrong("the generator knows no other scheme than http")),
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or("");
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong("write a URL such as http://127.0.0.1:8080/path"));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { host: host.to_owned(), path: format!("{slash}{path}") })
    }

    /// Where to connect: its port is 80 unless it says another.
    fn authority(&self) -> String {
        let after_bracket = self.host.rsplit(']').next().unwrap_or(&self.host);
        if after_bracket.contains(':') { self.host.clone() } else { format!("{}:80", self.host) }
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
        if let Some(known) = self.0.get(&address.host) {
            return Ok(known.clone());
        }
        let target = Target::reachable(&address.authority())?;
        self.0.insert(address.host.clone(), target.clone());
        Ok(target)
    }
}

#[cfg(test)]
mod tests;
