//! Reads which calls a load test makes, and renders each once, with defaults filled in.
//!
//! A file of them is in one of three forms (the last two are in vegeta's README, "-format"):
//! - a URL a line;
//! - vegeta's targets: `METHOD URL`, then `Name: value` lines and `@file` for the body;
//! - vegeta's JSON, an object a line.
//!
//! Forms should not be mixed: a JSON line is added before the target above it. Lines that begin
//! with `#` are comments.
//! Invariant: a call is complete, and its place in the list is its number everywhere else. A file
//! with a bad line is an error with that line's number. `Host` stands once; another header of the
//! call replaces a default of its name. `Content-Length` is added by `Request` of `load`, even
//! beside one that the call has.
//! A call's name is the attribute `url` of the series. `address.rs` reads the URL. Who makes which
//! call, and when, is in `plan.rs` and `trace.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use load::{Ask, Request, Target};
use serde::Deserialize;

use super::address::{HttpAddress, ServerAddresses};
use crate::{LabError, input_file};

/// What every call is made with unless it says otherwise.
#[derive(Debug, Clone, Default)]
pub struct CallDefaults {
    /// The method; GET, or POST with a body, when empty.
    pub method: String,
    /// Names and values; `Host` replaces the one of the URL.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// What a URL without a scheme is added to: `http://host:port`.
    pub base: Option<String>,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone)]
pub struct HttpCall {
    /// `GET http://host/path`; without the method where it is GET.
    pub name: String,
    pub(crate) target: Target,
    /// The name in the server's certificate, where the call is made over TLS.
    pub(crate) certified: Option<String>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) ask: Ask,
}

/// Calls, in the order in which they are made.
#[derive(Debug, Default)]
pub struct Calls {
    defaults: CallDefaults,
    all: Vec<HttpCall>,
    targets: ServerAddresses,
    /// What was written already, so that a trace of a million lines holds each call once.
    known: BTreeMap<(String, String), u32>,
}

/// One call as written.
#[derive(Debug, Default)]
struct Written {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// A line of vegeta's JSON targets.
#[derive(Debug, Deserialize)]
struct JsonTarget {
    method: String,
    url: String,
    /// In base64.
    body: Option<String>,
    header: Option<BTreeMap<String, Vec<String>>>,
}

impl Calls {
    /// Returns no calls yet.
    pub fn new(defaults: CallDefaults) -> Self {
        Self { defaults, ..Self::default() }
    }

    /// Adds a URL.
    ///
    /// # Errors
    /// When it is none that the generator can call.
    pub fn add(&mut self, url: &str) -> Result<(), LabError> {
        self.push(Written { url: url.to_owned(), ..Written::default() }).map(drop)
    }

    /// Returns the number of the call with this method (the default when empty) and URL, which is
    /// added when it is new.
    ///
    /// # Errors
    /// When it is none that the generator can make.
    pub fn number(&mut self, method: &str, url: &str) -> Result<u32, LabError> {
        let key = (method.to_owned(), url.to_owned());
        if let Some(number) = self.known.get(&key) {
            return Ok(*number);
        }
        let method = method.to_owned();
        let number = self.push(Written { method, url: url.to_owned(), ..Written::default() })?;
        self.known.insert(key, number);
        Ok(number)
    }

    /// Adds those of a file; `@file` is looked for beside it.
    ///
    /// # Errors
    /// Names the file, the line and what is wrong with it.
    pub fn read(&mut self, path: &Path) -> Result<(), LabError> {
        let file = path.display().to_string();
        let text = input_file::read_text(path, "--urls")?;
        self.parse(&text, &file, path.parent().unwrap_or(Path::new(".")))
    }

    /// Returns all of them.
    pub fn all(&self) -> &[HttpCall] {
        &self.all
    }

    fn parse(&mut self, text: &str, file: &str, dir: &Path) -> Result<(), LabError> {
        let mut open: Option<(usize, Written)> = None;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            let placed = |error: LabError| placed(file, line, error);
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if text.starts_with('{') {
                self.push(json_target(text).map_err(placed)?).map_err(placed)?;
            } else if let Some(begun) = begins(text) {
                self.close(file, open.replace((line, begun)))?;
            } else {
                let (_, written) = open.as_mut().ok_or_else(|| {
                    placed(plan("neither a URL nor `METHOD URL`, and no target above it"))
                })?;
                written.detail(text, dir).map_err(placed)?;
            }
        }
        self.close(file, open)
    }

