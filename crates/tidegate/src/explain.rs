//! Runs `tidegate explain`: says what a request gets and why, and what a recorded one got.
//!
//! The answer comes from the running server, by its page `/explain`, or else from the files that
//! the configuration names. `answer.rs` makes it on both sides, so both say the same. From files,
//! cache, brakes and the health of upstreams are those of a server that has just started. The
//! answer says where it is from.
//! Invariant: nothing changes: no file is written, and no request reaches an upstream.
//! Elsewhere: the explanation of the gateway's part (`gateway::Explanation`), the page
//! (`admin/explain.rs`), reading logs (`events/tidegate_log.rs`).

mod answer;
mod files;
mod journal_reading;
mod recorded_list;
mod recorded_request;
mod text;

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, bail, ensure};
use gateway::ExplainRequest;
use serde::Serialize;

use crate::cli::ExplainArgs;
use crate::client::NotListening;
use crate::commands::{self, ask_admin_at};
use crate::config::Plan;
use crate::environment;
use crate::events::tidegate_log::Unread;
use crate::events::time;
use crate::hint::{Hint, STILL_REACHED};
pub(crate) use answer::{Answer, Explainer, KnownFrom};
use recorded_request::RecordedRequest;

const NO_URL: Hint = Hint(
    "name a URL (`tidegate explain /news --user 17`), or a recorded request (`--request ID`; \
     `tidegate explain --user 17 --since 1h` lists them)",
);
const HEADERS: &str = "it goes elsewhere now: the configuration has changed, or the route looks at \
    headers, which the journal does not have (name them by `-H 'NAME: VALUE'`)";
const INCOMPLETE: &str = "so `key` and `cache` are those of another one, and what was stored for \
    this request cannot be looked up; name the whole URL beside `--request`";
const HASHED: &str = "the journal has hashes of user ids, so it is not known who asked";

/// All that is printed.
#[derive(Debug, Serialize)]
struct Output {
    /// The recorded request, with `--request`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<RecordedRequest>,
    /// What its request would get now.
    now: Answer,
}

/// `tidegate explain`
///
/// # Errors
/// When there is no such request, or it cannot be explained.
pub(crate) fn command(args: &ExplainArgs) -> Result<()> {
    if args.since.is_some() || args.until.is_some() {
        return list(args);
    }
    // A server elsewhere has a configuration that is not here.
    let plan = match args.admin {
        Some(_) if args.request.is_none() => None,
        _ if args.request.is_some() || args.offline => Some(commands::load(&args.config)?),
        _ => Some(commands::load(&args.config).context(STILL_REACHED)?),
    };
    let recorded = match (&args.request, &plan) {
        (Some(id), Some(plan)) => Some(recorded_request::find(plan, id)?),
        _ => None,
    };
    let recorded = recorded.map(|(recorded, unread)| {
        note_unread(&unread);
        recorded
    });
    let question = question(args, recorded.as_ref(), plan.as_ref())?;
    let now = answer(args, &question, plan)?;
    if let Some(route) = recorded.as_ref().and_then(|recorded| recorded.route.as_deref())
        && now.explanation.routes.last().is_none_or(|asked| asked.name != route)
    {
        crate::output::tell!("note: it went to route `{}`; {HEADERS}", screen::clean(route));
    }
    let output = Output { recorded, now };
    match args.format.as_str() {
        "json" => println!("{:#}", serde_json::to_value(&output)?),
        _ => {
            let style = crate::output::style();
            if let Some(recorded) = &output.recorded {
                print!("{}", text::of_recorded(recorded, style));
            }
            print!("{}", text::of_answer(&output.now, args.offline, style));
        }
    }
    Ok(())
}

/// Lists recorded requests of a time.
fn list(args: &ExplainArgs) -> Result<()> {
    let plan = commands::load(&args.config)?;
    let moment = |text: &Option<String>| text.as_deref().map(time::moment).transpose();
    let from = moment(&args.since).context("--since")?.unwrap_or(0);
    let to = moment(&args.until).context("--until")?.unwrap_or(u64::MAX);
    ensure!(from < to, "nothing is between `--since` and `--until`: the first must be earlier");
    let (found, unread) = recorded_list::find(&plan, args, from..to)?;
    note_unread(&unread);
    match args.format.as_str() {
        "json" => println!("{:#}", serde_json::json!({ "recorded": found })),
        _ => print!("{}", recorded_list::text(&found, &crate::output::whole_style())),
    }
    Ok(())
}

/// Says what of the journal could not be read: what is looked for may stand there.
fn note_unread(unread: &Unread) {
    if let Some(message) = unread.message() {
        crate::output::tell!("note: {}", crate::output::cleaned(&message));
    }
}

