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
/// Programs that run others; a version may follow, as in `python3.11`.
const INTERPRETERS: [&str; 10] =
    ["python", "node", "ruby", "perl", "php", "java", "bash", "dash", "sh", "Rscript"];
/// Options of theirs that take another word.
const WITH_WORD: [&str; 9] = ["-W", "-X", "-r", "-I", "-o", "-O", "-cp", "-classpath", "--require"];
/// Options after which comes what is run, and is named with it.
const NAMING: [&str; 2] = ["-m", "-jar"];
/// Options after which comes the text of a program.
const TEXTS: [&str; 4] = ["-c", "-e", "-E", "--eval"];

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
        let is_interpreter = {
            let stem = named.plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            INTERPRETERS.contains(&stem)
        };
        if is_interpreter {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            named.script = script(&line);
        }
        named
    }
}

/// What the command line of an interpreter says that it runs.
fn script(line: &[u8]) -> Option<String> {
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut words = words.skip(1).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word.as_ref() {
            text if TEXTS.contains(&text) => return None,
            naming if NAMING.contains(&naming) => {
                let next = words.next()?;
                return Some(format!("{naming} {}", file_name(&next)));
            }
            option if WITH_WORD.contains(&option) => _ = words.next(),
            option if option.starts_with('-') => {}
            path => return Some(file_name(path).to_owned()),
        }
    }
    None
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
    use super::{ProgramName, SCRIPTS_MAX, ScriptNames, script};

    #[test]
    fn an_interpreter_is_named_with_what_it_runs() {
        for (line, expected) in [
            ("python3\0/srv/checkin.py\0--now\0", Some("checkin.py")),
            ("python3\0-W\0ignore\0-u\0checkin.py\0", Some("checkin.py")),
            ("python3\0-m\0http.server\0", Some("-m http.server")),
            ("java\0-Xmx1g\0-cp\0a.jar:b.jar\0org.example.Main\0", Some("org.example.Main")),
            ("java\0-jar\0/opt/app.jar\0", Some("-jar app.jar")),
            ("sh\0-c\0sleep 1\0", None),
            ("python3\0", None),
            ("", None),
        ] {
            assert_eq!(script(line.as_bytes()).as_deref(), expected, "{line}");
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
