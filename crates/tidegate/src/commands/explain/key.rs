//! Explains one key of the configuration: what it is, its unit, default, bounds and an example.
//!
//! All of it comes from the reference, which has the doc comments: a default stands there after the
//! word, and an example after `such as`. Whether 0 may be written, the check of configurations is
//! asked, with a file that has little but this key.
//! Invariant: an example is TOML of the key's type, and the first that the check takes. Tried are a
//! length of time and the like, what the text names, its default, and its words in backticks.
//! Never here: which keys there are (`commands/reference.rs`).

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use chassis::config::{Problem, ValueForm, nearest, value_form};
use screen::{Style, wrapped};

use crate::commands::reference::{self, ReferenceKey, ReferenceSection};
use crate::config;

/// Returns what there is to say of a key such as `route.cache.ttl`, of a section, or of every key
/// of a name.
///
/// # Errors
/// When there is no such key.
pub(super) fn text(wanted: &str, style: &Style) -> Result<String> {
    let all = reference::sections();
    let wanted = without_places(wanted.trim_matches(['[', ']']));
    let found: Vec<(&ReferenceSection, &ReferenceKey)> =
        keys(&all).filter(|(section, key)| full(section, key) == wanted).collect();
    if !found.is_empty() {
        let texts = found.into_iter().map(|(section, key)| explained(section, key, style));
        return Ok(texts.collect::<Vec<_>>().join("\n"));
    }
    if let Some(section) = all.iter().find(|section| section.name == wanted) {
        return Ok(of_section(section, style));
    }
    let ending = format!(".{wanted}");
    let mut several: Vec<String> = keys(&all)
        .map(|(section, key)| full(section, key))
        .filter(|path| path.ends_with(&ending))
        .collect();
    several.dedup();
    match several.as_slice() {
        [] => Err(unknown(&all, &wanted)),
        [only] => text(only, style),
        several => bail!("`{wanted}` is a key of several: `{}`", several.join("`, `")),
    }
}

fn keys(all: &[ReferenceSection]) -> impl Iterator<Item = (&ReferenceSection, &ReferenceKey)> {
    all.iter().flat_map(|section| section.keys.iter().map(move |key| (section, key)))
}

/// A key as errors name it, without the places in lists.
fn full(section: &ReferenceSection, key: &ReferenceKey) -> String {
    let path = key.path.replace("[]", "");
    if section.name.is_empty() { path } else { format!("{}.{path}", section.name) }
}

/// `route[2].cache.ttl` as `route.cache.ttl`.
fn without_places(key: &str) -> String {
    let parts = key.split('.').map(|part| part.split('[').next().unwrap_or(part));
    parts.collect::<Vec<_>>().join(".")
}

