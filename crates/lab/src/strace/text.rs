//! Prints a report of a trace: what it shows in sentences, then tables.

use screen::number::{count, digits, percent, time};
use screen::{Align, Cell, Column, Ink, Style, Table};

use super::report::{StraceReport, SyscallSummary};

const ROWS_MAX: usize = 15;

impl StraceReport {
    /// Returns the report as text, with at most `ROWS_MAX` rows of each table.
    pub fn to_text(&self, style: &Style) -> String {
        let mut out = String::new();
        for finding in self.findings() {
            for line in screen::wrapped(&finding, 2, style) {
                out += &line;
                out.push('\n');
            }
        }
        let mut add = |title: &str, table: Table, left: usize| {
            if table.is_empty() {
                return;
            }
            out += &format!("\n{title}\n{}\n", table.render(style).trim_end());
            if left > 0 {
                out += &format!("… and {left} more\n");
            }
        };
        add("What requests waited for", self.on_path_table(), rest(self.on_path.len()));
        add("System calls", self.syscall_table(), rest(self.syscalls.len()));
        add("Waits with a timeout", self.wait_table(), rest(self.waits.len()));
        add("Files", self.file_table(), rest(self.files.len()));
        add("Children", self.child_table(), rest(self.children.len()));
        let stacks = self.stacks.iter().take(5).map(|stack| {
            let frames: Vec<String> = stack.frames.iter().map(|it| format!("    {it}")).collect();
            let seconds = time(stack.total_s * 1000.0);
            format!("  {} of {}, {seconds}\n{}\n", stack.calls, stack.call, frames.join("\n"))
        });
        let stacks: String = stacks.collect();
        if !stacks.is_empty() {
            out += &format!("\nLong calls by stack\n{stacks}");
        }
        out.push('\n');
        out += &self.read();
        out
    }

    /// What was read, in a line.
    fn read(&self) -> String {
        let counts = &self.counts;
        let span = counts.span_s().map_or(String::new(), |s| format!(" over {}", time(s * 1000.0)));
        let unused = counts.to_string();
        let unused = if unused.is_empty() { unused } else { format!("; not used: {unused}") };
        let (lines, calls) = (count(counts.lines), count(counts.calls));
        format!("{calls} calls of {} threads in {lines} lines{span}{unused}\n", counts.threads)
    }

    fn on_path_table(&self) -> Table {
        let mut table = columns(&["call", "target"], &["calls", "total", "share"]);
        for it in self.on_path.iter().take(ROWS_MAX) {
            table.push(vec![
                Cell::from(it.call.clone()),
                Cell::from(it.target.clone()),
                Cell::from(count(it.calls)),
                Cell::from(time(it.total_s * 1000.0)),
                Cell::from(percent(it.share)),
            ]);
        }
        table
    }

    fn syscall_table(&self) -> Table {
        let numbers = ["calls", "errors", "total", "on path", "p50", "p99", "max"];
        let mut table = columns(&["call", "peaks"], &numbers);
        for it in self.syscalls.iter().take(ROWS_MAX) {
            let errors: u64 = it.errors.iter().map(|(_, count)| count).sum();
            let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), time);
            table.push(vec![
                Cell::from(it.name.clone()),
                Cell::from(peaks(it)),
                Cell::from(count(it.calls)),
                Cell::from(count(errors)),
                Cell::from(ms(it.total_s.map(|s| s * 1000.0))),
                Cell::from(time(it.on_path_s * 1000.0)),
                Cell::from(ms(it.p50_ms)),
                Cell::from(ms(it.p99_ms)),
                Cell::from(ms(it.max_ms)),
            ]);
        }
        table
    }

    fn wait_table(&self) -> Table {
        let numbers = ["timeout", "waits", "ran out", "threads", "idle", "on path"];
        let mut table = columns(&["call"], &numbers);
        for it in self.waits.iter().take(ROWS_MAX) {
            let ink = if it.on_path_s > 0.0 { Ink::Alarm } else { Ink::Plain };
            table.push(vec![
                Cell::from(it.call.clone()),
                Cell::from(time(it.timeout_ms)),
                Cell::from(count(it.calls)),
                Cell::from(count(it.ran_out)),
                Cell::from(count(it.threads)),
                Cell::from(time(it.idle_s * 1000.0)),
                Cell::new(time(it.on_path_s * 1000.0), ink),
            ]);
        }
        table
    }

    fn file_table(&self) -> Table {
        let numbers = ["opens", "reads", "writes", "written", "syncs", "renames", "on path"];
        let mut table = columns(&["file"], &numbers);
        for it in self.files.iter().take(ROWS_MAX) {
            let mut row = vec![Cell::from(it.path.clone())];
            let numbers = [it.opens, it.reads, it.writes, it.bytes_written, it.syncs, it.renames];
            row.extend(numbers.map(|number| Cell::from(count(number))));
            row.push(Cell::from(time(it.on_path_s * 1000.0)));
            table.push(row);
        }
        table
    }

    fn child_table(&self) -> Table {
        let mut table = columns(&["parent", "command"], &["count", "of requests", "each lived"]);
        for it in self.children.iter().take(ROWS_MAX) {
            table.push(vec![
                Cell::from(it.parent.clone()),
                Cell::from(it.command.clone()),
                Cell::from(count(it.count)),
                Cell::from(count(it.of_requests)),
                Cell::from(time(it.lived_s * 1000.0 / it.count.max(1) as f64)),
            ]);
        }
        table
    }
}

/// The peaks of a call, such as `250 ms × 1,204`.
pub(super) fn peaks(it: &SyscallSummary) -> String {
    let shown = it.peaks.iter().take(3).filter(|peak| peak.ms >= 0.1);
    let texts: Vec<String> =
        shown.map(|peak| format!("{} ms × {}", digits(peak.ms, 3), count(peak.calls))).collect();
    texts.join(", ")
}

fn rest(all: usize) -> usize {
    all.saturating_sub(ROWS_MAX)
}

fn columns(texts: &[&str], numbers: &[&str]) -> Table {
    let texts = texts.iter().map(|title| Column::new(title, Align::Left));
    Table::new(texts.chain(numbers.iter().map(|title| Column::new(title, Align::Right))).collect())
}
