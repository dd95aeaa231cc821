//! Draws the charts of HTML reports as SVG, written by hand: numbers in, text out.
//!
//! Line of calls, scatter and histogram, the first and last with marks; latency by quantile, paired
//! bars, heat map.
//! [`escaped`] serves pages, too.
//! Invariant: every text is escaped. Colours come from `page.css` by class, so light and dark need
//! no second drawing. Every chart has a title and a description for those who cannot see it.
//! Bound: beyond 1,200 points a line keeps first, lowest, highest and last of each column; above
//! 400 it has no dots. A line without points, and quantiles of fewer than two calls, give an empty
//! text. Axes of text charts are in `plot.rs` and `histogram.rs`.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::histogram::Bins;
use crate::number::{count, of, tick};

/// Width of the drawings in their own units; the page scales them.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// Columns that points are gathered in: more cannot be seen.
const COLUMNS: usize = 1200;
/// Up to so many points are drawn as dots on their line.
const DOTS_MAX: usize = 400;

/// Returns text as HTML and SVG take it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in crate::clean(text).chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            _ => out.push(character),
        }
    }
    out
}

/// An axis from values to places.
#[derive(Debug, Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let (low, high, value) = match self.is_log {
            true => (self.low.ln(), self.high.ln(), value.max(self.low).ln()),
            false => (self.low, self.high, value),
        };
        let share = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        self.from + (self.to - self.from) * share
    }

    fn ticks(&self, most: usize) -> Vec<f64> {
        if !self.is_log {
            return crate::ticks(self.low, self.high, most);
        }
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let steps: &[f64] = if self.high / self.low > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

/// A drawing in the making.
struct Drawing {
    out: String,
    height: f64,
}

impl Drawing {
    fn new(height: f64, title: &str, about: &str) -> Self {
        let (title, about) = (escaped(title), escaped(about));
        let out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\
             <title>{title}</title><desc>{about}</desc>\n"
        );
        Self { out, height }
    }

    fn push(&mut self, text: &str) {
        self.out += text;
        self.out.push('\n');
    }

    fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escaped(text);
        self.push(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"));
    }

    /// Lines across at round values, with their labels.
    fn grid(&mut self, up: &Axis, label: &dyn Fn(f64) -> String) {
        for value in up.ticks(5) {
            let (y, label, right) = (up.place(value), label(value), WIDTH - RIGHT);
            if label.is_empty() {
                continue;
            }
            self.push(&format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            self.text((LEFT - 8.0, y + 4.0), "tick end", &label);
        }
    }

    fn below(&mut self, across: &Axis, label: &dyn Fn(f64) -> String) {
        let y = self.height - BOTTOM;
        self.push(&format!("<path class=\"axis\" d=\"M{LEFT} {y}H{}\"/>", WIDTH - RIGHT));
        for value in across.ticks(7) {
            let (x, label) = (across.place(value), label(value));
            if label.is_empty() {
                continue;
            }
            self.push(&format!("<path class=\"axis\" d=\"M{x:.1} {y}v4\"/>"));
            self.text((x, y + 18.0), "tick middle", &label);
        }
    }

    /// A line up from each mark that is on the axis, and a triangle under it.
    fn marks(&mut self, across: &Axis, marks: &[f64]) {
        let floor = self.height - BOTTOM;
        for mark in marks.iter().filter(|mark| (across.low..=across.high).contains(*mark)) {
            let x = across.place(*mark);
            self.push(&format!("<path class=\"tooth\" d=\"M{x:.1} {TOP}V{floor}\"/>"));
            self.push(&format!("<path class=\"mark\" d=\"M{x:.1} {floor}l-5 9h10z\"/>"));
        }
    }

    fn done(mut self) -> String {
        self.out += "</svg>\n";
        self.out
    }
}

fn across(low: f64, high: f64, is_log: bool) -> Axis {
    Axis { low, high, is_log, from: LEFT + 4.0, to: WIDTH - RIGHT - 4.0 }
}

fn up(high: f64, height: f64) -> Axis {
    Axis { low: 0.0, high, is_log: false, from: height - BOTTOM, to: TOP }
}

/// What a chart is called, for those who cannot see it.
#[derive(Debug, Clone, Copy)]
pub struct Title<'a> {
    /// In a few words.
    pub short: &'a str,
    /// In a sentence.
    pub about: &'a str,
}

