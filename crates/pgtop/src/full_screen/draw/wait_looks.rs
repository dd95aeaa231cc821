//! Says by which letter and colour a label of the chart of waits is known.
//!
//! Invariant: a class has the same letter and colour in every chart, whatever else is in it. What
//! is below a class has the letters of its place in the legend.

use screen::Ink;

use crate::history::{CLASSES, WaitLevel, class_place};

/// Of `CLASSES`, in their order. A class that is newer than these is `?`.
const CLASS_LOOKS: [(char, Ink); CLASSES.len()] = [
    ('C', Ink::Fine),
    ('I', Ink::Third),
    ('L', Ink::Alarm),
    ('W', Ink::Second),
    ('P', Ink::Fourth),
    ('K', Ink::First),
    ('T', Ink::Bold),
    ('B', Ink::Slow),
    ('E', Ink::Plain),
    ('A', Ink::Faint),
    ('J', Ink::Plain),
];
const PLACE_INKS: [Ink; 7] =
    [Ink::Fine, Ink::First, Ink::Second, Ink::Third, Ink::Fourth, Ink::Alarm, Ink::Plain];

/// Returns the letter and colour of a label, which has a place in its chart.
pub(super) fn look(level: WaitLevel, label: &str, place: usize) -> (char, Ink) {
    match level {
        WaitLevel::Class => class_place(label).map_or(('?', Ink::Plain), |at| CLASS_LOOKS[at]),
        _ => (char::from(b'a' + (place % 26) as u8), PLACE_INKS[place % PLACE_INKS.len()]),
    }
}
