//! Makes the commands that are run from the command line, one for each combination of parameters.
//!
//! It also finds the shell, or None for commands without one. Preparations, conclusions and outputs
//! are given once for all, or once for each command, the reference included; any other count is an
//! error. Names leave the reference out. They may be fewer than commands; with several combinations
//! there is one for all, or one for each.
//! Invariant: the reference is the first. After it, lines vary fastest, then parameters, the first
//! one fastest. The command of `--vs` is the last line. Names and the options above are given in
//! this order, which is hyperfine's, so it stays. Nothing is run and no file is opened.
//! Never here: splitting a line and filling in parameters, which `lab::command` does.

use anyhow::{Result, bail, ensure};
use lab::command::{CommandOutput, ParameterValues, Program, Subject, list, scan, substituted};

use crate::cli::BenchArgs;

/// Returns the words of the shell, or nothing when commands are run without one.
///
/// # Errors
/// When its command line cannot be taken apart.
pub(super) fn shell(args: &BenchArgs) -> Result<Option<Vec<String>>> {
    if args.no_shell || !args.program.is_empty() {
        return Ok(None);
    }
    match args.shell.as_str() {
        "none" => Ok(None),
        "default" => Ok(Some(vec!["sh".to_owned()])),
        line => match Program::of(None, line)? {
            Program::Direct(words) | Program::Shell(words, _) => Ok(Some(words)),
        },
    }
}

/// Returns the commands in the order in which they are run; the reference comes first.
///
/// # Errors
/// When names, preparations or outputs are not as many as commands, or parameters make no sense.
pub(super) fn of(args: &BenchArgs) -> Result<Vec<Subject>> {
    let shell = shell(args)?;
    let lines = lines(args)?;
    let combinations = combinations(args)?;
    ensure!(
        args.vs.is_none() || (lines.len() == 2 && combinations.len() == 1),
        "`--vs` compares one command with another, without parameters"
    );
    let count = lines.len() * combinations.len();
    let extra = usize::from(args.reference.is_some());
    let names = args.command_name.len();
    let is_named_once = names <= 1 || names == count;
    ensure!(
        if combinations.len() > 1 { is_named_once } else { names <= count },
        "{names} names for {count} commands"
    );
    let make = Maker { args, shell: shell.as_deref(), count: count + extra };
    let mut subjects = Vec::with_capacity(count + extra);
    if let Some(line) = &args.reference {
        let name = args.reference_name.as_deref();
        subjects.push(make.subject(0, line, name, &Vec::new())?);
    }
    for parameters in &combinations {
        for line in &lines {
            let number = subjects.len() - extra;
            let name = args.command_name.get(number);
            let name = match combinations.len() {
                1 => name,
                _ => name.or(args.command_name.first()),
            };
            let name = name.map(String::as_str);
            subjects.push(make.subject(subjects.len(), line, name, parameters)?);
        }
    }
    Ok(subjects)
}

/// Returns what is recorded of a command: its line and those around it, without secrets.
pub(super) fn recorded(subject: &Subject) -> String {
    let shown = |program: &Program| {
        audit::words_without_secrets(std::slice::from_ref(&program.line())).join(" ")
    };
    let around = [
        ("setup", &subject.setup),
        ("prepare", &subject.prepare),
        ("conclude", &subject.conclude),
        ("cleanup", &subject.cleanup),
    ];
    let around = around.into_iter().filter_map(|(name, program)| Some((name, program.as_ref()?)));
    let around: Vec<String> =
        around.map(|(name, program)| format!("{name}: {}", shown(program))).collect();
    match around.is_empty() {
        true => shown(&subject.program),
        false => format!("{} ({})", shown(&subject.program), around.join("; ")),
    }
}

fn lines(args: &BenchArgs) -> Result<Vec<String>> {
    let mut lines = args.command.clone();
    if !args.program.is_empty() {
        lines.push(Program::Direct(args.program.clone()).line());
    }
    if lines.iter().any(|line| line.trim().is_empty()) {
        bail!("there is no command to run");
    }
    lines.extend(args.vs.clone());
    Ok(lines)
}

/// All combinations of parameters, one without any when there are none; the first varies fastest.
fn combinations(args: &BenchArgs) -> Result<Vec<ParameterValues>> {
    if let [name, from, to] = args.parameter_scan.as_slice() {
        let values = scan(from, to, args.parameter_step_size.as_deref())?;
        return Ok(values.into_iter().map(|value| vec![(name.clone(), value)]).collect());
    }
    let mut all: Vec<ParameterValues> = vec![Vec::new()];
    for pair in args.parameter_list.chunks_exact(2) {
        let (name, values) = (&pair[0], list(&pair[1]));
        ensure!(
            all[0].iter().all(|(known, _)| known != name),
            "the parameter `{name}` is given twice"
        );
        let with = |value: &String| {
            let with = |known: &ParameterValues| {
                let mut more = known.clone();
                more.push((name.clone(), value.clone()));
                more
            };
            all.iter().map(with).collect::<Vec<_>>()
        };
        all = values.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// Makes subjects of lines.
struct Maker<'a> {
    args: &'a BenchArgs,
    shell: Option<&'a [String]>,
    count: usize,
}

impl Maker<'_> {
    fn subject(
        &self,
        number: usize,
        line: &str,
        name: Option<&str>,
        parameters: &ParameterValues,
    ) -> Result<Subject> {
        let program = |text: &str| Program::of(self.shell, &substituted(text, parameters));
        let beside = |text: Option<&String>| text.map(|text| program(text)).transpose();
        let line = substituted(line, parameters);
        Ok(Subject {
            name: name.map_or(line.clone(), |name| substituted(name, parameters)),
            program: Program::of(self.shell, &line)?,
            parameters: parameters.clone(),
            setup: beside(self.args.setup.as_ref())?,
            prepare: beside(self.one_for("--prepare", &self.args.prepare, number)?)?,
            conclude: beside(self.one_for("--conclude", &self.args.conclude, number)?)?,
            cleanup: beside(self.args.cleanup.as_ref())?,
            output: self.output(number)?,
        })
    }

    /// One for all, or one for each.
    fn one_for<'o>(
        &self,
        option: &str,
        all: &'o [String],
        number: usize,
    ) -> Result<Option<&'o String>> {
        match all.len() {
            0 | 1 => Ok(all.first()),
            given if given == self.count => Ok(all.get(number)),
            given => {
                bail!("{given} `{option}` for {} commands: give one, or one for each", self.count)
            }
        }
    }

    fn output(&self, number: usize) -> Result<CommandOutput> {
        if self.args.show_output {
            return Ok(CommandOutput::Inherit);
        }
        let text = self.one_for("--output", &self.args.output, number)?;
        Ok(match text.map(String::as_str) {
            None | Some("null") => CommandOutput::Null,
            Some("pipe") => CommandOutput::Pipe,
            Some("inherit") => CommandOutput::Inherit,
            Some(file) => CommandOutput::File(file.into()),
        })
    }
}
