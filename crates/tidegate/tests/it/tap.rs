//! Claims about `GET /tap`: who watches sees what ends, and nobody waits for who watches.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use testkit::{Client, FIXTURE_TIMEOUT, Origin, OriginReply, Server};

use crate::running::{BINARY, Running, run, until};

/// A viewer, with the lines of JSON that it gets.
struct View(BufReader<TcpStream>);

impl View {
    /// Opens a view, and waits until it is there.
    fn open(admin: SocketAddr, query: &str) -> Self {
        let mut view = Self::begin(admin, query).expect("a view is opened");
        while view.line().is_none_or(|line| line.get("tap").is_none()) {}
        view
    }

    /// Asks for a view; none if it is refused.
    fn begin(admin: SocketAddr, query: &str) -> Option<Self> {
        let mut stream = TcpStream::connect(admin).unwrap();
        stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
        write!(stream, "GET /tap?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut view = Self(BufReader::new(stream));
        let mut status = String::new();
        view.0.read_line(&mut status).unwrap();
        status.starts_with("HTTP/1.1 200").then_some(view)
    }

    /// The next line of the stream, if it is JSON: neither head nor chunk size.
    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).unwrap();
        assert_ne!(read, 0, "the view has ended");
        line.starts_with('{').then(|| serde_json::from_str(&line).unwrap())
    }

    /// The next exchange.
    fn exchange(&mut self) -> Value {
        loop {
            if let Some(line) = self.line().filter(|line| line.get("tap").is_none()) {
                return line;
            }
        }
    }

    /// The counts once so many exchanges have ended.
    fn counts(&mut self, ended: u64) -> Value {
        loop {
            let counts = self.line().and_then(|line| line.get("tap").cloned());
            if let Some(counts) = counts.filter(|counts| counts["ended"] == ended) {
                return counts;
            }
        }
    }
}

fn config(origin: &Origin) -> String {
    format!(
        "[journal]\nuser = \"hash\"\nuser_key = \"a secret of sixteen\"\nclient_ip = \"truncate\"\n\
         [[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\nrecord = \"off\"\n",
        origin.address()
    )
}

#[test]
fn a_viewer_sees_what_its_filter_takes_without_secrets() {
    let origin = Origin::start(|request| match request.path() {
        "/missing" => OriginReply::status(404),
        _ => OriginReply::ok("yes"),
    });
    let running = Running::start(&config(&origin), |_| ());
    let mut all = View::open(running.admin, "headers=1");
    let mut some = View::open(running.admin, "where=status+%3D%3D+404+and+header.x-app+~+'b'");
    let ask = |path: &str, app: &str| {
        let call = Client::get(running.public, path).header("X-App", app);
        let call = call
            .header("X-Api-Key", "k")
            .header("Cookie", "sid=1")
            .header("Authorization", "Bearer abc");
        call.send()
    };
    // What is masked is not found out by asking for it.
    let guesses = "query.token == 'secret' or client_ip == '127.0.0.1' or header.x-api-key ~ 'k' \
                   or header.cookie ~ 'sid'";
    let mut guess = View::open(running.admin, &format!("where={}", guesses.replace(' ', "+")));
    ask("/a?token=secret", "a\"\\");
    // Exchanges of two threads may change places: this one is seen before there is another.
    let first = all.exchange();
    ask("/missing", "a");
    ask("/missing", "b");
    assert_eq!((first["path"].as_str(), first["status"].as_u64()), (Some("/a"), Some(200)));
    assert_eq!(first["query"], "token=redacted");
    assert_eq!(first["client_ip"], "127.0.0.0", "as the journal has it");
    let header = |name: &str| {
        let pairs = first["request_headers"].as_array().unwrap();
        let pair = pairs.iter().find(|pair| pair[0].as_str().unwrap().eq_ignore_ascii_case(name));
        pair.map(|pair| pair[1].as_str().unwrap().to_owned())
    };
    assert_eq!(header("cookie").as_deref(), Some("redacted"));
    assert_eq!(header("authorization").as_deref(), Some("redacted"));
    assert_eq!(header("x-app").as_deref(), Some("a\"\\"), "escaped in JSON");
    let only = some.exchange();
    assert_eq!((only["path"].as_str(), only.get("request_headers")), (Some("/missing"), None));
    let counts = some.counts(3);
    assert_eq!((counts["matched"].as_u64(), counts["dropped"].as_u64()), (Some(1), Some(0)));
    assert_eq!(all.counts(3)["matched"], 3);
    assert_eq!(guess.counts(3)["matched"], 0);
}

