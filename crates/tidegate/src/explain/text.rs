//! Prints an answer for people: one subject a line, in the order in which a request meets them.
//!
//! Invariant: what a client sent is cleaned before it is shown. Lines fit the width of the terminal
//! (80 columns where it is not known), but for numbers of a table.

use std::fmt::Write as _;

use gateway::{CacheFacts, Draw, EntryFacts, UserFacts};
use screen::{Style, clean, wrapped};
use serde_json::Value;

use super::answer::{Answer, KnownFrom, ProfileFacts};
use super::recorded_request::RecordedRequest;

/// Columns of the subject in front of each line.
const SUBJECT: usize = 10;
/// Features of a profile that are shown.
const FEATURES_MAX: usize = 12;
/// Parts of a score that are shown.
const PARTS_MAX: usize = 5;

const NO_SERVER: &str = "No server answers at the admin address, so this is from the files alone:";
const NOT_ASKED: &str = "No server was asked (`--offline`), so this is from the files alone:";
const ONLY_FILES: &str = "nothing is known of the cache, and upstreams count as healthy.";

/// A recorded request, and what it got.
pub(super) fn of_recorded(recorded: &RecordedRequest, style: Style) -> String {
    let mut page = SubjectLines::new(style);
    let RecordedRequest { id, time, method, status, bytes_out, total_us, .. } = recorded;
    page.line("request", &format!("{id} at {time}"));
    page.line("asked", &format!("{method} {}", recorded.url()));
    let ms = |us: u64| us as f64 / 1e3;
    let answered = format!("{status}, {bytes_out} bytes, after {:.3} ms", ms(*total_us));
    page.line("answered", &answered);
    let phases: Vec<String> = recorded
        .phases
        .iter()
        .map(|(name, us)| format!("{name} {:.3}", ms(u64::from(*us))))
        .collect();
    if !phases.is_empty() {
        page.line("ms spent", &phases.join(", "));
    }
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    page.line("route", &or_none(&recorded.route));
    page.line("user", &or_none(&recorded.user));
    let detail = recorded.decision_detail.as_deref();
    let decision = match detail {
        Some(detail) => format!("{}; detail={detail}", recorded.decision),
        None => recorded.decision.to_owned(),
    };
    let reason = reason_of(recorded.decision, detail).map(|reason| format!(": {reason}"));
    page.line("decision", &(decision + &reason.unwrap_or_default()));
    page.line("cache", recorded.cache);
    recorded.upstream.iter().for_each(|upstream| page.line("upstream", upstream));
    if let Some(ranking) = &recorded.ranking {
        let items = ranking.items.join(" ");
        page.line("ranking", &format!("{} {}: {items}", ranking.model, ranking.version));
    }
    if recorded.shown_again > 0 {
        let times = recorded.shown_again;
        page.line("", &format!("later requests were answered with it {times} times"));
    }
    page.out + "\nThe same request now:\n\n"
}

/// The cause of a recorded decision, in the past; docs/operating/status.md has the words.
fn reason_of(decision: &str, detail: Option<&str>) -> Option<&'static str> {
    Some(match (decision, detail) {
        ("no-profile", Some("two-ids")) => {
            "the request carried two different ids; which ones, the journal does not have"
        }
        ("no-profile", Some("long-id")) => "the id was longer than `limits.user_bytes_max`",
        ("no-profile", Some("ambiguous-path")) => "the path may have named two users",
        ("no-profile", _) => "there was no profile of the user then",
        ("outside-rollout", _) => "the rollout did not include the user then",
        ("held-out", _) => "the user was in the share that was held out",
        ("anonymous", _) => "the request carried no user id",
        ("personalised", Some("no-affinity")) => "the profile had no affinity that the model reads",
        ("fallback", Some("profiles")) => "there was no good profile file",
        ("fallback", Some("killed")) => "the kill switch was on",
        ("fallback", Some("guard")) => "the guard let fewer users in",
        ("fallback", Some("status")) => "the user's own answer came with a status that refuses",
        ("fallback", Some("not-ready")) => "the model had no good file",
        ("fallback", Some("busy" | "overloaded")) => "there were too many requests",
        ("fallback", Some("model")) => "the model refused the request",
        ("fallback", Some("timeout" | "waited-too-long")) => "the user's own answer was late",
        ("fallback", Some("connect" | "unhealthy")) => "no server took the request",
        ("fallback", Some("closed" | "malformed")) => "the server broke the answer off",
        _ => return None,
    })
}

