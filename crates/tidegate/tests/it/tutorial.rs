//! Claims about docs/TUTORIAL.md: what it says to type works, and prints what it shows; a mistake
//! on the way is named.
//!
//! A block of the page is, by the words after its fence:
//! - `LANGUAGE FILE`: a file; with `add`, it goes to the end of the one that is there,
//! - `sh`: commands; with `again`, until they print what the next block shows,
//! - `sh server NAME PORT`: a program in a terminal of its own; one of that name is stopped before,
//! - `sh once`: packages to install, which the tests have,
//! - `text`: what the last commands printed.
//!
//! `<!-- stop NAME -->` stops a program. In what is shown, `…` stands for anything. A number stands
//! for any other, unless it has a single digit.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use testkit::{FIXTURE_TIMEOUT, Postgres, Server, TempDir, free_port, skip};

use crate::running::BINARY;

const PAGE: &str = include_str!("../../../../docs/TUTORIAL.md");
const DATABASE: &str = "postgres://shop:shop@127.0.0.1/shop";
const PORTS: [&str; 5] = ["5000", "8080", "8081", "8125", "8126"];

/// A mistake: typed before the block that begins so, it is answered with this text.
struct Mistake {
    before: &'static str,
    typed: &'static str,
    answer: &'static str,
}

const MISTAKES: [Mistake; 0] = [];

/// Someone who types the page.
struct Reader {
    folder: TempDir,
    /// What is written in the page, and what stands for it here.
    places: Vec<(&'static str, String)>,
    path: String,
    terminals: HashMap<String, Server>,
    typed: String,
    printed: String,
}

impl Reader {
    fn new(root: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        std::os::unix::fs::symlink(root.join("target/venv"), folder.path().join(".venv")).unwrap();
        let mut places: Vec<_> = PORTS.map(|port| (port, fresh_port())).into();
        places.push((DATABASE, Postgres::shared().database()));
        let programs = Path::new(BINARY).parent().unwrap().display();
        let path = format!("{programs}:/usr/local/bin:/usr/bin:/bin");
        let (terminals, typed, printed) = Default::default();
        Self { folder, places, path, terminals, typed, printed }
    }

    /// The text with the places of this machine.
    fn here(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (written, here) in &self.places {
            text = text.replace(written, here);
        }
        text
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-euc", &format!("exec 2>&1; {script}")]).current_dir(self.folder.path());
        command.env("PATH", &self.path).env("PYTHONPATH", package());
        command
    }

    /// Types commands; returns whether they succeeded.
    fn run(&mut self) -> bool {
        let output = self.command(&self.typed).output().unwrap();
        self.printed = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        output.status.success()
    }

