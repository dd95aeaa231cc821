//! Freshness: never longer than what was stated, and no word makes it longer that should make it
//! shorter (RFC 9111 §4.2, §5.2, RFC 9213).

use std::time::Duration;

use cache::Lifetime;
use gateway::fuzzing::{Directives, Policy, RequestFacts, lifetime};
use http1::FieldLines;

pub(super) const TOKENS: &[&str] = &[
    "cache-control: ",
    "cdn-cache-control: ",
    "surrogate-control: ",
    "max-age=60",
    "s-maxage=60",
    "no-store",
    "no-cache",
    "private",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "stale-while-revalidate=60",
    "stale-if-error=60",
    "age: 5\n",
    "expires: Sat, 21 Nov 2026 08:00:00 GMT\n",
    "date: Sat, 21 Nov 2026 07:00:00 GMT\n",
    "last-modified: Sat, 21 Nov 2026 06:00:00 GMT\n",
    "expires: 0\n",
    "vary: *\n",
    "set-cookie: a=b\n",
    "no-cache=\"a, max-age=60\"",
    "max-age=\"60\"",
    "private=\"a\"",
];

/// No lifetime without a ttl of the route is longer (RFC 9111 §1.2.2).
const SECONDS_MAX: u64 = 1 << 31;
const DAY: u64 = 86_400;

/// The first line: status, whether the request was authorised.
pub(super) fn run(input: &[u8]) {
    let (settings, lines) = super::settings(input);
    let headers = super::fields(lines);
    let status = super::number(settings, 0) as u16;
    let authorised = super::number(settings, 1) == 1;
    let asked =
        RequestFacts { authorised, delay: Duration::from_secs(1), ..RequestFacts::default() };
    let policy = Policy::default();
    let found = lifetime(status, &headers, &policy, asked);
    let directives = Directives::of(&headers);
    if let Ok(found) = found {
        check_bounds(&headers, &directives, &found);
        assert!(!directives.no_store || directives.must_understand, "`no-store` is not stored");
        assert!(!directives.private, "`private` is not shared");
        assert!(!asked.authorised || found.open, "an authorised answer is nobody else's");
    }
    let asked = RequestFacts { authorised: false, ..asked };
    let before = lifetime(status, &headers, &policy, asked).ok();
    shortens(&headers, status, (&policy, asked), before);
    let ttl = Policy { ttl: Some(Duration::from_secs(10)), ..policy };
    if let Ok(found) = lifetime(status, &headers, &ttl, asked) {
        assert!(
            !directives.private && (!directives.no_store || directives.must_understand),
            "a ttl overrides them"
        );
        let _ = found;
    }
}

/// The longest that anything in the answer can be read to state.
fn check_bounds(headers: &FieldLines, directives: &Directives, found: &Lifetime) {
    let fresh = found.fresh.as_secs();
    let stated = directives.s_maxage.or(directives.max_age);
    if let Some(stated) = stated {
        assert!(fresh <= stated, "longer than stated");
        assert!(numbers(headers).contains(&stated), "a number that nobody stated");
    } else if !headers.has("expires") {
        assert!(fresh <= DAY, "a guess is at most a day");
        assert!(fresh == 0 || headers.has("last-modified"), "a guess needs a reason");
    }
    assert!(!directives.no_cache || fresh == 0, "`no-cache` is never fresh");
    let is_strict = directives.demands_revalidation();
    if is_strict {
        assert!(found.while_revalidate.is_zero() && found.if_error.is_zero(), "strict is strict");
    }
    assert!(stated.is_none_or(|stated| stated <= SECONDS_MAX));
}

/// Every run of digits in the fields that state lifetimes, cut at the bound, and 0.
fn numbers(headers: &FieldLines) -> Vec<u64> {
    let mut numbers = vec![0];
    for (_, value) in headers.iter() {
        for run in value.split(|b| !b.is_ascii_digit()).filter(|run| !run.is_empty()) {
            let run = std::str::from_utf8(run).expect("digits are text");
            numbers.push(run.parse().unwrap_or(u64::MAX).min(SECONDS_MAX));
        }
    }
    numbers
}

/// Adds words that may only shorten.
fn shortens(
    headers: &FieldLines,
    status: u16,
    (policy, asked): (&Policy, RequestFacts),
    before: Option<Lifetime>,
) {
    let with = |name: &str, value: &str| {
        let mut more = headers.clone();
        more.append(name, value.as_bytes());
        lifetime(status, &more, policy, asked).ok()
    };
    // Where `Date` is missing a lifetime counts from the clock, which moves between two readings.
    let tick = Duration::from_secs(1);
    let fresh = |found: Option<Lifetime>| found.map_or(Duration::ZERO, |found| found.fresh);
    for directive in ["max-age=0", "s-maxage=0", "no-cache", "must-revalidate"] {
        let after = with("cache-control", directive);
        // `Expires` and a guess make room for what is said more clearly.
        assert!(fresh(after) <= fresh(before) + tick, "`{directive}` makes it longer");
    }
    let targeted = Directives::of(headers).targeted;
    if !targeted && !Directives::of(headers).must_understand {
        assert_eq!(with("cache-control", "no-store"), None, "`no-store` beside anything");
    }
    if !targeted {
        assert_eq!(with("cache-control", "private"), None, "`private` beside anything");
    }
    assert_eq!(with("vary", "*"), None, "`Vary: *` beside anything");
    if let (Some(before), Some(after)) = (before, with("age", "77")) {
        let first = headers.has("age");
        assert!(first || after.age >= before.age, "an age makes it younger");
        assert!(before.fresh.abs_diff(after.fresh) <= tick, "an age changes the lifetime");
    }
}
