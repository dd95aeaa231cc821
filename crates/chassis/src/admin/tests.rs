//! Claims about the gate of the admin endpoint, and about the audit of actions.

use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use stdx::Network;
use testkit::{Client, Reply};
use tokio::task::LocalSet;

use super::{Action, Admin, Audit, Finish, Page};
use crate::drain::Drain;
use crate::http::{ClientHeaders, Limits, TrustedProxies};
use crate::listen::bind;

/// Two threads meet here: the test, and the long action.
static LONG: Barrier = Barrier::new(2);

type Log = Arc<Mutex<Vec<String>>>;

/// Records what begins and how it ends; refuses what is to be refused.
struct Trail(Log);

impl Audit for Trail {
    fn begin(&self, action: &Action<'_>) -> Result<Finish, String> {
        let Action { client, method, visit } = action;
        if visit.query == "refuse" {
            return Err("the trail cannot be written".to_owned());
        }
        let (body, query) = (String::from_utf8_lossy(visit.body), visit.query);
        let text = format!("{} {method} {} {query} {body}", client.ip(), visit.path);
        self.0.lock().unwrap().push(text);
        let log = Arc::clone(&self.0);
        let unfinished = Unfinished(Some(Arc::clone(&log)));
        Ok(Box::new(move |page| {
            let mut unfinished = unfinished;
            unfinished.0 = None;
            log.lock().unwrap().push(format!("ended {}", page.status));
        }))
    }
}

/// Says that an action made no page.
struct Unfinished(Option<Log>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(log) = &self.0 {
            log.lock().unwrap().push("made no page".to_owned());
        }
    }
}

