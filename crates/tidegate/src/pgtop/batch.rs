//! Prints one frame of each server, and ends.
//!
//! What is counted between frames needs two; they are one second apart, or the delay if shorter.
//! Names of addresses that have not come by then are not waited for.
//! Invariant: a server that cannot be reached is an error after the others were printed.

use std::thread;
use std::time::Duration;

use ::pgtop::{BatchFrame, FrameRequest, FrameSource, PgAddress, PgError, PgFrame, ViewedFrames};
use anyhow::{Result, anyhow};

use super::names::ClientNames;
use super::settings::TopSettings;
use super::time;
use crate::output;

const INTERVAL: Duration = Duration::from_secs(1);
const TEXT_BYTES: i32 = 10_000;

/// Prints them.
///
/// # Errors
/// When a server cannot be reached, or stdout not written.
pub(super) fn run(settings: &TopSettings) -> Result<()> {
    let mut failed = None;
    let names = settings.has_names.then(ClientNames::start).transpose()?;
    for address in &settings.addresses {
        match frames(settings, address, names.as_ref()) {
            Ok((frame, before)) => print(settings, address, (&frame, before.as_ref()))?,
            Err(error) => failed = Some(anyhow!("read `{address}`: {error}")),
        }
    }
    failed.map_or(Ok(()), Err)
}

fn frames(
    settings: &TopSettings,
    address: &PgAddress,
    names: Option<&ClientNames>,
) -> Result<(PgFrame, Option<PgFrame>), PgError> {
    let view = settings.look.view;
    let request = FrameRequest {
        locks: view.needs_locks(),
        views: view.is_catalog().then(|| view.name().to_owned()).into_iter().collect(),
        text_bytes: TEXT_BYTES,
    };
    let mut source = FrameSource::new(address.clone());
    let mut before = source.frame(&request)?;
    names.iter().for_each(|names| names.put_into(&mut before));
    thread::sleep(settings.look.delay.min(INTERVAL));
    let mut frame = source.frame(&request)?;
    names.iter().for_each(|names| names.put_into(&mut frame));
    Ok((frame, Some(before)))
}

fn print(
    settings: &TopSettings,
    address: &PgAddress,
    (frame, before): (&PgFrame, Option<&PgFrame>),
) -> Result<()> {
    let look = &settings.look;
    let frames = ViewedFrames { frame, before, slow_threshold_s: settings.slow_threshold_s };
    let listing = look.view.listing(&frames, &look.filter, look.order);
    let time = time::time_of_day(frame.time_us);
    let batch = BatchFrame {
        host: &address.to_string(),
        time_of_day: &time,
        frames,
        view: look.view,
        listing: &listing,
    };
    match settings.is_json {
        true => output::print(&batch.json()),
        false => output::print(&batch.text(&look.style, look.has_header)),
    }
}
