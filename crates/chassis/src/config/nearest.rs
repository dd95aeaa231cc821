//! Finds the known name that an unknown name is most likely a misspelling of.
//!
//! Invariant: a guess differs by at most two edits, and by one for every two bytes of the name.
//! With more, any short word would be near. Of equally near names the first in alphabetical order
//! wins; without a near one it is `None`. Case counts.
//! Never here: what the names stand for, names that were renamed (`renamed`).

/// Returns the known name with the least distance, if that is at most two edits, and at most one
/// for every two bytes.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let best = known.iter().map(|k| (distance(name, k), *k)).min()?;
    (best.0 <= 2 && 2 * best.0 <= name.len()).then_some(best.1)
}

/// Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[right.len()]
}