#[test]
fn a_viewer_that_does_not_read_holds_nobody_up_and_its_losses_are_counted() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let running = Running::start(&config(&origin), |_| ());
    let mut idle = View::open(running.admin, "headers=1");
    let padding = "p".repeat(1000);
    let mut client = Client::connect(running.public).unwrap();
    for n in 0..3_000 {
        let call = client.request("GET", &format!("/{n}"));
        let call = (0..8).fold(call, |call, n| call.header(&format!("X-{n}"), &padding));
        assert_eq!(call.send().status, 200);
    }
    let counts = idle.counts(3_000);
    let dropped = counts["dropped"].as_u64().unwrap();
    assert!(dropped > 0 && dropped < 3_000, "{counts}");
}

#[test]
fn wrong_views_are_refused_and_a_view_ends_with_the_server_or_its_client() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let mut running = Running::start(&config(&origin), |_| ());
    let refused = |query: &str| {
        let reply = Client::get(running.admin, &format!("/tap?{query}")).send();
        (reply.status, reply.text().to_owned())
    };
    let (status, text) = refused("where=stat+%3D%3D+404");
    assert!(status == 400 && text.contains("did you mean") && text.contains("stat"), "{text}");
    assert_eq!(refused("filter=x").0, 400);
    assert_eq!(Client::call(running.admin, "POST", "/tap").send().status, 405);
    let views: Vec<View> = (0..16).map(|_| View::open(running.admin, "")).collect();
    let (status, text) = refused("");
    assert_eq!((status, text.as_str()), (503, "{\"error\":\"16 others watch already\"}\n"));
    drop(views);
    let mut last = None;
    until("a place for another viewer", || {
        last = View::begin(running.admin, "");
        last.is_some()
    });
    let mut last = last.unwrap();
    running.server.signal("TERM").unwrap();
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut last.0, &mut rest).unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "it ends as a whole body");
    running.server.wait().unwrap();
}

#[test]
fn traffic_watches_a_running_server_and_finds_it_again_after_a_crash() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let mut running = Running::start(&config(&origin), |_| ());
    let mut command = Command::new(BINARY);
    command.args(["traffic", "--admin", &running.admin.to_string(), "--show-req-headers"]);
    command.args(["--where", "path ~ '^/seen'", "-v", "req_headers_match=X-App = one"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let public = running.public;
    let ask = |path: &str| Client::get(public, path).header("X-App", "one").send().status;
    // Until the view is open, nothing is shown.
    let is_open = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_open.load(Ordering::Relaxed) {
                assert_eq!(ask("/seen/first"), 200);
            }
        });
        assert!(lines.next().unwrap().contains("=> GET /seen/first"));
        is_open.store(true, Ordering::Relaxed);
    });
    ask("/unseen");
    Client::get(public, "/seen/other").header("X-App", "two").send();
    ask("/seen/last");
    let shown: Vec<String> =
        lines.by_ref().take_while(|line| !line.contains("/seen/last")).collect();
    assert!(shown.iter().any(|line| line.ends_with("req.http.X-App = one")), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains("/unseen") || line.contains("/seen/other")));
    running.server.signal("KILL").unwrap();
    running.server.wait().unwrap();
    assert!(notes.next().unwrap().ends_with("has gone; it is asked again until it is back"));
    let mut again = Command::new(BINARY);
    again.arg("serve").arg("--config").arg(running.folder.path().join("tidegate.toml"));
    let _again = Server::spawn(again, running.admin).unwrap();
    assert!(notes.next().unwrap().ends_with("is back"));
    assert_eq!(ask("/seen/after"), 200);
    assert!(lines.any(|line| line.contains("/seen/after")));
    let process = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &process]).status().unwrap().success());
    assert!(lines.any(|line| line.starts_with("Total number of requests:")));
    assert!(child.wait().unwrap().success());
}

#[test]
fn traffic_says_why_no_server_is_watched() {
    let folder = testkit::TempDir::new().unwrap();
    let nobody = format!("127.0.0.1:{}", testkit::free_port());
    let (code, _, error) = run(&["traffic", "--admin", &nobody], folder.path());
    assert_eq!(code, 1);
    assert!(error.contains(&format!("connect to `{nobody}`")), "{error}");
    assert!(error.contains("\nhint: `--admin` takes the address"), "{error}");
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let (code, _, error) =
        run(&["traffic", "--admin", &origin.address().to_string()], folder.path());
    assert_eq!(code, 1);
    assert!(error.contains("the answer is no stream"), "{error}");
    let running = Running::start(&config(&origin), |_| ());
    let admin = running.admin.to_string();
    let (code, _, error) =
        run(&["traffic", "--admin", &admin, "--where", "stat == 1"], folder.path());
    assert_eq!(code, 2);
    assert!(error.contains("stat"), "{error}");
}
