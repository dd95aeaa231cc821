//! Prints a load test as text: counts, both kinds of time beside each other, and the slices.
//!
//! `notes` prints what to doubt, where no report follows. What the calls themselves say is in
//! `report/text.rs`. The page docs/lab/load.md shows this text.
//! Invariant: no line is wider than the style's, from 20 columns on. A quantile is shown only where
//! a kept call lies beyond it. A closed loop, known by `kind` other than `open`, has one column of
//! times.
//! Figures come from `outcome.rs`; nothing is computed here but shares. JSON does not pass here.

use screen::{Align, Cell, Column, Ink, Style, Table, wrapped};

use super::outcome::{LoadOutcome, TimeSummary};

/// Returns the report of a run.
pub fn text(loaded: &LoadOutcome, style: &Style) -> String {
    let mut out = String::new();
    let mut line = |text: &str, indent: usize| {
        for line in wrapped(text, indent, style) {
            out += &(line + "\n");
        }
    };
    line(&loaded.name, 0);
    line(&headline(loaded), 2);
    for (words, count) in &loaded.failed {
        line(&format!("failed: {} {words}", grouped(*count)), 2);
    }
    line(&statuses(loaded), 2);
    let [read, written] = loaded.bytes;
    line(
        &format!(
            "{} read, {} written; {} connections{}; {:.1} µs of CPU per call here",
            bytes(read),
            bytes(written),
            loaded.connections,
            match loaded.backlog_max {
                0 => String::new(),
                backlog => format!(", {} calls waited for one at most", grouped(backlog as u64)),
            },
            loaded.cpu_us_per_call
        ),
        2,
    );
    out.push('\n');
    if loaded.succeeded > 0 {
        out += &times(loaded).render(style);
    }
    if !loaded.slices.is_empty() {
        out.push('\n');
        out += &slices(loaded).render(style);
    }
    out
}

/// Returns what a reader has to know, where no report of the calls follows, which has it too.
pub fn notes(loaded: &LoadOutcome, style: &Style) -> String {
    let lines = loaded.notes.iter().flat_map(|note| wrapped(&format!("note: {note}"), 2, style));
    lines.map(|line| style.paint(Ink::Second, &line) + "\n").collect()
}

fn headline(loaded: &LoadOutcome) -> String {
    let calls = grouped(loaded.succeeded);
    let (seconds, rate) = (loaded.seconds, grouped(loaded.rate.round() as u64));
    let failures = loaded.failures();
    let failed = match failures {
        0 => "none failed".to_owned(),
        _ => {
            let share = 100.0 * failures as f64 / (failures + loaded.succeeded) as f64;
            format!("{} failed ({share:.1} %)", grouped(failures))
        }
    };
    let intended = match loaded.intended_rate {
        Some(intended) => format!(" of {} intended", grouped(intended.round() as u64)),
        None => String::new(),
    };
    format!("{calls} calls succeeded in {seconds:.1} s, {failed}; {rate}/s{intended}")
}

fn statuses(loaded: &LoadOutcome) -> String {
    let statuses: Vec<String> = loaded
        .statuses
        .iter()
        .map(|(status, count)| format!("{status}: {}", grouped(*count)))
        .collect();
    match statuses.is_empty() {
        true => "no reply".to_owned(),
        false => format!("status {}", statuses.join(", ")),
    }
}

/// Latency and service time side by side; a closed loop knows one time only.
fn times(loaded: &LoadOutcome) -> Table {
    let is_open = loaded.kind == "open";
    let mut columns = vec![Column::new("ms from", Align::Left)];
    if is_open {
        columns.push(Column::new("intended sending", Align::Right));
    }
    columns.push(Column::new("actual sending", Align::Right));
    let mut table = Table::new(columns);
    let sides: Vec<&TimeSummary> = match is_open {
        true => vec![&loaded.latency_ms, &loaded.service_ms],
        false => vec![&loaded.service_ms],
    };
    let mut row = |name: String, of: &dyn Fn(&TimeSummary) -> f64| {
        let mut cells = vec![Cell::from(name)];
        cells.extend(sides.iter().map(|side| Cell::from(milliseconds(of(side)))));
        table.push(cells);
    };
    row("mean".to_owned(), &|side| side.mean);
    row("least".to_owned(), &|side| side.min);
    for (at, quantile) in loaded.latency_ms.quantiles.iter().enumerate() {
        // A quantile beyond the last call is only the greatest once more.
        if loaded.kept as f64 * (1.0 - quantile.q) >= 1.0 {
            row(format!("p{}", quantile.q * 100.0), &|side| side.quantiles[at].ms);
        }
    }
    row("greatest".to_owned(), &|side| side.max);
    table
}

fn slices(loaded: &LoadOutcome) -> Table {
    let columns = [
        ("seconds", Align::Left),
        ("intended/s", Align::Right),
        ("reached/s", Align::Right),
        ("failed", Align::Right),
        ("p50 ms", Align::Right),
        ("p99 ms", Align::Right),
    ];
    let columns = columns.into_iter().map(|(title, align)| Column::new(title, align));
    let mut table = Table::new(columns.collect());
    for slice in &loaded.slices {
        let [from, to] = slice.seconds;
        let failed = if slice.failed > 0 { Ink::Alarm } else { Ink::Plain };
        table.push(vec![
            format!("{from:.0}–{to:.0}").into(),
            grouped(slice.intended_rate.round() as u64).into(),
            grouped(slice.rate.round() as u64).into(),
            Cell::new(grouped(slice.failed), failed),
            milliseconds(slice.p50_ms).into(),
            milliseconds(slice.p99_ms).into(),
        ]);
    }
    table
}

/// Three digits that tell something.
fn milliseconds(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.3}"),
        _ if value < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn bytes(count: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests;
