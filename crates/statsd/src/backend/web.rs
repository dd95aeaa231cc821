//! Posts parts over HTTP and HTTPS, with the configured header fields.
//!
//! Any status of 2xx is a success; redirects are followed first. Of other answers the first line is
//! in the error. Its kind is `InvalidData` where the same body will never be taken, which
//! `worker.rs` does not try again. `influx.rs` and `otlp.rs` say for which statuses that is so
//! (`may_try_again`).
//! Bounds: the time for a request as a whole. An answer of 64 KiB or more, or one that is no text,
//! counts as empty. Refuses: to try again (`worker.rs`), and to know what it posts.

use std::io;
use std::time::Duration;

use super::delivery::Transport;
use crate::plan::Web;

/// Answers of so many bytes, or more, are not looked at.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Posts to one address.
#[derive(Debug)]
pub(super) struct Post {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(String, String)>,
    content_type: &'static str,
    may_try_again: fn(u16) -> bool,
}

impl Post {
    /// Posts bodies of this type; each may take so long. What is answered with a status for which
    /// `may_try_again` is false will never be taken.
    pub(super) fn new(
        web: &Web,
        content_type: &'static str,
        timeout: Duration,
        may_try_again: fn(u16) -> bool,
    ) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .build();
        let (url, headers) = (web.url.clone(), web.headers.clone());
        Self { agent: config.new_agent(), url, headers, content_type, may_try_again }
    }

    /// Posts a body to `path` behind the address; returns the answer, empty if it is too long.
    ///
    /// # Errors
    /// When nobody answers, or with another status than 2xx; what the answer says is in it. Of kind
    /// `InvalidData` where the same body will never be taken.
    pub(super) fn post(&self, path: &str, body: &[u8]) -> io::Result<String> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        request = request.header("content-type", self.content_type);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(io::Error::other)?;
        let status = answer.status();
        // An answer that breaks off, or is no text, was one all the same.
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_string();
        let text = text.unwrap_or_default();
        if status.is_success() {
            return Ok(text);
        }
        let text = text.lines().next().unwrap_or_default();
        let is_final = !(self.may_try_again)(status.as_u16());
        let kind = if is_final { io::ErrorKind::InvalidData } else { io::ErrorKind::Other };
        Err(io::Error::new(kind, format!("`{}` answered {status}: {text}", self.url)))
    }
}

impl Transport for Post {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        self.post("", part).map(drop)
    }

    fn confirms(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
