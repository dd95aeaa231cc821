//! Tells whether a text is a host, with or without its port (RFC 3986 §3.2.2 and §3.2.3).
//!
//! Percent-encoded and internationalised names pass. Refuses: user information, paths, blanks,
//! quotes and commas, so that a host needs no escape in a list or between quotes. Also refuses a
//! bracket without its pair, and a port that is no number up to 65535. What stands between brackets
//! is not read as an address.

/// Whether a text is a host, and maybe a port; the host may be empty.
pub(crate) fn host_is_valid(host: &[u8]) -> bool {
    let (is_name_valid, port) = match host.strip_prefix(b"[") {
        Some(literal) => match literal.iter().position(|b| *b == b']') {
            Some(end) => {
                let is_valid = |b: &u8| is_name_byte(*b) || *b == b':';
                (end > 0 && literal[..end].iter().all(is_valid), &literal[end + 1..])
            }
            None => return false,
        },
        None => {
            let end = host.iter().position(|b| *b == b':').unwrap_or(host.len());
            (host[..end].iter().all(|b| is_name_byte(*b)), &host[end..])
        }
    };
    is_name_valid && is_port(port)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_%~!$&'()*+;=".contains(&byte)
}

/// Whether nothing is left, or a colon and a port; RFC 3986 allows an empty one.
fn is_port(rest: &[u8]) -> bool {
    let Some((colon, digits)) = rest.split_first() else { return true };
    let value = |digits: &[u8]| {
        digits.iter().fold(0_u32, |value, digit| value * 10 + u32::from(digit.wrapping_sub(b'0')))
    };
    *colon == b':'
        && digits.len() <= 5
        && digits.iter().all(u8::is_ascii_digit)
        && value(digits) <= 65_535
}

#[cfg(test)]
mod tests;
