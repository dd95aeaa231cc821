//! Runs `tidegate config init`: asks at most five questions, and writes a configuration.
//!
//! A question whose option is given is not asked. Answers are lines of stdin; an empty one, and the
//! end of stdin, take the default. So a script may answer by options, by a pipe, or not at all.
//! Invariant: the file that is written passes `config check`. A file that is there is replaced only
//! by `--force`, or by a `yes` at a terminal. So is a link, which is not followed. A new file is
//! for its owner and its group, since the address of a sink may have a password. An answer that the
//! check refuses is asked for again at a terminal, and elsewhere is an error.
//! No file hands one user's page to the next. By default it stores nothing, since answers may
//! depend on cookies; what an answer has it store is fetched without them. So a file is without a
//! note (`notes.rs`), unless it names a user. Only the operator knows who has a profile, and what
//! else tells the app who asks; such notes are printed at once.
//! The file begins small: what it leaves out is at its default. Never here: what keys mean.

use std::io::{self, BufRead, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use chassis::config::Problem;

use super::notes;
use crate::cli::InitArgs;
use crate::config;
use crate::exit::Misuse;
use crate::hint::Hint;
use crate::output;
use crate::wrong_config::WrongConfig;

const THERE: Hint = Hint("`--force` replaces it, and `config init FILE` writes another one");

/// What is asked: its text, what may be answered, and the default.
struct Question {
    text: &'static str,
    forms: &'static str,
    usual: &'static str,
}

const UPSTREAM: Question = Question {
    text: "What answers the requests?",
    forms: "HOST:PORT, several with commas; a Python app such as main:app; or none",
    usual: "127.0.0.1:9000",
};
const LOG: Question = Question {
    text: "Which log of another web server is counted?",
    forms: "files such as /var/log/nginx/access.log*",
    usual: "/var/log/nginx/access.log*",
};
const CACHE: Question = Question {
    text: "How long may an answer be stored for everybody? It is then fetched without cookies.",
    forms: "a time such as 60s; origin, for as long as its headers say; or none",
    usual: "none",
};
const USER: Question = Question {
    text: "Who is the user?",
    forms: "cookie:NAME, header:NAME, query:NAME, or none",
    usual: "none",
};
const SINK: Question = Question {
    text: "Where are requests counted?",
    forms: "sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE, mysql://…, or none",
    usual: "sqlite:data/events.db",
};
const PUBLIC: Question = Question {
    text: "Where do clients come in?",
    forms: "IP:PORT; 0.0.0.0:8080 is every address of this machine",
    usual: "127.0.0.1:8080",
};

/// The answers so far; those to come are at their defaults.
#[derive(Debug, Clone)]
struct Answers {
    upstream: String,
    log: String,
    cache: String,
    user: String,
    sink: String,
    public: String,
    /// Never asked, for the usual place serves everybody but who has two servers.
    admin: String,
}

/// The usual address of the admin listener.
const ADMIN: &str = "127.0.0.1:8081";

/// Reads answers.
struct Asker<R> {
    input: R,
    is_terminal: bool,
    takes_defaults: bool,
    asked: usize,
}

/// `tidegate config init`
pub(super) fn run(args: &InitArgs) -> Result<()> {
    let stdin = io::stdin();
    let is_terminal = stdin.is_terminal();
    let mut asker =
        Asker { input: stdin.lock(), is_terminal, takes_defaults: args.defaults, asked: 0 };
    let file = args.file.as_path();
    output::expect_replaceable(file)?;
    // A link that leads nowhere is there, too.
    let is_there = file.symlink_metadata().is_ok();
    if is_there && !args.force && !asker.may_replace(file)? {
        return Err(anyhow!("`{}` is there, and stays as it is", file.display()).context(THERE));
    }
    let answers = asker.answers(args)?;
    let text = written(&answers);
    let plan = config::check(&text, dir_of(file))
        .map_err(|problems| WrongConfig::new(file.to_owned(), problems))?;
    output::replace(file, &text)?;
    let shown = file.display();
    let next = if answers.upstream == "none" { "events run" } else { "serve" };
    let file =
        if file == Path::new("tidegate.toml") { String::new() } else { format!(" -c {shown}") };
    let notes: String = notes::of(&plan).iter().map(|note| format!("note: {note}\n")).collect();
    output::print_cleaned(&format!(
        "{notes}{shown}: written\n`tidegate config explain {shown}` says what it does, \
         `tidegate {next}{file}` runs it.\n"
    ))
}

fn dir_of(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl<R: BufRead> Asker<R> {
    fn answers(&mut self, args: &InitArgs) -> Result<Answers> {
        if let Some(admin) = args.admin.as_ref().filter(|it| it.parse::<SocketAddr>().is_err()) {
            return Err(Misuse(anyhow!("`--admin {admin}`: write IP:PORT, such as {ADMIN}")).into());
        }
        let usual = |question: &Question| question.usual.to_owned();
        let mut all = Answers {
            upstream: usual(&UPSTREAM),
            log: usual(&LOG),
            cache: usual(&CACHE),
            user: usual(&USER),
            sink: usual(&SINK),
            public: usual(&PUBLIC),
            admin: args.admin.clone().unwrap_or_else(|| ADMIN.to_owned()),
        };
        // A log that is named is what there is to do.
        let upstream = args.upstream.clone().or(args.log.as_ref().map(|_| "none".to_owned()));
        self.ask(&UPSTREAM, &upstream, &mut all, |all| &mut all.upstream)?;
        if all.upstream == "none" {
            self.ask(&LOG, &args.log, &mut all, |all| &mut all.log)?;
        } else {
            self.ask(&CACHE, &args.cache, &mut all, |all| &mut all.cache)?;
            self.ask(&USER, &args.user, &mut all, |all| &mut all.user)?;
        }
        self.ask(&SINK, &args.sink, &mut all, |all| &mut all.sink)?;
        if all.upstream != "none" {
            self.ask(&PUBLIC, &args.public, &mut all, |all| &mut all.public)?;
        } else if all.sink == "none" {
            return Err(Misuse(anyhow!("nothing answers and nothing is counted")).into());
        }
        Ok(all)
    }

    /// Puts an answer in its place: that of the option, or what is answered.
    fn ask(
        &mut self,
        question: &Question,
        option: &Option<String>,
        all: &mut Answers,
        place: fn(&mut Answers) -> &mut String,
    ) -> Result<()> {
        loop {
            let answer = match option {
                Some(answer) => answer.clone(),
                None => self.line(question)?,
            };
            if !answer.trim().is_empty() {
                *place(all) = answer.trim().to_owned();
            }
            let Some(problem) = problem(all) else { return Ok(()) };
            if option.is_some() || self.takes_defaults || !self.is_terminal {
                let text = place(all);
                return Err(Misuse(anyhow!(
                    "`{text}` is no answer to \"{}\" {problem}",
                    question.text
                ))
                .into());
            }
            crate::output::tell!("   {}", output::cleaned(&problem));
            *place(all) = question.usual.to_owned();
        }
    }

    fn line(&mut self, question: &Question) -> Result<String> {
        if self.takes_defaults {
            return Ok(String::new());
        }
        self.asked += 1;
        crate::output::tell_on!(
            "{}. {}\n   {}\n   [{}] ",
            self.asked,
            question.text,
            question.forms,
            question.usual
        );
        let line = self.read()?;
        if !self.is_terminal {
            crate::output::tell!("{}", output::cleaned(&line));
        }
        Ok(line)
    }

    /// A line; empty at the end of the input.
    fn read(&mut self) -> Result<String> {
        let mut line = String::new();
        self.input.read_line(&mut line).context("read the answer")?;
        Ok(line.trim().to_owned())
    }

    fn may_replace(&mut self, file: &Path) -> Result<bool> {
        if !self.is_terminal {
            return Ok(false);
        }
        crate::output::tell_on!("{} is there. Replace it? yes or no [no] ", file.display());
        Ok(matches!(self.read()?.as_str(), "yes" | "y"))
    }
}

/// What the check says of these answers.
fn problem(answers: &Answers) -> Option<String> {
    let problems = config::check(&written(answers), Path::new(".")).err()?;
    problems.first().map(|Problem { key, message, .. }| format!("(`{key}`: {message})"))
}

/// The configuration that the answers mean.
fn written(answers: &Answers) -> String {
    let mut text = String::from(
        "# Written by `tidegate config init`. `tidegate config reference` has every key.\n",
    );
    let has_gateway = answers.upstream != "none";
    if has_gateway {
        text += &format!(
            "\n[listen]\npublic = {}\nadmin  = {}     # status, metrics, actions\n",
            quoted(&answers.public),
            quoted(&answers.admin)
        );
        text +=
            "\n[journal]\ndir = \"data/journal\"            # every request, a line of JSON each\n";
        text += &upstream(&answers.upstream);
        text += &route(answers);
    } else {
        let files: Vec<String> = answers.log.split(',').map(|file| quoted(file.trim())).collect();
        text += &format!("\n[[source]]\nname  = \"web\"\nfiles = [{}]\n", files.join(", "));
        text += "format = \"combined\"   # `tidegate events inspect --guess FILE` proposes one\n";
    }
    if answers.sink != "none" {
        let user = if answers.user == "none" { "client_ip" } else { "user" };
        let kept = match has_gateway {
            true => {
                format!("\"route\", \"status\"]\nunique    = [\"{user}\"]\nquantiles = [\"total\"]")
            }
            false => {
                "\"status\"]\nsum       = [\"bytes_out\"]\nunique    = [\"client_ip\"]".to_owned()
            }
        };
        text += "\n# `tidegate events query requests` shows it.\n";
        text += &format!("[[rollup]]\nname      = \"requests\"\nby        = [\"minute\", {kept}\n");
        text += &format!("\n[[sink]]\nname = \"main\"\nurl  = {}\n", quoted(&answers.sink));
    }
    text
}

fn upstream(answer: &str) -> String {
    let is_app = answer.rsplit_once(':').is_some_and(|(module, attribute)| {
        let is_module = module.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let is_server = answer.contains([',', '/']) || attribute.parse::<u16>().is_ok();
        is_module && !is_server
    });
    if is_app {
        let app = quoted(answer);
        return format!("\n[[upstream]]\nname   = \"backend\"\npython = {app}\n");
    }
    // A URL of a server without a path is as clear as its address.
    let bare = |server: &str| {
        let server = server.trim();
        quoted(server.strip_prefix("http://").map_or(server, |it| it.trim_end_matches('/')))
    };
    let servers: Vec<String> = answer.split(',').map(bare).collect();
    format!("\n[[upstream]]\nname    = \"backend\"\nservers = [{}]\n", servers.join(", "))
}

fn route(answers: &Answers) -> String {
    let (way, keys) = match answers.cache.as_str() {
        "none" => (" and nothing is stored: answers may depend on cookies.", String::new()),
        "origin" => (
            " and is fetched without cookies, so that it may be stored.",
            "cache = {}                      # for as long as its headers say\n\
             key   = { cookies = [] }\n"
                .to_owned(),
        ),
        ttl => (
            " and is fetched without cookies, so that it may be stored.",
            format!(
                "cache = {{ ttl = {} }}\nkey   = {{ cookies = [] }}\n\
                 forward = [\"accept\", \"accept-language\"]     # no other headers\n",
                quoted(ttl)
            ),
        ),
    };
    let mut text = format!(
        "\n# Everything goes to it,{way}\n# Put routes for single paths before this one.\n\
         [[route]]\npath  = \"/{{*rest}}\"\nto    = \"upstream:backend\"\n{keys}"
    );
    if answers.user != "none" {
        text += "# [profiles] says who gets an answer of their own.\n";
        text += &format!("personalise = {{ user = {} }}\n", quoted(&answers.user));
    }
    text
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests;
