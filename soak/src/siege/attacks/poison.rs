//! Requests that would change what others get: headers, spellings, cookies, and answers of origins.
//!
//! Honest clients ask for the same keys at the same time. Never here: loads (`floods`, `readers`).

use crate::siege::assault::Assault;
use crate::siege::expected::body;
use crate::siege::honest::user;
use crate::siege::wire::{head, message};

const UNDERSCORES: [&str; 9] = [
    "X_Forwarded_Host: evil.test",
    "X_Forwarded_Proto: evil",
    "X_Original_URL: /evil",
    "X_Rewrite_Url: /evil",
    "X_HTTP_Method_Override: evil",
    "If_None_Match: \"evil\"",
    "Tidegate_Decision: evil",
    "X_User: evil",
    "x_forwarded_for: evil",
];

const FAMILIES: [&str; 44] = [
    "X-Original-URI",
    "X-Original-URL",
    "X-Original-Host",
    "X-Rewrite-URL",
    "X-Forwarded-Uri",
    "X-Forwarded-Protocol",
    "X-Forwarded-Server",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Ssl",
    "X-Forwarded-Path",
    "X-Forward-Host",
    "X-Host",
    "X-Host-Override",
    "X-Scheme",
    "X-URL-Scheme",
    "X-Script-Name",
    "X-Path-Info",
    "X-Prefix",
    "X-Base-Path",
    "X-Request-URI",
    "X-Override-URL",
    "X-Proxy-URL",
    "X-Backend-Host",
    "X-Server-Name",
    "X-Accel-Redirect",
    "X-Sendfile",
    "Destination",
    "X-HTTP-Path-Override",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    "Front-End-Https",
    "X-Arr-SSL",
    "Fastly-SSL",
    "X-Middleware-Subrequest",
    "X-Nextjs-Data",
    "Next-Action",
    "RSC",
    "Translate",
    "True-Client-IP",
    "X-Real-IP",
    "X-Client-IP",
    "Remote-User",
    "X-Auth-User",
];

const SPELLINGS: [&str; 12] = [
    "/%6De/KEY",
    "/%6d%65/KEY",
    "/ME/KEY",
    "/Me/KEY",
    "/me;a/KEY",
    "/me%00/KEY",
    "/me%2fKEY",
    "//me/KEY",
    "/me\\KEY",
    "/./me/KEY",
    "/x/../me/KEY",
    "/%256De/KEY",
];

/// Names with `_`, on keys that others ask for.
pub(super) fn underscores(assault: &mut Assault<'_>) {
    with_lines(assault, &UNDERSCORES);
}

/// Headers by which a client overrides its own request.
pub(super) fn families(assault: &mut Assault<'_>) {
    let lines: Vec<String> = FAMILIES.iter().map(|name| format!("{name}: evil")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    with_lines(assault, &lines);
}

/// The header that CGI programs take for their own proxy.
pub(super) fn proxy_header(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let salt = assault.dice.number();
        for target in [assault.target_of_others(), format!("/p/proxied-{salt}")] {
            let reply = assault.get(&target, "Proxy: http://evil.test/\r\n");
            if reply.is_some_and(|reply| reply.body.windows(5).any(|it| it == b"proxy")) {
                assault.wrong("`Proxy` reached the origin");
            }
        }
    }
}

/// Lies of a client about itself, from an address that is not trusted.
pub(super) fn forwarded(assault: &mut Assault<'_>) {
    let lies = [
        "X-Forwarded-For: evil, 127.0.1.1",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil.test",
        "Forwarded: for=evil;proto=https;host=evil.test",
        "X-Request-Id: evil-evil-evil-evil-evil-evil-evil",
        "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.test",
    ];
    with_lines(assault, &lies);
}

fn with_lines(assault: &mut Assault<'_>, lines: &[&str]) {
    while assault.is_on() {
        let target = assault.target_of_others();
        let (first, second) = (assault.dice.pick(lines), assault.dice.pick(lines));
        let fields = if first == second {
            format!("{first}\r\n")
        } else {
            format!("{first}\r\n{second}\r\n")
        };
        let reply = assault.get(&target, &fields);
        let expected = body(&target, "everybody", "");
        if reply.is_some_and(|reply| reply.status == 200 && reply.body != expected) {
            assault.wrong(&format!("`{target}` with {fields:?} is another's or believed"));
        }
    }
}

