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

/// A mistake: typed before each block that begins so, it is answered with this text. What begins
/// with `s/` is an edit of the configuration, which `config check` then reads.
struct Mistake {
    before: &'static str,
    typed: &'static str,
    answer: &'static str,
}

const MISTAKES: [Mistake; 30] = [
    // 1. In front.
    mistake("tidegate config init", "tidegate serve", "…read the configuration `tidegate.toml`…"),
    mistake(
        "tidegate config init",
        "tidegate config init --upstream nowhere --defaults",
        "error: `nowhere` is no answer to \"What answers …write HOST:PORT, such as …",
    ),
    mistake(
        "tidegate serve",
        "tidegate config explain route.cach",
        "error: there is no key `route.cach`; did you mean `route.cache`?",
    ),
    // 2. Personalise.
    mistake(
        "tidegate config check\ntidegate profiles build",
        "s/^path /pathh /",
        "…`route[0].pathh`: unknown key; did you mean `path`?…",
    ),
    mistake(
        "tidegate config check\ntidegate profiles build",
        "s/cookie:acc/cookies:acc/",
        "…`cookies:account` names no part of a request; …did you mean `cookie:…`?",
    ),
    mistake(
        "tidegate config check\ntidegate profiles build",
        "sed 's/item_id AS item/item_id/' tidegate.toml > wrong.toml
         tidegate profiles build -c wrong.toml",
        "…no column is called `item`, there are `user`, `item_id`, …write `SELECT … AS item`",
    ),
    mistake(
        "tidegate config check\ntidegate profiles build",
        "sed 's|@127.0.0.1:[0-9]*/|@127.0.0.1:9/|' tidegate.toml > wrong.toml
         tidegate profiles build -c wrong.toml",
        "error: run the `query` of [profiles]: postgres `127.0.0.1:9/…Connection refused…",
    ),
    mistake(
        "curl -si -b account=c1",
        "tidegate profiles inspect data/profile.db --user c1",
        "error: open `data/profile.db`: No such file or directory…",
    ),
    // 3. A ranking.
    mistake(
        ".venv/bin/python train.py",
        "sed 's/\"item.price\"/\"price\"/' train.py > wrong.py; .venv/bin/python wrong.py",
        "…column `price`: `price` must start with `item.`, `user.`, `context.`",
    ),
    mistake(
        "sed -i 's/identifies",
        "sed 's/item.price/item.cost/; s/shop.txt/wrong.txt/' train.py > wrong.py
         .venv/bin/python wrong.py
         tidegate model inspect wrong.txt --items items.jsonl",
        "…no items have `cost`, which the model reads",
    ),
    mistake(
        "curl -s -b account=c1 'http",
        "s/model:shop/model:shopp/",
        "…`route[0].personalise.to`: no model is called `shopp`; did you mean `shop`?",
    ),
    mistake(
        "curl -s -b account=c1 'http",
        "s/shop.txt/wrong.txt/",
        "note: model `shop` reads `item.cost`; no item of `…items.jsonl` has it…",
    ),
    mistake(
        "curl -s -b account=c1 'http",
        "s/\"price\"\\]/\"prise\"]/",
        "…no item has `prise`, which `fields` names; did you mean `price`?",
    ),
    // 4. Counts.
    mistake(
        "for n in",
        "s/\"decision\"\\]/\"decison\"]/",
        "…`rollup[0].by`: no field `decison`; did you mean `decision`?",
    ),
    mistake(
        "for n in",
        "s/postgres:/postgress:/",
        "…`postgress` is no engine; there are `sqlite:FILE`, …",
    ),
    mistake(
        "for n in",
        "s/\\[\"total\"\\]/[\"path\"]/",
        "…`rollup[0].quantiles`: `path` is no number",
    ),
    mistake(
        "psql postgres:",
        "tidegate events query request",
        "error: there is no rollup `request`; did you mean `requests`?",
    ),
    mistake(
        "psql postgres:",
        "tidegate events query requests --by rute",
        "error: the key of `requests` has no column `rute`; did you mean `route`?",
    ),
    // 5. Workers.
    mistake(
        "tidegate workers list",
        "s/app:app/app/",
        "…`app` is no `module:attribute`, such as `main:app`",
    ),
    mistake(
        "tidegate workers list",
        "s/.venv.bin/venv\\/bin/",
        "…`upstream[0].interpreter`: there is no interpreter `…venv/bin/python`, and `serve` ends…",
    ),
    mistake("tidegate workers list", "tidegate workers reload ap", "…there is no pool `ap`…"),
    // 6. statsd.
    mistake(
        "tidegate config check localConfig.js",
        "sed '3s/,//' localConfig.js > wrong.js; tidegate config check wrong.js",
        "wrong.js: 1 error\n  line 4: expected `,` before `flushInterval: …",
    ),
    mistake(
        "tidegate config check localConfig.js",
        "sed 's/flushInterval/&l/' localConfig.js > wrong.js; tidegate config check wrong.js",
        "note: `flushIntervall`: not a key of this file; did you mean `flushInterval`?…",
    ),
    mistake(
        "tidegate config check localConfig.js",
        "sed 's/console/grafite/' localConfig.js > wrong.js; tidegate config check wrong.js",
        "…no backend `./backends/grafite`; there are graphite, console, file, …",
    ),
    // 7. The laboratory.
    mistake(
        "tidegate lab probe",
        "tidegate lab probe 127.0.0.1:9/report.json",
        "…is http://127.0.0.1:9/report.json meant?…",
    ),
    mistake(
        "tidegate lab probe",
        "tidegate lab probe http://127.0.0.1:9/report.json -n 3",
        "…failed: 3 × connection refused…unclear: no call succeeded.",
    ),
    // 8. Why.
    mistake(
        "tidegate explain /list.json --user c61",
        "tidegate explain list.json --user c61",
        "…`list.json` is no URL; write `http://HOST/PATH`, or `/PATH`",
    ),
    mistake(
        "tidegate explain /list.json --user c61",
        "tidegate explain --request 00",
        "error: `00` is no id of a request: it has 32 hexadecimal digits",
    ),
    mistake(
        "tidegate rollout set --kill",
        "tidegate rollout set --rollout 10",
        "error: `10` is no share; write 0% to 100%",
    ),
    mistake(
        "tidegate rollout set --kill",
        "tidegate rollout set --rollout 10% --route lst",
        "…no route `lst` personalises…",
    ),
];