fn unknown(all: &[ReferenceSection], wanted: &str) -> anyhow::Error {
    let known: Vec<String> = keys(all).map(|(section, key)| full(section, key)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let ends: Vec<&str> = known.iter().filter_map(|path| path.rsplit('.').next()).collect();
    if let Some(near) = nearest(wanted, &known).or_else(|| nearest(wanted, &ends)) {
        return anyhow!("there is no key `{wanted}`; did you mean `{near}`?");
    }
    match wanted.split_once('.') {
        Some((section, _)) if all.iter().any(|one| one.name == section) => {
            anyhow!("there is no key `{wanted}`; `tidegate config reference {section}` lists them")
        }
        Some((section, _)) => reference::unknown_section(all, section),
        None => anyhow!(
            "there is no file and no key `{wanted}`; `tidegate config reference --grep {wanted}` \
             looks for the word"
        ),
    }
}

fn of_section(section: &ReferenceSection, style: &Style) -> String {
    let names: Vec<&str> = section.keys.iter().map(|key| key.path.as_str()).collect();
    let name = &section.name;
    let mut out = format!("{}\n", section.heading);
    paragraph(&mut out, &section.text, style);
    paragraph(&mut out, &format!("Keys: {}.", names.join(", ")), style);
    paragraph(&mut out, &format!("`tidegate config reference {name}` has them all."), style);
    out
}

fn explained(section: &ReferenceSection, key: &ReferenceKey, style: &Style) -> String {
    let path = full(section, key);
    let mut out = format!("{path}\n");
    paragraph(&mut out, &key.text, style);
    out.push('\n');
    let example = example(section, key, &path);
    let mut line = |name: &str, text: &str| {
        for (at, part) in
            wrapped(text, 0, &Style { width: style.columns() - 12, ..*style }).iter().enumerate()
        {
            let _ = writeln!(out, "  {:8}  {part}", if at == 0 { name } else { "" });
        }
    };
    line("value", kind(key, &path));
    match (default_of(&key.text), members(section, key)) {
        (None, Some(members)) => line("keys", &members),
        (default, _) => line("default", default.as_deref().unwrap_or("none")),
    }
    if let Some(bounds) = bounds(section, key, &path, &example) {
        line("bounds", &bounds);
    }
    if !section.heading.is_empty() {
        line("example", &section.heading);
        line("", &key.line(&example));
    } else {
        line("example", &key.line(&example));
    }
    out
}

fn paragraph(out: &mut String, text: &str, style: &Style) {
    for line in wrapped(text, 0, &Style { width: style.columns() - 2, ..*style }) {
        let _ = writeln!(out, "  {line}");
    }
}

/// The keys of a table with their defaults; none of what is no table, or has other keys than ours.
/// Whether a table that is left out is off or at its defaults, only its text says.
fn members(section: &ReferenceSection, key: &ReferenceKey) -> Option<String> {
    let below = format!("{}.", key.path);
    let all = section.keys.iter().filter_map(|member| {
        let name = member.path.strip_prefix(&below).filter(|name| !name.contains('.'))?;
        Some(match default_of(&member.text) {
            Some(default) => format!("{name} (default {default})"),
            None => name.to_owned(),
        })
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// What is written, with its units.
fn kind(key: &ReferenceKey, path: &str) -> &'static str {
    match (key.stand_in, value_form(path)) {
        ("\"…\"", Some(ValueForm::Span)) => {
            "a length of time: 20ms, 1s, 5m, 6h, 14d, and 1h30m for both"
        }
        ("\"…\"", Some(ValueForm::Share)) => "a share: 0% to 100%",
        ("\"…\"", Some(ValueForm::Size)) => "a size in bytes: 500B, 64KB, 256MB, 20GB",
        ("\"…\"", None) => "text in quotes",
        ("0", _) => "a number",
        ("false", _) => "true or false",
        ("[]", _) => "a list",
        _ => "a table",
    }
}

/// The default that the text names: behind the word, or before `(default`.
pub(super) fn default_of(text: &str) -> Option<String> {
    if let Some((before, _)) = text.split_once("` (default") {
        return before.rsplit_once('`').map(|(_, value)| value.to_owned());
    }
    let at = text.match_indices("efault").map(|(at, word)| (at, at + word.len()));
    let mut found = at.filter_map(|(start, end)| {
        let is_word = matches!(text.get(..start)?.bytes().last(), Some(b'd' | b'D'));
        let rest = text.get(end..)?;
        let value = rest.strip_prefix(": ").or_else(|| rest.strip_prefix(' '))?;
        is_word.then_some(value)
    });
    let value = found.next()?;
    if let Some(quoted) = value.strip_prefix('`') {
        return quoted.split_once('`').map(|(value, _)| value.to_owned());
    }
    let ends = [". ", "; ", ", and ", ", `", ")"].map(|end| value.find(end));
    let end = ends.into_iter().flatten().min().unwrap_or(value.len());
    Some(value[..end].trim_end_matches('.').to_owned())
}

/// A value to copy, as far as one is found that the check takes.
fn example(section: &ReferenceSection, key: &ReferenceKey, path: &str) -> String {
    let named = key.text.split_once("such as `").and_then(|(_, rest)| rest.split_once('`'));
    let named = named.map(|(value, _)| value.to_owned());
    let usual = default_of(&key.text);
    let candidates: Vec<String> = match key.stand_in {
        "\"…\"" => {
            let form = match value_form(path) {
                Some(ValueForm::Span) => Some("60s"),
                Some(ValueForm::Share) => Some("5%"),
                Some(ValueForm::Size) => Some("64MB"),
                None => None,
            };
            let words = key.text.split('`').skip(1).step_by(2).map(str::to_owned);
            let all = form.map(str::to_owned).into_iter().chain(named).chain(usual).chain(words);
            all.filter(|text| !text.is_empty() && !text.contains(' '))
                .map(|text| quoted(&text))
                .collect()
        }
        "[]" | "{}" => {
            let is_one = |text: &String| text.starts_with(&key.stand_in[..1]);
            named.into_iter().chain(usual).filter(is_one).collect()
        }
        "0" => {
            let one = "1".to_owned();
            usual.into_iter().chain([one]).filter(|text| text.parse::<f64>().is_ok()).collect()
        }
        other => vec![other.replace("false", "true")],
    };
    let taken = candidates.into_iter().find(|value| complaint(section, key, value).is_none());
    taken.unwrap_or_else(|| key.stand_in.to_owned())
}

fn quoted(text: &str) -> String {
    toml_text(text.trim_matches('"'))
}

fn toml_text(text: &str) -> String {
    if text.contains(['"', '\\']) { format!("'{text}'") } else { format!("\"{text}\"") }
}

/// What the check says of 0, where it takes the example.
fn bounds(
    section: &ReferenceSection,
    key: &ReferenceKey,
    path: &str,
    example: &str,
) -> Option<String> {
    let zero = match (key.stand_in, value_form(path)) {
        ("\"…\"", Some(ValueForm::Span)) => "\"0s\"",
        ("\"…\"", Some(ValueForm::Size)) => "\"0B\"",
        ("0", _) => "0",
        _ => return None,
    };
    if complaint(section, key, example).is_some() {
        return None;
    }
    Some(match complaint(section, key, zero) {
        None => format!("{} or more", zero.trim_matches('"')),
        Some(reason) if reason.starts_with("is 0") => "more than 0".to_owned(),
        Some(reason) => reason,
    })
}

/// What the check says of a value of this key in a file that has little else.
pub(super) fn complaint(
    section: &ReferenceSection,
    key: &ReferenceKey,
    value: &str,
) -> Option<String> {
    // `python` makes an upstream one of workers, which has other keys.
    let is_of_workers = section.keys.iter().any(|other| other.path == "python");
    let kind = if is_of_workers && key.path != "python" { "python = \"main:app\"\n" } else { "" };
    // Much of the rest wants a journal.
    let journal = if section.name == "journal" { "" } else { "[journal]\n" };
    let document = format!("{}\n{kind}{}\n{journal}", section.heading, key.line(value));
    let name = key.path.rsplit('.').next().unwrap_or(&key.path);
    let problems = config::check(&document, Path::new(".")).err().unwrap_or_default();
    let of_key = |problem: &Problem| problem.key.rsplit('.').next() == Some(name);
    problems.into_iter().find(of_key).map(|problem| problem.message)
}

#[cfg(test)]
mod tests;