    fn write(&self, name: &str, text: &str, add: bool) {
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(add).truncate(!add);
        let mut file = options.open(self.folder.path().join(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn serve(&mut self, name: &str, port: &str, script: &str) {
        self.stop(name);
        // `config init` writes the usual ports.
        let file = self.folder.path().join("tidegate.toml");
        if let Ok(mut text) = std::fs::read_to_string(&file) {
            for (written, here) in &self.places[..PORTS.len()] {
                text = text.replace(&format!("1:{written}\""), &format!("1:{here}\""));
            }
            std::fs::write(&file, text).unwrap();
        }
        let port = self.here(port).parse().unwrap();
        let command = self.command(&format!("exec {script}"));
        let server = Server::spawn(command, SocketAddr::from(([127, 0, 0, 1], port)));
        self.terminals.insert(name.to_owned(), server.unwrap());
    }

    fn stop(&mut self, name: &str) {
        let Some(mut server) = self.terminals.remove(name) else { return };
        server.signal("INT").unwrap();
        server.wait().unwrap();
    }

    /// Compares what was printed; with `again`, types the commands until it is that.
    fn compare(&mut self, shown: &str, again: bool) {
        let begun = Instant::now();
        while !shows(shown, &self.printed) {
            let (typed, printed) = (&self.typed, &self.printed);
            assert!(
                again && begun.elapsed() < FIXTURE_TIMEOUT,
                "typed\n{typed}\nshown\n{shown}\nprinted\n{printed}"
            );
            self.run();
        }
    }

    /// Types the mistakes that are to be made before this block.
    fn blunder(&self, block: &str) {
        for mistake in MISTAKES.iter().filter(|mistake| block.starts_with(mistake.before)) {
            let output = self.command(&self.here(mistake.typed)).output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            let Mistake { typed, answer, .. } = mistake;
            assert!(shows(answer, &printed), "typed\n{typed}\nshould print\n{answer}\n{printed}");
        }
    }
}

/// A free port that does not contain one of the page's.
fn fresh_port() -> String {
    std::iter::repeat_with(|| free_port().to_string())
        .find(|port| !PORTS.iter().any(|other| port.contains(other)))
        .unwrap()
}

/// Where the package for Python is.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python")
}

/// Whether a text is what the page shows, which may begin or end before the text does with `…`.
fn shows(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (plain(shown), plain(printed));
    let parts: Vec<&str> = shown.split('…').map(str::trim).collect();
    let [first, .., last] = &parts[..] else { return printed.trim() == shown.trim() };
    let Some(mut rest) = printed.trim().strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The text with each number of more than one digit as `#`, and each run of blanks as one.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let number = |c: char| c.is_ascii_digit() || c == '.';
        let length = match first {
            ' ' => rest.len() - rest.trim_start_matches(' ').len(),
            '0'..='9' => rest.trim_start_matches(number).len().abs_diff(rest.len()),
            _ => first.len_utf8(),
        };
        match first {
            ' ' => plain.push(' '),
            '0'..='9' if length > 1 => plain.push('#'),
            _ => plain.push(first),
        }
        rest = &rest[length..];
    }
    plain
}

/// A part of the page that says what to do.
enum Step<'a> {
    Block { words: Vec<&'a str>, text: &'a str },
    Stop(&'a str),
}

fn steps() -> Vec<Step<'static>> {
    let mut steps = Vec::new();
    let mut rest = PAGE;
    while let Some(line_end) = rest.find('\n') {
        let line = &rest[..line_end];
        rest = &rest[line_end + 1..];
        if let Some(words) = line.strip_prefix("```") {
            let end = rest.find("```\n").expect("an end of the block");
            let words = words.split_whitespace().collect();
            steps.push(Step::Block { words, text: &rest[..end] });
            rest = &rest[end + 4..];
        } else if let Some(name) = line.strip_prefix("<!-- stop ") {
            steps.push(Step::Stop(name.trim_end_matches(" -->")));
        }
    }
    steps
}

#[test]
fn every_line_of_the_tutorial_works_and_mistakes_are_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let python = root.join("target/venv/bin/python");
    let has = Command::new(python).args(["-c", "import flask, lightgbm, psycopg"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        skip("Flask, LightGBM and psycopg are missing; `cargo xtask setup --test` installs them");
        return;
    }
    let mut reader = Reader::new(&root);
    let mut again = false;
    for step in steps() {
        let (words, text) = match &step {
            Step::Stop(name) => {
                reader.stop(name);
                continue;
            }
            Step::Block { words, text } => (&words[..], reader.here(text)),
        };
        reader.blunder(&text);
        match *words {
            ["sh", "once"] => {}
            ["sh", "server", name, port] => reader.serve(name, port, &text),
            ["sh", ref how @ ..] => {
                again = how == ["again"];
                reader.typed = text;
                let worked = reader.run();
                assert!(worked || again, "{}\n{}", reader.typed, reader.printed);
            }
            ["text"] => reader.compare(&text, again),
            [_, name, ref how @ ..] => reader.write(name, &text, how == ["add"]),
            _ => panic!("no such block: {words:?}"),
        }
    }
}