const fn mistake(before: &'static str, typed: &'static str, answer: &'static str) -> Mistake {
    Mistake { before, typed, answer }
}

/// Someone who types the page.
struct Reader {
    folder: TempDir,
    /// What is written in the page, and what stands for it here.
    places: Vec<(&'static str, String)>,
    path: String,
    terminals: HashMap<String, Server>,
    typed: String,
    printed: String,
    /// How often each mistake was made.
    mistakes: [usize; MISTAKES.len()],
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
        let mistakes = [0; MISTAKES.len()];
        Self { folder, places, path, terminals, typed, printed, mistakes }
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
    fn blunder(&mut self, block: &str) {
        let made = MISTAKES.iter().enumerate().filter(|(_, it)| block.starts_with(it.before));
        for (index, mistake) in made {
            self.mistakes[index] += 1;
            let script = match mistake.typed.starts_with("s/") {
                true => format!(
                    "sed '{}' tidegate.toml > wrong.toml; tidegate config check wrong.toml",
                    mistake.typed
                ),
                false => self.here(mistake.typed),
            };
            let output = self.command(&script).output().unwrap();
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
    let unmade = MISTAKES.iter().zip(reader.mistakes).filter(|(_, times)| *times == 0);
    let unmade: Vec<_> = unmade.map(|(mistake, _)| mistake.typed).collect();
    assert!(unmade.is_empty(), "no block of the page begins so: {unmade:?}");
}
