//! Tells headers whose values are secrets by their names.
//!
//! Never here: what is shown in place of them.

/// Words of names, between dashes or underscores, whose values are secrets.
const WORDS: [&[u8]; 14] = [
    b"apikey",
    b"authorization",
    b"cookie",
    b"cookie2",
    b"credential",
    b"credentials",
    b"csrf",
    b"jwt",
    b"passwd",
    b"password",
    b"secret",
    b"session",
    b"signature",
    b"token",
];

/// Whether the value of a header is a secret: `Authorization`, `Cookie`, `X-Api-Key`,
/// `X-Auth-Token` and the like, in any case.
pub fn is_secret_header(name: &[u8]) -> bool {
    let mut before: &[u8] = &[];
    name.split(|byte| b"-_".contains(byte)).any(|word| {
        let is_key = word.eq_ignore_ascii_case(b"key");
        let is_of_key = [&b"api"[..], b"access", b"auth", b"subscription"];
        let is_secret = WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret))
            || is_key && is_of_key.iter().any(|known| before.eq_ignore_ascii_case(known));
        before = word;
        is_secret
    })
}

#[cfg(test)]
mod tests;