/// What is asked: the URL of the arguments, or that of the recorded request.
fn question(
    args: &ExplainArgs,
    recorded: Option<&RecordedRequest>,
    plan: Option<&Plan>,
) -> Result<ExplainRequest> {
    let hides_users = plan.is_some_and(|plan| {
        plan.journal.as_ref().is_some_and(|journal| journal.user_key.is_some())
    });
    let user = recorded.and_then(|recorded| recorded.user.clone()).filter(|_| !hides_users);
    if recorded.is_some_and(|recorded| recorded.user.is_some()) && hides_users {
        crate::output::tell!("note: {HASHED}; name the user by `--user ID`");
    }
    let url = match (&args.url, recorded) {
        (Some(url), _) => url.clone(),
        (None, Some(recorded)) => {
            let missing = recorded.missing();
            if !missing.is_empty() {
                let missing = screen::clean(&missing.join(", "));
                crate::output::tell!(
                    "note: the journal has not all of the URL ({missing}); {INCOMPLETE}"
                );
            }
            recorded.url()
        }
        (None, None) => return Err(anyhow::anyhow!("nothing to explain").context(NO_URL)),
    };
    let method = args.method.clone().or_else(|| recorded.map(|recorded| recorded.method.clone()));
    Ok(ExplainRequest {
        url,
        method: method.unwrap_or_default(),
        user: args.user.clone().or(user),
        fields: args.header.iter().map(|line| field(line)).collect::<Result<_>>()?,
        client: args.from,
        falls_back: false,
    })
}

fn field(line: &str) -> Result<(String, String)> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => bail!("`{line}` is no header; write `NAME: VALUE`"),
    }
}

/// Asks the server, or the files where none answers.
fn answer(args: &ExplainArgs, question: &ExplainRequest, plan: Option<Plan>) -> Result<Answer> {
    let (address, token) = match (&args.admin, &plan) {
        (Some(address), _) => (*address, environment::admin_token()),
        (None, Some(plan)) => (plan.admin, plan.admin_token.clone()),
        (None, None) => unreachable!("without an address the configuration was read"),
    };
    if !args.offline {
        match of_server((address, token), question) {
            Err(error) if args.admin.is_none() && error.is::<NotListening>() => {}
            answered => return answered,
        }
    }
    files::answer(plan.context("`--offline` needs the configuration")?, question)
}

fn of_server(server: (SocketAddr, Option<String>), question: &ExplainRequest) -> Result<Answer> {
    let path = format!("/explain?{}", form(question));
    let text = ask_admin_at(server, "GET", &path, &[])?;
    serde_json::from_str(&text).context("read the answer of `/explain`")
}

/// A question as the query of `/explain`; [`read_form`] reads it.
fn form(question: &ExplainRequest) -> String {
    let ExplainRequest { url, method, user, fields, client, falls_back: _ } = question;
    let mut pairs = vec![("url", url.clone())];
    pairs.extend(Some(("method", method.clone())).filter(|(_, method)| !method.is_empty()));
    pairs.extend(user.iter().map(|user| ("user", user.clone())));
    pairs.extend(fields.iter().map(|(name, value)| ("header", format!("{name}: {value}"))));
    pairs.extend(client.map(|client| ("from", client.to_string())));
    let pairs = pairs.iter();
    let pairs =
        pairs.map(|(name, value)| format!("{name}={}", exchange::encode_query(value.as_bytes())));
    pairs.collect::<Vec<_>>().join("&")
}

/// Reads the query of `/explain`.
///
/// # Errors
/// With a message about the first wrong parameter.
pub(crate) fn read_form(query: &str) -> Result<ExplainRequest, String> {
    let mut question = ExplainRequest::default();
    let mut given = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = exchange::decode_query(value.as_bytes()).into_owned();
        let value = String::from_utf8(decoded).map_err(|_| format!("`{name}` is not UTF-8"))?;
        if given.contains(&name) && name != "header" {
            return Err(format!("`{name}` is given twice"));
        }
        given.push(name);
        match name {
            "url" => question.url = value,
            "method" => question.method = value,
            "user" => question.user = Some(value),
            "header" => {
                let field = field(&value).map_err(|error| error.to_string())?;
                question.fields.push(field);
            }
            "from" => {
                let address = value.parse::<IpAddr>();
                question.client = Some(address.map_err(|_| format!("`{value}` is no address"))?);
            }
            _ => {
                let known = "`url`, `user`, `method`, `header` and `from`";
                return Err(format!("there is no parameter `{name}`; there are {known}"));
            }
        }
    }
    if question.url.is_empty() {
        return Err("name what to explain: `url=http://HOST/PATH`, or `url=/PATH`".to_owned());
    }
    Ok(question)
}

#[cfg(test)]
mod tests;
