//! A client: draws a request, sends it well or badly, and has the answer judged.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::{Client, Reply};

use crate::dice::Dice;
use crate::fact::{FIELD, Fact};
use crate::history::History;
use crate::judge::judge;
use crate::request_spec::RequestSpec;
use crate::tally::Tally;

/// What a client should never send; each with what is hidden in it.
const HOSTILE: [&str; 8] = [
    "POST /on/1 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n\
     0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "POST /pass/1 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked\r\n\r\n\
     GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "POST /pass/1 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\
     Transfer-Encoding: identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "GET /on/1?q=1 HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
    "GET /on/1?q=1 HTTP/1.1\r\n Host: a.test\r\nContent-Length: 44\r\n\r\n\
     GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "POST /pass/1 HTTP/1.1\r\nHost: a.test\r\nContent-Length: +5\r\n\r\n\
     GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
    "GET /on/1 HTTP/1.1\nHost: a.test\nX: \x01\n\n",
    "POST /pass/1 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n\
     3;\r\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
];

/// One client among many.
#[derive(Debug)]
pub(crate) struct Visitor {
    address: SocketAddr,
    /// Where operators purge.
    admin: SocketAddr,
    history: Arc<History>,
    tally: Arc<Tally>,
    dice: Dice,
    tags: HashMap<String, String>,
}

impl Visitor {
    /// A client that behaves badly now and then, and an operator who purges.
    pub(crate) fn new(
        (address, admin): (SocketAddr, SocketAddr),
        history: Arc<History>,
        tally: Arc<Tally>,
        dice: Dice,
    ) -> Self {
        Self { address, admin, history, tally, dice, tags: HashMap::new() }
    }

