//! Runs `tidegate audit`: prints the actions of a trail, and whether its chain holds.
//!
//! What is printed last is the verdict: each break with its place, then one line. A break, or a
//! witness that contradicts, ends with exit code 1, after everything is printed. So does `--verify`
//! of a trail without entries, and a file of syslog without a line of it. The whole trail is
//! verified, whatever actions are chosen. Scripts read `actions` and `verified` of the JSON.
//! Never here: reading and comparing, which the crate `audit` does, and what the shells' texts say
//! (`audit/bash.sh`, `audit/nrpe.txt`).

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result};
use audit::{AuditedAction, Reading, TrailError, Witnesses};
use screen::{Align, Cell, Column, Ink, Table};
use serde_json::{Value, json};
use stdx::{RealDisk, plain_file};

use crate::cli::AuditArgs;
use crate::commands::counted;
use crate::events::time::moment;
use crate::exit::Exit;
use crate::hint::Hint;
use crate::{config, output};

const BASH: &str = include_str!("audit/bash.sh");
const NRPE: &str = include_str!("audit/nrpe.txt");
const NO_TRAIL: Hint = Hint(
    "a trail begins with the first action; `-c FILE` names the configuration whose `[audit]` has \
     the directory, and `--dir` a directory",
);
/// What is shown where an action has no result.
const NO_RESULT: &str = "no result: the process ended, or it still runs";

/// `tidegate audit`
///
/// # Errors
/// When the trail cannot be read, or its chain does not hold.
pub(crate) fn command(args: &AuditArgs) -> Result<()> {
    match args.shell.as_deref() {
        Some("nrpe") => return output::print(NRPE),
        Some(_) => return output::print(BASH),
        None => {}
    }
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => config::audit_options(&args.config)?.dir,
    };
    let chosen = Chosen::of(args)?;
    let reading = audit::read(&dir, &RealDisk).map_err(explained)?;
    let against = args.against.as_deref().map(|file| compared(&reading, file)).transpose()?;
    let trail = TrailText { dir: &dir, reading: &reading, against: against.as_ref() };
    let text = match (args.format.as_str(), args.verify) {
        ("json", _) => trail.json(&chosen, args),
        (_, true) => trail.verdict(),
        _ => trail.table(&chosen) + &trail.verdict(),
    };
    output::print(&text)?;
    let is_asked = args.verify || against.is_some();
    let is_wrong = !trail.holds() || is_asked && !trail.is_confirmed();
    if is_wrong { Err(Exit(1).into()) } else { Ok(()) }
}

/// With a hint where there is no trail yet.
fn explained(error: TrailError) -> anyhow::Error {
    match &error {
        TrailError::Disk { source, .. } if source.kind() == ErrorKind::NotFound => {
            anyhow::Error::new(error).context(NO_TRAIL)
        }
        _ => error.into(),
    }
}

fn compared(reading: &Reading, path: &Path) -> Result<Witnesses> {
    let opened: std::io::Result<File> = plain_file::open(path);
    let read = opened.and_then(|file| audit::compare(reading, BufReader::new(file)));
    read.with_context(|| format!("read `{}`", path.display()))
}

/// Which actions are shown.
struct Chosen<'a> {
    since: String,
    /// Where it ends.
    end: Option<String>,
    args: &'a AuditArgs,
}

impl<'a> Chosen<'a> {
    fn of(args: &'a AuditArgs) -> Result<Self> {
        let time = |text: &Option<String>| text.as_deref().map(moment).transpose();
        let since = time(&args.since).context("--since")?.unwrap_or(0);
        let end = time(&args.until).context("--until")?.map(audit::rfc3339);
        Ok(Self { since: audit::rfc3339(since), end, args })
    }

    fn has(&self, action: &AuditedAction) -> bool {
        let is_named = |name: &String| {
            let rest = action.action.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let ends = self.end.as_ref();
        action.time >= self.since
            && ends.is_none_or(|end| action.time < *end)
            && self.args.action.as_ref().is_none_or(is_named)
            && self.args.user.as_ref().is_none_or(|user| action.who.is_called(user))
    }
}

/// A trail that was read, as text.
struct TrailText<'a> {
    dir: &'a Path,
    reading: &'a Reading,
    against: Option<&'a Witnesses>,
}