    fn close(&mut self, file: &str, open: Option<(usize, Written)>) -> Result<(), LabError> {
        let Some((line, written)) = open else { return Ok(()) };
        self.push(written).map(drop).map_err(|error| placed(file, line, error))
    }

    fn push(&mut self, written: Written) -> Result<u32, LabError> {
        let url = match &self.defaults.base {
            Some(base) if !written.url.contains("://") => format!("{base}{}", written.url),
            _ => written.url,
        };
        let address = HttpAddress::parse(&url)?;
        let body = written.body.unwrap_or_else(|| self.defaults.body.clone());
        let method = match (written.method.as_str(), self.defaults.method.as_str()) {
            ("", "") if !body.is_empty() => "POST",
            ("", "") => "GET",
            ("", default) => default,
            (written, _) => written,
        };
        let name = if method == "GET" { url.clone() } else { format!("{method} {url}") };
        let headers = merged(&self.defaults.headers, written.headers);
        let host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = host.map_or(address.host.as_str(), |(_, host)| host.as_str());
        let mut request = Request::new(method, &address.path).host(host).body(body);
        for (name, value) in headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            request = request.header(name, value);
        }
        let target = self.targets.of(&address)?;
        let ask = request.ask();
        let certified = address.certified();
        self.all.push(HttpCall {
            name,
            target,
            certified,
            bytes: request.template().bytes().to_vec(),
            ask,
        });
        Ok((self.all.len() - 1) as u32)
    }
}

impl Written {
    /// Takes a header, or the file of the body.
    fn detail(&mut self, text: &str, dir: &Path) -> Result<(), LabError> {
        if let Some(file) = text.strip_prefix('@') {
            let path = dir.join(file.trim());
            self.body = Some(input_file::read(&path, "@FILE")?);
            return Ok(());
        }
        self.headers.push(header(text)?);
        Ok(())
    }
}

/// Reads `Name: value`.
///
/// # Errors
/// When it is no header.
pub fn header(text: &str) -> Result<(String, String), LabError> {
    let wrong = || plan(&format!("`{text}` is no header; write `Name: value`"));
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let is_name = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if name.is_empty() || !name.bytes().all(is_name) || value.contains(['\r', '\n']) {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// The beginning of a target: a URL, a path, or a method and one of them.
fn begins(text: &str) -> Option<Written> {
    let is_url = |text: &str| text.starts_with('/') || text.contains("://");
    let method_of = |word: &str| word.len() > 1 && word.bytes().all(|c| c.is_ascii_uppercase());
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(url), None, _) if is_url(url) => {
            Some(Written { url: url.to_owned(), ..Written::default() })
        }
        (Some(method), Some(url), None) if method_of(method) && is_url(url) => {
            let (method, url) = (method.to_owned(), url.to_owned());
            Some(Written { method, url, ..Written::default() })
        }
        _ => None,
    }
}

fn json_target(text: &str) -> Result<Written, LabError> {
    let target: JsonTarget =
        serde_json::from_str(text).map_err(|error| plan(&format!("no target: {error}")))?;
    let decode = |text: String| base64::engine::general_purpose::STANDARD.decode(text);
    let body = target.body.map(decode).transpose();
    let body = body.map_err(|error| plan(&format!("the body is no base64: {error}")))?;
    let all = target.header.unwrap_or_default().into_iter();
    let headers =
        all.flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
    let headers = headers.map(|(name, value)| header(&format!("{name}: {value}")));
    let headers = headers.collect::<Result<_, _>>()?;
    Ok(Written { method: target.method, url: target.url, headers, body })
}

/// The default headers that the call does not have itself, then those of the call.
fn merged(defaults: &[(String, String)], call: Vec<(String, String)>) -> Vec<(String, String)> {
    let has = |name: &str| call.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    defaults.iter().filter(|(name, _)| !has(name)).cloned().chain(call.clone()).collect()
}

fn plan(reason: &str) -> LabError {
    LabError::Input(reason.to_owned())
}

fn placed(file: &str, line: usize, error: LabError) -> LabError {
    let reason = stdx::Chain(&error).to_string();
    LabError::Line { file: file.to_owned(), line, reason }
}

#[cfg(test)]
mod tests;
