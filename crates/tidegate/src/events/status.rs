//! Runs `tidegate events status`: asks the record process, or the edge process that started it.
//!
//! The address of `[events] status` is asked first, then the admin listener. Where neither gives a
//! document, the last notes of the binlog are printed as text, with the exit code 1 and no error.
//! That is so, too, if a record process has not reported yet or the admin listener refuses. Only
//! without notes the error is shown. With `--json` the whole document is printed, indented; without
//! a document, the notes are printed as text all the same.
//! Invariant: nothing is started or changed. A part of the document that is missing is shown as
//! nothing, null or 0, never as an error. So is a key that `pipeline::StatusReport` or its board
//! has renamed: change it here, too.
//! What stands in files is added to the document: open losses, and where the quarantine is.
//! Never here: what the document says, which is `pipeline`'s.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pipeline::{Binlog, LogLoss, LossBook, Note};
use serde_json::Value;

use crate::client::{Client, ClientRequest};
use crate::commands::{self, counted};
use crate::config::Plan;
use crate::environment;
use crate::events::open;
use crate::exit::Exit;
use crate::hint::Hint;
use crate::output;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const NOT_RUNNING: Hint = Hint(
    "start it with `tidegate serve` or `tidegate events run`; `[events] status` in the \
     configuration says where the latter answers",
);

/// Prints the status; as it came when `json`.
///
/// # Errors
/// When nobody answers.
pub(super) fn command(file: &Path, json: bool) -> Result<()> {
    let plan = commands::load(file)?;
    match ask(&plan) {
        Ok(mut document) => {
            add_files(&mut document, &plan);
            match json {
                true => println!("{document:#}"),
                false => output::print_cleaned(&text(&document))?,
            }
        }
        Err(error) => {
            let notes = Binlog::new(&plan.binlog()).last();
            if notes.is_empty() {
                return Err(error.context(NOT_RUNNING));
            }
            let state = match plan.events.status {
                Some(_) => "not running",
                None => "no answer, and `[events] status` is not set, so it may run",
            };
            let notes = notes.iter().map(|note| noted(note, state) + "\n");
            output::print_cleaned(&notes.collect::<String>())?;
            return Err(Exit(1).into());
        }
    }
    Ok(())
}

fn ask(plan: &Plan) -> Result<Value> {
    match plan.events.status.map(ask_port) {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => ask_edge(plan).map_err(|_| error),
        None => ask_edge(plan),
    }
}

fn ask_port(address: SocketAddr) -> Result<Value> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT);
    let mut stream = stream.with_context(|| format!("ask `{address}` for the status"))?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("read the status")?;
    serde_json::from_str(&text).context("read the status")
}

fn ask_edge(plan: &Plan) -> Result<Value> {
    let token = plan.admin_token.clone().or_else(environment::admin_token);
    let fields = token.map(|token| ("authorization", format!("Bearer {token}")));
    let fields = fields.as_slice();
    let call = ClientRequest { method: "GET", target: "/status", fields, body: b"" };
    let reply = Client::new(plan.admin).send(call)?;
    anyhow::ensure!(reply.status == 200, "ask `{}` for the status: {}", plan.admin, reply.status);
    let mut document: Value = serde_json::from_slice(&reply.body).context("read the status")?;
    let record = document["record"].take();
    match &record["document"] {
        Value::Object(_) => Ok(record["document"].clone()),
        _ => bail!("the record process behind `{}` has not reported yet", plan.admin),
    }
}

/// Adds to each pipeline what stands in files: losses that nobody has acknowledged, and where
/// refused lines are.
fn add_files(document: &mut Value, plan: &Plan) {
    let book = LossBook::new(&plan.losses());
    book.adopt(serde_json::from_value(document["unkept_losses"].clone()).unwrap_or_default());
    let open = book.open();
    for line in document["pipelines"].as_array_mut().into_iter().flatten() {
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let (source, sink) = (word("source"), word("sink"));
        let is_its = |loss: &&LogLoss| (&loss.source, &loss.sink) == (&source, &sink);
        line["open_losses"] = match open.is_whole() {
            true => open.losses.iter().filter(is_its).count().into(),
            // Nobody knows what a broken line said, or what the file did not take.
            false => Value::Null,
        };
        let file = open::quarantine_file(plan, &source, &sink);
        line["quarantine_file"] = file.display().to_string().into();
    }
}

