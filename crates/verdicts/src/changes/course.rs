//! Tells ramps from steps: whether changes in one direction are a slope between two levels.
//!
//! Consecutive changes in one direction are held against one ramp: a level, a slope, a level. The
//! ramp is said if Schwarz's criterion (BIC) prefers it, for as many bins as count each for one.
//! A single change is held against a short ramp alike.
//! Invariant: courses keep the order of time, and each has bins of its own before and after it.

use std::ops::Range;

use super::lines::PIECE_MIN;
use super::search::Cut;

/// A slope of fewer bins is a step.
const RAMP_MIN: usize = 5;
/// The point of χ² of one degree beyond which a twentieth lies.
const CHI_SQUARED: f64 = 3.841;

/// One change, whatever its course.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// The column that shows it.
    pub column: usize,
    /// The bins before it that are alike.
    pub before: Range<usize>,
    /// The bins after it that are alike. Between them and those before is a ramp; a step has none.
    pub after: Range<usize>,
    /// 95 % interval of where a ramp begins.
    pub from_ci: Option<[usize; 2]>,
}

impl Course {
    /// Whether the change takes its time.
    pub(super) fn is_ramp(&self) -> bool {
        self.before.end < self.after.start
    }
}

/// Turns cuts into courses. `levels` has, for each column, what its ramp would be straight in;
/// `times` are the bins that count as one.
pub(super) fn courses(cuts: &[Cut], levels: &[Vec<f64>], times: &[f64]) -> Vec<Course> {
    let bins = levels.first().map_or(0, Vec::len);
    let edge = |at: usize| cuts.get(at).map_or(bins, |cut| cut.bin);
    let start = |at: usize| if at == 0 { 0 } else { edge(at - 1) };
    let direction = |at: usize| {
        let level = &levels[cuts[at].column];
        mean(&level[edge(at)..edge(at + 1)]) > mean(&level[start(at)..edge(at)])
    };
    let mut courses: Vec<Course> = Vec::new();
    let mut at = 0;
    while at < cuts.len() {
        let same = (at..cuts.len()).take_while(|next| direction(*next) == direction(at)).count();
        let ramp = (at..at + same).rev().find_map(|last| {
            // Beyond a turn, the bins belong to the way back.
            let turns = |next: usize| next < cuts.len() && direction(next) != direction(at);
            let from =
                if at > 0 && turns(at - 1) { start(at).midpoint(edge(at)) } else { start(at) };
            let to =
                if turns(last + 1) { edge(last).midpoint(edge(last + 1)) } else { edge(last + 1) };
            let within = from..to;
            let column = cuts[at..=last].iter().map(|cut| cut.column).min()?;
            let inner: Vec<usize> = (at..=last).map(edge).collect();
            let found = ramp(&levels[column], &within, &inner, times[column])?;
            let place = |bin: usize| within.start + bin;
            let (before, after) = (from..place(found.from), place(found.to)..to);
            Some((
                Course { column, before, after, from_ci: Some(found.from_ci.map(place)) },
                last + 1,
            ))
        });
        let (course, next) = ramp.unwrap_or_else(|| {
            let (before, after) = (start(at)..edge(at), edge(at)..edge(at + 1));
            (Course { column: cuts[at].column, before, after, from_ci: None }, at + 1)
        });
        courses.push(course);
        at = next;
    }
    parted(&mut courses);
    courses
}

/// Takes the bins of a neighbour's ramp from those before and after each change.
fn parted(courses: &mut [Course]) {
    for at in 1..courses.len() {
        let (from, to) = (courses[at - 1].after.start, courses[at].before.end);
        if to >= from + PIECE_MIN {
            courses[at - 1].after.end = to;
            courses[at].before.start = from;
        } else {
            // Two ramps meet: each goes as far as the middle.
            let middle = to.midpoint(from);
            courses[at - 1].after = middle.min(courses[at - 1].after.start)..middle.max(from);
            courses[at].before = middle.min(to)..middle.max(courses[at].before.end);
        }
    }
}

