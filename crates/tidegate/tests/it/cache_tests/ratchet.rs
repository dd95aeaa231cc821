//! The list of tests that are not passed, held against what a run gave.
//!
//! Invariant: the list may only shrink; a test that is not on it must pass, and one that passes
//! must leave it. Checks are never on it.

use std::collections::{BTreeMap, BTreeSet};

/// What one test gave: a line of `run.mjs`.
#[derive(Debug)]
pub(super) struct Outcome {
    kind: String,
    outcome: String,
    id: String,
    message: String,
}

impl Outcome {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, '\t').map(str::to_owned);
        let mut field = || fields.next();
        Some(Self { kind: field()?, outcome: field()?, id: field()?, message: field()? })
    }

    fn passed(&self) -> bool {
        self.outcome == "pass" || self.outcome == "yes"
    }
}

/// Returns the ids of the list, each with its kind; a line is `KIND ID REASON…`.
pub(super) fn listed(list: &str) -> BTreeMap<&str, &str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let pair = |line| {
        let mut words = str::split_whitespace(line);
        let kind = words.next()?;
        Some((words.next()?, kind))
    };
    lines.filter_map(pair).collect()
}

/// Returns what is wrong with the list, or with the cache: one line each.
pub(super) fn compare(list: &str, outcomes: &[Outcome]) -> Vec<String> {
    let listed = listed(list);
    let mut findings = Vec::new();
    for Outcome { kind, outcome, id, message } in outcomes.iter().filter(|o| !o.passed()) {
        match listed.get(id.as_str()) {
            Some(listed) if listed == kind => {}
            Some(listed) => findings.push(format!("`{id}` is {kind}, and listed as {listed}")),
            None if kind.ends_with("check") => {}
            None => findings.push(format!("{kind} `{id}` does not pass: {outcome}: {message}")),
        }
    }
    let passed: BTreeSet<&str> =
        outcomes.iter().filter(|o| o.passed()).map(|o| o.id.as_str()).collect();
    let all: BTreeSet<&str> = outcomes.iter().map(|o| o.id.as_str()).collect();
    for id in listed.keys() {
        if passed.contains(id) {
            findings.push(format!("`{id}` passes: delete its line in cache_tests/not_passed.txt"));
        } else if !all.contains(id) {
            findings.push(format!("`{id}` was not run: is it a test of the suite?"));
        }
    }
    findings
}

/// Returns how many passed, by kind: `optimal 61 of 86, required 128 of 157`.
pub(super) fn figures(outcomes: &[Outcome]) -> String {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for outcome in outcomes {
        let (passed, all) = kinds.entry(&outcome.kind).or_default();
        *passed += usize::from(outcome.passed());
        *all += 1;
    }
    let figure = |(kind, (passed, all))| format!("{kind} {passed} of {all}");
    kinds.into_iter().map(figure).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_test_that_fails_and_is_not_listed_is_named_with_its_message() {
    let outcomes = outcomes(&["required\tfail\tage\tResponse 2 comes from cache"]);
    let expected = "required `age` does not pass: fail: Response 2 comes from cache";
    assert_eq!(compare("", &outcomes), [expected]);
    assert!(compare("required age", &outcomes).is_empty());
}

#[test]
fn a_listed_test_that_passes_must_leave_the_list() {
    let outcomes = outcomes(&["optimal\tpass\tage\t"]);
    let expected = "`age` passes: delete its line in cache_tests/not_passed.txt";
    assert_eq!(compare("# why\noptimal age a reason", &outcomes), [expected]);
}

#[test]
fn a_listed_test_that_did_not_run_is_named() {
    assert_eq!(compare("optimal age", &[]), ["`age` was not run: is it a test of the suite?"]);
}

#[test]
fn a_check_is_counted_and_not_held() {
    let outcomes = outcomes(&["check\tno\ta\t", "check\tyes\tb\t", "cdn-check\tno\tc\t"]);
    assert!(compare("", &outcomes).is_empty());
    assert_eq!(figures(&outcomes), "cdn-check 0 of 1, check 1 of 2");
}

fn outcomes(lines: &[&str]) -> Vec<Outcome> {
    lines.iter().map(|line| Outcome::parse(line).unwrap()).collect()
}