/// Latencies against time, in milliseconds, with marks under the axis; the second line is what it
/// is compared with.
pub fn line(
    title: Title<'_>,
    lines: &[&[(f64, f64)]],
    marks: &[f64],
    x: &dyn Fn(f64) -> String,
    is_log: bool,
) -> String {
    course(title, lines, marks, [x, &tick], is_log)
}

/// What else is measured against time, such as a signal: `labels` of time, and of amounts.
pub fn course(
    title: Title<'_>,
    lines: &[&[(f64, f64)]],
    marks: &[f64],
    labels: [&dyn Fn(f64) -> String; 2],
    is_log: bool,
) -> String {
    const HEIGHT: f64 = 260.0;
    let [x, y] = labels;
    let mut drawing = Drawing::new(HEIGHT, title.short, title.about);
    let points = || lines.iter().flat_map(|line| line.iter());
    let ends = |value: fn(&(f64, f64)) -> f64| {
        points().map(value).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let (left, right) = ends(|point| point.0);
    let (low, high) = ends(|point| point.1);
    if !(left.is_finite() && low.is_finite()) {
        return String::new();
    }
    let across = across(left, right, false);
    let mut up = up(high, HEIGHT);
    if is_log && low > 0.0 {
        up = Axis { low, is_log: true, ..up };
    }
    drawing.grid(&up, y);
    drawing.below(&across, x);
    for (index, line) in lines.iter().enumerate() {
        let class = if index == 0 { "first" } else { "second" };
        let path = path(line, &across, &up);
        drawing.push(&format!("<path class=\"line {class}\" d=\"{path}\"/>"));
        if line.len() <= DOTS_MAX {
            let dots: String = line
                .iter()
                .map(|(at, ms)| format!("M{:.1} {:.1}h0", across.place(*at), up.place(*ms)))
                .collect();
            drawing.push(&format!("<path class=\"dots {class}\" d=\"{dots}\"/>"));
        }
    }
    drawing.marks(&across, marks);
    drawing.done()
}

/// Points, each by itself; those that fall together are drawn once. The axis up begins at 0, or at
/// the lowest below it.
pub fn scatter(
    title: Title<'_>,
    points: &[(f64, f64)],
    x: &dyn Fn(f64) -> String,
    y: &dyn Fn(f64) -> String,
) -> String {
    const HEIGHT: f64 = 320.0;
    let mut drawing = Drawing::new(HEIGHT, title.short, title.about);
    let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
    let ends = finite.clone().fold(None, |ends: Option<[f64; 4]>, &(x, y)| {
        let [left, right, low, high] = ends.unwrap_or([x, x, y, y]);
        Some([left.min(x), right.max(x), low.min(y), high.max(y)])
    });
    let Some([left, right, low, high]) = ends else { return String::new() };
    let across = across(left, right, false);
    let up = Axis { low: low.min(0.0), ..up(high, HEIGHT) };
    drawing.grid(&up, y);
    drawing.below(&across, x);
    // More than one dot for a unit cannot be seen.
    let places: BTreeSet<(i64, i64)> = finite
        .map(|(x, y)| (across.place(*x).round() as i64, up.place(*y).round() as i64))
        .collect();
    let dots: String = places.into_iter().map(|(x, y)| format!("M{x} {y}h0")).collect();
    drawing.push(&format!("<path class=\"dots first\" d=\"{dots}\"/>"));
    drawing.done()
}

/// The points as a path; where several share a column, the first, lowest, highest and last of them.
fn path(points: &[(f64, f64)], across: &Axis, up: &Axis) -> String {
    let mut path = String::new();
    let mut add = |(at, ms): (f64, f64)| {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{letter}{:.1} {:.1}", across.place(at), up.place(ms));
    };
    if points.len() <= COLUMNS {
        points.iter().copied().for_each(add);
        return path;
    }
    let width = (across.to - across.from) / COLUMNS as f64;
    let column = |at: f64| ((across.place(at) - across.from) / width) as usize;
    for group in points.chunk_by(|one, two| column(one.0) == column(two.0)) {
        let by_ms = |one: &&(f64, f64), two: &&(f64, f64)| one.1.total_cmp(&two.1);
        let (Some(low), Some(high)) = (group.iter().min_by(by_ms), group.iter().max_by(by_ms))
        else {
            continue;
        };
        add(group[0]);
        add((group[0].0, low.1));
        add((group[0].0, high.1));
        add(group[group.len() - 1]);
    }
    path
}

/// Counts in bins, with marks under the axis.
pub fn histogram(title: Title<'_>, counted: &Bins, marks: &[f64]) -> String {
    const HEIGHT: f64 = 240.0;
    let mut drawing = Drawing::new(HEIGHT, title.short, title.about);
    let highest = counted.counts.iter().copied().max().unwrap_or(0).max(1);
    let up = up(highest as f64, HEIGHT);
    let across = across(counted.low, counted.high, counted.is_log);
    // Half a call is none.
    drawing.grid(&up, &|value| match value.fract() == 0.0 {
        true => count(value as u64),
        false => String::new(),
    });
    let width = (across.to - across.from) / counted.counts.len() as f64;
    let floor = HEIGHT - BOTTOM;
    for (at, calls) in counted.counts.iter().enumerate().filter(|(_, calls)| **calls > 0) {
        let x = across.from + at as f64 * width + 0.75;
        // The rarest still shows.
        let y = up.place(*calls as f64).min(floor - 1.5);
        let (bar, height) = ((width - 1.5).max(1.0), floor - y);
        let about = of(*calls, "call", "calls");
        drawing.push(&format!(
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{bar:.1}\" \
             height=\"{height:.1}\"><title>{about}</title></rect>"
        ));
    }
    drawing.below(&across, &tick);
    drawing.marks(&across, marks);
    drawing.done()
}

/// Latency against quantile: equal steps across are tenfold rarer calls. Each line is the sorted
/// latencies of a series.
pub fn quantiles(title: Title<'_>, lines: &[&[f64]], is_log: bool) -> String {
    const HEIGHT: f64 = 240.0;
    let mut drawing = Drawing::new(HEIGHT, title.short, title.about);
    let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let low = lines.iter().filter_map(|line| line.first().copied()).fold(f64::INFINITY, f64::min);
    let high = lines.iter().filter_map(|line| line.last().copied()).fold(0.0, f64::max);
    if longest < 2 {
        return String::new();
    }
    // One call in `rarity` is slower.
    let across = across(1.0, longest as f64, true);
    let mut up = up(high, HEIGHT);
    if is_log && low > 0.0 {
        up = Axis { low, is_log: true, ..up };
    }
    drawing.grid(&up, &tick);
    drawing.below(&across, &|rarity| match rarity {
        _ if rarity < 1.5 => "fastest".to_owned(),
        _ => format!("p{}", ((100.0 - 100.0 / rarity) * 1e6).round() / 1e6),
    });
    for (index, line) in lines.iter().enumerate() {
        let class = if index == 0 { "first" } else { "second" };
        let calls = line.len() as f64;
        let mut path = String::new();
        for column in 0..=300 {
            let rarity = longest.max(2) as f64;
            let rarity = rarity.powf(f64::from(column) / 300.0).min(calls);
            let at = ((1.0 - 1.0 / rarity) * calls) as usize;
            let letter = if column == 0 { 'M' } else { 'L' };
            let (x, y) = (across.place(rarity), up.place(line[at.min(line.len() - 1)]));
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
        }
        drawing.push(&format!("<path class=\"line {class}\" d=\"{path}\"/>"));
    }
    drawing.done()
}

/// One row of two bars.
#[derive(Debug, Clone)]
pub struct Pair {
    /// What both are of.
    pub name: String,
    /// Left and right: how long, and how it reads.
    pub bars: [(f64, String); 2],
    /// Whether the row is what the verdict is about.
    pub is_significant: bool,
}

/// Draws two bars a row, one to the left and one to the right.
pub fn pairs(title: Title<'_>, heads: [&str; 2], rows: &[Pair], is_shared: bool) -> String {
    const ROW: f64 = 24.0;
    const NAME: f64 = 170.0;
    const HALF: f64 = (WIDTH - NAME) / 2.0;
    const BAR: f64 = HALF - 92.0;
    let mut drawing = Drawing::new(26.0 + ROW * rows.len() as f64, title.short, title.about);
    let longest = |side: usize| rows.iter().map(|row| row.bars[side].0).fold(0.0, f64::max);
    let mut longest = [longest(0), longest(1)];
    if is_shared {
        longest = [longest[0].max(longest[1]); 2];
    }
    for (side, head) in heads.iter().enumerate() {
        drawing.text((NAME + HALF * side as f64, 14.0), "tick", head);
    }
    for (at, row) in rows.iter().enumerate() {
        let y = 24.0 + ROW * at as f64;
        let class = if row.is_significant { "name end alarm" } else { "name end" };
        drawing.text(
            (NAME - 10.0, y + 14.0),
            class,
            &crate::cut(&row.name, 24, &Default::default()),
        );
        for (side, (value, text)) in row.bars.iter().enumerate() {
            let x = NAME + HALF * side as f64;
            let share = if longest[side] > 0.0 { value.max(0.0) / longest[side] } else { 0.0 };
            let least = if *value > 0.0 { 1.5 } else { 0.0 };
            let width = (share * BAR).max(least);
            let class = match (side, row.is_significant) {
                (0, true) => "convicted",
                (0, false) => "bar",
                _ => "other",
            };
            drawing.push(&format!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
                 height=\"16\" rx=\"2\"/>",
                y + 1.0
            ));
            drawing.text((x + width + 6.0, y + 14.0), "tick", text);
        }
    }
    drawing.done()
}

