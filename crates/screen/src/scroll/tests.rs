//! Claims about places in lists.

use super::Scroll;
use crate::terminal::Key;

#[test]
fn the_window_holds_the_selected_row_whatever_the_screen_is() {
    let mut scroll = Scroll::default();
    for key in [Key::End, Key::PageUp, Key::Up, Key::Down, Key::Home, Key::PageDown, Key::Left] {
        scroll.key(key, 100, 10);
        for (count, rows) in [(100, 10), (100, 1), (3, 10), (50, 49)] {
            let window = scroll.window(count, rows);
            assert!(window.contains(&scroll.selected(count).unwrap()), "{scroll:?} {window:?}");
            assert_eq!(window.len(), count.min(rows));
        }
    }
    assert_eq!((scroll.window(0, 10), scroll.window(9, 0).len()), (0..0, 0));
    assert_eq!(scroll.selected(0), None);
}

#[test]
fn following_keeps_to_the_end_until_a_key_moves() {
    let mut scroll = Scroll { follows: true, ..Scroll::default() };
    assert_eq!(scroll.window(30, 10), 20..30);
    assert!(scroll.key(Key::Up, 30, 10) && !scroll.follows);
    assert_eq!((scroll.selected(40), scroll.window(40, 10)), (Some(28), 20..30));
    scroll.shift(5);
    assert_eq!((scroll.selected(35), scroll.window(35, 10)), (Some(23), 15..25));
}
