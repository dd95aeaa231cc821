//! Writes flushes for Graphite's carbon, as lines of text or as pickle.
//!
//! Names and their order are those of `backends/graphite.js` in statsd 0.9 and of
//! `Backend/Graphite.pm` in Perl. Carbon stores by these names, so another name is a new series.
//! Pickle uses protocol 0, a message of some [`PART_BYTES`]: carbon takes no more than 1 MB. The
//! server's own figures come last. `last_flush`, `last_exception`, `flush_time` and `flush_length`
//! have the time of writing. All else has that of the flush, or that at which an interval was due
//! that was broken off. Also here: `series`, the names of what came in, for `eval.rs`. It reads the
//! lines of text back, so it must change with them. Not sent: events and checks, and sets in the
//! Perl flavour, as in the port. Never here: statistics, and the way to carbon (`carbon.rs`).

use std::io::{self, Write};
use std::time::Instant;

use super::delivery::{PartSink, Render};
use crate::figures;
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::plan::{Graphite, Plan};
use crate::status::BackendStatus;

const PART_BYTES: usize = 512 * 1024;

/// How names are made.
#[derive(Debug)]
pub(crate) struct GraphiteNames {
    is_pickle: bool,
    flavour: Flavour,
    is_legacy: bool,
    sends_counts: bool,
    self_prefix: String,
    global: String,
    counters: String,
    timers: String,
    gauges: String,
    sets: String,
    /// With its point, or empty.
    suffix: String,
}

/// What a number is, which Perl writes differently.
#[derive(Clone, Copy)]
enum Figure {
    Real(f64),
    Whole(f64),
}

impl Render for GraphiteNames {
    fn parts(&self, flush: &Flush, status: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        let mut lines = CarbonLines::new(each, self.is_pickle, self.flavour);
        self.write(flush, status, &mut lines)?;
        lines.end()
    }
}

impl GraphiteNames {
    /// Names as the plan wants them.
    pub(crate) fn new(graphite: &Graphite, plan: &Plan) -> Self {
        let join = |parts: &[&str]| {
            let kept = parts.iter().filter(|part| !part.is_empty());
            kept.map(|part| format!("{part}.")).collect::<String>()
        };
        let global = graphite.global_prefix.as_str();
        let of = |part: &String, legacy: &[&str]| {
            if graphite.is_legacy { join(legacy) } else { join(&[global, part]) }
        };
        let suffix = &graphite.suffix;
        Self {
            is_pickle: graphite.is_pickle,
            flavour: plan.flavour,
            is_legacy: graphite.is_legacy,
            sends_counts: graphite.sends_counts,
            self_prefix: plan.self_prefix.clone(),
            global: if graphite.is_legacy { join(&["stats"]) } else { join(&[global]) },
            counters: of(&graphite.counters, &["stats"]),
            timers: of(&graphite.timers, &["stats", "timers"]),
            gauges: of(&graphite.gauges, &["stats", "gauges"]),
            sets: of(&graphite.sets, &["stats", "sets"]),
            suffix: if suffix.is_empty() { String::new() } else { format!(".{suffix}") },
        }
    }

    /// Names with their numbers of what came in, as they are sent.
    pub(crate) fn series(&self, flush: &Flush) -> Vec<(String, f64)> {
        let mut text = Vec::new();
        let mut each = |part: &[u8]| {
            text.extend_from_slice(part);
            Ok(())
        };
        let mut lines = CarbonLines::new(&mut each, false, self.flavour);
        let written = self.samples(flush, &mut lines).and_then(|_| lines.end());
        written.expect("a vector takes everything");
        let text = String::from_utf8_lossy(&text).into_owned();
        let pair = |line: &str| {
            let mut words = line.rsplitn(3, ' ').skip(1);
            let number = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), number))
        };
        text.lines().filter_map(pair).collect()
    }

    fn write(
        &self,
        flush: &Flush,
        status: &BackendStatus,
        out: &mut CarbonLines<'_>,
    ) -> io::Result<()> {
        let begun = Instant::now();
        let shown = self.samples(flush, out)?;
        let begins = (shown, begun.elapsed().as_secs_f64() * 1e3);
        self.self_metrics(flush, status, begins, out)
    }

    /// What came in; returns how many names that is.
    fn samples(&self, flush: &Flush, out: &mut CarbonLines<'_>) -> io::Result<usize> {
        out.unix_s = flush.stored_unix_s();
        let mut shown = 0;
        for (name, sum) in &flush.counters {
            let rate = Figure::Real(flush.rate(*sum));
            let (rate_name, count) = if self.is_legacy { ("", "") } else { (".rate", ".count") };
            out.line(&[&self.counters], name, &[rate_name, &self.suffix], rate)?;
            if self.sends_counts {
                let before = if self.is_legacy { "stats_counts." } else { &self.counters };
                out.line(&[before], name, &[count, &self.suffix], Figure::Whole(*sum))?;
            }
            shown += 1;
        }
        for timer in &flush.timers {
            for (statistic, number) in &timer.statistics {
                let ends = [".", statistic, &self.suffix];
                out.line(&[&self.timers], &timer.name, &ends, Figure::Real(*number))?;
            }
            shown += 1;
        }
        for (name, value) in &flush.gauges {
            out.line(&[&self.gauges], name, &[&self.suffix], Figure::Real(*value))?;
            shown += 1;
        }
        // The Perl port collects sets and never sends them.
        for (name, members) in flush.sets.iter().filter(|_| self.flavour != Flavour::Perl) {
            let count = Figure::Whole(members.len() as f64);
            out.line(&[&self.sets], name, &[".count", &self.suffix], count)?;
            shown += 1;
        }
        Ok(shown)
    }

    /// The server's own figures.
    fn self_metrics(
        &self,
        flush: &Flush,
        status: &BackendStatus,
        (shown, calculation_ms): (usize, f64),
        out: &mut CarbonLines<'_>,
    ) -> io::Result<()> {
        let global = [self.global.as_str(), &self.self_prefix];
        let shown_before: &[&str] = if self.is_legacy { &[&self.self_prefix] } else { &global };
        let calculation = match self.flavour {
            Flavour::Perl => Figure::Real(calculation_ms),
            _ => Figure::Whole(calculation_ms.floor()),
        };
        let processing = Figure::Whole((flush.processing.as_secs_f64() * 1e3).floor());
        let end = self.suffix.as_str();
        out.line(shown_before, "", &[".numStats", end], Figure::Whole(shown as f64))?;
        out.line(&global, "", &[".graphiteStats.calculationtime", end], calculation)?;
        out.line(&global, "", &[".processing_time", end], processing)?;
        out.unix_s = stdx::unix_micros() / 1_000_000;
        let exception = status.shown_exception(self.flavour);
        for (name, number) in [
            ("last_exception", exception.map_or(0, |moment| moment.unix_s)),
            ("last_flush", status.last_flush.unix_s),
            ("flush_time", status.flush_time_ms),
            ("flush_length", status.flush_length),
        ] {
            if self.flavour == Flavour::Perl && name.starts_with("flush") {
                continue;
            }
            let number = Figure::Whole(number as f64);
            out.line(&global, "", &[".graphiteStats.", name, end], number)?;
        }
        Ok(())
    }
}