/// What a request gets, and why; `is_offline` if no server was asked.
pub(super) fn of_answer(answer: &Answer, is_offline: bool, style: Style) -> String {
    let mut page = SubjectLines::new(style);
    let explanation = &answer.explanation;
    page.line(
        "request",
        &format!("{} http://{}{}", explanation.method, explanation.host, explanation.target),
    );
    if answer.known_from == KnownFrom::Files {
        let reason = if is_offline { NOT_ASKED } else { NO_SERVER };
        page.line("", &format!("{reason} {ONLY_FILES}"));
    }
    for route in &explanation.routes {
        match &route.refused_by {
            None => page.line("route", &format!("{}, to {}", route.name, explanation.target_name)),
            Some(reason) => page.line("not", &format!("{}: {reason}", route.name)),
        }
    }
    if let Some(refused) = &explanation.refused {
        page.line("refused", refused);
        page.line("now", &explanation.now);
        return page.out;
    }
    if let Some(user) = &explanation.user {
        page.line("user", &of_user(user));
    }
    if let Some(profile) = &answer.profile {
        page.line("profile", &of_profile(profile));
    }
    if let Some(draw) = &explanation.draw {
        page.line("draw", &of_draw(draw));
    }
    page.line("decision", &format!("{}: {}", explanation.decision, explanation.decided_by));
    of_cache(&explanation.cache, &explanation.host, &mut page);
    page.line("now", &explanation.now);
    if let Some(ranking) = &answer.ranking {
        of_ranking(ranking, &mut page);
    }
    page.out
}

fn of_user(user: &UserFacts) -> String {
    let source = &user.source;
    // An id that this command has put there says nothing of what clients send.
    let warning =
        user.anonymous.filter(|requests| *requests > 0).map_or(String::new(), |requests| {
            format!("; but none of the {requests} requests of this route so far had an id there")
        });
    let of_id = match (&user.id, user.profile.as_deref()) {
        (None, _) => format!("none that can be used in {source}"),
        (Some(id), None) => format!("{id}, from {source}"),
        (Some(id), Some(profile)) => format!("{id}, from {source}; profile {profile}"),
    };
    of_id + &warning
}

fn of_profile(profile: &ProfileFacts) -> String {
    let numbers = profile.features.iter().map(|(name, value)| format!("{name} {}", short(*value)));
    let texts = profile.texts.iter().map(|(name, text)| format!("{name} `{text}`"));
    let mut parts: Vec<String> = texts.chain(numbers).collect();
    let all = parts.len();
    parts.truncate(FEATURES_MAX);
    if all > FEATURES_MAX {
        parts.push(format!("and {} more", all - FEATURES_MAX));
    }
    let features = if all == 0 { "no features".to_owned() } else { parts.join(", ") };
    match profile.recent.is_empty() {
        true => features,
        false => format!("{features}; read last: {}", profile.recent.join(" ")),
    }
}

fn of_draw(draw: &Draw) -> String {
    let percent = |share: f64| format!("{} %", short(share * 100.0));
    let mut text = format!("{:.6} of 1; ", draw.place);
    if draw.killed {
        return text + "the kill switch lets nobody in";
    }
    let _ = match draw.by_dice {
        true => write!(text, "each request is drawn anew, {} are let in", percent(draw.rollout)),
        false => write!(text, "below {} is let in", short(draw.rollout)),
    };
    if draw.hold_out > 0.0 {
        let _ = write!(text, ", from {} on is held out", short(1.0 - draw.hold_out));
    }
    if draw.guard < 1.0 {
        let _ = write!(text, "; the brake allows {} of that", percent(draw.guard));
    }
    text
}

