//! Finds a request in the journal by its id, and tells what it got.
//!
//! All of the journal is read, packed segments too, since no index knows ids. What cannot be read
//! is told, as the request may stand there.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use exchange::{Exchange, Phase};
use serde::Serialize;

use super::journal_reading::each_exchange;
use crate::config::Plan;
use crate::events::tidegate_log::Unread;
use crate::hint::Hint;
use crate::recorded::{CUT, REDACTED};

/// Digits of an id.
const DIGITS: usize = 32;

const NOT_FOUND: Hint = Hint(
    "a request comes to the journal within a second or so, and stays as long as `[journal] keep` \
     says; routes with `record = \"off\"` or a sample leave requests out",
);

/// A recorded request.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct RecordedRequest {
    pub id: String,
    /// RFC 3339, UTC.
    pub time: String,
    pub method: String,
    pub scheme: String,
    pub host: Option<String>,
    /// Path and query, as recorded: values of secret fields are replaced.
    pub target: String,
    pub status: u16,
    pub bytes_out: u64,
    pub user: Option<String>,
    pub route: Option<String>,
    pub decision: &'static str,
    /// What caused the decision, where it has several causes.
    pub decision_detail: Option<String>,
    pub cache: &'static str,
    pub upstream: Option<String>,
    /// The ranking behind a cached answer.
    pub ranked_by: Option<String>,
    pub total_us: u64,
    /// Microseconds by phase.
    pub phases: BTreeMap<&'static str, u32>,
    /// The ranking that the answer shows, where the log has it.
    pub ranking: Option<RecordedRanking>,
    /// How many later requests were answered with its ranking.
    pub shown_again: u64,
}

/// A recorded ranking.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct RecordedRanking {
    pub model: String,
    pub version: String,
    pub items: Vec<String>,
}

impl RecordedRequest {
    pub(super) fn of(exchange: &Exchange<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut time = Vec::new();
        exchange::write_rfc3339(exchange.time_us, &mut time);
        let query = exchange.query.as_deref().map(|query| format!("?{}", text(query)));
        let phases = Phase::ALL.into_iter().filter_map(|phase| {
            let us = exchange.phases[phase.index()];
            (us > 0).then_some((phase.name(), us))
        });
        Self {
            id: digits(exchange.id),
            time: text(&time),
            method: exchange.method.to_string(),
            scheme: exchange.scheme.to_string(),
            host: exchange.host.as_deref().map(text),
            target: text(&exchange.path) + &query.unwrap_or_default(),
            status: exchange.status,
            bytes_out: exchange.bytes_out,
            user: exchange.user.as_deref().map(text),
            route: exchange.route.as_deref().map(str::to_owned),
            decision: exchange.decision.name(),
            decision_detail: exchange.decision_detail.as_deref().map(str::to_owned),
            cache: exchange.cache.name(),
            upstream: exchange.upstream.as_deref().map(str::to_owned),
            ranked_by: exchange.ranked_by.map(digits),
            total_us: exchange.total_us,
            phases: phases.collect(),
            ranking: ranking(exchange),
            shown_again: 0,
        }
    }

    /// The URL that it asked for.
    pub(super) fn url(&self) -> String {
        match &self.host {
            Some(host) => format!("http://{host}{}", self.target),
            None => self.target.clone(),
        }
    }

    /// What of its URL the journal does not have: secrets, and the end of what is too long.
    pub(super) fn missing(&self) -> Vec<String> {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let pairs = query.split('&').filter(|pair| {
            pair.split_once('=').is_some_and(|(_, value)| value.as_bytes() == REDACTED)
        });
        let segments = path.split('/').filter(|segment| segment.as_bytes() == REDACTED);
        let texts = [self.host.as_deref().unwrap_or_default(), path, query];
        let is_cut = texts.iter().any(|text| text.ends_with(CUT));
        let cut = is_cut.then(|| format!("what stood at `{CUT}`"));
        pairs.chain(segments).map(|part| format!("`{part}`")).chain(cut).collect()
    }
}

fn ranking(exchange: &Exchange<'_>) -> Option<RecordedRanking> {
    let shown = exchange.impression.as_ref()?;
    Some(RecordedRanking {
        model: shown.model.to_string(),
        version: shown.version.to_string(),
        items: shown.items.iter().map(|item| item.into_owned()).collect(),
    })
}

fn digits(id: u128) -> String {
    format!("{id:032x}")
}

/// Finds the request of an id, and the ranking that it showed. Also says what could not be read.
///
/// # Errors
/// When the id is none, or the journal does not have it.
pub(super) fn find(plan: &Plan, id: &str) -> Result<(RecordedRequest, Unread)> {
    let plain: String = id.chars().filter(|digit| *digit != '-').collect();
    let number = u128::from_str_radix(&plain, 16).ok().filter(|_| plain.len() == DIGITS);
    let number = number.with_context(|| {
        format!("`{id}` is no id of a request: it has {DIGITS} hexadecimal digits")
    })?;
    let (found, unread) = read(plan, number)?;
    let Some(mut request) = found else {
        let message = unread.message().map_or(String::new(), |message| format!("; {message}"));
        let error = anyhow::anyhow!("no recorded request has the id `{id}`{message}");
        return Err(error.context(NOT_FOUND));
    };
    let ranked_by = request.ranked_by.as_ref().filter(|_| request.ranking.is_none());
    if let Some(ranked_by) = ranked_by.and_then(|id| u128::from_str_radix(id, 16).ok()) {
        request.ranking = read(plan, ranked_by)?.0.and_then(|ranked| ranked.ranking);
    }
    Ok((request, unread))
}

fn read(plan: &Plan, number: u128) -> Result<(Option<RecordedRequest>, Unread)> {
    let wanted = digits(number);
    let (mut found, mut shown_again) = (None, 0);
    let has_digits = |line: &[u8]| holds(line, wanted.as_bytes());
    let unread = each_exchange(plan, has_digits, |exchange| {
        if exchange.id == number {
            found = Some(RecordedRequest::of(&exchange));
        } else if exchange.ranked_by == Some(number) {
            shown_again += 1;
        }
    })?;
    Ok((found.map(|request| RecordedRequest { shown_again, ..request }), unread))
}

/// Whether a line has these digits somewhere; most lines have not, and need no decoding.
fn holds(line: &[u8], digits: &[u8]) -> bool {
    line.windows(digits.len()).any(|window| window == digits)
}
