//! Weaves many mutants into one source, so that one build serves them all.
//!
//! Each stands beside the code that it replaces, behind the question whether it is the one that
//! runs: `(if crate::woven(7) { a >= b } else { a > b })`. They are known as mutant schemata
//! (Untch, Offutt and Harrold 1993). A mutant without such a form gets a build to itself, such as
//! a field left out. So does one that does not compile beside the others.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result, anyhow};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::mutant::{Genre, Mutant};

/// The function that a woven source asks, added to the root of the crate.
///
/// It returns whether the mutant of this number runs. `TIDEGATE_MUTANT` names the one that does;
/// the numbers asked for are written to the file named by `TIDEGATE_MUTANTS_REACHED`.
pub(super) const QUESTION: &str = r#"
#[doc(hidden)]
pub(crate) fn woven(number: usize) -> bool {
    use std::io::Write as _;
    use std::sync::atomic::{AtomicBool, Ordering};
    static CHOSEN: std::sync::OnceLock<(usize, Option<std::fs::File>)> = std::sync::OnceLock::new();
    static ASKED: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];
    let (chosen, reached) = CHOSEN.get_or_init(|| {
        let chosen = std::env::var("TIDEGATE_MUTANT").ok().and_then(|text| text.parse().ok());
        let reached = std::env::var_os("TIDEGATE_MUTANTS_REACHED")
            .and_then(|path| std::fs::File::options().append(true).open(path).ok());
        (chosen.unwrap_or(usize::MAX), reached)
    });
    if let Some(mut file) = reached.as_ref()
        && !ASKED[number].swap(true, Ordering::Relaxed)
    {
        file.write_all(format!("{number}\n").as_bytes()).ok();
    }
    *chosen == number
}
"#;
/// Numbers that the question has room for.
pub(super) const NUMBERS_MAX: usize = 8192;
/// How deep mutants may stand within operands of others: each doubles the operands.
const DEPTH_MAX: usize = 2;

/// A source with mutants in it.
#[derive(Debug)]
pub(super) struct Woven {
    pub(super) text: String,
    /// The numbers of those that have no such form.
    pub(super) left: Vec<usize>,
}

/// A piece of text to write.
#[derive(Debug)]
enum Piece {
    Text(String),
    /// What stands there, with the mutants in it.
    Source(Range<usize>),
}

/// Something to write in the place of a range; of no length where something is put in.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    pieces: Vec<Piece>,
    /// The mutants in it, not those within their operands.
    numbers: Vec<usize>,
}

/// Weaves mutants of one file, each with its number, into its source.
///
/// # Errors
/// When the source is not Rust.
pub(super) fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> Result<Woven> {
    let file = syn::parse_file(source).map_err(|error| anyhow!("{error}"))?;
    let mut wanted: BTreeMap<(usize, Genre), Vec<(usize, &Mutant)>> = BTreeMap::new();
    for &(number, mutant) in mutants {
        let start = mutant.range(source).context("a place outside its file")?.start;
        wanted.entry((start, mutant.genre)).or_default().push((number, mutant));
    }
    let mut weaver = Weaver { wanted, edits: Vec::new() };
    weaver.function_values();
    weaver.visit_file(&file);
    let Weaver { wanted, mut edits, .. } = weaver;
    let mut left: Vec<usize> = wanted.values().flatten().map(|(number, _)| *number).collect();
    let ranges: Vec<Range<usize>> = edits.iter().map(|edit| edit.range.clone()).collect();
    edits.retain(|edit| {
        let (start, end) = (edit.range.start, edit.range.end);
        let around = ranges.iter().filter(|around| around.start <= start && end <= around.end);
        let flat = edit.range.is_empty() || around.count() <= DEPTH_MAX;
        left.extend(edit.numbers.iter().filter(|_| !flat));
        flat
    });
    // Of two that begin at one place, what is put in comes first, then the longer.
    edits.sort_by_key(|edit| {
        (edit.range.start, !edit.range.is_empty(), usize::MAX - edit.range.end)
    });
    let mut text = String::new();
    write(source, 0..source.len(), &edits, 0, &mut text);
    Ok(Woven { text, left })
}

/// Returns the number of the last mutant before a byte of a woven text.
pub(super) fn number_before(text: &str, byte: usize) -> Option<usize> {
    const ASKED: &str = "crate::woven(";
    let before = text.get(..byte)?;
    let digits = text.get(before.rfind(ASKED)? + ASKED.len()..)?;
    digits.split(')').next()?.parse().ok()
}