/// Paths that an origin reads as those of a private route: what one user gets, no other does.
pub(super) fn spellings(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let key = assault.dice.number().to_string();
        let target = assault.dice.pick(&SPELLINGS).replace("KEY", &key);
        assault.get(&target, "Cookie: session=of-the-victim\r\n");
        let reply = assault.get(&target, "");
        let victim = b"of-the-victim";
        if reply.is_some_and(|reply| reply.body.windows(victim.len()).any(|it| it == victim)) {
            assault.wrong(&format!("`{target}` gave the victim's page to everybody"));
        }
    }
}

/// Answers with the attacker's session, planted under the ids of others.
pub(super) fn planted_cookies(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let (id, page) = (user(assault.dice.below(8)), assault.dice.below(40));
        let cookie = match assault.dice.below(4) {
            0 => format!("user={id}; session=evil"),
            1 => format!("session=evil; user=\"{id}\""),
            2 => format!("user={id}; user={id}; session=evil"),
            _ => format!("session=evil;user={id};other=evil"),
        };
        let target = format!("/u/page/{page}");
        assault.get(&target, &format!("Cookie: {cookie}\r\nAuthorization: evil\r\n"));
    }
}

/// A victim's id alone: what it gets has nothing of the victim's session.
pub(super) fn stolen_ids(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let target = format!("/u/page/{}", assault.dice.number());
        let id = user(assault.dice.below(8));
        assault.get(&target, &format!("Cookie: user={id}; session=of-the-victim\r\n"));
        let reply = assault.get(&target, &format!("Cookie: user={id}; session=evil\r\n"));
        let content = reply.map(|reply| String::from_utf8_lossy(&reply.body).into_owned());
        if content.is_some_and(|content| content.contains("session")) {
            assault.wrong(&format!("`{target}` of `{id}` was made by a session"));
        }
    }
}

/// Cookies in confirmations: each is for the client whose request was confirmed.
pub(super) fn crumbs(assault: &mut Assault<'_>) {
    let mut seen = std::collections::HashSet::new();
    while assault.is_on() {
        let target = format!("/r/crumb/{}", assault.dice.below(3));
        let Some(reply) = assault.get(&target, "") else { continue };
        for cookie in reply.headers.all("set-cookie") {
            if !seen.insert(cookie.to_owned()) {
                assault.wrong(&format!("`{cookie}` came to two clients"));
            }
        }
    }
}

/// Cookies of a strict route are for the client that led the fetch.
pub(super) fn strict_cookies(assault: &mut Assault<'_>) {
    let mut seen = std::collections::HashSet::new();
    while assault.is_on() {
        let kind = assault.dice.pick(&["cookie", "broken", "cookie-broken"]);
        let target = format!("/strict/{kind}/{}", assault.dice.below(5));
        let Some(reply) = assault.get(&target, "") else { continue };
        for cookie in reply.headers.all("set-cookie") {
            if !seen.insert(cookie.to_owned()) {
                assault.wrong(&format!("`{cookie}` came to two clients"));
            }
        }
    }
}

/// Methods and reflected locations that would remove what others have stored.
pub(super) fn evictions(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let key = assault.dice.below(crate::siege::honest::DISK_KEYS);
        let method = assault.dice.pick(&["PURGE", "BAN", "REFRESH", "PURGEALL", "get", "Purge"]);
        let target = format!("/d/key/{key}");
        if assault.dice.chance(50) {
            assault.ask(method, &head(method, &target, ""));
        } else {
            let fields = format!("X-Where: {target}\r\nContent-Length: 0\r\n");
            assault.ask("POST", &head("POST", "/post/elsewhere", &fields));
        }
    }
}

/// Answers that no good origin sends.
pub(super) fn hostile_origin(assault: &mut Assault<'_>) {
    while assault.is_on() {
        let (kind, salt) = (1 + assault.dice.below(7), assault.dice.below(50));
        let target = format!("/s/odd={kind}/{salt}");
        if assault.dice.chance(80) {
            assault.get(&target, "");
        } else {
            assault.ask("POST", &message("POST", &format!("/post/odd={kind}"), b"x"));
        }
    }
}
