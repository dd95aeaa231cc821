//! Reads a line of each fixed format: `combined`, `common`, LTSV, JSON of others, our own journal.
//!
//! One function for each, or for both of `combined` and `common`. It returns the texts of the line,
//! or `None` when it is refused. Labels of LTSV are here.
//! Elsewhere: templates (`plain.rs`), cutting (`cut.rs`), JSON (`object.rs`), what a text becomes
//! (`texts.rs`), names of variables (`variable.rs`).
//! Fields and refusals must be those of the delivery's scanners in `pipeline/src/decode`, but their
//! code is not used. `plain/tests.rs` compares both. A new format is a function here, an arm in
//! `plain.rs`, and lines in that test (CONTRIBUTING.md).

use std::collections::BTreeMap;

use exchange::FieldName;

use crate::cut::{cut, has_time};
use crate::object::members;
use crate::scalar::whole;
use crate::texts::{LineTexts, unescape_json, unescape_log};
use crate::variable::{Meaning, is_number, known_key, variable, variable_only};

/// `combined` and `common` up to the bytes, and what `combined` has behind them.
const COMMON: [(&str, &str); 7] = [
    ("", "remote_addr"),
    (" ", "identity"),
    (" ", "remote_user"),
    (" [", "time_local"),
    ("] \"", "request"),
    ("\" ", "status"),
    (" ", "body_bytes_sent"),
];
const QUOTED: [(&str, &str); 2] = [(" \"", "http_referer"), ("\" \"", "http_user_agent")];

/// A line of nginx's or Apache's `combined`, or of `common`.
pub(crate) fn combined(line: &[u8], is_common: bool) -> Option<LineTexts> {
    let part = |(before, name): &(&'static str, &'static str)| (before.as_bytes(), Some(*name));
    let mut parts: Vec<_> = COMMON.iter().map(part).collect();
    // What the bytes end before.
    parts.push((b" ", None));
    let spaced = [line, b" "].concat();
    let (mut found, rest) = cut(&spaced, &parts, true)?;
    let mut texts = LineTexts::default();
    let of = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let address = of("remote_addr")?;
    let is_numeric = address.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_sound = !address.is_empty() && (!is_numeric || address.len() <= 15);
    // The first bracket behind a space is that of the time.
    let has_bracket = of("identity")?.starts_with(b"[") || of("remote_user")?.starts_with(b"[");
    let is_sound = is_sound && !has_bracket && !of("identity")?.is_empty();
    let is_whole = of("status")?.len() == 3 && is_sound;
    is_whole.then_some(())?;
    found.retain(|(name, _)| *name != "identity");
    texts.put_all(&found, unescape_log)?;
    // No bytes are written as `-` there.
    texts.fields.entry(FieldName::BytesOut).or_insert_with(|| b"0".to_vec());
    // Behind the bytes, from the space on, as the line has it.
    let mut rest = &line[(line.len() - rest.len()).min(line.len())..];
    if !is_common || rest.starts_with(b" \"") {
        let mut parts: Vec<_> = QUOTED.iter().map(part).collect();
        parts.push((b"\"", None));
        let (found, after) = cut(rest, &parts, true)?;
        texts.put_all(&found, unescape_log)?;
        rest = after;
    }
    let is_end = rest.is_empty() || (rest[0] == b' ' && !has_time(rest));
    is_end.then_some(texts)
}

/// A line of labelled tab-separated values.
pub(crate) fn labelled(line: &[u8]) -> Option<LineTexts> {
    let mut texts = LineTexts::default();
    for part in line.split(|byte| *byte == b'\t').filter(|part| !part.is_empty()) {
        let colon = part.iter().position(|byte| *byte == b':')?;
        let (label, raw) = (String::from_utf8_lossy(&part[..colon]), &part[colon + 1..]);
        if raw.is_empty() || raw == b"-" {
            continue;
        }
        let what = label_of(&label);
        if (is_number(&what) && whole(raw).is_none())
            || (what == Meaning::Time && texts.time_us.is_some())
        {
            return None;
        }
        match what {
            Meaning::Field(FieldName::Variable(name)) => {
                let text = exchange::unescape_log(raw).into_owned();
                texts.others.entry(name.into()).or_insert(text);
            }
            Meaning::Field(FieldName::Header(_)) => {
                let text = exchange::unescape_log(raw).into_owned();
                texts.others.entry(label.into_owned()).or_insert(text);
            }
            what => texts.put(what, raw, unescape_log)?,
        }
    }
    let has = |name| texts.fields.contains_key(&name);
    (has(FieldName::Status) && has(FieldName::Path)).then_some(texts)
}

/// The labels that ltsv.org recommends; any other is a variable.
fn label_of(label: &str) -> Meaning {
    let name = match label {
        "time" => return Meaning::Time,
        "host" => "remote_addr",
        "user" => "remote_user",
        "req" => "request",
        "method" => "request_method",
        "uri" => "request_uri",
        "protocol" => "server_protocol",
        "vhost" => "host",
        "size" => "body_bytes_sent",
        "reqsize" => "request_length",
        "referer" => "http_referer",
        "ua" => "http_user_agent",
        "reqtime" => "request_time",
        "reqtime_microsec" => return Meaning::Field(FieldName::Total),
        "id" => "request_id",
        other => other,
    };
    variable(name)
}

/// A line of JSON of others; `keys` are the configured names of our fields.
pub(crate) fn object(line: &[u8], keys: &BTreeMap<String, String>) -> Option<LineTexts> {
    let mut texts = LineTexts::default();
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        let key = String::from_utf8_lossy(found.key).into_owned();
        let configured = keys.iter().find(|(_, name)| **name == key);
        let configured = configured.and_then(|(field, _)| field.parse().ok());
        let configured = configured.map(|field| match field {
            FieldName::Time => Meaning::Time,
            FieldName::Path => Meaning::Target,
            FieldName::Version => Meaning::Protocol,
            field => Meaning::Field(field),
        });
        if let Some(Meaning::Field(field @ (FieldName::QueryValue(_) | FieldName::Header(_)))) =
            &configured
        {
            texts.named.insert(field.clone());
        }
        match configured.or_else(|| known_key(&key)) {
            Some(what) => texts.put_json(what, found.value)?,
            None if key == "phases" => texts.phases = Some(found.value.to_vec()),
            None if key == "impression" => texts.impression = Some(found.value.to_vec()),
            None if found.value.is_empty() || found.value == b"-" => {}
            None => {
                texts.others.entry(key).or_insert_with(|| unescape_json(found.value));
            }
        }
    }
    Some(texts)
}

/// A line of our own journal: texts are what they are, and nothing else is known.
pub(crate) fn journal(line: &[u8]) -> Option<LineTexts> {
    let mut texts = LineTexts { is_ours: true, ..LineTexts::default() };
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        match String::from_utf8_lossy(found.key).as_ref() {
            "phases" => texts.phases = Some(found.value.to_vec()),
            "impression" => texts.impression = Some(found.value.to_vec()),
            "path" => texts.put(Meaning::Field(FieldName::Path), found.value, unescape_json)?,
            "version" => {
                texts.put(Meaning::Field(FieldName::Version), found.value, unescape_json)?
            }
            "timestamp" | "@timestamp" => {}
            key => {
                if let Some(what) = known_key(key).filter(|_| !variable_only(key)) {
                    texts.put_json(what, found.value)?;
                }
            }
        }
    }
    let has = |name| texts.fields.contains_key(&name);
    let is_whole = has(FieldName::Method) && has(FieldName::Path) && has(FieldName::Status);
    is_whole.then_some(texts)
}