struct Weaver<'a> {
    /// By the place where each begins; what is woven is taken out.
    wanted: BTreeMap<(usize, Genre), Vec<(usize, &'a Mutant)>>,
    edits: Vec<Edit>,
}

impl<'a> Weaver<'a> {
    /// A function that returns another value does so at its start.
    fn function_values(&mut self) {
        let starts: Vec<usize> = self
            .wanted
            .keys()
            .filter(|(_, genre)| *genre == Genre::Value)
            .map(|key| key.0)
            .collect();
        for start in starts {
            for (number, mutant) in self.take(start, Genre::Value) {
                let value = &mutant.replacement;
                let text = format!("if crate::woven({number}) {{ return {value}; }} ");
                self.put(start, text);
            }
        }
    }

    fn take(&mut self, start: usize, genre: Genre) -> Vec<(usize, &'a Mutant)> {
        self.wanted.remove(&(start, genre)).unwrap_or_default()
    }

    fn put(&mut self, at: usize, text: String) {
        self.edits.push(Edit { range: at..at, pieces: vec![Piece::Text(text)], numbers: vec![] });
    }

    /// Writes a choice in the place of a range: each of `others`, or what stands there.
    fn choose(&mut self, range: Range<usize>, others: Vec<(usize, Vec<Piece>)>) {
        if others.is_empty() {
            return;
        }
        let numbers = others.iter().map(|(number, _)| *number).collect();
        let mut pieces = vec![Piece::Text("(".to_owned())];
        for (number, other) in others {
            pieces.push(Piece::Text(format!("if crate::woven({number}) {{ ")));
            pieces.extend(other);
            pieces.push(Piece::Text(" } else ".to_owned()));
        }
        pieces.push(Piece::Text("{ ".to_owned()));
        pieces.push(Piece::Source(range.clone()));
        pieces.push(Piece::Text(" })".to_owned()));
        self.edits.push(Edit { range, pieces, numbers });
    }
}

impl<'ast> Visit<'ast> for Weaver<'_> {
    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        let whole = expression.span().byte_range();
        let operator = expression.op.span().byte_range();
        let others =
            self.take(operator.start, Genre::Operator).into_iter().map(|(number, mutant)| {
                let left = Piece::Source(whole.start..operator.start);
                let right = Piece::Source(operator.end..whole.end);
                (number, vec![left, Piece::Text(mutant.replacement.clone()), right])
            });
        let others = others.collect();
        self.choose(whole, others);
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let whole = expression.span().byte_range();
        let operand = expression.expr.span().byte_range();
        let others = self.take(whole.start, Genre::Unary);
        let others = others.into_iter().map(|(number, mutant)| {
            let operator = Piece::Text(mutant.replacement.clone());
            (number, vec![operator, Piece::Source(operand.clone())])
        });
        let others = others.collect();
        self.choose(whole, others);
        visit::visit_expr_unary(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let guard = match &arm.pat {
            syn::Pat::Guard(pattern) => Some(pattern.guard.span().byte_range()),
            _ => None,
        };
        if let Some(guard) = guard.clone() {
            let others = self.take(guard.start, Genre::Guard).into_iter();
            let others = others
                .map(|(number, mutant)| (number, vec![Piece::Text(mutant.replacement.clone())]));
            let others = others.collect();
            self.choose(guard, others);
        }
        let numbers = self.take(arm.span().byte_range().start, Genre::Arm).into_iter();
        for number in numbers.map(|(number, _)| number).collect::<Vec<_>>() {
            let unless = format!("!crate::woven({number})");
            if let Some(guard) = guard.clone() {
                self.put(guard.start, format!("{unless} && ("));
                self.put(guard.end, ")".to_owned());
            } else {
                let arrow = arm.fat_arrow_token.span().byte_range().start;
                self.put(arrow, format!("if {unless} "));
            }
        }
        visit::visit_arm(self, arm);
    }
}

/// Writes a range of the source with the edits from `next` on that lie in it.
fn write(source: &str, range: Range<usize>, edits: &[Edit], next: usize, text: &mut String) {
    let mut at = range.start;
    for (index, edit) in edits.iter().enumerate().skip(next) {
        // What begins before was written with an edit around it.
        if edit.range.start < at || edit.range.end > range.end {
            continue;
        }
        if edit.range.start >= range.end {
            break;
        }
        text.push_str(&source[at..edit.range.start]);
        for piece in &edit.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Source(within) => write(source, within.clone(), edits, index + 1, text),
            }
        }
        at = edit.range.end;
    }
    text.push_str(&source[at..range.end]);
}

#[cfg(test)]
mod tests;
