//! Declares the command line of `tidegate lab switch`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. What is called and how is in
//! `call.rs`. A few blocks are no wrong usage: whether they are enough for a verdict is known to
//! `verdicts`, and said before the first one.

use clap::Args;
use stdx::Span;

use super::call::CallArgs;
use super::written::WrittenArgs;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab switch --on ./on.sh --off ./off.sh http://10.0.0.1/api
          tidegate lab switch --on 'touch x' --off 'rm -f x' tcp://db:1
          tidegate lab switch --on ./on --off ./off --blocks 40 --block 15s \\
            --rate 50 --save x.json -- check_http -H shop
Each command is a line for `sh`. It is run before each block of its state, also where that is the \
state already.
Exit codes: 0 measured, 1 a command failed or no call succeeded, 2 wrong usage.";

/// What is switched, what is called, and how.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// What switches on: a line for `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub on: String,
    /// What switches off. It also puts the state back at the end, and when interrupted.
    #[arg(long, value_name = "COMMAND")]
    pub off: String,
    /// Blocks, half of them on. Each two that follow each other are one on and one off.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = blocks)]
    pub blocks: u64,
    /// How long calls are made in a block.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub block: Span,
    /// What is left out after each switching.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub settle: Span,
    /// How the switch is left at the end.
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"], default_value = "off")]
    #[arg(hide_possible_values = true)]
    pub leave: String,
    /// How to write the report.
    #[arg(long, value_parser = ["text", "json", "html"], default_value = "text")]
    pub format: String,
    /// Where to, and in which width.
    #[command(flatten)]
    pub written: WrittenArgs,
    // Last: the headings in it hold for what follows.
    /// What is called, and how.
    #[command(flatten)]
    pub call: CallArgs,
}

fn blocks(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|blocks: &u64| *blocks >= 2 && blocks.is_multiple_of(2));
    number.ok_or_else(|| "blocks come in pairs: write an even number".to_owned())
}
