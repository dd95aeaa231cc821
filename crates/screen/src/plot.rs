//! Draws lines through points: what was measured against when.
//!
//! Braille gives 2 by 4 dots a cell; in ASCII a cell is a dot. Points that follow each other in one
//! column of dots are drawn as a line from the lowest to the highest. So no spike is lost, and a
//! column of many points costs one line. The first line has one colour, all others a second one.
//! Invariant: the axes span all finite points, and y may begin at 0; points that are not finite
//! break the line. Without a finite point nothing is drawn. A logarithmic y needs values above 0,
//! else it is linear.
//! Also here: `x_axis` and `marked`, which `histogram.rs` uses, too. docs/lab/report.md and
//! docs/lab/example-cache-lock.md show such plots. Never here: round numbers and positions
//! (`scale.rs`).

use crate::scale::{Label, Scale};
use crate::style::{Ink, Style};
use crate::text::{cut, padded, width_of};

/// A plot to draw.
#[derive(Clone)]
pub struct Plot<'a> {
    /// Lines of (x, y), each in the order in which it is drawn; the second has its own colour.
    pub lines: &'a [&'a [(f64, f64)]],
    /// Rows of the drawing, without the axis below it.
    pub rows: usize,
    /// Whether y is logarithmic, where it is positive.
    pub is_log: bool,
    /// Values to mark under the axis of x.
    pub marks: &'a [f64],
    /// How x reads; a tick that reads as nothing is left out.
    pub x: Label<'a>,
    /// How y reads.
    pub y: Label<'a>,
}

impl Plot<'_> {
    /// Returns the drawing, line by line; nothing when no point is finite.
    pub fn render(&self, style: &Style) -> String {
        let Some((across, up)) = self.ranges() else { return String::new() };
        let rows = self.rows.max(2);
        let labels = self.labels(&up, rows);
        let margin = labels.iter().map(|(_, text)| width_of(text)).max().unwrap_or(0);
        let margin = margin.min(style.columns() / 2);
        let cells = style.columns() - margin - 2;
        let canvas = self.drawn(Canvas::new(cells, rows, style), &across, &up);
        let mut out = String::new();
        for row in 0..rows {
            let label = labels.iter().find(|(at, _)| *at == row).map_or("", |(_, text)| text);
            let edge =
                if label.is_empty() { style.either('│', '|') } else { style.either('┤', '+') };
            let label = padded(&cut(label, margin, style), margin, true);
            out += &style.paint(Ink::Faint, &format!("{label} {edge}"));
            out += canvas.row(row, style).trim_end();
            out.push('\n');
        }
        out += &x_axis(&across, self.x, Axis { margin: margin + 1, cells }, style);
        out + &marked(&across, self.marks, Axis { margin: margin + 1, cells }, style)
    }

    fn ranges(&self) -> Option<(Scale, Scale)> {
        let points = || self.lines.iter().flat_map(|line| line.iter()).filter(|at| is_finite(at));
        let mut ends: Option<[f64; 4]> = None;
        for &(x, y) in points() {
            let [left, right, low, high] = ends.unwrap_or([x, x, y, y]);
            ends = Some([left.min(x), right.max(x), low.min(y), high.max(y)]);
        }
        let [left, right, low, high] = ends?;
        // From zero unless that would leave half of the picture empty.
        let low = if !self.is_log && low > 0.0 && low < high / 2.0 { 0.0 } else { low };
        Some((Scale::new(left, right, false), Scale::new(low, high, self.is_log)))
    }

    /// The rows that have a label, and the labels.
    fn labels(&self, up: &Scale, rows: usize) -> Vec<(usize, String)> {
        let mut labels: Vec<(usize, String)> = Vec::new();
        for tick in up.ticks(rows.div_ceil(3).max(2)) {
            let row = ((1.0 - up.position(tick)) * (rows - 1) as f64).round() as usize;
            if !labels.iter().any(|(at, _)| at.abs_diff(row) < 2) {
                labels.push((row, (self.y)(tick)));
            }
        }
        labels
    }

    fn drawn(&self, mut canvas: Canvas, across: &Scale, up: &Scale) -> Canvas {
        let (columns, rows) = (canvas.columns, canvas.rows);
        for (index, line) in self.lines.iter().enumerate() {
            canvas.ink = if index == 0 { Dots::FIRST } else { Dots::SECOND };
            let mut pen: Option<Pen> = None;
            for point in *line {
                if !is_finite(point) {
                    pen.take().inspect(|pen| canvas.stroke(pen));
                    continue;
                }
                let column = (across.position(point.0) * (columns - 1) as f64).round() as usize;
                let row = ((1.0 - up.position(point.1)) * (rows - 1) as f64).round() as usize;
                match &mut pen {
                    Some(pen) if pen.column == column => pen.reach(row),
                    _ => {
                        let last = pen.replace(Pen::at(column, row));
                        if let Some(last) = last {
                            canvas.stroke(&last);
                            canvas.join((last.column, last.row), (column, row));
                        }
                    }
                }
            }
            pen.inspect(|pen| canvas.stroke(pen));
        }
        canvas
    }
}

/// Where an x axis stands.
pub(crate) struct Axis {
    /// Columns to the left of its corner.
    pub margin: usize,
    /// Columns of the drawing above it.
    pub cells: usize,
}

