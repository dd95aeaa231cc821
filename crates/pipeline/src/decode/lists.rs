//! Reads lists of nginx: what a request met on its way over several upstream servers.
//!
//! nginx writes a value for each server, with `, ` between them, and ` : ` after an internal
//! redirect (nginx.org, ngx_http_upstream_module, "Embedded Variables").
//! Of such a list one value is taken: the last, the sum, or all as written. By default sizes and
//! times are added up, and of addresses and states the last counts.
//! Invariant: a list is one field, wherever it stands. What is no list ends none, and is refused.
//! `recount/src/several.rs` reads lists again. Never here: which field a variable is (`meaning`).

use std::borrow::Cow;
use std::collections::BTreeMap;

/// What stands between two values.
const SEPARATORS: [&[u8]; 2] = [b", ", b" : "];

/// The variables that are lists, and whether their values are added up.
const VARIABLES: [(&str, bool); 10] = [
    ("upstream_addr", false),
    ("upstream_status", false),
    ("upstream_bytes_received", true),
    ("upstream_bytes_sent", true),
    ("upstream_connect_time", true),
    ("upstream_first_byte_time", true),
    ("upstream_header_time", true),
    ("upstream_queue_time", true),
    ("upstream_response_length", true),
    ("upstream_response_time", true),
];

/// What is taken of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListChoice {
    /// Its last value.
    Last,
    /// The sum of its values that are numbers.
    Sum,
    /// All of it, as written.
    All,
}

/// What is taken of each variable that is a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListChoices(BTreeMap<String, ListChoice>);

impl ListChoices {
    /// Reads the key `lists` of a source.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn parse(config: &BTreeMap<String, String>) -> Result<Self, String> {
        let choice = |(name, choice): (&String, &String)| {
            let Some((_, adds)) = VARIABLES.iter().find(|(known, _)| known == name) else {
                let names = VARIABLES.map(|(known, _)| known).join(", ");
                return Err(format!("`{name}` is no list of nginx; these are: {names}"));
            };
            let choice = match choice.as_str() {
                "last" => ListChoice::Last,
                "sum" if *adds => ListChoice::Sum,
                "sum" => return Err(format!("`{name}` is no number that can be added up")),
                "all" => ListChoice::All,
                other => return Err(format!("`{other}` is none of last, sum, all")),
            };
            Ok((name.clone(), choice))
        };
        config.iter().map(choice).collect::<Result<_, _>>().map(Self)
    }

    /// What is taken of a variable; none when it is no list.
    pub fn of(&self, name: &str) -> Option<ListChoice> {
        if !name.starts_with("upstream_") {
            return None;
        }
        let (_, adds) = VARIABLES.iter().find(|(known, _)| *known == name)?;
        let usual = if *adds { ListChoice::Sum } else { ListChoice::Last };
        Some(self.0.get(name).copied().unwrap_or(usual))
    }
}

/// Whether a variable is a list.
pub(super) fn is_list(name: &str) -> bool {
    VARIABLES.iter().any(|(known, _)| *known == name)
}

/// The length of the list that `text` begins with, if `next` follows it.
pub(super) fn length(text: &[u8], next: &[u8], name: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let start = at;
        while text.get(at).is_some_and(|byte| *byte != b' ' && *byte != b',')
            && (next.is_empty() || !text[at..].starts_with(next))
        {
            at += 1;
        }
        let is_first = start == 0;
        let is_sound = is_value(&text[start..at], name) || (is_first && start == at);
        if !is_sound {
            return None;
        }
        let rest = &text[at..];
        let separator = SEPARATORS.into_iter().find(|separator| rest.starts_with(separator));
        match separator {
            Some(separator) if next.len() < separator.len() || !rest.starts_with(next) => {
                if start == at {
                    return None;
                }
                at += separator.len();
            }
            _ if next.is_empty() => return rest.is_empty().then_some(at),
            _ => return rest.starts_with(next).then_some(at),
        }
    }
}

/// Whether text can be one value of a list.
fn is_value(text: &[u8], name: &str) -> bool {
    let is_number = |text: &[u8]| {
        let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
        let dots = text.iter().filter(|byte| **byte == b'.').count();
        digits > 0 && dots < 2 && digits + dots == text.len()
    };
    match name {
        _ if text.is_empty() => false,
        "upstream_addr" => memchr::memchr(b'"', text).is_none(),
        _ => text == b"-" || is_number(text),
    }
}

/// What is chosen of a list; none where it has no such value.
pub(super) fn chosen(text: Cow<'_, [u8]>, choice: ListChoice) -> Option<Cow<'_, [u8]>> {
    let is_list = SEPARATORS.iter().any(|part| memchr::memmem::find(&text, part).is_some());
    if !is_list || choice == ListChoice::All {
        return Some(text);
    }
    let value = match choice {
        ListChoice::Sum => sum(&text)?,
        _ => values(&text).last()?.to_vec(),
    };
    (!value.is_empty() && value != b"-").then_some(Cow::Owned(value))
}

/// The values of a list.
fn values(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let places = SEPARATORS
            .map(|separator| memchr::memmem::find(text, separator).map(|at| (at, separator.len())));
        let Some((at, length)) = places.into_iter().flatten().min() else {
            return rest.take();
        };
        rest = Some(&text[at + length..]);
        Some(&text[..at])
    })
}

/// The sum of the values that are numbers, with as many decimals as the longest has, at most nine.
fn sum(text: &[u8]) -> Option<Vec<u8>> {
    let (mut sum, mut decimals) = (0_u128, None);
    for value in values(text).filter(|value| *value != b"-") {
        let value = std::str::from_utf8(value).ok()?;
        let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
        (is_plain(whole) && is_plain(fraction)).then_some(())?;
        let places: String = format!("{fraction:0<9}").chars().take(9).collect();
        sum = sum.checked_add(format!("{whole}{places}").parse().ok()?)?;
        decimals = decimals.max(Some(fraction.len().min(9)));
    }
    let decimals = decimals?;
    let digits = format!("{sum:010}");
    let (whole, fraction) = digits.split_at(digits.len() - 9);
    let text = match decimals {
        0 => whole.to_owned(),
        _ => format!("{whole}.{}", &fraction[..decimals]),
    };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests;
