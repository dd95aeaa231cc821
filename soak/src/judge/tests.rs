//! Claims about the judge: what it must catch is put before it.

use std::time::{Duration, Instant};

use testkit::{Headers, Reply};

use super::judge;
use crate::dice::Dice;
use crate::fact::{FIELD, Fact, POISON};
use crate::history::{History, Route};
use crate::request_spec::RequestSpec;

const URL: &str = "a.test/on/1?q=1";

/// A history with one version of the URL, cacheable for a second, and what the origin says of it.
fn told(route: Route) -> (History, RequestSpec, Fact) {
    let history = History::default();
    history.settle();
    let version = history.current(URL, &mut Dice::new(1, 1)).version;
    let text = "-".to_owned();
    let fact = Fact { version, variant: text.clone(), user: text, once: 0, url: URL.to_owned() };
    history.says(&fact);
    (history, RequestSpec::get(route, URL.to_owned()), fact)
}

fn reply(status: u16, fact: &Fact, body: Vec<u8>) -> Reply {
    let length = body.len().to_string();
    let fields = [(FIELD, fact.to_string()), ("content-length", length)];
    let headers = Headers(fields.map(|(name, value)| (name.to_owned(), value)).into());
    Reply { status, headers, body }
}

#[track_caller]
fn wrong(verdict: Result<super::Verdict, String>, why: &str) {
    let said = verdict.expect_err("a wrong answer was found right");
    assert!(said.contains(why), "`{said}`, not `{why}`");
}

#[test]
fn what_the_origin_says_is_right() {
    let (history, spec, fact) = told(Route::On);
    let whole = reply(200, &fact, fact.body());
    assert_eq!(judge(&history, &spec, &whole, Instant::now()).unwrap().outcome, "200");
}

#[test]
fn a_cut_or_changed_body_is_wrong() {
    let (history, spec, fact) = told(Route::On);
    let mut body = fact.body();
    body.pop();
    wrong(judge(&history, &spec, &reply(200, &fact, body.clone()), Instant::now()), "cut body");
    body.push(b'!');
    wrong(judge(&history, &spec, &reply(200, &fact, body), Instant::now()), "wrong body");
}

#[test]
fn the_answer_of_another_url_language_or_user_is_wrong() {
    let (history, spec, fact) = told(Route::On);
    let other = Fact { url: "a.test/on/2?q=2".to_owned(), ..fact.clone() };
    wrong(judge(&history, &spec, &reply(200, &other, other.body()), Instant::now()), "URL");
    let other = Fact { variant: "de".to_owned(), ..fact.clone() };
    wrong(judge(&history, &spec, &reply(200, &other, other.body()), Instant::now()), "variant");
    let other = Fact { user: "ann".to_owned(), ..fact };
    wrong(judge(&history, &spec, &reply(200, &other, other.body()), Instant::now()), "user");
}

#[test]
fn an_answer_for_one_request_is_right_once() {
    let (history, mut spec, fact) = told(Route::Pass);
    spec.authorised = Some("ann");
    let begun = Instant::now();
    let own = Fact { user: "ann".to_owned(), once: 5, ..fact };
    history.says(&own);
    let own = reply(200, &own, own.body());
    assert!(judge(&history, &spec, &own, begun).is_ok());
    wrong(judge(&history, &spec, &own, begun), "given to two");
}

#[test]
fn an_answer_is_wrong_past_its_time_and_past_a_purge() {
    let (history, spec, fact) = told(Route::On);
    let whole = reply(200, &fact, fact.body());
    let late = Instant::now() + Duration::from_secs(60);
    wrong(judge(&history, &spec, &whole, late), "allowed are");
    history.forgets(|url| url == URL, Instant::now());
    wrong(judge(&history, &spec, &whole, Instant::now()), "order to forget");
}

#[test]
fn a_failing_origin_excuses_an_old_answer() {
    let (history, spec, fact) = told(Route::On);
    let whole = reply(200, &fact, fact.body());
    history.fails(URL);
    let late = Instant::now() + Duration::from_secs(5);
    assert!(judge(&history, &spec, &whole, late).is_ok());
}

#[test]
fn another_piece_than_the_range_says_is_wrong() {
    let (history, mut spec, fact) = told(Route::On);
    spec.range = Some("bytes=0-3".to_owned());
    let body = fact.body();
    let mut part = reply(206, &fact, body[..4].to_vec());
    let range = ("content-range".to_owned(), format!("bytes 0-3/{}", body.len()));
    part.headers.0.push(range);
    assert!(judge(&history, &spec, &part, Instant::now()).is_ok());
    part.body = body[1..5].to_vec();
    wrong(judge(&history, &spec, &part, Instant::now()), "another piece");
}

#[test]
fn bytes_behind_another_answer_are_wrong() {
    let (history, spec, fact) = told(Route::On);
    let poisoned = reply(200, &fact, format!("x{POISON}").into_bytes());
    wrong(judge(&history, &spec, &poisoned, Instant::now()), "behind another answer");
}
