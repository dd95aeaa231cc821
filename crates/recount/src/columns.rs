//! Reads lines of columns plainly: those of S3 and of load balancers of AWS, and those that a
//! directive in the file names (W3C).
//!
//! `None` means that the line is refused. It has too few columns, too many where a directive says
//! how many, an empty one, or a quote inside a bare one.
//! Invariant: what `pipeline/src/decode/columns.rs` takes or refuses, by other code. The names of a
//! program's columns come from there, those of a directive from the file. What is a time, date and
//! time of day are put together here; other names are variables (`variable.rs`).

use pipeline::Directed;

use crate::escapes::{percent, plus};
use crate::texts::LineTexts;
use crate::variable::{Meaning, is_in_form, may_be, variable};

/// The columns that a directive names; none when it is another directive.
pub(crate) fn directive(line: &[u8]) -> Option<Vec<String>> {
    let names = std::str::from_utf8(line.strip_prefix(b"#Fields:")?).ok()?;
    Some(names.split_ascii_whitespace().map(str::to_owned).collect())
}

/// A line whose columns a directive named.
pub(crate) fn directed(
    line: &[u8],
    names: &[String],
    unit: Directed,
    mut texts: LineTexts,
) -> Option<LineTexts> {
    let (columns, rest) = cut(line, names.len())?;
    (columns.len() == names.len() && rest.is_none()).then_some(())?;
    let columns: Vec<&[u8]> = columns.into_iter().map(|(_, value)| value).collect();
    let of = |wanted: &str| {
        let at = names.iter().rposition(|name| name == wanted)?;
        Some(columns[at])
    };
    let time = [of("date")?, b"T", of("time")?, b"Z"].concat();
    texts.time_us = Some(exchange::parse_rfc3339(&time)?);
    texts.header = Some(if unit == Directed::CloudFront { percent } else { plus });
    for (name, value) in names.iter().zip(&columns) {
        if name != "date" && name != "time" {
            put(&mut texts, &nginx_name(name, unit), value)?;
        }
    }
    Some(texts)
}

/// A line of columns in the order of `names`; more may follow. Each name stands in what its column
/// stands in; with it comes whether a line may end there.
pub(crate) fn named<'n>(
    line: &[u8],
    names: impl Iterator<Item = (&'n str, bool)>,
    mut texts: LineTexts,
) -> Option<LineTexts> {
    let names: Vec<_> = names.collect();
    let (columns, _) = cut(line, names.len())?;
    names[columns.len() - 1].1.then_some(())?;
    for ((name, _), (around, value)) in names.iter().zip(columns) {
        let wanted = name.bytes().next().filter(|first| b"\"[".contains(first));
        let is_bare_dash = around.is_none() && value == b"-";
        (wanted == around || is_bare_dash).then_some(())?;
        put(&mut texts, name.trim_matches(['"', '[', ']']), value)?;
    }
    texts.time_us.is_some().then_some(texts)
}

fn put(texts: &mut LineTexts, name: &str, value: &[u8]) -> Option<()> {
    let what = variable(name);
    if what != Meaning::Time {
        (may_be(&what, value) && is_in_form(name, value)).then_some(())?;
    }
    texts.put(what, value, <[u8]>::to_vec)
}

/// Columns by what they stand in, without it; and what follows them.
type CutLine<'l> = (Vec<(Option<u8>, &'l [u8])>, Option<&'l [u8]>);

/// The first columns of a line, or all of it where it has fewer.
fn cut(line: &[u8], count: usize) -> Option<CutLine<'_>> {
    let separator = if line.contains(&b'\t') { b'\t' } else { b' ' };
    let (mut columns, mut rest) = (Vec::new(), Some(line));
    for _ in 0..count {
        let Some(text) = rest else { break };
        let first = *text.first()?;
        let word = text.split(|byte| *byte == separator).next()?;
        let close = match first {
            b'"' => Some(b'"'),
            // An address of IPv6 with its port is a word.
            b'[' if !word.windows(2).any(|two| two == b"]:") => Some(b']'),
            _ => None,
        };
        let ends = |at: &usize| *at == text.len() || text[*at] == separator;
        let end = match close {
            None => (0..=text.len()).find(ends)?,
            Some(close) => (2..=text.len()).find(|at| text[at - 1] == close && ends(at))?,
        };
        let inside = if close.is_some() { &text[1..end - 1] } else { &text[..end] };
        if close.is_none() && (inside.is_empty() || inside.contains(&b'"')) {
            return None;
        }
        columns.push((close.map(|_| first), inside));
        rest = text.get(end + 1..).filter(|_| end < text.len());
    }
    Some((columns, rest))
}

/// The variable of nginx that a directive's name is.
fn nginx_name(name: &str, unit: Directed) -> String {
    let same = [
        ("c-ip", "remote_addr"),
        ("cs-username", "remote_user"),
        ("cs-method", "request_method"),
        ("cs-uri", "request_uri"),
        ("cs-uri-stem", "uri"),
        ("cs-uri-query", "query_string"),
        ("cs-version", "server_protocol"),
        ("cs-protocol-version", "server_protocol"),
        ("cs-protocol", "scheme"),
        ("cs-host", "host"),
        ("x-host-header", "host"),
        ("cs(Host)", "http_host"),
        ("sc-status", "status"),
        ("sc-bytes", "body_bytes_sent"),
        ("cs-bytes", "request_length"),
        ("x-edge-result-type", "upstream_cache_status"),
        ("x-edge-request-id", "request_id"),
    ];
    if let Some((_, known)) = same.iter().find(|(known, _)| *known == name) {
        return (*known).to_owned();
    }
    match (name, unit) {
        ("time-taken", Directed::Seconds | Directed::CloudFront) => "total_seconds".to_owned(),
        ("time-taken", Directed::Milliseconds) => "total_ms".to_owned(),
        _ => {
            let is_header = name.starts_with("cs(") && name.ends_with(')');
            let bare = if is_header { &name[3..name.len() - 1] } else { name };
            let bare = bare.trim_end_matches(')').to_ascii_lowercase();
            let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let bare: String = bare.chars().map(letter).collect();
            if is_header { format!("http_{bare}") } else { bare }
        }
    }
}