    /// Asks until told to stop.
    pub(crate) fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            match self.dice.below(1_000) {
                0..30 => self.misbehave(),
                // Seldom, for what is forgotten all the time is never old.
                30..34 => self.purge(),
                _ => self.converse(),
            }
            sleep(Duration::from_millis(self.dice.below(8)));
        }
    }

    /// Asks once, politely; returns the status when the answer is right.
    pub(crate) fn ask_once(&mut self, spec: &RequestSpec) -> Option<(u16, u64)> {
        let begun = Instant::now();
        let mut client = Client::connect(self.address).ok()?;
        client.write_raw(&spec.bytes()).ok()?;
        let reply = client.read_reply(spec.method).ok()?;
        self.note(spec, &reply, begun);
        let version = reply.header(FIELD).and_then(Fact::parse).map_or(0, |fact| fact.version);
        Some((reply.status, version))
    }

    /// A connection with one or more requests.
    fn converse(&mut self) {
        let Ok(mut client) = Client::connect(self.address) else { return };
        let rounds = 1 + self.dice.below(6);
        for _ in 0..rounds {
            let tags = &self.tags;
            let spec = RequestSpec::drawn(&mut self.dice, |url| tags.get(url).cloned());
            let begun = Instant::now();
            let outcome = self.exchange(&mut client, &spec);
            let closes = spec.close || spec.old;
            match outcome {
                Ok(Some(reply)) => {
                    let connection = reply.header("connection").unwrap_or("");
                    let closed = connection.eq_ignore_ascii_case("close");
                    self.note(&spec, &reply, begun);
                    if closed || closes {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => return self.failed(&spec, &error),
            }
        }
    }

    /// Sends one request, or two at once, slowly or at once; `None` when the client has left.
    fn exchange(&mut self, client: &mut Client, spec: &RequestSpec) -> io::Result<Option<Reply>> {
        let bytes = spec.bytes();
        match self.dice.below(100) {
            0..3 => {
                self.tally.fault("client leaves within its request");
                let cut = self.dice.below(bytes.len() as u64) as usize;
                client.write_raw(&bytes[..cut])?;
                return Ok(None);
            }
            3..7 => {
                self.tally.fault("client leaves before its answer");
                client.write_raw(&bytes)?;
                sleep(Duration::from_millis(self.dice.below(30)));
                return Ok(None);
            }
            7..10 => {
                self.tally.fault("client sends slowly");
                for piece in bytes.chunks(bytes.len() / 4 + 1) {
                    client.write_raw(piece)?;
                    sleep(Duration::from_millis(self.dice.below(15)));
                }
            }
            10..13 => {
                self.tally.fault("client reads slowly");
                client.write_raw(&bytes)?;
                sleep(Duration::from_millis(self.dice.below(400)));
            }
            13..17 if !spec.old && !spec.close && spec.method != "POST" => {
                let second = RequestSpec::any(&mut self.dice);
                let begun = Instant::now();
                client.write_raw(&[bytes, second.bytes()].concat())?;
                let first = client.read_reply(spec.method)?;
                self.note(spec, &first, begun);
                let reply = client.read_reply("GET")?;
                self.note(&RequestSpec { kind: "pipelined GET", ..second }, &reply, begun);
                return Ok(None);
            }
            _ => client.write_raw(&bytes)?,
        }
        client.read_reply(spec.method).map(Some)
    }

    fn note(&mut self, spec: &RequestSpec, reply: &Reply, begun: Instant) {
        match judge(&self.history, spec, reply, begun) {
            Ok(verdict) => {
                if spec.post.is_some() && reply.status == 200 {
                    self.history.forgets(|stored| stored == spec.url, begun);
                }
                self.tally.request(spec.kind, verdict.outcome, verdict.hit);
            }
            Err(reason) => {
                self.tally.request(spec.kind, "wrong", false);
                let shown = |value: &str| value.chars().take(120).collect::<String>();
                let lines = reply.headers.0.iter();
                let head: Vec<String> =
                    lines.map(|(name, value)| format!("{name}: {}", shown(value))).collect();
                let spec = RequestSpec { post: None, ..spec.clone() };
                self.tally.wrong(format!("{reason}\n    {spec:?}\n    {} {head:?}", reply.status));
            }
        }
        let tag = reply.header("etag").filter(|_| reply.status == 200);
        if let Some(tag) = tag {
            self.tags.insert(spec.url.clone(), tag.to_owned());
        }
    }

    /// An answer that did not arrive: broken off is allowed, silence and nonsense are not.
    fn failed(&self, spec: &RequestSpec, error: &io::Error) {
        let outcome = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "hung",
            ErrorKind::InvalidData => "not HTTP",
            _ => "broken off",
        };
        self.tally.request(spec.kind, outcome, false);
        if outcome != "broken off" {
            self.tally.wrong(format!("{outcome}: {error}\n    {}", spec.url));
        }
    }

    /// Has a URL, everything below a path, or a tag forgotten.
    fn purge(&mut self) {
        let url = RequestSpec::any(&mut self.dice).url;
        let dir = url[..=url.rfind('/').unwrap_or(0)].to_owned();
        let tag = Fact::purge_tag(&url);
        let kind = self.dice.below(3);
        let query = match kind {
            0 => format!("url=http://{}", url.replace('?', "%3F").replace('=', "%3D")),
            1 => format!("prefix=http://{dir}"),
            _ => format!("tag={tag}"),
        };
        let began = Instant::now();
        let purge = Client::post(self.admin, &format!("/purge?{query}"), "").try_send();
        if !purge.as_ref().is_ok_and(|reply| reply.status == 200) {
            self.tally.wrong(format!("a purge of `{query}` failed: {purge:?}"));
            return;
        }
        self.tally.request("purge", "200", false);
        let is_meant = |stored: &str| match kind {
            0 => stored == url,
            1 => stored.starts_with(&dir),
            _ => Fact::purge_tag(stored) == tag,
        };
        self.history.forgets(is_meant, began);
    }

    /// Sends what no client should; whatever comes back, nothing hidden in it may be answered.
    fn misbehave(&mut self) {
        self.tally.fault("client is hostile");
        let hostile = self.dice.pick(&HOSTILE);
        let Ok(mut client) = Client::connect(self.address) else { return };
        let sent = client.write_raw(hostile.as_bytes()).and_then(|()| client.finish_sending());
        let mut answers = 0;
        while sent.is_ok()
            && let Ok(reply) = client.read_reply("GET")
        {
            answers += 1;
            let fact = reply.header(FIELD).unwrap_or("");
            if fact.contains("smuggled") || answers > 1 {
                self.tally.wrong(format!("a hidden request was answered: {hostile:?} {reply:?}"));
            }
        }
        self.tally.request("hostile", "refused", false);
    }
}
