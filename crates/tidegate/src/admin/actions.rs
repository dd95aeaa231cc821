//! Records the actions of the admin listener: in the log beforehand, and in the trail of `audit`.
//!
//! `chassis::admin` calls `begin` for every action, so a new one is recorded without a line here.
//! Its name is its path, such as `workers recycle`; `named` has those that read better otherwise.
//! `outcome` words the page. docs/operating/audit.md lists the names.
//! Invariant: query and body are recorded without secrets, up to [`BODY_BYTES_MAX`]. The
//! client is the peer of the connection. On loopback the kernel says which user's process that is;
//! nobody claims it.

use std::net::SocketAddr;

use audit::{ActionRecorder, Actor};
use chassis::admin::{Action, Audit, Finish, Page};
use serde_json::Value;

/// Bytes of the body of an action, and characters of all, that are recorded.
const BODY_BYTES_MAX: usize = 4096;
const MODELS: &str = "/v2/repository/models/";

/// Records actions of a listener.
pub(super) struct Actions {
    /// The listener's port.
    pub port: u16,
    pub recorder: ActionRecorder,
}

impl Audit for Actions {
    fn begin(&self, action: &Action<'_>) -> Result<Finish, String> {
        let Action { client, method, visit } = action;
        let ip = client.ip();
        let bytes = &visit.body[..visit.body.len().min(BODY_BYTES_MAX)];
        let body = String::from_utf8_lossy(bytes);
        let (name, object) = named(method, visit.path);
        let mut what: Vec<String> = object.map(str::to_owned).into_iter().collect();
        what.extend(form(visit.query));
        what.extend(body_of(visit.body, &body));
        // The body may be larger, if it is JSON.
        let what: String = what.join(" ").chars().take(BODY_BYTES_MAX).collect();
        let action = format!("{method} {}", visit.path);
        tracing::info!(target: "audit", client = %ip, action, what, "operator's action");
        let who = who(*client, self.port);
        let begun = self.recorder.begin(who, &name, &what).map_err(|error| {
            let reason = stdx::Chain(&error);
            format!("the action cannot be recorded, so `[audit] on_full` refuses it: {reason}")
        })?;
        Ok(Box::new(move |page| begun.end(&outcome(&name, page))))
    }
}

/// Who is behind a connection.
fn who(client: SocketAddr, port: u16) -> Actor {
    let uid = audit::connection_uid(client, port);
    Actor {
        client: Some(client.ip().to_canonical().to_string()),
        uid,
        user: uid.and_then(audit::user_name),
        sudo_user: None,
    }
}

/// What an action is called, and what its path names.
fn named<'p>(method: &str, path: &'p str) -> (String, Option<&'p str>) {
    match (method, path) {
        ("POST", "/rollout") => return ("rollout set".to_owned(), None),
        ("DELETE", "/rollout") => return ("rollout clear".to_owned(), None),
        _ => {}
    }
    if let Some((model, verb)) = path.strip_prefix(MODELS).and_then(|rest| rest.rsplit_once('/')) {
        return (format!("model {verb}"), Some(model));
    }
    let words = path.trim_start_matches('/').replace('/', " ");
    match method {
        "POST" => (words, None),
        _ => (format!("{} {words}", method.to_ascii_lowercase()), None),
    }
}

/// Pairs of a query or a form, unescaped and without secrets.
fn form(text: &str) -> impl Iterator<Item = String> {
    let pairs = text.split('&').map(str::trim).filter(|pair| !pair.is_empty());
    pairs.map(|pair| match pair.split_once('=') {
        Some((name, value)) => audit::pair_without_secrets(name, &unescaped(value)),
        None => audit::without_secrets(&unescaped(pair)),
    })
}

/// Members of a body of JSON, or pairs of a form.
fn body_of(body: &[u8], shown: &str) -> Vec<String> {
    let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
        return form(shown).collect();
    };
    let given = members.iter().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            audit::pair_without_secrets(name, &text)
        })
        .collect()
}

/// Undoes percent escapes where they are whole; what is no UTF-8 then shows as `\u{fffd}`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What became of an action, by its page.
fn outcome(name: &str, page: &Page) -> String {
    let body: Value = serde_json::from_slice(&page.body).unwrap_or_default();
    if page.status != 200 {
        // It may quote what was asked.
        let reason = audit::without_secrets(body["error"].as_str().unwrap_or_default());
        let gap = if reason.is_empty() { "" } else { ": " };
        return format!("failed, {}{gap}{reason}", page.status);
    }
    match (name, body["purged"].as_u64(), body["state"].as_str()) {
        ("purge", Some(1), _) => "done, 1 entry".to_owned(),
        ("purge", Some(count), _) => format!("done, {count} entries"),
        // Workers are replaced after the answer.
        (_, _, Some(state)) if name.starts_with("workers ") => format!("begun, {state}"),
        _ => "done".to_owned(),
    }
}

#[cfg(test)]
mod tests;