/// The ramp within some bins, if it explains them better than steps at `cuts`; `time` bins count as
/// one.
fn ramp(level: &[f64], within: &Range<usize>, cuts: &[usize], time: f64) -> Option<RampFit> {
    let bins = within.len() as f64;
    let alone = (bins / time).max(2.0);
    let mut squares = 0.0;
    let edges: Vec<usize> =
        [within.start].into_iter().chain(cuts.iter().copied()).chain([within.end]).collect();
    for piece in edges.windows(2) {
        let middle = mean(&level[piece[0]..piece[1]]);
        squares += level[piece[0]..piece[1]].iter().map(|y| (y - middle).powi(2)).sum::<f64>();
    }
    let found = RampFit::new(&level[within.clone()], time)?;
    let criterion = |squares: f64, numbers: usize| {
        alone * (squares / bins).max(1e-18).ln() + numbers as f64 * alone.ln()
    };
    // A step has a place and a level; a ramp has two of each.
    let is_better = criterion(found.squares, 4) < criterion(squares, 2 * cuts.len() + 1);
    (is_better && found.to >= found.from + RAMP_MIN).then_some(found)
}

/// The ramp of least squares through some values, and how far it may be another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RampFit {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// 95 % interval of where it begins.
    pub from_ci: [usize; 2],
    /// The level before it.
    pub before: f64,
    /// How far it rises, between the bounds of the 95 % interval.
    pub rise: [f64; 3],
    squares: f64,
}

impl RampFit {
    /// Fits a ramp to values of which `time` count as one. Its intervals are of the places and
    /// rises that are nearly as likely: by χ², chance alone passes that bound in a twentieth.
    pub(super) fn new(values: &[f64], time: f64) -> Option<Self> {
        let sums = RampSums::new(values);
        let ramps = || {
            let ends = |from: usize| (from + 2..=values.len()).map(move |to| (from, to));
            (0..values.len()).flat_map(ends)
        };
        let (from, to) = ramps().min_by(|one, other| {
            sums.at(one.0, one.1).squares.total_cmp(&sums.at(other.0, other.1).squares)
        })?;
        let best = sums.at(from, to);
        let alone = (values.len() as f64 / time).max(2.0);
        let most = (best.squares * (CHI_SQUARED / alone).exp()).max(1e-18);
        let mut found = Self {
            from,
            to,
            from_ci: [from; 2],
            before: best.before,
            rise: [best.rise; 3],
            squares: best.squares,
        };
        for (from, to) in ramps() {
            let other = sums.at(from, to);
            if other.squares <= most && other.spread > 0.0 {
                let width = ((most - other.squares) / other.spread).sqrt();
                found.from_ci = [found.from_ci[0].min(from), found.from_ci[1].max(from)];
                found.rise[0] = found.rise[0].min(other.rise - width);
                found.rise[2] = found.rise[2].max(other.rise + width);
            }
        }
        Some(found)
    }
}

/// Sums that give the squares beside any ramp.
struct RampSums {
    y: Vec<f64>,
    xy: Vec<f64>,
    yy: f64,
}

impl RampSums {
    fn new(level: &[f64]) -> Self {
        let mut sums = Self { y: vec![0.0], xy: vec![0.0], yy: 0.0 };
        let [mut y, mut xy] = [0.0; 2];
        for (at, value) in level.iter().enumerate() {
            y += value;
            xy += (at as f64 + 0.5) * value;
            sums.yy += value * value;
            sums.y.push(y);
            sums.xy.push(xy);
        }
        sums
    }

    /// The best level up to bin `from`, with a slope to `to`, and a level from there.
    fn at(&self, from: usize, to: usize) -> RampThere {
        let bins = self.y.len() - 1;
        let n = bins as f64;
        let slope = (to - from) as f64;
        let all = self.y[bins];
        // Of the ramp from 0 to 1: its sum, its squares, its products with the values.
        let after = (bins - to) as f64;
        let (w, ww) = (slope / 2.0 + after, slope / 3.0 - 1.0 / (12.0 * slope) + after);
        let on = (self.xy[to] - self.xy[from] - from as f64 * (self.y[to] - self.y[from])) / slope;
        let wy = on + all - self.y[to];
        let spread = ww - w * w / n;
        let shared = wy - w * all / n;
        let whole = self.yy - all * all / n;
        let rise = if spread > 1e-9 { shared / spread } else { 0.0 };
        let before = (all - rise * w) / n;
        RampThere { before, rise, spread, squares: (whole - rise * shared).max(0.0) }
    }
}

/// The best ramp between two places.
struct RampThere {
    before: f64,
    rise: f64,
    /// By how much the squares grow for a rise that is one off.
    spread: f64,
    squares: f64,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
