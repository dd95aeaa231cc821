//! Serves the admin endpoint: one gate, and behind it the pages and actions that others register.
//!
//! Invariants: if a token is configured, every request must send it. Without a token, the client
//! must be on loopback, and `Host` must be a loopback name or address, which defeats DNS rebinding.
//! Without a token, requests from a web page of another origin (`Origin`, `Sec-Fetch-Site`) are
//! refused too. A client without the right token waits before it is answered, and `denied` hears of
//! it. docs/operating/security.md promises this gate. Every action passes `audited`: it is recorded
//! before it runs, and its page after; if no [`Audit`] was set, it runs unrecorded. If two
//! registered paths match, the first with the method of the request wins. A handler that may take
//! long must be registered as one. Bound: a body of 1 MiB, then 413. Further refusals: 400 (broken
//! body), 401, 403, 404, 405, 500 if a long handler panics, 503 if `Audit` refuses. `ask_admin` of
//! the binary takes every status but 200 for a failure, 404 and 405 for another program, and reads
//! `error` of the JSON. Never here: what a page or an action does (`tidegate/src/admin.rs`), TLS.

use std::net::SocketAddr;
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

/// An action that is about to run.
#[derive(Debug)]
pub struct Action<'a> {
    /// The peer of the connection.
    pub client: SocketAddr,
    /// The method.
    pub method: &'a str,
    /// What the action will see.
    pub visit: Visit<'a>,
}

/// Records the page that an action has made. It is dropped where the action made none.
pub type Finish = Box<dyn FnOnce(&Page) + Send>;

/// Records actions, on threads that may block.
pub trait Audit: Send + Sync {
    /// Records what is to be done.
    ///
    /// # Errors
    /// Why it cannot be recorded, and is refused with 503.
    fn begin(&self, action: &Action<'_>) -> Result<Finish, String>;
}

/// Runs on a thread that may block.
type LongHandler = Arc<dyn Fn(&Visit<'_>) -> Page + Send + Sync>;

enum Handler {
    /// Goes on until the client leaves.
    Lines(Rc<Begin>),
    /// Runs on the I/O core.
    Here(Rc<dyn Fn(&Visit<'_>) -> Page>),
    /// Does not.
    Apart(LongHandler),
}

struct Door {
    method: &'static str,
    /// Whether it changes something, and is recorded.
    is_action: bool,
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

/// Hears of a client without the right token, by its address.
type Denied = Box<dyn Fn(&str)>;

/// The admin endpoint of a process.
#[derive(Default)]
pub struct Admin {
    token: Option<String>,
    doors: Vec<Door>,
    audit: Option<Arc<dyn Audit>>,
    denied: Option<Denied>,
}

impl Admin {
    /// Returns an endpoint without pages. With a `token`, every client must send it.
    pub fn new(token: Option<String>) -> Self {
        Self { token, ..Self::default() }
    }

    /// Registers a page, read by GET.
    pub fn page(&mut self, path: &'static str, handler: impl Fn(&Visit<'_>) -> Page + 'static) {
        let handler = Handler::Here(Rc::new(handler));
        self.doors.push(Door { method: "GET", is_action: false, path, handler });
    }

    /// Registers a page that takes too long to make on an I/O core.
    pub fn long_page(
        &mut self,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + Send + Sync + 'static,
    ) {
        self.long_inquiry("GET", path, handler);
    }

    /// Registers a page that is read by another method than GET, as some protocols want it. It must
    /// change nothing, because it is not audited.
    pub fn long_inquiry(
        &mut self,
        method: &'static str,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + Send + Sync + 'static,
    ) {
        let handler = Handler::Apart(Arc::new(handler));
        self.doors.push(Door { method, is_action: false, path, handler });
    }

    /// Registers a page of lines of JSON that has no end, read by GET.
    pub fn lines(
        &mut self,
        path: &'static str,
        begin: impl Fn(&Visit<'_>) -> Result<Box<dyn Source>, Page> + 'static,
    ) {
        let handler = Handler::Lines(Rc::new(begin));
        self.doors.push(Door { method: "GET", is_action: false, path, handler });
    }

    /// Registers an action: run by POST, PUT or DELETE, and audited.
    pub fn action(
        &mut self,
        method: &'static str,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + 'static,
    ) {
        let handler = Handler::Here(Rc::new(handler));
        self.doors.push(Door { method, is_action: true, path, handler });
    }

    /// Registers an action that takes too long to run on an I/O core; otherwise as
    /// [`Self::action`].
    pub fn long_action(
        &mut self,
        method: &'static str,
        path: &'static str,
        handler: impl Fn(&Visit<'_>) -> Page + Send + Sync + 'static,
    ) {
        let handler = Handler::Apart(Arc::new(handler));
        self.doors.push(Door { method, is_action: true, path, handler });
    }

    /// Sets what records every action before it runs, and its page after.
    pub fn audit(&mut self, audit: Arc<dyn Audit>) {
        self.audit = Some(audit);
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
        let query = head.query().unwrap_or("");
        let visit = Visit { path: head.path(), query, body: &body };
        if let Some(audit) = self.audit.as_ref().filter(|_| door.is_action) {
            let request = OwnedAction::of(head.peer(), method, &visit);
            return audited(Arc::clone(audit), request, &door.handler).await.map(Opened::Page);
        }
        match &door.handler {
            Handler::Here(handler) => Ok(Opened::Page(handler(&visit))),
            Handler::Apart(handler) => {
                let handler = Arc::clone(handler);
                let request = OwnedAction::of(head.peer(), method, &visit);
                apart(move || handler(&request.visit())).await.map(Opened::Page)
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

/// A request that a thread can take along.
struct OwnedAction {
    client: SocketAddr,
    method: String,
    path: String,
    query: String,
    body: Vec<u8>,
}

impl OwnedAction {
    fn of(client: SocketAddr, method: &str, visit: &Visit<'_>) -> Self {
        Self {
            client,
            method: method.to_owned(),
            path: visit.path.to_owned(),
            query: visit.query.to_owned(),
            body: visit.body.to_vec(),
        }
    }

    fn visit(&self) -> Visit<'_> {
        Visit { path: &self.path, query: &self.query, body: &self.body }
    }

    fn begin(&self, audit: &dyn Audit) -> Result<Finish, (u16, String)> {
        let (client, method, visit) = (self.client, &*self.method, self.visit());
        audit.begin(&Action { client, method, visit }).map_err(|reason| (503, reason))
    }
}

/// Records an action, runs it, and records its page. What a long one does is recorded to its end
/// also if the client leaves meanwhile.
async fn audited(
    audit: Arc<dyn Audit>,
    request: OwnedAction,
    handler: &Handler,
) -> Result<Page, (u16, String)> {
    match handler {
        Handler::Here(handler) => {
            let begin = move || request.begin(&*audit).map(|finish| (request, finish));
            let (request, finish) = apart(begin).await??;
            // Nothing can come between: if the client has left, this is not reached.
            let page = handler(&request.visit());
            let ended = move || {
                finish(&page);
                page
            };
            apart(ended).await
        }
        Handler::Apart(handler) => {
            let handler = Arc::clone(handler);
            let run = move || {
                let finish = request.begin(&*audit)?;
                let page = handler(&request.visit());
                finish(&page);
                Ok(page)
            };
            apart(run).await?
        }
        Handler::Lines(_) => unreachable!("lines are registered as no action"),
    }
}

/// Runs on a thread that may block.
async fn apart<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, (u16, String)> {
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
