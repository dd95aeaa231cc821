//! Codings that a client accepts: it gets none that it refused (RFC 9110 §12.5.3).
//!
//! The short form that stands for the field means the same as the field.

use crate::reading::read_head;
use http1::accept::{Accepted, Coding, Codings};

pub(super) const TOKENS: &[&str] = &[
    "accept-encoding: ",
    "gzip",
    "br",
    "zstd",
    "x-gzip",
    "identity",
    "*",
    ";q=0",
    ";q=0.5",
    ";q=1.000",
    "; Q=0.001",
    ", ",
    "deflate",
    "\naccept-encoding: br;q=0",
];

pub(super) fn run(input: &[u8]) {
    read_head(&super::request(input), |head| {
        let Ok(Some((head, _))) = head else { return };
        let accepted = Accepted::of(&head);
        let lines: Vec<&[u8]> = head.all("accept-encoding").collect();
        assert_eq!(accepted, Accepted::read(lines.iter().copied()), "a usual spelling misread");
        for coding in Coding::ALL {
            let liked = accepted.best(Codings::ALL).has(coding);
            assert!(!liked || accepted.takes(coding), "liked but refused");
            assert!(!accepted.takes(coding) || is_named(&lines, coding), "taken but not named");
        }
        let class = accepted.class();
        let again = Accepted::read([class.as_bytes()].into_iter());
        assert_eq!(again.class(), class, "a class stands for another");
        for coding in Coding::ALL {
            assert!(!again.takes(coding) || accepted.takes(coding), "the class takes more");
        }
    });
}

/// Whether any line names the coding, or everything, without a weight of nought behind it.
fn is_named(lines: &[&[u8]], coding: Coding) -> bool {
    let members = lines.iter().flat_map(|line| line.split(|b| *b == b','));
    members.into_iter().any(|member| {
        let member = String::from_utf8_lossy(member).to_ascii_lowercase();
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or("").trim_start_matches("x-");
        (name == coding.name() || name == "*") && parts.next() != Some("q=0")
    })
}
