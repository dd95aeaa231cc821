//! What is aimed at the operator: the admin listener, the log, the journal, signals, loops.
//!
//! Never here: what is aimed at other clients.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{Answers, Client};

use crate::siege::assault::Assault;
use crate::siege::edge::bearer;
use crate::siege::wire::{head, message, word};

/// What may never stand in the journal in clear.
pub(in crate::siege) const SECRET_ID: &str = "id-that-must-be-hashed";
/// The same of a field that is always redacted.
pub(in crate::siege) const SECRET_TOKEN: &str = "token-that-must-be-redacted";

/// Ids and tokens in every field that is recorded.
pub(super) fn ids_in_urls(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let id = format!("{SECRET_ID}-{}", assault.dice.below(100));
        let target = match assault.dice.below(5) {
            0 => format!("/q/list?uid={id}"),
            1 => format!("/q/list?page=2&uid={id}&also={id}"),
            2 => format!("/q/of/{id}?uid={id}"),
            3 => format!("/q/list?token={SECRET_TOKEN}&uid={id}"),
            _ => format!("/q/list?uid={id}&Signature={SECRET_TOKEN}&%6bey={SECRET_TOKEN}"),
        };
        let fields = match assault.dice.below(3) {
            0 => String::new(),
            1 => format!("Referer: http://siege.test/u/{id}?uid={id}\r\n"),
            _ => format!("Referer: http://siege.test/q?uid={id}&password={SECRET_TOKEN}\r\n"),
        };
        assault.get(&target, &fields);
    }
}

/// Purges of nothing, with bytes that speak to a terminal or begin a line of their own.
pub(super) fn escapes(assault: &mut Assault<'_>) {
    let bodies: [&[u8]; 3] =
        [b"url=/\x1b]0;own\x07\n2026 FAK", b"tag=\x1b[2J\r\nERROR fake", b"\x07\x00\x1b"];
    while assault.is_on() {
        let content = assault.dice.pick(&bodies);
        let token = bearer();
        let credentials = if assault.dice.chance(50) { token.as_str() } else { "Bearer \u{7f}x" };
        operate(assault, "/purge", credentials, content);
    }
}

/// Tokens by guess, many at once.
pub(super) fn wrong_tokens(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let opened = (0..30).filter_map(|_| assault.open_to(assault.scene.admin, None).ok());
        let opened: Vec<_> = opened.collect();
        for mut stream in opened {
            let guess = assault.dice.number();
            let fields = format!("Authorization: Bearer siege-{guess}\r\n");
            let sent = stream.write_all(&head("GET", "/status", &fields));
            let client = sent.and_then(|()| Client::over(stream));
            let reply = client.and_then(|mut client| client.read_reply("GET"));
            match reply {
                Ok(reply) => assault.count(&reply.status.to_string()),
                Err(error) => assault.count(&word(&error)),
            }
        }
    }
}

fn operate(assault: &Assault<'_>, target: &str, credentials: &str, content: &[u8]) {
    let mut bytes = message("POST", target, content);
    let line = format!("Authorization: {credentials}\r\n");
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").map_or(0, |at| at + 2);
    bytes.splice(end..end, line.into_bytes());
    let client = assault.open_to(assault.scene.admin, None).and_then(Client::over);
    let reply = client.and_then(|mut client| {
        client.write_raw(&bytes)?;
        client.read_reply("POST")
    });
    match reply {
        Ok(reply) => assault.count(&reply.status.to_string()),
        Err(error) => assault.count(&word(&error)),
    }
}

/// Requests that an origin leads back here.
pub(super) fn loops(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let route = assault.dice.pick(&["p", "s"]);
        let target = format!("/{route}/loop/{}", assault.dice.number());
        assault.get(&target, "");
        assault.rest(Duration::from_millis(20));
    }
}

/// SIGHUP, which ends no server.
pub(super) fn hangups(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let mut kill = Command::new("kill");
        let kill = kill.args(["-s", "HUP", &assault.pid.to_string()]).stderr(Stdio::null());
        let sent = kill.status().is_ok_and(|status| status.success());
        assault.count(if sent { "sent" } else { "the server is gone" });
        assault.rest(Duration::from_millis(200));
    }
}

/// A name server that lies, fails or is silent; in the end it is well again.
pub(super) fn bad_names(assault: &mut Assault<'_>) {
    let ways = [Answers::Servfail, Answers::Nxdomain, Answers::Garbage, Answers::OtherId];
    while assault.is_on() {
        let answers =
            if assault.dice.chance(20) { Answers::Silence } else { assault.dice.pick(&ways) };
        assault.names.answer(answers);
        assault.count(&format!("{answers:?}").to_lowercase());
        assault.rest(Duration::from_millis(500));
    }
    assault.names.answer(Answers::Well);
}
