//! Lists a user's recorded requests, so that one can be asked about by its id.
//!
//! All of the journal is read, and the newest are kept. An answer of an app carries no id that a
//! user could tell, but a user and a time are known of every complaint.

use std::collections::VecDeque;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use screen::{Align, Column, Style, Table, clean};

use super::journal_reading::each_exchange;
use super::recorded_request::RecordedRequest;
use crate::cli::ExplainArgs;
use crate::config::Plan;
use crate::events::tidegate_log::Unread;
use crate::ports::user_key;

/// Requests that are listed: the newest.
const LISTED_MAX: usize = 50;

/// Finds the newest requests of a time, of the user and the path that the arguments name. Also says
/// what could not be read.
///
/// # Errors
/// When there is no journal, or it cannot be read.
pub(super) fn find(
    plan: &Plan,
    args: &ExplainArgs,
    time: Range<u64>,
) -> Result<(Vec<RecordedRequest>, Unread)> {
    let journal = plan.journal.as_ref().context("the configuration has no [journal]")?;
    ensure!(
        args.user.is_some() || args.url.is_some(),
        "name a user (`--user ID`) or a path whose recorded requests are listed"
    );
    let key = user_key(journal.user_key.as_deref());
    let user = args.user.as_ref().map(|user| key.of(user.as_bytes()).into_owned());
    let path = args.url.as_deref().map(path_of);
    let mut found = VecDeque::new();
    let unread = each_exchange(
        plan,
        |_| true,
        |exchange| {
            let is_wanted = time.contains(&exchange.time_us)
                && user.as_ref().is_none_or(|user| exchange.user.as_deref() == Some(user))
                && path.is_none_or(|path| *exchange.path == *path.as_bytes());
            if is_wanted {
                found.push_back(RecordedRequest::of(&exchange));
                if found.len() > LISTED_MAX {
                    found.pop_front();
                }
            }
        },
    )?;
    Ok((found.into(), unread))
}

/// The path of a URL; a query is not compared, for secret fields are not in the journal.
fn path_of(url: &str) -> &str {
    let after_host =
        url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    after_host.split(['?', '#']).next().unwrap_or_default()
}

/// The list for people, oldest first.
pub(super) fn text(found: &[RecordedRequest], style: &Style) -> String {
    let titles = ["time UTC", "id", "status", "decision", "cache", "asked"];
    // An id that is cut is none; the last column is cut where the line is too long.
    let align = |title| if title == "asked" { Align::Left } else { Align::Right };
    let mut table = Table::new(titles.map(|title| Column::new(title, align(title))).into());
    for request in found {
        let detail = request.decision_detail.iter().map(|detail| format!("; detail={detail}"));
        let row = [
            request.time.clone(),
            request.id.clone(),
            request.status.to_string(),
            request.decision.to_owned() + &detail.collect::<String>(),
            request.cache.to_owned(),
            clean(&format!("{} {}", request.method, request.target)),
        ];
        table.push(row.map(Into::into).into());
    }
    let rest = match found.len() {
        0 => "No such request is recorded. A request comes to the journal within a second or two; \
              a route with `record = \"off\"` leaves it out, and `no-profile` by two ids names no \
              user.\n"
            .to_owned(),
        LISTED_MAX => {
            format!("The newest {LISTED_MAX}; `--since` and `--until` narrow the time.\n")
        }
        _ => String::new(),
    };
    if table.is_empty() { rest } else { table.render(style) + &rest }
}
