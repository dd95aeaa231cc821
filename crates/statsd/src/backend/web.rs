//! Posts parts over HTTP.

use std::io;
use std::time::Duration;

use crate::plan::Web;

/// Posts to one address.
#[derive(Debug)]
pub struct Post {
    agent: ureq::Agent,
    url: String,
    headers: Vec<(String, String)>,
    content_type: &'static str,
}

impl Post {
    /// Posts bodies of this type; each may take so long.
    pub fn new(web: &Web, content_type: &'static str, patience: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(patience))
            .http_status_as_error(false)
            .build();
        let (url, headers) = (web.url.clone(), web.headers.clone());
        Self { agent: config.new_agent(), url, headers, content_type }
    }

    /// Posts a body to `path` behind the address.
    ///
    /// # Errors
    /// When nobody answers, or with another status than 2xx; what the answer says is in it. An
    /// answer of 4xx other than 429 means that the same body will never be taken.
    pub fn post(&self, path: &str, body: &[u8]) -> io::Result<()> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        request = request.header("content-type", self.content_type);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(io::Error::other)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let said = answer.body_mut().with_config().limit(1024).read_to_string().unwrap_or_default();
        let said = said.lines().next().unwrap_or_default();
        let is_final = status.is_client_error() && status.as_u16() != 429;
        let kind = if is_final { io::ErrorKind::InvalidData } else { io::ErrorKind::Other };
        Err(io::Error::new(kind, format!("`{}` answered {status}: {said}", self.url)))
    }
}

impl super::Carry for Post {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        self.post("", part)
    }
}
