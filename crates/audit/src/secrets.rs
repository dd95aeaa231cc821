//! Takes secrets out of what is recorded of an action: each becomes `***`.
//!
//! Found are values of names such as `token` and `password`, logins in URLs, and whole headers such
//! as `Authorization`. Of a command they are also values of the environment and of options.
//! Invariant: names stay, so that a reader sees what was left out. It is a list of known forms: a
//! secret that stands alone, such as `-pSECRET` of one program, is not known to be one.

const HIDDEN: &str = "***";
/// A name that contains one of these has a secret as its value.
const PARTS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "credential",
    "signature",
    "authorization",
    "cookie",
    "private",
    "session",
];
/// So has one of these.
const NAMES: [&str; 10] =
    ["auth", "code", "jwt", "key", "otp", "pass", "pgpass", "pwd", "sid", "sig"];
/// Headers whose whole value is hidden.
const HEADERS: [&str; 6] =
    ["authorization:", "proxy-authorization:", "cookie:", "x-api-key:", "x-auth-token:", "bearer "];

/// Returns a text, such as a query, a form or a line for a shell, without its secrets.
pub fn without_secrets(text: &str) -> String {
    values_hidden(&logins_hidden(&headers_hidden(text)))
}

/// Returns a name with its value, such as `url=/x`, without its secrets.
pub fn pair_without_secrets(name: &str, value: &str) -> String {
    match is_secret(name) && !value.is_empty() {
        true => format!("{name}={HIDDEN}"),
        false => format!("{name}={}", without_secrets(value)),
    }
}

/// Returns the words of a command without their secrets.
pub fn words_without_secrets(words: &[String]) -> Vec<String> {
    let mut is_secret_next = false;
    let mut is_login_next = false;
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        out.push(match (is_secret_next && !word.starts_with('-'), is_login_next) {
            (true, _) => HIDDEN.to_owned(),
            (_, true) => login_hidden(word),
            _ if is_login(word) => login_hidden(word),
            _ if word.contains(char::is_whitespace) => line_without_secrets(word),
            _ => word_without_secrets(word),
        });
        let option = word.strip_prefix('-').map(|name| name.trim_start_matches('-'));
        is_secret_next = option.is_some_and(|name| !name.contains('=') && is_secret(name));
        is_login_next = matches!(word.as_str(), "-u" | "--user" | "-U" | "--proxy-user");
    }
    out
}

/// A line for a shell, word by word.
fn line_without_secrets(line: &str) -> String {
    let line = without_secrets(line);
    let words: Vec<String> = line.split(' ').map(assignment_hidden).collect();
    words.join(" ")
}

fn word_without_secrets(word: &str) -> String {
    without_secrets(&assignment_hidden(word))
}

/// A value of the environment: of a name in capitals, as variables have.
fn assignment_hidden(word: &str) -> String {
    let is_variable = |name: &str| {
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        name.bytes().next().is_some_and(is_letter)
            && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
    };
    match word.split_once('=') {
        Some((name, value)) if is_variable(name) && !value.is_empty() => format!("{name}={HIDDEN}"),
        _ => word.to_owned(),
    }
}

fn is_login(word: &str) -> bool {
    word.starts_with("--user=") || word.starts_with("--proxy-user=")
}

fn login_hidden(word: &str) -> String {
    match word.split_once(':') {
        Some((user, _)) => format!("{user}:{HIDDEN}"),
        None => word.to_owned(),
    }
}

fn headers_hidden(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(end) = header_end(&lower[at..]) {
        out += text[at..at + end].trim_end();
        out.push(' ');
        out += HIDDEN;
        at += end;
        // What follows may have blanks: nobody knows where it ends but at a quote or a line's end.
        at += text[at..].find(['"', '\'', '\n', '\r']).unwrap_or(text.len() - at);
    }
    out + &text[at..]
}

/// The end of the first name of a header whose value is hidden.
fn header_end(lower: &str) -> Option<usize> {
    let is_end = |at: &usize| HEADERS.iter().any(|name| lower[..*at].ends_with(name));
    // Each name ends in one of these.
    lower.match_indices([':', ' ']).map(|(at, _)| at + 1).find(is_end)
}

/// Hides `user:password@` of URLs.
fn logins_hidden(text: &str) -> String {
    let is_end = |letter: char| "/?#\"'&,".contains(letter) || letter.is_whitespace();
    let mut out = String::with_capacity(text.len());
    let mut text = text;
    while let Some((before, rest)) = text.split_once("://") {
        let length = rest.find(is_end).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(length);
        out += before;
        out += "://";
        match authority.rsplit_once('@') {
            Some((_, host)) => out.extend([HIDDEN, "@", host]),
            None => out += authority,
        }
        text = rest;
    }
    out + text
}

/// Hides values behind `name=`, `name:` and `"name":`.
fn values_hidden(text: &str) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-%".contains(letter);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, behind) = rest.split_at(at);
        let bare = before.trim_end_matches(['"', '\'', ' ']);
        let name = bare.rsplit(|letter| !is_name(letter)).next().unwrap_or("");
        let (sign, value) = behind.split_at(1);
        out += before;
        out += sign;
        rest = value;
        if !is_secret(name.trim_start_matches('-')) || value.starts_with("//") {
            continue;
        }
        let unquoted = value.trim_start_matches(['"', '\'', ' ']);
        out += &value[..value.len() - unquoted.len()];
        let quote = value[..value.len() - unquoted.len()].chars().next_back();
        let is_end = |letter: char| match quote {
            Some(quote @ ('"' | '\'')) => letter == quote,
            _ => "&;,\"'".contains(letter) || letter.is_whitespace(),
        };
        let length = unquoted.find(is_end).unwrap_or(unquoted.len());
        if length > 0 {
            out += HIDDEN;
        }
        rest = &unquoted[length..];
    }
    out + rest
}

/// A name may be percent-encoded.
fn is_secret(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase().replace('-', "_");
    PARTS.iter().any(|part| name.contains(part)) || NAMES.contains(&name.as_str())
}

fn decoded(name: &str) -> String {
    let mut parts = name.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                out.push(char::from(byte));
                out += &part[2..];
            }
            None => out += part,
        }
    }
    out
}

#[cfg(test)]
mod tests;
