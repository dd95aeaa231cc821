//! Takes out of a column what level or straight pieces explain, so that its noise is left.
//!
//! Pieces are laid greedily: each cut is where two levels or lines lower the squares most. How many
//! are kept is judged by how far what they leave is correlated in time, because noise that wanders
//! looks like pieces. So a piece must explain several times what such noise does.
//! Invariant: a piece has at least [`PIECE_MIN`] bins, and there are at most [`PIECES_MAX`].

/// Bins of a piece at least.
pub(super) const PIECE_MIN: usize = 5;
const PIECES_MAX: usize = 8;
/// What each number more must explain: so many times the noise, for each e-folding of the bins.
const GAIN: f64 = 2.5;

/// What is left of a column, and how it is correlated.
pub(super) struct Remainder {
    /// The column without its pieces.
    pub values: Vec<f64>,
    /// How many numbers describe the pieces.
    pub parameters: f64,
}

/// Sums that give the squares beside a line through any bins.
struct Sums {
    /// Of 1 to x² (not stored), y, x·y and y², up to each bin.
    y: Vec<f64>,
    xy: Vec<f64>,
    yy: Vec<f64>,
}

impl Sums {
    fn new(column: &[f64]) -> Self {
        let mut sums = Self { y: vec![0.0], xy: vec![0.0], yy: vec![0.0] };
        let [mut y, mut xy, mut yy] = [0.0; 3];
        for (at, value) in column.iter().enumerate() {
            y += value;
            xy += at as f64 * value;
            yy += value * value;
            sums.y.push(y);
            sums.xy.push(xy);
            sums.yy.push(yy);
        }
        sums
    }

    /// Level in the middle, slope, and squares beside the line through bins `from..to`.
    fn line(&self, from: usize, to: usize) -> (f64, f64, f64) {
        let n = (to - from) as f64;
        let middle = (from + to - 1) as f64 / 2.0;
        let y = self.y[to] - self.y[from];
        let xy = self.xy[to] - self.xy[from] - middle * y;
        let yy = self.yy[to] - self.yy[from];
        let xx = n * (n * n - 1.0) / 12.0;
        let slope = if xx > 0.0 { xy / xx } else { 0.0 };
        (y / n, slope, (yy - y * y / n - slope * xy).max(0.0))
    }

    /// The cut of bins `from..to` that lowers the squares most, and by how much.
    fn best_cut(&self, from: usize, to: usize, is_level: bool) -> Option<(usize, f64)> {
        let squares = |from: usize, to: usize| {
            let (_, slope, squares) = self.line(from, to);
            let n = (to - from) as f64;
            let sloping = slope * slope * n * (n * n - 1.0) / 12.0;
            if is_level { squares + sloping } else { squares }
        };
        let whole = squares(from, to);
        let cuts = from + PIECE_MIN..(to + 1).saturating_sub(PIECE_MIN);
        cuts.map(|cut| (cut, whole - squares(from, cut) - squares(cut, to)))
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Returns what pieces leave of a column, level ones or straight ones.
pub(super) fn remainder(column: &[f64]) -> Remainder {
    let sums = Sums::new(column);
    let bins = column.len() as f64;
    let mut kept = left(column, &sums, &Pieces { edges: vec![0, column.len()], is_level: true });
    for tried in candidates(column.len(), &sums) {
        let tried = left(column, &sums, &tried);
        let squares_left = squares(&tried.values);
        let noise = correlation(&tried).time * squares_left / (bins - tried.parameters).max(1.0);
        let more = (tried.parameters - kept.parameters).max(0.0);
        if squares(&kept.values) - squares_left > GAIN * bins.ln() * more * noise {
            kept = tried;
        }
    }
    kept
}

/// Bins in pieces, each of which is a level or a line.
struct Pieces {
    edges: Vec<usize>,
    is_level: bool,
}

impl Pieces {
    /// How many numbers describe them: a place for each cut, and levels and slopes.
    fn parameters(&self) -> usize {
        let pieces = self.edges.len() - 1;
        pieces - 1 + if self.is_level { pieces } else { 2 * pieces }
    }
}

/// Pieces laid greedily, those of the fewest numbers first.
fn candidates(bins: usize, sums: &Sums) -> Vec<Pieces> {
    let mut all = vec![Pieces { edges: vec![0, bins], is_level: false }];
    for is_level in [true, false] {
        let mut edges = vec![0, bins];
        for _ in 1..PIECES_MAX {
            let cuts = edges.windows(2).filter_map(|at| sums.best_cut(at[0], at[1], is_level));
            let Some((cut, _)) = cuts.max_by(|one, other| one.1.total_cmp(&other.1)) else { break };
            edges.push(cut);
            edges.sort_unstable();
            all.push(Pieces { edges: edges.clone(), is_level });
        }
    }
    all.sort_by_key(Pieces::parameters);
    all
}

fn left(column: &[f64], sums: &Sums, pieces: &Pieces) -> Remainder {
    let mut values = Vec::with_capacity(column.len());
    for piece in pieces.edges.windows(2) {
        let (level, slope, _) = sums.line(piece[0], piece[1]);
        let slope = if pieces.is_level { 0.0 } else { slope };
        let middle = (piece[0] + piece[1] - 1) as f64 / 2.0;
        values.extend(
            (piece[0]..piece[1]).map(|at| column[at] - level - slope * (at as f64 - middle)),
        );
    }
    Remainder { values, parameters: pieces.parameters() as f64 }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// How noise is correlated in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Correlation {
    /// Bins that count as one.
    pub time: f64,
    /// The length of blocks that shows it.
    pub block: usize,
}

/// The part of the correlation that a block must show.
const SHOWN: f64 = 0.8;
/// Batches of which a variance can be known.
const BATCHES_MIN: f64 = 6.0;

/// Returns how many bins count as one. Sums over batches of 1, 2, 4 and so on bins vary more than
/// those of independent bins, and the most of that is it. What the pieces took out is allowed for.
pub(super) fn correlation(noise: &Remainder) -> Correlation {
    let bins = noise.values.len() as f64;
    let each = squares(&noise.values) / (bins - noise.parameters).max(1.0);
    let mut looks = vec![Correlation { time: 1.0, block: 1 }];
    let mut block = 2;
    while bins / block as f64 - noise.parameters >= BATCHES_MIN && each > 0.0 {
        let time = batched(&noise.values, block) / (bins / block as f64 - noise.parameters) / each;
        looks.push(Correlation { time, block });
        block *= 2;
    }
    let time = looks.iter().map(|look| look.time).fold(1.0, f64::max);
    // The shortest block that shows most of it: more blocks have more orders.
    let shows = looks.iter().find(|look| look.time >= SHOWN * time);
    Correlation { time, block: shows.map_or(1, |look| look.block) }
}

/// The squares of the sums over batches of `block` bins, each divided by its length.
pub(super) fn batched(values: &[f64], block: usize) -> f64 {
    let batches = values.chunks(block);
    batches.map(|batch| batch.iter().sum::<f64>().powi(2) / batch.len() as f64).sum()
}
