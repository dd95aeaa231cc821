//! Scores whether a spacing is a comb, by its teeth counted one by one.
//!
//! The sample is cut into cells of one spacing each. Within a cell calls stand in the window around
//! its tooth or beside it. A narrow hump fills the window of its cell, and two humps fill two:
//! neither is a comb. So the score is the binomial tail of the calls in the windows without the
//! largest cell. It is capped at 4.5 nats over that without the two largest. A density that is
//! smooth at the scale of the spacing fills the window as its width says.
//! Invariant: what `combs` returns has three occupied teeth of `tooth` calls each, and few holes;
//! `refined` keeps that. Callers choose `tooth`: five for a whole sample, two for a half. `folded`
//! and `cut` count cells whatever they hold.
//!
//! `spectrum.rs` proposes the spacings; whether a score is beyond chance is for `null.rs`. After a
//! change count combs and clocks again (`examples/calibrate.rs`, docs/lab/trust.md). `TEETH` and
//! `TOOTH_CALLS` make the 15 calls of `distribution.rs` and `tail.rs`.

/// Phases told apart.
const PHASES: usize = 128;
/// Widths of the window around a tooth, in phases: 1.6 % to 31 % of the spacing.
const WINDOWS: [usize; 6] = [2, 4, 8, 16, 28, 40];
/// Calls on an occupied tooth of a whole sample, at least.
pub(super) const TOOTH_CALLS: f64 = 5.0;
/// Occupied teeth, at least.
pub(super) const TEETH: usize = 3;
/// One-sided 10 % of a normal distribution: an occupied tooth stands out by that.
const STANDS_OUT: f64 = 1.2816;
/// A comb of up to so many teeth has at least [`TEETH`] more filled places than empty ones, from
/// its first tooth to its last. Three humps anywhere fit *some* comb with holes.
const FEW: usize = 5;
/// Calls that fill such a place.
const FILLED: f64 = 2.0;
/// Below so many values, the fullest window may be narrower than a tooth.
const WIDENED: usize = 200;
/// Without the two largest cells the evidence may be this much less (in nats) than without one. Two
/// humps alone leave nothing else to chance.
const SECOND: f64 = 4.5;

/// Values with how many calls each stands for.
#[derive(Clone, Copy)]
pub(super) struct Points<'a> {
    /// The values.
    pub at: &'a [f64],
    /// Calls at each; each one when empty.
    pub calls: &'a [f64],
    /// The calls at a value are spread evenly over so much around it: a bin's width, or 0.
    pub width: f64,
    /// Calls on an occupied tooth, at least.
    pub tooth: f64,
}

/// A spacing and how well it fits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comb {
    /// From tooth to tooth.
    pub quantum: f64,
    /// Where the tooth number 0 is.
    pub origin: f64,
    /// Width of the window around a tooth, as a part of the quantum.
    pub window: f64,
    /// −ln of the binomial tail of the calls in the windows, the two largest cells left out.
    pub score: f64,
    /// The cells from `first`, in order.
    pub cells: Vec<CombCell>,
    /// The number of the first cell.
    pub first: i64,
    /// Calls on an occupied tooth, at least.
    pub tooth: f64,
}

/// One cell of a comb.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CombCell {
    /// Calls in it.
    pub calls: f64,
    /// Those in the window around its tooth.
    pub within: f64,
    /// The window, as a part of what the sample covers of the cell. The first and the last cell may
    /// begin or end in the middle.
    pub chance: f64,
}

impl CombCell {
    fn excess(&self) -> f64 {
        self.within - self.chance * self.calls
    }

    /// Returns how many calls are on the tooth if the others are spread evenly.
    pub(super) fn on_tooth(&self) -> f64 {
        if self.chance < 1.0 { (self.excess() / (1.0 - self.chance)).max(0.0) } else { self.calls }
    }

    /// Returns whether the calls in the window are a tooth.
    fn occupied(&self, tooth: f64) -> bool {
        let deviation = (self.chance * (1.0 - self.chance) * self.calls).sqrt();
        self.within >= tooth && self.excess() > STANDS_OUT * deviation
    }
}

impl Comb {
    /// Returns the numbers of the occupied teeth with their cells.
    pub(super) fn occupied(&self) -> impl Iterator<Item = (i64, CombCell)> + '_ {
        let numbered = self.cells.iter().enumerate();
        let numbered = numbered.map(|(place, cell)| (self.first + place as i64, *cell));
        numbered.filter(|(_, cell)| cell.occupied(self.tooth))
    }

    /// Returns whether there are places without a tooth between occupied ones.
    pub(super) fn has_holes(&self) -> bool {
        let (mut teeth, mut last) = (0, None);
        for (k, _) in self.occupied() {
            teeth += last.map_or(1, |last| k - last);
            last = Some(k);
        }
        teeth as usize > self.occupied().count()
    }

    /// Returns whether enough teeth are occupied, without too many holes between them.
    fn holds(&self) -> bool {
        let teeth: Vec<i64> = self.occupied().map(|(k, _)| k).collect();
        let (Some(first), Some(last)) = (teeth.first(), teeth.last()) else { return false };
        let between = &self.cells[(first - self.first) as usize..=(last - self.first) as usize];
        let filled = between.iter().filter(|cell| cell.occupied(FILLED)).count();
        let empty = between.len() - filled;
        teeth.len() >= TEETH && (teeth.len() > FEW || empty + TEETH <= filled)
    }
}

