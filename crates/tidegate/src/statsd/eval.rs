//! Runs `tidegate statsd eval`: says what lines on standard input mean, without a server.
//!
//! Lines are read to their end and answered by one document. With `--json`, each request is
//! answered by a line as it comes, and the first wrong one ends the command.
//! Without a file the plan has every default. `statsd::eval` has the formats and computes the
//! answers. `cli.rs` describes them in the help, and the test `statsd_suite` asks by them.

use std::io::{self, Read, Write};

use anyhow::{Context, Result, anyhow};
use statsd::Flavour;
use statsd::eval::{self, EvalRequest};
use statsd::plan::Plan;

use super::plan;
use crate::cli::StatsdEvalArgs;

/// `tidegate statsd eval`
pub(super) fn run(args: StatsdEvalArgs) -> Result<()> {
    let flavour = args.compat.as_deref().and_then(Flavour::named);
    let plan = match args.config {
        Some(file) => plan::of_file(&file, flavour)?.0,
        None => by_default(flavour),
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    if !args.json {
        let mut text = Vec::new();
        input.read_to_end(&mut text).context("read lines from standard input")?;
        serde_json::to_writer_pretty(&mut output, &eval::lines(&plan, &text))?;
        return Ok(output.write_all(b"\n")?);
    }
    for request in serde_json::Deserializer::from_reader(input).into_iter::<EvalRequest>() {
        let request = request.context("read a request from standard input")?;
        let answer = eval::answer(&plan, request).map_err(|reason| anyhow!("answer: {reason}"))?;
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

/// What is done when no file says anything.
fn by_default(flavour: Option<Flavour>) -> Plan {
    match flavour {
        Some(flavour) => statsd::read_legacy("{}", flavour).expect("defaults fit"),
        None => plan::without_file(),
    }
}
