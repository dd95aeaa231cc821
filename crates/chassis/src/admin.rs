//! Serves the admin endpoint: one gate, and behind it the pages and actions that others register.
//!
//! Invariants: if a token is configured, every request must send it. Without a token, the client
//! must be on loopback, and `Host` must be a loopback name or address, which defeats DNS rebinding.
//! Without a token, requests from a web page of another origin (`Origin`, `Sec-Fetch-Site`) are
//! refused too. A client without the right token waits before it is answered, and `denied` hears of
//! it. docs/operating/security.md promises this gate. An action reaches the function of
//! `audit` before it runs; if none was set, it runs unrecorded. If two registered paths match, the
//! first with the method of the request wins. A handler that may take long must be registered as
//! `long_page` or `long_action`. Bound: a body of 1 MiB, then 413. Further refusals: 400 (a broken
//! body), 401, 403, 404, 405, and 500 if a long handler panics. `ask_admin` of the binary takes
//! every status but 200 for a failure, 404 and 405 for another program, and reads `error` of the
//! JSON. So a page or an action that succeeds answers 200. Never here: what a page or an action
//! does (`tidegate/src/admin.rs` registers all), TLS.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use http1::Head;

use crate::http::{Answer, Incoming, Payload, Reply, Sent, Source};
use crate::inflight::Charge;

/// Time before a client without the right token is answered.
const DENIED_DELAY: Duration = Duration::from_millis(250);
/// Bytes of the body of a request; a longer one is refused with 413.
const ACTION_BYTES_MAX: u64 = 1 << 20;

/// The media type of lines of JSON.
const LINES: &str = "application/x-ndjson";

/// The response of a page or an action.
#[derive(Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Page {
    /// Returns a page with status 200.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, content_type, body: body.into() }
    }

    /// Returns a page of JSON.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type: "application/json", body: body.into() }
    }
}

/// The parts of an admin request that a page or an action sees.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The path.
    pub path: &'a str,
    /// The query, raw; empty when there is none.
    pub query: &'a str,
    /// The body of an action.
    pub body: &'a [u8],
}

/// What is behind a door, once it is open.
enum Opened {
    Page(Page),
    /// Lines of JSON without an end.
    Lines(Box<dyn Source>),
}

