//! Writes completions for shells, and the manual: a page for each command, made from its help.
//!
//! A page is a man page (`tidegate-events-run.1`) and the same as Markdown
//! (`tidegate-events-run.md`), for packages and for a site.
//! Invariant: a page says what `--help` says, and has no date, so the same program writes the same
//! bytes. Hidden options are left out.
//! Never here: the words of the help, which are doc comments of `cli.rs`.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory};

use crate::cli::{Cli, CompletionsArgs, ManualArgs};
use crate::output;

/// `tidegate completions`
pub(crate) fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tidegate", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// `tidegate manual`
pub(crate) fn write(args: &ManualArgs) -> Result<()> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("make `{}`", dir.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = write_pages(&command, "tidegate", dir)?;
    output::print_cleaned(&format!("{}: {pages} pages\n", dir.display()))
}

/// Writes the pages of a command and of those below it; returns how many.
fn write_pages(command: &Command, name: &str, dir: &Path) -> Result<usize> {
    let mut roff = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut roff).context("render a man page")?;
    let markdown = markdown(command, name);
    for (ending, page) in [("1", &roff[..]), ("md", markdown.as_bytes())] {
        let file = dir.join(format!("{name}.{ending}"));
        std::fs::write(&file, page).with_context(|| format!("write `{}`", file.display()))?;
    }
    let mut pages = 1;
    for below in shown(command) {
        pages += write_pages(below, &format!("{name}-{}", below.get_name()), dir)?;
    }
    Ok(pages)
}

/// The commands below one.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn markdown(command: &Command, name: &str) -> String {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage();
    let mut page = format!("# {}\n\n{about}\n\n```\n{usage}\n```\n", name.replace('-', " "));
    let below: Vec<&Command> = shown(command).collect();
    if !below.is_empty() {
        page += "\n## Commands\n\n| command | does |\n|---|---|\n";
        for below in below {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            let (below, about) = (below.get_name(), in_cell(&about));
            let _ = writeln!(page, "| [`{below}`]({name}-{below}.md) | {about} |");
        }
    }
    let (operands, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .partition(|argument| argument.is_positional());
    for (title, arguments) in [("Operands", operands), ("Options", options)] {
        if !arguments.is_empty() {
            let _ = write!(page, "\n## {title}\n\n| name | means |\n|---|---|\n");
            page.extend(arguments.into_iter().map(row));
        }
    }
    if let Some(more) = command.get_after_help() {
        let _ = write!(page, "\n```\n{more}\n```\n");
    }
    page
}

/// A row of a table of arguments.
fn row(argument: &Arg) -> String {
    let name = argument.to_string();
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let help = argument.get_long_help().or(argument.get_help());
    let mut help = help.map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let takes_value = argument.get_action().takes_values();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let _ = write!(help, " [default: {}]", defaults.join(" "));
    }
    format!("| {short}`{}` | {} |\n", in_cell(&name), in_cell(&help))
}

/// A text as a cell of a table has it.
fn in_cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