impl TrailText<'_> {
    fn holds(&self) -> bool {
        let contradicted = self.against.is_some_and(|found| !found.contradictions.is_empty());
        self.reading.breaks.is_empty() && !contradicted
    }

    /// Whether there was anything to verify, and a witness of it where one was asked.
    fn is_confirmed(&self) -> bool {
        self.reading.entries > 0 && self.against.is_none_or(|found| found.count > 0)
    }

    fn table(&self, chosen: &Chosen<'_>) -> String {
        let titles = ["who", "action", "what", "result"];
        // A time is never cut, as a number is not.
        let mut columns = ["entry", "time UTC"].map(|it| Column::new(it, Align::Right)).to_vec();
        columns.extend(titles.map(|title| Column::new(title, Align::Left)));
        let mut table = Table::new(columns);
        for action in self.reading.actions.iter().filter(|action| chosen.has(action)) {
            let result = match (&action.result, action.is_sound) {
                (_, false) => Cell::new("the line was edited", Ink::Alarm),
                (Some(result), true) => Cell::from(result.clone()),
                (None, true) => Cell::new(NO_RESULT, Ink::Alarm),
            };
            table.push(vec![
                action.number.to_string().into(),
                action.time.get(..19).unwrap_or(&action.time).replace('T', " ").into(),
                action.who.to_string().into(),
                action.action.clone().into(),
                action.what.clone().into(),
                result,
            ]);
        }
        match table.is_empty() {
            true => "no such actions\n".to_owned(),
            false => table.render(&output::whole_style()) + "\n",
        }
    }

    /// Each break with its place, and one line about the whole.
    fn verdict(&self) -> String {
        let Reading { notes, breaks, remarks, entries, files, .. } = self.reading;
        let mut out = String::new();
        for note in notes {
            let _ = writeln!(out, "note of entry {}, {}: {}", note.number, note.time, note.text);
        }
        for remark in remarks {
            let _ = writeln!(out, "note: {remark}");
        }
        for found in breaks {
            let _ = writeln!(out, "break: {found}");
        }
        let entries =
            if *entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
        let count = format!("{entries} in {}", counted(*files as u64, "file"));
        let dir = self.dir.display();
        let _ = match (breaks.len(), self.reading.last()) {
            (0, Some((number, hash))) => {
                writeln!(out, "{dir}: {count}: the chain holds; entry {number} is {hash}")
            }
            (0, None) => writeln!(out, "{dir}: there is no entry, so nothing can be verified"),
            (breaks, _) => {
                let places = counted(breaks as u64, "place");
                writeln!(out, "{dir}: {count}: the chain breaks in {places}")
            }
        };
        if let Some(found) = self.against {
            for witness in &found.contradictions {
                let (line, number, digits) = (witness.line, witness.number, &witness.witness);
                let trail = match &witness.trail {
                    Some(trail) => format!("in the trail it is {trail}"),
                    None => "the trail has none".to_owned(),
                };
                let _ = writeln!(out, "syslog, line {line}: entry {number} was {digits}; {trail}");
            }
            let (count, wrong) = (found.count, found.contradictions.len());
            let lines = counted(count, "line");
            let _ = match count {
                0 => writeln!(out, "syslog: no line is about this trail, so none confirms it"),
                _ => writeln!(out, "syslog: {lines} about this trail, {wrong} contradict it"),
            };
        }
        output::cleaned(&out)
    }

    fn json(&self, chosen: &Chosen<'_>, args: &AuditArgs) -> String {
        let Reading { actions, notes, breaks, remarks, entries, files, .. } = self.reading;
        let actions: Vec<&AuditedAction> =
            actions.iter().filter(|action| chosen.has(action)).collect();
        let last = self.reading.last();
        let last = last.map(|(number, hash)| json!({ "number": number, "hash": hash }));
        let against = self.against.map(|found| {
            let file = args.against.as_ref().map(|file| file.display().to_string());
            json!({ "file": file, "witnesses": found.count,
                    "contradictions": found.contradictions })
        });
        // Nothing holds where there is nothing.
        let holds = (self.reading.entries > 0 || !self.holds()).then(|| self.holds());
        let verified = json!({
            "dir": self.dir.display().to_string(), "holds": holds, "entries": entries,
            "files": files, "last": last, "breaks": breaks, "notes": notes, "remarks": remarks,
            "against": against,
        });
        let actions = if args.verify { Value::Null } else { json!(actions) };
        format!("{:#}\n", json!({ "actions": actions, "verified": verified }))
    }
}