/// Opens a page without an end, or refuses it.
type Begin = dyn Fn(&Visit<'_>) -> Result<Box<dyn Source>, Page>;

enum Handler {
    /// Goes on until the client leaves.
    Lines(Rc<Begin>),
    /// Runs on the I/O core.
    Here(Rc<dyn Fn(&Visit<'_>) -> Page>),
    /// Runs on a thread that may block.
    Apart(Arc<dyn Fn(&Visit<'_>) -> Page + Send + Sync>),
}

struct Door {
    method: &'static str,
    /// One segment may be a name in braces, which matches any segment.
    path: &'static str,
    handler: Handler,
}

impl Door {
    fn is_at(&self, path: &str) -> bool {
        let Some((before, rest)) = self.path.split_once('{') else { return self.path == path };
        let behind = rest.split_once('}').map_or("", |(_, behind)| behind);
        let inner = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        inner.is_some_and(|segment| !segment.is_empty() && !segment.contains('/'))
    }
}

/// Records an action: the client's address, the method with the target, and the body.
type Audit = Box<dyn Fn(&str, &str, &[u8])>;

/// Hears of a client without the right token, by its address.
type Denied = Box<dyn Fn(&str)>;

/// The admin endpoint of a process.
#[derive(Default)]
pub struct Admin {
    token: Option<String>,
    doors: Vec<Door>,
    audit: Option<Audit>,
    denied: Option<Denied>,
}

impl Admin {
    /// Returns an endpoint without pages. With a `token`, every client must send it.
    pub fn new(token: Option<String>) -> Self {
        Self { token, ..Self::default() }
    }

    /// Registers a page, read by GET.
    pub fn page(&mut self, path: &'static str, handler: impl Fn(&Visit<'_>) -> Page + 'static) {
        self.doors.push(Door { method: "GET", path, handler: Handler::Here(Rc::new(handler)) });
    }

    /// Registers a page that takes too long to make on an I/O core.
    pub fn long_page(
        &mut self,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + Send + Sync + 'static,
    ) {
        self.doors.push(Door { method: "GET", path, handler: Handler::Apart(Arc::new(handler)) });
    }

    /// Registers a page of lines of JSON that has no end, read by GET.
    pub fn lines(
        &mut self,
        path: &'static str,
        begin: impl Fn(&Visit<'_>) -> Result<Box<dyn Source>, Page> + 'static,
    ) {
        self.doors.push(Door { method: "GET", path, handler: Handler::Lines(Rc::new(begin)) });
    }

    /// Registers an action: run by POST, PUT or DELETE, and audited.
    pub fn action(
        &mut self,
        method: &'static str,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + 'static,
    ) {
        self.doors.push(Door { method, path, handler: Handler::Here(Rc::new(handler)) });
    }

    /// Registers an action that takes too long to run on an I/O core; otherwise as
    /// [`Self::action`].
    pub fn long_action(
        &mut self,
        method: &'static str,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + Send + Sync + 'static,
    ) {
        self.doors.push(Door { method, path, handler: Handler::Apart(Arc::new(handler)) });
    }

    /// Sets the function that records every action before it runs.
    pub fn audit(&mut self, audit: impl Fn(&str, &str, &[u8]) + 'static) {
        self.audit = Some(Box::new(audit));
    }

    /// Sets the function that is told the address of every client without the right token.
    pub fn denied(&mut self, denied: impl Fn(&str) + 'static) {
        self.denied = Some(Box::new(denied));
    }

    fn gate(&self, head: &Head<'_>) -> Result<(), (u16, &'static str)> {
        let bearer = head.get("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
        match (&self.token, bearer) {
            (Some(token), Some(sent)) if same(token.as_bytes(), sent) => return Ok(()),
            (Some(_), _) => return Err((401, "send the admin token as `Authorization: Bearer …`")),
            (None, _) => {}
        }
        if !head.peer().ip().to_canonical().is_loopback() {
            return Err((403, "only loopback is answered; set `listen.admin_token` to allow more"));
        }
        if !is_loopback_name(head.host()) {
            return Err((403, "the `Host` is no loopback name; use 127.0.0.1 or localhost"));
        }
        let site = head.get("sec-fetch-site").unwrap_or(b"none");
        let foreign = !matches!(site, b"none" | b"same-origin");
        let origin = head.get("origin").is_some_and(|origin| {
            origin.strip_prefix(b"http://").is_none_or(|host| host != head.host().as_bytes())
        });
        if foreign || origin {
            return Err((403, "requests from other origins are refused"));
        }
        Ok(())
    }

    /// Returns the methods of a path, for `Allow`.
    fn methods(&self, path: &str) -> String {
        let here = self.doors.iter().filter(|door| door.is_at(path));
        here.map(|door| door.method).collect::<Vec<_>>().join(", ")
    }

    async fn open(
        &self,
        head: &Head<'_>,
        body: &mut Incoming<'_>,
    ) -> Result<Opened, (u16, String)> {
        self.gate(head).map_err(|(status, reason)| (status, reason.to_owned()))?;
        let mut here = self.doors.iter().filter(|door| door.is_at(head.path())).peekable();
        if here.peek().is_none() {
            let mut paths: Vec<&str> = self.doors.iter().map(|door| door.path).collect();
            paths.dedup();
            return Err((404, format!("no such page; there are {}", paths.join(" "))));
        }
        let method = if head.method() == "HEAD" { "GET" } else { head.method() };
        let path = head.path();
        let Some(door) = here.find(|door| door.method == method) else {
            return Err((405, format!("`{path}` takes {}, not {method}", self.methods(path))));
        };
        let body = body.whole(ACTION_BYTES_MAX, &mut Charge::unbounded()).await;
        let body = body.map_err(|error| (error.status(), error.to_string()))?;
        if door.method != "GET"
            && let Some(audit) = &self.audit
        {
            let what = format!("{method} {}", head.path_and_query());
            audit(&head.peer().ip().to_string(), &what, &body);
        }
        let query = head.query().unwrap_or("");
        let visit = Visit { path: head.path(), query, body: &body };
        match &door.handler {
            Handler::Here(handler) => Ok(Opened::Page(handler(&visit))),
            Handler::Apart(handler) => {
                run_apart(Arc::clone(handler), &visit).await.map(Opened::Page)
            }
            Handler::Lines(_) if head.method() == "HEAD" => {
                Ok(Opened::Page(Page::ok(LINES, Vec::new())))
            }
            Handler::Lines(begin) => Ok(begin(&visit).map_or_else(Opened::Page, Opened::Lines)),
        }
    }
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.doors.iter().map(|door| (door.method, door.path))).finish()
    }
}

impl Answer for Admin {
    type Trace = ();

    async fn answer(&self, head: &Head<'_>, body: &mut Incoming<'_>, reply: &mut Reply) {
        match self.open(head, body).await {
            Ok(Opened::Lines(lines)) => {
                reply.begin(200);
                reply.field("content-type", LINES.as_bytes());
                reply.field("cache-control", b"no-store");
                reply.payload(Payload::Stream(None, lines));
            }
            Ok(Opened::Page(page)) => {
                reply.begin(page.status);
                reply.field("content-type", page.content_type.as_bytes());
                reply.field("cache-control", b"no-store");
                reply.payload(Payload::Whole(Bytes::from(page.body)));
            }
            Err((status, reason)) => {
                if status == 401 {
                    self.denied.iter().for_each(|denied| denied(&head.peer().ip().to_string()));
                    // So that guessing a token takes long, even over many connections.
                    tokio::time::sleep(DENIED_DELAY).await;
                }
                reply.error(status, &reason);
                match status {
                    401 => reply.field("www-authenticate", b"Bearer"),
                    405 => reply.field("allow", self.methods(head.path()).as_bytes()),
                    _ => {}
                }
            }
        }
    }

    fn sent(&self, _: &Head<'_>, (): (), _: &Sent) {}
}

async fn run_apart(
    handler: Arc<dyn Fn(&Visit<'_>) -> Page + Send + Sync>,
    visit: &Visit<'_>,
) -> Result<Page, (u16, String)> {
    let (path, query) = (visit.path.to_owned(), visit.query.to_owned());
    let body = visit.body.to_vec();
    let job = move || handler(&Visit { path: &path, query: &query, body: &body });
    let done = tokio::task::spawn_blocking(job).await;
    done.map_err(|_| (500, "the action panicked; the log has the reason".to_owned()))
}

/// Compares in constant time, so that the duration does not reveal how many bytes are right.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn is_loopback_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
