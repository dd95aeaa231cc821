//! Reads lists of nginx plainly: the values of a variable for each upstream server.
//!
//! Values stand between `, ` and ` : ` (nginx.org, ngx_http_upstream_module). What is taken of a
//! list is the configuration's choice, which comes from `pipeline`. By default sizes and times are
//! added up, and of addresses and states the last counts.
//! Invariant: what `pipeline/src/decode/lists.rs` takes or refuses, by other code.
//! `plain/tests.rs` compares both.

use pipeline::ListChoice;

/// Whether a variable is a list.
pub(crate) fn is_list(name: &str) -> bool {
    let Some(kind) = name.strip_prefix("upstream_") else { return false };
    let times = ["connect", "first_byte", "header", "queue", "response"];
    let is_time = kind.strip_suffix("_time").is_some_and(|kind| times.contains(&kind));
    let others = ["addr", "status", "bytes_received", "bytes_sent", "response_length"];
    is_time || others.contains(&kind)
}

/// The list that `text` begins with, where `next` follows it; the rest of the line without `next`.
pub(crate) fn list<'l>(text: &'l [u8], next: &[u8], name: &str) -> Option<&'l [u8]> {
    // The longest list that fits: each end is tried that `next` follows.
    let ends = (0..=text.len()).filter(|end| match next {
        b"" => *end == text.len(),
        next => text[*end..].starts_with(next),
    });
    let (mut last, mut failed) = (None, 0);
    for end in ends {
        let is_list = are_values(&text[..end], name);
        (last, failed) = if is_list { (Some(end), 0) } else { (last, failed + 1) };
        // A separator has two spaces at most.
        if failed > 3 {
            break;
        }
    }
    let (list, rest) = text.split_at(last?);
    let goes_on = [", ", " : "]
        .iter()
        .any(|separator| rest.starts_with(separator.as_bytes()) && next.len() < separator.len());
    (!goes_on).then_some(list)
}

fn are_values(text: &[u8], name: &str) -> bool {
    text.is_empty()
        || parts(text).iter().all(|part| match name {
            "upstream_addr" => !part.is_empty() && !part.iter().any(|byte| b" ,\"".contains(byte)),
            _ => *part == b"-" || (part.iter().any(u8::is_ascii_digit) && is_plain(part)),
        })
}

/// Digits, with at most one point.
fn is_plain(text: &[u8]) -> bool {
    let points = text.iter().filter(|byte| **byte == b'.').count();
    points < 2 && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

fn parts(text: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let separator = [&b", "[..], b" : "].into_iter().find(|part| text[at..].starts_with(part));
        match separator {
            Some(separator) => {
                parts.push(&text[start..at]);
                at += separator.len();
                start = at;
            }
            None => at += 1,
        }
    }
    parts.push(&text[start..]);
    parts
}

/// What is taken of a list.
pub(crate) fn taken(text: &[u8], choice: ListChoice) -> Option<Vec<u8>> {
    let all = parts(text);
    if all.len() == 1 || choice == ListChoice::All {
        return Some(text.to_vec());
    }
    if choice == ListChoice::Last {
        let last = *all.last()?;
        return (last != b"-" && !last.is_empty()).then(|| last.to_vec());
    }
    let numbers = all.into_iter().filter(|part| *part != b"-");
    let (mut billionths, mut places, mut has_one) = (0_u128, 0, false);
    for number in numbers {
        let number = std::str::from_utf8(number).ok().filter(|text| is_plain(text.as_bytes()))?;
        let mut halves = number.split('.');
        let (whole, fraction) = (halves.next()?, halves.next().unwrap_or_default());
        let fraction = &fraction[..fraction.len().min(9)];
        let scale = 10_u128.pow(9 - fraction.len() as u32);
        let whole = if whole.is_empty() { 0 } else { whole.parse::<u128>().ok()? };
        let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
        let value = whole.checked_mul(1_000_000_000)?.checked_add(part * scale)?;
        billionths = billionths.checked_add(value)?;
        (places, has_one) = (places.max(fraction.len()), true);
    }
    let whole = billionths / 1_000_000_000;
    let part = format!("{:09}", billionths % 1_000_000_000);
    has_one.then(|| match places {
        0 => whole.to_string().into_bytes(),
        places => format!("{whole}.{}", &part[..places]).into_bytes(),
    })
}
