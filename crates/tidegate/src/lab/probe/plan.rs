//! Makes the plan of calls from the command line, and checks what clap cannot.
//!
//! Checked are methods, headers, statuses, and that each `--resolve` fits a target. The body's file
//! is read here. Headers that decide where a request ends are refused.
//! Invariant: nothing is called. Without `--first`, the numbers for `{n}` begin by the clock, so
//! that no run repeats another's. All else follows from the arguments and the body's file.
//! Never here: syntax of targets and pins, the meaning of `{n}`, and the statuses that are no
//! failure by default. These are `lab::probe`'s.

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use lab::probe::{AddressFamily, Arrivals, Burst, End, HttpOptions, Pin, Plan, ProbeTarget};

use crate::cli::{CallArgs, HttpArgs, ProbeArgs};

/// The plan that the arguments of `lab probe` mean.
///
/// # Errors
/// When one of them is wrong, or the file of the body cannot be read.
pub(super) fn of(args: &ProbeArgs) -> Result<Plan> {
    let end = args.time.map_or(End::Count(args.calls), |time| End::After(time.0));
    let mut plan = unpinned(&args.call, end)?;
    let is_alone = plan.targets.len() == 1;
    ensure!(is_alone || args.vs.is_none(), "`--vs` compares one target with another");
    ensure!(is_alone || !args.plugin.plugin, "`--plugin` judges one target");
    let first = plan.targets.len();
    plan.targets.extend(args.vs.clone());
    pin(&mut plan.targets, &args.call.resolve, "--resolve")?;
    pin(&mut plan.targets[first..], &args.vs_resolve, "--vs-resolve")?;
    Ok(plan)
}

/// The plan of calls to targets.
///
/// # Errors
/// As [`of`].
pub(in crate::lab) fn pinned(args: &CallArgs, end: End) -> Result<Plan> {
    let mut plan = unpinned(args, end)?;
    pin(&mut plan.targets, &args.resolve, "--resolve")?;
    Ok(plan)
}

fn unpinned(args: &CallArgs, end: End) -> Result<Plan> {
    let targets = match args.target.is_empty() {
        false => args.target.clone(),
        true => vec![ProbeTarget::command(&args.command)?],
    };
    Ok(Plan {
        targets,
        end,
        arrivals: match (args.closed, args.uniform) {
            (true, _) => Arrivals::Closed,
            (false, true) => Arrivals::Uniform(args.rate),
            (false, false) => Arrivals::Poisson(args.rate),
        },
        burst: Burst { calls: args.burst, stagger: args.stagger.0 },
        timeout: args.timeout.0,
        seed: args.seed,
        number_first: args.first.unwrap_or_else(by_the_clock),
        family: match (args.ipv4, args.ipv6) {
            (true, _) => AddressFamily::V4,
            (_, true) => AddressFamily::V6,
            _ => AddressFamily::Any,
        },
        http: http(&args.http)?,
    })
}

/// Has the targets called at the addresses of an option. One that fits no target is a slip: another
/// server would be measured than the one that was meant.
fn pin(targets: &mut [ProbeTarget], pins: &[Pin], option: &str) -> Result<()> {
    for pin in pins {
        let fits = targets.iter_mut().map(|target| usize::from(pin.hold(target)));
        let fits: usize = fits.sum();
        ensure!(fits > 0, "`{option} {pin}`: no target connects to that host and port");
    }
    Ok(())
}

/// How HTTP is spoken.
///
/// # Errors
/// When an argument is wrong, or the file of the body cannot be read.
pub(in crate::lab) fn http(args: &HttpArgs) -> Result<HttpOptions> {
    let body = match args.body.as_deref() {
        Some(text) => match text.strip_prefix('@') {
            Some(file) => lab::input_file::read(Path::new(file), "-d @FILE")?,
            None => text.as_bytes().to_vec(),
        },
        None => Vec::new(),
    };
    let usual = if args.body.is_some() { "POST" } else { "GET" };
    let method = args.method.as_deref().unwrap_or(usual);
    ensure!(is_token(method), "`{method}` is no method");
    let statuses =
        args.expect_status.iter().map(|text| status(text)).collect::<Result<Vec<_>>>()?;
    let usual = HttpOptions::default();
    Ok(HttpOptions {
        method: method.to_owned(),
        fields: args.header.iter().map(|text| field(text)).collect::<Result<_>>()?,
        body,
        statuses: if statuses.is_empty() { usual.statuses } else { statuses },
        keeps_alive: args.keep_alive,
        is_insecure: args.insecure,
        authority: args.ca.clone(),
        attributes: args.attribute.iter().map(|name| name.to_ascii_lowercase()).collect(),
    })
}

/// `NAME: VALUE`; none that decides where a request ends.
fn field(text: &str) -> Result<(String, String)> {
    let wrong = || anyhow!("`{text}` is no header; write NAME: VALUE");
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    ensure!(is_token(name) && !value.contains(char::is_control), wrong());
    let frames = ["content-length", "transfer-encoding"];
    let is_frame = frames.iter().any(|frame| name.eq_ignore_ascii_case(frame));
    ensure!(!is_frame, "`{name}` follows from the body; leave it out");
    Ok((name.to_owned(), value.to_owned()))
}

/// `200`, `2xx` or `200-299`.
fn status(text: &str) -> Result<RangeInclusive<u16>> {
    let wrong = || anyhow!("`{text}` is no status; write 200, 2xx or 200-299");
    let number = |text: &str| -> Result<u16> {
        let number = text.trim().parse().ok().filter(|number| (100..=999).contains(number));
        number.ok_or_else(wrong)
    };
    if let Some(class) = text.trim().strip_suffix("xx") {
        let first = number(&format!("{class}00"))?;
        return Ok(first..=first + 99);
    }
    match text.split_once('-') {
        Some((first, last)) => Ok(number(first)?..=number(last)?),
        None => number(text).map(|number| number..=number),
    }
}

fn is_token(text: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Tenths of a millisecond since 1970: more than any probe makes arrivals.
pub(in crate::lab) fn by_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros() / 100).unwrap_or_default()
}

#[cfg(test)]
mod tests;
