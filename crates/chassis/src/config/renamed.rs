//! Keys that have another name now: the old one is refused, and the error names the new one.

/// Old names, each with the new one.
const RENAMED: [(&str, &str); 0] = [];

/// The new name of a key, when the table that it stands in knows that.
pub(super) fn new_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let renamed = RENAMED.iter().filter(|(old, _)| *old == name);
    let mut found = renamed.filter_map(|(_, new)| known.iter().find(|known| *known == new));
    found.next().copied()
}