/// Writes lines, or messages of pickle, into parts.
struct CarbonLines<'s> {
    each: PartSink<'s>,
    flavour: Flavour,
    is_pickle: bool,
    /// The time of the lines that come.
    unix_s: u64,
    part: Vec<u8>,
    name: Vec<u8>,
}

impl<'s> CarbonLines<'s> {
    fn new(each: PartSink<'s>, is_pickle: bool, flavour: Flavour) -> Self {
        Self { each, flavour, is_pickle, unix_s: 0, part: Vec::new(), name: Vec::new() }
    }

    /// A name is what stands before, the name without its tags, what stands behind, and the tags.
    fn line(
        &mut self,
        before: &[&str],
        name: &str,
        behind: &[&str],
        figure: Figure,
    ) -> io::Result<()> {
        let tags = name.find(';').unwrap_or(name.len());
        self.name.clear();
        let (name, tags) = name.split_at(tags);
        let parts = before.iter().chain([&name]).chain(behind).chain([&tags]);
        parts.for_each(|part| self.name.extend_from_slice(part.as_bytes()));
        let mut number = Vec::with_capacity(24);
        match (self.flavour, figure) {
            (Flavour::Perl, Figure::Real(real)) => figures::six_places(real, &mut number),
            (Flavour::Perl, Figure::Whole(whole)) => figures::whole(whole, &mut number),
            (_, Figure::Real(any) | Figure::Whole(any)) => figures::javascript(any, &mut number),
        }
        if self.is_pickle {
            return self.pickle(&number);
        }
        self.name.push(b' ');
        self.name.append(&mut number);
        // Writing to a vector cannot fail.
        let _ = writeln!(self.name, " {}", self.unix_s);
        self.part.extend_from_slice(&self.name);
        self.end_part(PART_BYTES)
    }

    /// `(S'name'\n(L1700000000L\nS'1'\ntta`: a tuple with a tuple, appended to the list.
    fn pickle(&mut self, number: &[u8]) -> io::Result<()> {
        if self.part.is_empty() {
            // The message's length comes here.
            self.part.extend_from_slice(b"\0\0\0\0(l");
        }
        self.part.extend_from_slice(b"(S'");
        for byte in &self.name {
            match byte {
                b'\'' | b'\\' => self.part.extend_from_slice(&[b'\\', *byte]),
                b'\n' => {}
                _ => self.part.push(*byte),
            }
        }
        // Writing to a vector cannot fail.
        let _ = write!(self.part, "'\n(L{}L\nS'", self.unix_s);
        self.part.extend_from_slice(number);
        self.part.extend_from_slice(b"'\ntta");
        self.end_part(PART_BYTES)
    }

    /// Hands over the part if it has so many bytes.
    fn end_part(&mut self, bytes_min: usize) -> io::Result<()> {
        if self.part.len() < bytes_min {
            return Ok(());
        }
        if self.is_pickle {
            self.part.push(b'.');
            let length = (self.part.len() - 4) as u32;
            self.part[..4].copy_from_slice(&length.to_be_bytes());
        }
        (self.each)(&self.part)?;
        self.part.clear();
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.end_part(1)
    }
}

#[cfg(test)]
mod tests;