impl Points<'_> {
    fn each(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.at
            .iter()
            .enumerate()
            .map(|(place, at)| (*at, self.calls.get(place).copied().unwrap_or(1.0)))
    }

    /// Judges spacings, each at its best offset: the combs of those that hold.
    pub(super) fn combs(&self, quanta: &[f64]) -> Vec<Comb> {
        let low = self.low();
        let mut places = Vec::with_capacity(self.at.len());
        let folds = quanta.iter().filter_map(|quantum| self.fold(low, *quantum, &mut places));
        folds.filter_map(|fold| self.comb(&fold)).collect()
    }

    /// The comb of a fold, if it holds. Of few calls wider windows than that of the fold are tried,
    /// too, the narrowest first.
    fn comb(&self, fold: &Fold) -> Option<Comb> {
        let windows = WINDOWS.into_iter().map(|width| width as f64 / PHASES as f64);
        let tried = if self.at.len() < WIDENED { WINDOWS.len() } else { 1 };
        let mut combs = windows
            .filter(|window| *window >= fold.window)
            .take(tried)
            .map(|window| self.cut(fold.quantum, fold.origin, window));
        combs.find(Comb::holds)
    }

    /// Counts the cells of one spacing at its best offset, whatever they hold.
    pub(super) fn folded(&self, quantum: f64) -> Option<Comb> {
        let fold = self.fold(self.low(), quantum, &mut Vec::new())?;
        Some(self.cut(fold.quantum, fold.origin, fold.window))
    }

    /// Returns `comb` with the line through its teeth fitted by least squares, where that fits
    /// better.
    pub(super) fn refined(&self, comb: Comb) -> Comb {
        let (mut calls, mut k, mut x, mut kk, mut kx) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (at, weight) in self.each() {
            let place = (at - comb.origin) / comb.quantum;
            let number = place.round();
            if (place - number).abs() <= comb.window / 2.0 {
                calls += weight;
                k += weight * number;
                x += weight * at;
                kk += weight * number * number;
                kx += weight * number * at;
            }
        }
        let quantum = (calls * kx - k * x) / (calls * kk - k * k);
        if !(quantum > 0.8 * comb.quantum && quantum < 1.25 * comb.quantum) {
            return comb;
        }
        let refined = self.cut(quantum, (x - quantum * k) / calls, comb.window);
        if refined.score > comb.score && refined.holds() { refined } else { comb }
    }

    /// The fullest window of a spacing, against what it holds where calls are spread evenly in each
    /// cell, as far as the sample covers it. Each cell weighs as the root of its calls, so that a
    /// great hump does not choose alone. `places` is room to work in.
    fn fold(&self, low: f64, quantum: f64, places: &mut Vec<(u32, u32)>) -> Option<Fold> {
        // A bin of several phases is as many points.
        let points = (self.width * PHASES as f64 / quantum).ceil().max(1.0);
        let low = low - self.width * (1.0 - points.recip()) / 2.0;
        let cells = self.scatter(low, quantum, points, places);
        let occupied = cells.iter().filter(|calls| **calls > 0.0).count() as f64;
        if occupied < TEETH as f64 {
            return None;
        }
        let highest = places.iter().map(|(number, phase)| number * PHASES as u32 + phase).max();
        let end = highest.unwrap_or(0) as usize % PHASES + 1;
        let (last, whole) = cells.split_last()?;
        let even = whole.iter().map(|calls| calls.sqrt()).sum::<f64>() / PHASES as f64;
        let mut folded = [-even; PHASES];
        folded[..end].iter_mut().for_each(|phase| *phase -= last.sqrt() / end as f64);
        let weights: Vec<f64> = cells.iter().map(|calls| 1.0 / calls.sqrt().max(1.0)).collect();
        for ((_, calls), places) in self.each().zip(places.chunks(points as usize)) {
            for (number, phase) in places {
                folded[*phase as usize] += calls / points * weights[*number as usize];
            }
        }
        let folds = WINDOWS.into_iter().map(|width| {
            let (start, sum) = fullest(&folded, width);
            let window = width as f64 / PHASES as f64;
            let score = sum / (window * (1.0 - window) * occupied).sqrt();
            let phase = (start as f64 + width as f64 / 2.0) / PHASES as f64;
            Fold { quantum, origin: low + phase * quantum, window, score }
        });
        folds.max_by(|one, other| one.score.total_cmp(&other.score))
    }

    /// Writes down the cell and the phase of each value; of a bin, those of so many `points` spread
    /// over it. Returns the calls in each cell from `low` on.
    fn scatter(
        &self,
        low: f64,
        quantum: f64,
        points: f64,
        places: &mut Vec<(u32, u32)>,
    ) -> Vec<f64> {
        let scale = PHASES as f64 / quantum;
        let apart = self.width / points;
        let reach = (self.width - apart) / 2.0;
        let mut cells: Vec<f64> = Vec::new();
        places.clear();
        for (at, calls) in self.each() {
            for point in 0..points as usize {
                let place = ((at - reach + point as f64 * apart - low) * scale) as u32;
                let number = place / PHASES as u32;
                if cells.len() <= number as usize {
                    cells.resize(number as usize + 1, 0.0);
                }
                cells[number as usize] += calls / points;
                places.push((number, place % PHASES as u32));
            }
        }
        cells
    }

    fn low(&self) -> f64 {
        self.at.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn high(&self) -> f64 {
        self.at.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Counts the cells around `origin` + k `quantum`, and scores them.
    pub(super) fn cut(&self, quantum: f64, origin: f64, window: f64) -> Comb {
        let first = ((self.low() - origin) / quantum).round();
        // Half a cell below the first tooth: places are positive, and truncating is rounding down.
        let edge = origin + (first - 0.5) * quantum;
        let (scale, reach) = (1.0 / quantum, window / 2.0);
        // The part of a bin that is in the window, at most; of a value, all or nothing.
        let spread = (self.width * scale).max(1e-9);
        let most = (window / spread).min(1.0);
        let edge_in = if self.width > 0.0 { 0.5 } else { 1.5 };
        let even = CombCell { chance: window, ..CombCell::default() };
        let mut cells: Vec<CombCell> = Vec::new();
        for (at, calls) in self.each() {
            let place = ((at - edge) * scale).max(0.0);
            let number = place as usize;
            if cells.len() <= number {
                cells.resize(number + 1, even);
            }
            let off = (place - number as f64 - 0.5).abs();
            let inside = ((reach - off) / spread + edge_in).clamp(0.0, most);
            cells[number].calls += calls;
            cells[number].within += inside * calls;
        }
        let ends = [self.low(), self.high()].map(|at| (at - edge) * scale);
        for (number, cell) in cells.iter_mut().enumerate() {
            // Within the cell, from its beginning as 0 to its end as 1.
            let [from, to] = ends.map(|end| (end - number as f64).clamp(0.0, 1.0));
            let inside = (to.min(0.5 + reach) - from.max(0.5 - reach)).max(0.0);
            cell.chance = if to > from { (inside / (to - from)).max(window) } else { 1.0 };
        }
        let score = score(&cells);
        Comb { quantum, origin, window, score, cells, first: first as i64, tooth: self.tooth }
    }
}

/// A spacing at its best offset.
struct Fold {
    quantum: f64,
    origin: f64,
    window: f64,
    score: f64,
}

/// The evidence of `cells`: that without the largest one, unless what is left without the two
/// largest is too little.
fn score(cells: &[CombCell]) -> f64 {
    evidence(cells, 1).min(evidence(cells, 2) + SECOND)
}

/// −ln of the chance of so many calls in the windows of all cells but the `left_out` (at most two)
/// with most excess.
pub(super) fn evidence(cells: &[CombCell], left_out: usize) -> f64 {
    let mut largest = [usize::MAX; 2];
    for place in 0..cells.len() {
        let over = |other: usize| {
            cells.get(other).is_none_or(|other| cells[place].excess() > other.excess())
        };
        if over(largest[0]) {
            largest = [place, largest[0]];
        } else if over(largest[1]) {
            largest[1] = place;
        }
    }
    let rest = cells.iter().enumerate();
    let rest = rest.filter(|(place, _)| !largest[..left_out].contains(place));
    let (mut calls, mut within, mut expected) = (0.0, 0.0, 0.0);
    for (_, cell) in rest {
        calls += cell.calls;
        within += cell.within;
        expected += cell.chance * cell.calls;
    }
    -ln_tail(calls, expected / calls, within)
}

/// ln P(X ≥ `hits`) for a binomial X of `n` trials, right to a few percent; 0 where it is not a
/// tail. It is Chernoff's exponent with the factor of Bahadur and Rao ("On deviations of the sample
/// mean", 1960).
pub(super) fn ln_tail(n: f64, chance: f64, hits: f64) -> f64 {
    if n <= 0.0 || hits <= chance * n {
        return 0.0;
    }
    if hits >= n {
        return n * chance.ln();
    }
    let share = hits / n;
    let miss = 1.0 - share;
    let exponent = share * (share / chance).ln() + miss * (miss / (1.0 - chance)).ln();
    let ratio = chance * miss / (share * (1.0 - chance));
    let factor = (1.0 - ratio) * (std::f64::consts::TAU * n * share * miss).sqrt();
    (-n * exponent - factor.ln()).min(0.0)
}

/// Where the fullest window of `width` phases starts, and what is in it.
fn fullest(folded: &[f64; PHASES], width: usize) -> (usize, f64) {
    let mut sum: f64 = folded[..width].iter().sum();
    let mut best = (0, sum);
    for start in 1..PHASES {
        sum += folded[(start + width - 1) % PHASES] - folded[start - 1];
        if sum > best.1 {
            best = (start, sum);
        }
    }
    best
}

#[cfg(test)]
mod tests;
