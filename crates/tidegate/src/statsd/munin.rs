//! Runs `tidegate statsd munin`: gets the page for Prometheus and prints what Munin asks.
//!
//! `autoconf` prints `yes` or `no` and never fails; the other verbs fail without a page. Which
//! graphs and fields there are is decided in `statsd::munin`, which also gets the page.

use std::io::{self, Write};

use anyhow::{Context, Result, anyhow};
use statsd::munin::{Verb, answer, get};

use crate::cli::StatsdMuninArgs;
use crate::hint::Hint;

/// What to do when there is no page.
const NO_PAGE: Hint = Hint("`backend = [{ kind = \"prometheus\" }]` in [statsd] serves one");

/// `tidegate statsd munin`
pub(super) fn run(args: &StatsdMuninArgs) -> Result<()> {
    let page = get(&args.page).map_err(|reason| anyhow!("get the page `{}`: {reason}", args.page));
    let verb = match args.verb.as_str() {
        "autoconf" => {
            // Munin wants a word and no failure.
            match page {
                Ok(_) => println!("yes"),
                Err(error) => println!("no ({error})"),
            }
            return Ok(());
        }
        "config" => Verb::Config,
        "suggest" => Verb::Suggest,
        _ => Verb::Fetch,
    };
    let text = answer(&page.context(NO_PAGE)?, &args.plugin, verb);
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}
