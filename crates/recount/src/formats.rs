//! Reads a line of each fixed format: `combined`, `common`, LTSV, JSON of others, our own journal.
//!
//! One function for each, or for both of `combined` and `common`. It returns the texts of the line,
//! or `None` when it is refused. Labels of LTSV are here.
//! Elsewhere: templates (`plain.rs`), cutting (`cut.rs`), JSON (`object.rs`), what a text becomes
//! (`texts.rs`), names of variables (`variable.rs`).
//! Fields and refusals must be those of the delivery's scanners in `pipeline/src/decode`, but their
//! code is not used. `plain/tests.rs` compares both. A new format is a function here, an arm in
//! `plain.rs`, and lines in that test (CONTRIBUTING.md).

use exchange::FieldName;
use pipeline::{Escape, NamedKeys};

use crate::cut::{CutRules, cut, has_time};
use crate::escapes::{go, json, log, quoted_by_go};
use crate::object::{first_value, member, members};
use crate::texts::LineTexts;
use crate::variable::{Meaning, Unit, configured, is_bytes, known_key, may_be, variable_only};

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

/// nginx and Apache escape alike.
const NGINX: CutRules = CutRules { escape: Escape::Log, has_tail: false };

/// A line of nginx's or Apache's `combined`, or of `common`.
pub(crate) fn combined(line: &[u8], is_common: bool) -> Option<LineTexts> {
    let part = |(before, name): &(&'static str, &'static str)| (before.as_bytes(), Some(*name));
    let mut parts: Vec<_> = COMMON.iter().map(part).collect();
    // What the bytes end before.
    parts.push((b" ", None));
    let spaced = [line, b" "].concat();
    let (mut found, rest) = cut(&spaced, &parts, NGINX)?;
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
    texts.put_all(&found, log)?;
    // Behind the bytes, from the space on, as the line has it.
    let mut rest = &line[(line.len() - rest.len()).min(line.len())..];
    if !is_common || rest.starts_with(b" \"") {
        let mut parts: Vec<_> = QUOTED.iter().map(part).collect();
        parts.push((b"\"", None));
        let (found, after) = cut(rest, &parts, NGINX)?;
        texts.put_all(&found, log)?;
        rest = after;
    }
    let is_end = rest.is_empty() || (rest[0] == b' ' && !has_time(rest));
    is_end.then_some(texts)
}

/// A line of labelled tab-separated values.
pub(crate) fn labelled(line: &[u8], mut texts: LineTexts) -> Option<LineTexts> {
    for part in line.split(|byte| *byte == b'\t').filter(|part| !part.is_empty()) {
        let colon = part.iter().position(|byte| *byte == b':')?;
        let (label, raw) = (String::from_utf8_lossy(&part[..colon]), &part[colon + 1..]);
        let what = label_of(&label);
        if raw.is_empty() || (raw == b"-" && !what.as_ref().is_some_and(is_bytes)) {
            continue;
        }
        if what == Some(Meaning::Time) && texts.time_us.is_some() {
            return None;
        }
        match what {
            None => drop(texts.others.entry(label.into_owned()).or_insert_with(|| log(raw))),
            Some(what) => {
                may_be(&what, raw).then_some(())?;
                texts.put(what, raw, log)?;
            }
        }
    }
    texts.fields.contains_key(&FieldName::Status).then_some(texts)
}

/// The labels that ltsv.org recommends, our names, and those of nginx; any other is a variable.
fn label_of(label: &str) -> Option<Meaning> {
    let name = match label {
        "host" => "remote_addr",
        "req" => "request",
        "uri" => "request_uri",
        "protocol" => "server_protocol",
        "vhost" => "host",
        "size" => "body_bytes_sent",
        "reqsize" => "request_length",
        "ua" => "http_user_agent",
        "reqtime" => "request_time",
        "reqtime_microsec" => return Some(Meaning::Took(Unit::Microseconds)),
        other => other,
    };
    known_key(name)
}

/// A line of JSON of others; `keys` are the configured names of our fields.
pub(crate) fn object(line: &[u8], keys: &NamedKeys, mut texts: LineTexts) -> Option<LineTexts> {
    texts.name(keys);
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        let key = String::from_utf8_lossy(found.key).into_owned();
        let is_open = !found.is_text && matches!(found.value.first(), Some(b'{' | b'['));
        let paths = keys.keys.iter().filter_map(|(field, path)| {
            let (first, rest) = path.split_once('.')?;
            (is_open && first == key).then_some((field, rest))
        });
        for (field, path) in paths {
            if let Some(value) = inner(found.value, Some(path)) {
                texts.put_json(configured(field)?, value)?;
            }
        }
        let what = meaning_of(&key, keys);
        let is_ours = what.is_none() && !keys.is_exact;
        match what {
            Some(what) if is_open => match inner(found.value, None) {
                Some(value) => texts.put_json(what, value)?,
                None if what == Meaning::Time || !may_be(&what, found.value) => return None,
                None => texts.other(key, found.value),
            },
            Some(what) => texts.put_json(what, found.value)?,
            None if is_ours && key == "phases" => texts.phases = Some(found.value.to_vec()),
            None if is_ours && key == "impression" => texts.impression = Some(found.value.to_vec()),
            None if keys.is_of_docker => texts.other(key, without_feed(found.value)),
            None => texts.other(key, found.value),
        }
    }
    Some(texts)
}