/// Serves an endpoint while `visit` runs; returns what was audited and done, in order.
fn during(token: Option<&str>, visit: impl FnOnce(std::net::SocketAddr)) -> Vec<String> {
    let log = Log::default();
    let (audited, done) = (Arc::clone(&log), Arc::clone(&log));
    let token = token.map(str::to_owned);
    let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap().remove(0);
    let address = listener.address().unwrap();
    let drain = Drain::default();
    let draining = drain.draining();
    let serving = std::thread::spawn(move || {
        let mut admin = Admin::new(token);
        admin.page("/status", |visit| Page::json(200, format!("[\"{}\"]", visit.query)));
        admin.action("POST", "/purge", move |visit| {
            let body = String::from_utf8_lossy(visit.body).into_owned();
            done.lock().unwrap().push(format!("done {body}"));
            Page::ok("text/plain", body)
        });
        admin.long_action("POST", "/long", |visit| {
            LONG.wait();
            assert!(!visit.query.contains("panic"), "the action was told to panic");
            Page::ok("text/plain", format!("{} {}", visit.path, visit.query))
        });
        admin.long_inquiry("POST", "/list", |_| Page::ok("text/plain", "listed"));
        admin.audit(Arc::new(Trail(audited)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Whomever a proxy on this machine names, the peer is what counts here.
        let own = Network::parse("127.0.0.0/8").unwrap();
        let trusted = TrustedProxies::new(&[own], ClientHeaders::XForwarded);
        let limits = Limits { trusted, ..Limits::default() };
        let serving = listener.serve(Rc::new(admin), limits, draining);
        LocalSet::new().block_on(&runtime, serving).unwrap();
    });
    visit(address);
    drain.begin(Duration::ZERO);
    serving.join().unwrap();
    let log = log.lock().unwrap();
    log.clone()
}

#[test]
fn operators_are_known_by_the_peer_and_not_by_whom_a_proxy_names() {
    let log = during(None, |address| {
        let call = Client::post(address, "/purge", "x").header("X-Forwarded-For", "192.0.2.1");
        assert_eq!(call.header("X-Forwarded-Host", "evil.example").send().text(), "x");
    });
    assert_eq!(log, ["127.0.0.1 POST /purge  x", "done x", "ended 200"]);
}

#[test]
fn pages_are_read_and_actions_are_audited_before_they_run_and_after() {
    let log = during(None, |address| {
        let page = Client::get(address, "/status?a=1").send();
        assert_eq!((page.status, page.text()), (200, "[\"a=1\"]"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(Client::call(address, "HEAD", "/status").send().status, 200);
        assert_eq!(Client::post(address, "/purge?all", "x").send().text(), "x");
        let wrong = Client::get(address, "/purge").send();
        assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
        let unknown = Client::get(address, "/nothing").send();
        assert_eq!(unknown.status, 404);
        assert!(unknown.text().contains("/status /purge"), "{}", unknown.text());
        assert_eq!(Client::post(address, "/purge", vec![b'x'; 2 << 20]).send().status, 413);
    });
    assert_eq!(log, ["127.0.0.1 POST /purge all x", "done x", "ended 200"]);
}

#[test]
fn an_action_that_cannot_be_recorded_is_refused_and_an_inquiry_is_not_recorded() {
    let log = during(None, |address| {
        for target in ["/purge?refuse", "/long?refuse"] {
            let refused = Client::post(address, target, "x").send();
            assert_eq!(refused.status, 503);
            assert!(refused.text().contains("the trail cannot be written"), "{}", refused.text());
        }
        assert_eq!(Client::post(address, "/list", "x").send().text(), "listed");
    });
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn foreign_hosts_and_foreign_pages_are_refused() {
    let log = during(None, |address| {
        let status = |name: &str, value: &str| -> u16 {
            let reply: Reply = Client::post(address, "/purge", "x").header(name, value).send();
            reply.status
        };
        let same_origin = format!("http://{address}");
        for (name, value, expected) in [
            ("Host", "evil.example", 403),
            ("Host", "127.0.0.1.evil.example", 403),
            ("Host", "10.0.0.1", 403),
            ("Host", "LOCALHOST:8081", 200),
            ("Host", "[::1]:8081", 200),
            ("Origin", "http://evil.example", 403),
            ("Origin", "null", 403),
            ("Origin", &same_origin, 200),
            ("Sec-Fetch-Site", "cross-site", 403),
            ("Sec-Fetch-Site", "same-site", 403),
            ("Sec-Fetch-Site", "same-origin", 200),
        ] {
            assert_eq!(status(name, value), expected, "{name}: {value}");
        }
    });
    assert_eq!(log.iter().filter(|line| line.starts_with("done")).count(), 4);
}

#[test]
fn with_a_token_nobody_is_let_in_without_it_and_everybody_with_it() {
    during(Some("secret"), |address| {
        let status = |value: &str| {
            Client::get(address, "/status")
                .header("Host", "far.example")
                .header("Authorization", value)
                .send()
                .status
        };
        let refused = Client::get(address, "/status").send();
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
        for (value, expected) in [
            ("Bearer secret", 200),
            ("Bearer secre", 401),
            ("Bearer secrets", 401),
            ("Bearer ", 401),
            ("Basic secret", 401),
        ] {
            assert_eq!(status(value), expected, "{value}");
        }
    });
}

#[test]
fn an_action_that_takes_long_holds_up_no_page_and_its_panic_is_its_own() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains("told to panic") {
            before(info);
        }
    }));
    let log = during(None, |address| {
        for (query, status) in [("a=1", 200), ("panic", 500)] {
            let target = format!("/long?{query}");
            let long = std::thread::spawn(move || Client::post(address, &target, "x").send());
            assert_eq!(Client::get(address, "/status").send().status, 200);
            LONG.wait();
            let long = long.join().unwrap();
            assert_eq!(long.status, status, "{}", long.text());
        }
        assert_eq!(Client::get(address, "/status").send().status, 200);
    });
    let expected = ["127.0.0.1 POST /long a=1 x", "ended 200", "127.0.0.1 POST /long panic x"];
    assert_eq!(log[..3], expected);
    assert_eq!(log[3..], ["made no page"]);
}