fn of_cache(cache: &CacheFacts, host: &str, page: &mut SubjectLines) {
    if let Some(key) = &cache.key {
        page.line("key", &key.join(" | "));
    }
    if let Some(reason) = &cache.bypassed_by {
        page.line("cache", &format!("not asked: {reason}"));
    }
    if let Some(entry) = &cache.entry {
        page.line("cache", &of_entry(entry));
    }
    if let Some(reason) = &cache.missing_by {
        let reason = match reason.as_str() {
            "vary-miss" => "memory holds another variant of it (`Vary`), not this one".to_owned(),
            "request" => "memory holds an answer that this request must not have".to_owned(),
            _ => format!("memory holds nothing for this key, of host `{host}`"),
        };
        page.line("cache", &reason);
    }
    if let Some(reason) = &cache.unstored_by {
        page.line("cache", &format!("its last answer was not stored: {reason}"));
    }
}

fn of_entry(entry: &EntryFacts) -> String {
    let EntryFacts { status, bytes, age_s, fresh_s, fresh_by, .. } = entry;
    let mut text = format!(
        "memory holds {status}, {bytes} bytes, {} s old; fresh for {} s by {fresh_by}",
        short(*age_s),
        short(*fresh_s)
    );
    if entry.stale_s > 0.0 {
        let _ =
            write!(text, ", then used for {} s while it is fetched again", short(entry.stale_s));
    }
    if entry.if_error_s > 0.0 {
        let _ = write!(text, "; for {} s if the upstream fails", short(entry.if_error_s));
    }
    text
}

fn of_ranking(ranking: &Value, page: &mut SubjectLines) {
    if let Some(error) = ranking["error"].as_str() {
        return page.line("ranking", &format!("the model refuses: {error}"));
    }
    let items = ranking["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    page.line("ranking", &format!("{} items, each score with its largest parts", items.len()));
    for (index, item) in items.iter().enumerate() {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let score = item["score"].as_f64().map_or_else(|| "none".to_owned(), short);
        page.line(
            &format!("{}", index + 1),
            &format!("{score}  {}  {}", text("id"), text("title")),
        );
        let mut parts: Vec<(&str, f64)> = item["explain"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, part)| Some((name.as_str(), part.as_f64()?)))
            .filter(|(_, part)| *part != 0.0)
            .collect();
        parts.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
        let shown = parts.iter().take(PARTS_MAX);
        let mut shown: Vec<String> =
            shown.map(|(name, part)| format!("{name} {}{}", sign(*part), short(*part))).collect();
        if parts.len() > PARTS_MAX {
            shown.push(format!("and {} more", parts.len() - PARTS_MAX));
        }
        let reason = item["explain"]["unavailable"].as_str();
        shown.extend(reason.map(|reason| format!("no parts: {reason}")));
        if !shown.is_empty() {
            page.line("", &shown.join(", "));
        }
    }
}

fn sign(number: f64) -> &'static str {
    if number > 0.0 { "+" } else { "" }
}

/// A number of at most four digits behind its point, without zeros at its end.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Lines of a subject and what is said of it.
#[derive(Debug)]
struct SubjectLines {
    out: String,
    style: Style,
}

impl SubjectLines {
    fn new(style: Style) -> Self {
        let width = style.width.saturating_sub(SUBJECT);
        Self { out: String::new(), style: Style { width, ..style } }
    }

    fn line(&mut self, subject: &str, text: &str) {
        for (index, line) in wrapped(&clean(text), 0, &self.style).iter().enumerate() {
            let subject = if index == 0 { subject } else { "" };
            let _ = writeln!(self.out, "{subject:<SUBJECT$}{line}");
        }
    }
}
