//! Keys that have been renamed: the old name is refused, and the error gives the new one.
//!
//! Invariant: an old name is never accepted in place of the new one.

/// Old names, each with the new one.
const RENAMED: [(&str, &str); 0] = [];

/// Returns the new name of a key, if it is among the `known` keys of the same table.
pub(super) fn new_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let renamed = RENAMED.iter().filter(|(old, _)| *old == name);
    let mut found = renamed.filter_map(|(_, new)| known.iter().find(|known| *known == new));
    found.next().copied()
}