/// Draws how often each of some bins was met, column by column, the first bin at the bottom. The
/// darker a cell, the higher its count, by the logarithm.
pub fn heat_map(
    title: Title<'_>,
    columns: &[Vec<u64>],
    x: &dyn Fn(usize) -> String,
    y: &dyn Fn(usize) -> String,
) -> String {
    const ROW: f64 = 10.0;
    const TICKS: usize = 6;
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    if rows == 0 {
        return String::new();
    }
    let height = TOP + BOTTOM + ROW * rows as f64;
    let mut drawing = Drawing::new(height, title.short, title.about);
    let highest = columns.iter().flatten().copied().max().unwrap_or(0);
    let width = (WIDTH - LEFT - RIGHT) / columns.len() as f64;
    let floor = height - BOTTOM;
    for (at, column) in columns.iter().enumerate() {
        for (bin, count) in column.iter().enumerate().filter(|(_, count)| **count > 0) {
            let shade = (1.0 + *count as f64).ln() / (1.0 + highest as f64).ln();
            let (x, y) = (LEFT + at as f64 * width, floor - (bin + 1) as f64 * ROW);
            drawing.push(&format!(
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                 height=\"{ROW}\" opacity=\"{shade:.2}\"><title>{}</title></rect>",
                self::count(*count)
            ));
        }
    }
    for bin in (0..rows).step_by(rows.div_ceil(TICKS)) {
        drawing.text((LEFT - 8.0, floor - bin as f64 * ROW + 4.0), "tick end", &y(bin));
    }
    for at in (0..columns.len()).step_by(columns.len().div_ceil(TICKS)) {
        drawing.text((LEFT + at as f64 * width, floor + 18.0), "tick", &x(at));
    }
    drawing.done()
}

#[cfg(test)]
mod tests;
