//! Names programs: as the kernel does, and what an interpreter runs by its script.
//!
//! `python3` alone blames nobody where ten scripts run, so `python3 checkin.py` is the name. A
//! script that is started by its own name already has it in the kernel.
//! Bound: [`SCRIPTS_MAX`] scripts have names of their own, others are called by their interpreter:
//! some programs make a script for each run.

use std::collections::HashSet;
use std::fs;

/// Scripts that are told apart.
const SCRIPTS_MAX: usize = 32;
/// A program that runs others. Its name may have a version behind it, as in `python3.11`.
struct Interpreter {
    name: &'static str,
    /// Options that take another word.
    with_word: &'static [&'static str],
    /// Options after which comes what is run, and is named with it.
    naming: &'static [&'static str],
    /// Options after which comes the text of a program.
    texts: &'static [&'static str],
}

const INTERPRETERS: [Interpreter; 10] = [
    interpreter("python", &["-W", "-X"], &["-m"], &["-c"]),
    interpreter("node", &["-r", "--require", "--import"], &[], &["-e", "--eval", "-p", "--print"]),
    interpreter("ruby", &["-r", "-I", "-C"], &[], &["-e"]),
    interpreter("perl", &["-I"], &[], &["-e", "-E"]),
    interpreter("php", &["-d", "-c"], &["-f"], &["-r"]),
    interpreter("java", &["-cp", "-classpath", "--class-path"], &["-jar"], &[]),
    interpreter("bash", &["-o", "-O"], &[], &["-c"]),
    interpreter("dash", &["-o"], &[], &["-c"]),
    interpreter("sh", &["-o"], &[], &["-c"]),
    interpreter("Rscript", &[], &[], &["-e"]),
];

const fn interpreter(
    name: &'static str,
    with_word: &'static [&'static str],
    naming: &'static [&'static str],
    texts: &'static [&'static str],
) -> Interpreter {
    Interpreter { name, with_word, naming, texts }
}

/// How a program is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramName {
    /// The kernel's name of it.
    pub(super) plain: String,
    /// What it runs, if it is an interpreter.
    pub(super) script: Option<String>,
}

impl ProgramName {
    /// A program that may be gone: `name` is the kernel's.
    pub(super) fn plain(name: &str) -> Self {
        // Threads of the kernel, such as `kworker/0:1-events`, have one name in common.
        let plain = name.trim_end().split('/').next().unwrap_or(name).to_owned();
        Self { plain, script: None }
    }

    /// A process that runs, by its command line.
    pub(super) fn of(pid: u32, name: &str) -> Self {
        let mut named = Self::plain(name);
        let stem = named.plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if let Some(found) = INTERPRETERS.iter().find(|known| known.name == stem) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            named.script = found.script(&line);
        }
        named
    }
}

impl Interpreter {
    /// What a command line says that it runs.
    fn script(&self, line: &[u8]) -> Option<String> {
        let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut words = words.skip(1).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            match word.as_ref() {
                text if self.texts.contains(&text) => return None,
                naming if self.naming.contains(&naming) => {
                    let next = words.next()?;
                    return Some(format!("{naming} {}", file_name(&next)));
                }
                option if self.with_word.contains(&option) => _ = words.next(),
                option if option.starts_with('-') => {}
                path => return Some(file_name(path).to_owned()),
            }
        }
        None
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Scripts that have names of their own.
#[derive(Debug, Default)]
pub(super) struct ScriptNames(HashSet<String>);

impl ScriptNames {
    /// What a program is called in signals.
    pub(super) fn shown(&mut self, name: &ProgramName) -> String {
        let Some(script) = &name.script else { return name.plain.clone() };
        let shown = format!("{} {script}", name.plain);
        if self.0.contains(&shown) {
            return shown;
        }
        if self.0.len() == SCRIPTS_MAX {
            return name.plain.clone();
        }
        self.0.insert(shown.clone());
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERPRETERS, ProgramName, SCRIPTS_MAX, ScriptNames};

    #[test]
    fn an_interpreter_is_named_with_what_it_runs() {
        for (line, expected) in [
            ("python /srv/checkin.py --now", Some("checkin.py")),
            ("python -W ignore -u checkin.py", Some("checkin.py")),
            ("python -I -O -E checkin.py", Some("checkin.py")),
            ("python -m http.server", Some("-m http.server")),
            ("java -Xmx1g -cp a.jar:b.jar org.example.Main", Some("org.example.Main")),
            ("java -jar /opt/app.jar", Some("-jar app.jar")),
            ("node -r dotenv/config server.js", Some("server.js")),
            ("bash -O extglob run.sh", Some("run.sh")),
            ("sh -c sleep", None),
            ("perl -E say", None),
            ("python", None),
        ] {
            let name = line.split(' ').next().expect("a word");
            let known = INTERPRETERS.iter().find(|known| known.name == name).expect("a row");
            let line_of_kernel = line.replace(' ', "\0") + "\0";
            assert_eq!(known.script(line_of_kernel.as_bytes()).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn threads_of_the_kernel_have_one_name() {
        assert_eq!(ProgramName::plain("kworker/0:1-events").plain, "kworker");
        assert_eq!(ProgramName::plain("postgres\n").plain, "postgres");
    }

    #[test]
    fn so_many_scripts_are_told_apart_and_others_go_by_their_interpreter() {
        let mut names = ScriptNames::default();
        let name = |number: usize| ProgramName {
            plain: "sh".to_owned(),
            script: Some(format!("{number}.sh")),
        };
        for number in 0..SCRIPTS_MAX {
            assert_eq!(names.shown(&name(number)), format!("sh {number}.sh"));
        }
        assert_eq!(names.shown(&name(SCRIPTS_MAX)), "sh");
        assert_eq!(names.shown(&name(0)), "sh 0.sh", "a name stays");
    }
}