/// The line below a drawing, and under it the labels of its ticks.
pub(crate) fn x_axis(across: &Scale, label: Label<'_>, axis: Axis, style: &Style) -> String {
    let Axis { margin, cells } = axis;
    let mut edge = vec![style.either('─', '-'); cells];
    let mut below = vec![' '; margin + 1 + cells];
    let mut free_from = 0;
    for tick in across.ticks((cells / 9).max(2)) {
        let at = (across.position(tick) * (cells - 1) as f64).round() as usize;
        let text: Vec<char> = cut(&label(tick), below.len(), style).chars().collect();
        if text.is_empty() {
            continue;
        }
        let start = (margin + 1 + at).saturating_sub(text.len() / 2).min(below.len() - text.len());
        if start >= free_from {
            edge[at] = style.either('┬', '+');
            below[start..start + text.len()].copy_from_slice(&text);
            free_from = start + text.len() + 1;
        }
    }
    let edge: String = edge.into_iter().collect();
    let corner = style.either('└', '+');
    let below: String = below.into_iter().collect();
    let line = format!("{}{corner}{edge}", " ".repeat(margin));
    let (line, below) = (style.paint(Ink::Faint, &line), style.paint(Ink::Faint, below.trim_end()));
    format!("{line}\n{below}\n")
}

/// The line of marks under an axis; nothing where none is on it.
pub(crate) fn marked(across: &Scale, marks: &[f64], axis: Axis, style: &Style) -> String {
    let Axis { margin, cells } = axis;
    let mut line = vec![' '; cells];
    for mark in marks.iter().filter(|mark| across.holds(**mark)) {
        line[((across.position(*mark) * cells as f64) as usize).min(cells - 1)] =
            style.either('▲', '^');
    }
    let line: String = line.into_iter().collect();
    let line = cut(line.trim_end(), cells, style);
    if line.is_empty() {
        return line;
    }
    format!("{}{}\n", " ".repeat(margin + 1), style.paint(Ink::Alarm, &line))
}

/// The points of one column of dots so far.
struct Pen {
    column: usize,
    /// Where the line goes on from.
    row: usize,
    top: usize,
    bottom: usize,
}

impl Pen {
    fn at(column: usize, row: usize) -> Self {
        Self { column, row, top: row, bottom: row }
    }

    fn reach(&mut self, row: usize) {
        self.row = row;
        self.top = self.top.min(row);
        self.bottom = self.bottom.max(row);
    }
}

/// The dots of one cell.
#[derive(Debug, Clone, Copy, Default)]
struct Dots {
    /// Braille's bits.
    bits: u8,
    /// Which lines have dots here.
    lines: u8,
}

impl Dots {
    const FIRST: u8 = 1;
    const SECOND: u8 = 2;
    /// Bits by row and column within a cell (Unicode, Braille Patterns).
    const BRAILLE: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
}

/// A field of dots; `columns` and `rows` count dots.
struct Canvas {
    columns: usize,
    rows: usize,
    is_ascii: bool,
    width: usize,
    cells: Vec<Dots>,
    ink: u8,
}

impl Canvas {
    fn new(width: usize, height: usize, style: &Style) -> Self {
        let (across, down) = if style.ascii { (1, 1) } else { (2, 4) };
        Self {
            columns: width * across,
            rows: height * down,
            is_ascii: style.ascii,
            width,
            cells: vec![Dots::default(); width * height],
            ink: Dots::FIRST,
        }
    }

    fn set(&mut self, column: usize, row: usize) {
        let (across, down) = if self.is_ascii { (1, 1) } else { (2, 4) };
        let cell = &mut self.cells[row / down * self.width + column / across];
        cell.bits |= Dots::BRAILLE[row % down][column % across];
        cell.lines |= self.ink;
    }

    fn stroke(&mut self, pen: &Pen) {
        (pen.top..=pen.bottom).for_each(|row| self.set(pen.column, row));
    }

    /// A straight line (Bresenham).
    fn join(&mut self, from: (usize, usize), to: (usize, usize)) {
        let (mut x, mut y) = (from.0 as i64, from.1 as i64);
        let (right, down) = (to.0 as i64, to.1 as i64);
        let (wide, high) = ((right - x).abs(), -(down - y).abs());
        let (step_x, step_y) = ((right - x).signum(), (down - y).signum());
        let mut error = wide + high;
        loop {
            self.set(x as usize, y as usize);
            if (x, y) == (right, down) {
                return;
            }
            let doubled = 2 * error;
            if doubled >= high {
                error += high;
                x += step_x;
            }
            if doubled <= wide {
                error += wide;
                y += step_y;
            }
        }
    }

    fn row(&self, row: usize, style: &Style) -> String {
        let cells = &self.cells[row * self.width..(row + 1) * self.width];
        let runs = cells.chunk_by(|left, right| left.lines == right.lines);
        let painted = runs.map(|run| {
            let text: String = run.iter().map(|cell| self.character(*cell)).collect();
            let ink = match run[0].lines {
                0 => Ink::Plain,
                Dots::FIRST => Ink::First,
                _ => Ink::Second,
            };
            style.paint(ink, &text)
        });
        painted.collect()
    }

    fn character(&self, cell: Dots) -> char {
        match (cell.bits, self.is_ascii) {
            (0, _) => ' ',
            (_, true) if cell.lines == Dots::SECOND => 'o',
            (_, true) => '*',
            (bits, false) => {
                char::from_u32(0x2800 + u32::from(bits)).expect("braille has a sign for each byte")
            }
        }
    }
}

fn is_finite(point: &(f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

#[cfg(test)]
mod tests;