fn text(document: &Value) -> String {
    let mut text = format!(
        "{}: process {}, up {} s\n",
        document["node"].as_str().unwrap_or_default(),
        document["pid"],
        document["uptime_s"]
    );
    for pipeline in document["pipelines"].as_array().into_iter().flatten() {
        text += &one(pipeline);
    }
    text
}

fn one(line: &Value) -> String {
    let word = |name: &str| line[name].as_str().unwrap_or_default();
    let last = match line["committed_s_ago"].as_f64() {
        Some(seconds) => format!("the last {seconds:.1} s ago"),
        None => "none since the start".to_owned(),
    };
    let mut text = format!("{} to {}: {}\n", word("source"), word("sink"), word("state"));
    let mut row = |name: &str, value: String| text += &format!("  {name:<12} {value}\n");
    row(
        "read",
        format!(
            "{} lines, {} bytes ({} lines/s, {} bytes/s)",
            line["lines"], line["bytes"], line["lines_per_second"], line["bytes_per_second"]
        ),
    );
    let seconds = line["seconds_behind"].as_f64().unwrap_or(0.0);
    row(
        "behind",
        match line["bytes_behind"].as_u64() {
            Some(bytes) => format!("{bytes} bytes, {seconds:.1} s"),
            None => "not known: the sink has not said yet what it has".to_owned(),
        },
    );
    let number = |name: &str| line[name].as_u64().unwrap_or(0);
    let rows = counted(number("rows"), "row");
    let batches = counted(number("batches"), "batch");
    row("delivered", format!("{rows} in {batches}, {last}"));
    let dropped = match line["quarantine_dropped"].as_u64() {
        None | Some(0) => String::new(),
        Some(dropped) => format!(", {dropped} of them not kept: the file is full or not writable"),
    };
    let place = match (number("quarantined"), line["quarantine_file"].as_str()) {
        (1.., Some(file)) => format!(", kept in `{file}`"),
        _ => String::new(),
    };
    row("quarantined", format!("{}{place}{dropped}", counted(number("quarantined"), "line")));
    row("without key", format!("{} times a line lacked a number in `by`", line["without_key"]));
    let open = match line["open_losses"].as_u64() {
        Some(0) => String::new(),
        Some(open) => format!("; open losses: {open}, see `tidegate events losses`"),
        None => "; it is not known what is lost, see `tidegate events losses`".to_owned(),
    };
    row("lost", lost(line) + &open);
    row("restarts", format!("{}, fenced {} times", line["restarts"], line["fenced"]));
    files(line, "copies").for_each(|(file, of)| {
        row("copy", format!("`{file}` has nothing that `{of}` does not have, and is not counted"));
    });
    files(line, "unreadable").for_each(|(file, reason)| {
        row("unreadable", format!("`{file}`: {reason}"));
    });
    if let Some(error) = line["last_error"].as_str() {
        row("error", error.to_owned());
    }
    text
}

/// How many bytes are lost, as far as that is known.
fn lost(line: &Value) -> String {
    let bytes = &line["lost_bytes"];
    // A document of an older version does not say it.
    let more = match line["unmeasured_losses"].as_u64() {
        None | Some(0) => String::new(),
        Some(1) => ", and more in a loss whose length is not known".to_owned(),
        Some(losses) => format!(", and more in {losses} losses whose length is not known"),
    };
    format!("{bytes} bytes since the start{more}")
}

/// The files of one kind that the document names.
fn files<'l>(line: &'l Value, names: &str) -> impl Iterator<Item = (&'l str, &'l str)> {
    let files = line[names].as_object().into_iter().flatten();
    files.map(|(file, what)| (file.as_str(), what.as_str().unwrap_or_default()))
}

fn noted(note: &Note, state: &str) -> String {
    let mut time = Vec::new();
    exchange::write_rfc3339(note.time_us, &mut time);
    format!(
        "{} to {}: {state}; batch {} with {} was committed at {}, from where it will go on",
        note.source,
        note.sink,
        note.sequence,
        counted(note.rows, "row"),
        String::from_utf8_lossy(&time)
    )
}
