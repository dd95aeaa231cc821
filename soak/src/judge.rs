//! Judges an answer by the model.
//!
//! An answer must be complete, for this URL, language and user, and of a version that may still be
//! given.

use std::io::Read;
use std::time::Instant;

use flate2::read::GzDecoder;
use testkit::Reply;

use crate::fact::{FIELD, Fact, POISON};
use crate::history::{History, Route};
use crate::request_spec::RequestSpec;

/// What an answer turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Name in the report.
    pub outcome: &'static str,
    /// The cache had it.
    pub hit: bool,
}

/// Judges an answer to a request of `spec`, which was sent at `begun`.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn judge(
    history: &History,
    spec: &RequestSpec,
    reply: &Reply,
    begun: Instant,
) -> Result<Verdict, String> {
    let fact = reply.header(FIELD);
    let is_poison = fact == Some(POISON)
        || reply.body.windows(POISON.len()).any(|bytes| bytes == POISON.as_bytes());
    if is_poison {
        return Err("the bytes behind another answer".to_owned());
    }
    let hit = reply.header("cache-status").is_some_and(|status| status.contains("; hit"));
    let verdict = |outcome| Ok(Verdict { outcome, hit });
    if let Some(receipt) = spec.receipt() {
        return match reply.status {
            200 if reply.body == receipt.as_bytes() => verdict("200"),
            200 => Err(format!("the receipt should be `{receipt}`")),
            500..=599 => verdict(refusal(reply.status)),
            status => Err(format!("status {status} to a POST")),
        };
    }
    match reply.status {
        200 | 404 | 410 if fact.is_some() => {
            let fact = right(history, spec, reply, (begun, Some(reply.status)))?;
            // A length told by an origin that lies is all that anybody knows of a HEAD.
            let lied = spec.method == "HEAD" && history.failed_since(&fact.url, begun);
            if !lied {
                whole(spec, reply, &fact)?;
            }
            verdict(if reply.status == 200 { "200" } else { "404 or 410" })
        }
        206 if spec.range.is_some() && reply.header("content-encoding").is_none() => {
            let fact = right(history, spec, reply, (begun, Some(200)))?;
            if spec.method != "HEAD" {
                pieces(reply, &fact.body())?;
            }
            verdict("206")
        }
        304 if spec.if_none_match.is_some() => {
            let fact = right(history, spec, reply, (begun, None))?;
            if !spec.if_none_match.as_deref().is_some_and(|tag| fact.has_tag(tag)) {
                return Err("304 for a copy that is not the client's".to_owned());
            }
            verdict("304")
        }
        416 if spec.range.is_some() => verdict("416"),
        500 | 502..=504 => verdict(refusal(reply.status)),
        status => Err(format!("status {status}")),
    }
}

fn refusal(status: u16) -> &'static str {
    match status {
        500 => "500",
        502 => "502",
        503 => "503",
        504 => "504",
        _ => "other 5xx",
    }
}

/// The fact that the answer states, when it is one that may be given to this request.
fn right(
    history: &History,
    spec: &RequestSpec,
    reply: &Reply,
    (begun, status): (Instant, Option<u16>),
) -> Result<Fact, String> {
    let fact = reply.header(FIELD).and_then(Fact::parse).ok_or("no fact")?;
    if fact.url != spec.url {
        return Err("another URL's answer".to_owned());
    }
    let personalised = reply
        .header("tidegate-decision")
        .is_some_and(|field| field.split(';').next() == Some("personalised"));
    let user_is_right = match (spec.route, fact.user.as_str()) {
        (Route::Me, user) if personalised => spec.cookie == Some(user),
        (_, "-") => true,
        (_, user) => spec.authorised == Some(user),
    };
    if !user_is_right {
        return Err("another user's answer".to_owned());
    }
    if reply.header("etag").is_some_and(|etag| !fact.has_tag(etag)) {
        return Err("the tag of another version".to_owned());
    }
    history.judge(spec.route, &fact, (status, spec.language), begun)?;
    Ok(fact)
}