/// A text of JSON without the line feed at its end, and the carriage return before it.
fn without_feed(raw: &[u8]) -> &[u8] {
    let without = |raw: &mut &[u8], end: &[u8]| {
        let head = raw.strip_suffix(end)?;
        let slashes =
            head.len() - head.iter().rposition(|byte| *byte != b'\\').map_or(0, |at| at + 1);
        slashes.is_multiple_of(2).then(|| *raw = head)
    };
    let mut text = raw;
    if without(&mut text, b"\\n").is_some() {
        without(&mut text, b"\\r");
    }
    text
}

/// A line of `key=value`.
pub(crate) fn pairs(line: &[u8], keys: &NamedKeys, mut texts: LineTexts) -> Option<LineTexts> {
    texts.name(keys);
    let mut rest = unpadded(line);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'=' | b' ')).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        rest = after;
        if let Some(after) = after.strip_prefix(b"=") {
            let key =
                Some(String::from_utf8_lossy(key).into_owned()).filter(|key| !key.is_empty())?;
            let (value, after) = pair_value(after)?;
            rest = after;
            let what = meaning_of(&key, keys).or((key == "ts").then_some(Meaning::Time));
            match what {
                Some(what) => {
                    may_be(&what, value).then_some(())?;
                    texts.put(what, value, quoted_by_go)?;
                }
                None if key == "phases" && !keys.is_exact => texts.phases = present(value),
                None if key == "impression" && !keys.is_exact => texts.impression = present(value),
                None => texts.other_escaped(key, value, quoted_by_go),
            }
        }
        rest = unpadded(rest);
    }
    Some(texts)
}

/// A text from its first byte on that is no space.
fn unpadded(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

fn present(value: &[u8]) -> Option<Vec<u8>> {
    (!value.is_empty() && value != b"-").then(|| value.to_vec())
}

/// The inside of a value, and what follows it.
fn pair_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(inside) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (!value.contains(&b'"')).then_some((value, rest));
    };
    let mut end = 0;
    while *inside.get(end)? != b'"' {
        end += if inside[end] == b'\\' { 2 } else { 1 };
    }
    let (value, rest) = (&inside[..end], &inside[end + 1..]);
    go(value)?;
    (rest.is_empty() || rest[0] == b' ').then_some((value, rest))
}

/// What a key means: by the configuration, or by its name.
fn meaning_of(key: &str, keys: &NamedKeys) -> Option<Meaning> {
    let field = keys.keys.iter().find(|(_, name)| **name == *key).map(|(field, _)| field);
    match field {
        Some(field) => configured(field),
        None if keys.is_exact => None,
        None => known_key(key),
    }
}

/// The value that a path leads to; of a list the first value counts. None for `null`, and where an
/// object or nothing is there.
fn inner<'l>(value: &'l [u8], path: Option<&str>) -> Option<&'l [u8]> {
    match value.first()? {
        b'[' => {
            // A list reads as the member of an object does.
            let wrapped = first_value(value)?;
            inner(wrapped, path)
        }
        b'{' => {
            let path = path?;
            let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
            let found = member(value, first)?;
            match found.is_text {
                true => rest.is_none().then_some(found.value),
                false => inner(found.value, rest),
            }
        }
        _ if path.is_some() || value == b"null" => None,
        _ => Some(value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value)),
    }
}

/// A line of our own journal: texts are what they are, and nothing else is known.
pub(crate) fn journal(line: &[u8]) -> Option<LineTexts> {
    let mut texts = LineTexts { is_ours: true, ..LineTexts::default() };
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        match String::from_utf8_lossy(found.key).as_ref() {
            "phases" => texts.phases = Some(found.value.to_vec()),
            "impression" => texts.impression = Some(found.value.to_vec()),
            "path" => texts.put(Meaning::Field(FieldName::Path), found.value, json)?,
            "version" => texts.put(Meaning::Field(FieldName::Version), found.value, json)?,
            "timestamp" | "@timestamp" => {}
            "total_us" => texts.put_json(Meaning::Field(FieldName::Total), found.value)?,
            key if key.starts_with("header.") => {}
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