fn whole(spec: &RequestSpec, reply: &Reply, fact: &Fact) -> Result<(), String> {
    let body = fact.body();
    let coding = reply.header("content-encoding");
    if let Some(coding) = coding {
        return encoded(spec, reply, (coding, &body));
    }
    if spec.method == "HEAD" {
        let length = reply.header("content-length");
        let length: Option<usize> = length.and_then(|length| length.parse().ok());
        return match length {
            Some(length) if body.len() != length => Err("a HEAD with a wrong length".to_owned()),
            _ => Ok(()),
        };
    }
    if reply.body == body {
        return Ok(());
    }
    let is_cut = body.starts_with(&reply.body);
    if is_cut && !is_framed(reply) {
        return Ok(());
    }
    let what = if is_cut { "a cut body" } else { "a wrong body" };
    Err(format!("{what} of {} bytes, not {}", reply.body.len(), body.len()))
}

/// Whether the end of the body is told by more than the end of the connection.
fn is_framed(reply: &Reply) -> bool {
    ["content-length", "transfer-encoding"].iter().any(|name| reply.header(name).is_some())
}

fn encoded(spec: &RequestSpec, reply: &Reply, (coding, body): (&str, &[u8])) -> Result<(), String> {
    if !spec.codings.is_some_and(|accepted| accepted.contains(coding)) {
        return Err(format!("encoded as `{coding}`, which was not accepted"));
    }
    if reply.header("cache-control").is_some_and(|directives| directives.contains("no-transform")) {
        return Err("encoded in spite of `no-transform`".to_owned());
    }
    if spec.method == "HEAD" {
        return Ok(());
    }
    let mut decoded = Vec::new();
    let read = match coding {
        "gzip" => GzDecoder::new(&reply.body[..]).read_to_end(&mut decoded),
        "br" => brotli::Decompressor::new(&reply.body[..], 4096).read_to_end(&mut decoded),
        _ => zstd::Decoder::new(&reply.body[..]).and_then(|mut d| d.read_to_end(&mut decoded)),
    };
    match read {
        Ok(_) if decoded == body => Ok(()),
        Err(_) if !is_framed(reply) => Ok(()),
        Ok(_) => Err(format!("another body behind `{coding}`")),
        Err(error) => Err(format!("a body that is no `{coding}`: {error}")),
    }
}

/// Checks the parts that a 206 brings against the whole body.
fn pieces(reply: &Reply, body: &[u8]) -> Result<(), String> {
    let Some(range) = reply.header("content-range") else {
        return multipart(reply, body);
    };
    if reply.body == slice(range, body)? {
        return Ok(());
    }
    Err(format!("another piece than `{range}`"))
}

fn slice<'b>(range: &str, body: &'b [u8]) -> Result<&'b [u8], String> {
    let wrong = || format!("Content-Range `{range}` of {} bytes", body.len());
    let (piece, total) =
        range.trim().strip_prefix("bytes ").and_then(|r| r.split_once('/')).ok_or_else(wrong)?;
    let (from, to) = piece.split_once('-').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    if number(total)? != body.len() {
        return Err(wrong());
    }
    body.get(number(from)?..number(to)? + 1).ok_or_else(wrong)
}

fn multipart(reply: &Reply, body: &[u8]) -> Result<(), String> {
    let content_type = reply.header("content-type").unwrap_or("");
    let boundary = content_type.split_once("boundary=").ok_or("a 206 without Content-Range")?.1;
    let delimiter = format!("--{}", boundary.trim_matches('"'));
    let mut rest = &reply.body[..];
    let mut parts = 0;
    while let Some(start) = find(rest, delimiter.as_bytes()) {
        let part = &rest[start + delimiter.len()..];
        if part.starts_with(b"--") {
            return if parts > 0 { Ok(()) } else { Err("a multipart of no part".to_owned()) };
        }
        let end = find(part, b"\r\n\r\n").ok_or("a part without end of its head")?;
        let head = String::from_utf8_lossy(&part[..end]).to_ascii_lowercase();
        let range = head.lines().find_map(|line| line.strip_prefix("content-range:"));
        let piece = slice(range.ok_or("a part without Content-Range")?, body)?;
        rest = &part[end + 4..];
        if !rest.starts_with(piece) {
            return Err("a part with other bytes than its range".to_owned());
        }
        rest = &rest[piece.len()..];
        parts += 1;
    }
    Err("a multipart without its end".to_owned())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
