//! Claims about changes.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::write;
use crate::pane::Pane;
use crate::style::{Ink, Style};

fn written(before: &[(usize, Ink, &str)], after: &[(usize, Ink, &str)]) -> String {
    let [before, after] = [before, after].map(|texts| {
        let area = Rect::new(0, 0, 10, 2);
        let mut buffer = Buffer::empty(area);
        let style = Style { width: 10, colour: true, ascii: false };
        let mut pane = Pane::new(&mut buffer, area, style);
        for (column, ink, text) in texts {
            pane.text((1, *column), *ink, text);
        }
        buffer
    });
    let mut out = Vec::new();
    write(&mut out, &before, &after).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn only_what_has_changed_is_written() {
    let before = [(0, Ink::Plain, "status 200")];
    assert_eq!(written(&before, &before), "\u{1b}[0m");
    let after = written(&before, &[(0, Ink::Plain, "status 503")]);
    assert_eq!(after, "\u{1b}[2;8H5\u{1b}[2;10H3\u{1b}[0m");
    let wide = written(&[], &[(0, Ink::Plain, "漢字a")]);
    assert_eq!(wide, "\u{1b}[2;1H漢\u{1b}[2;3H字\u{1b}[2;5Ha\u{1b}[0m");
}

#[test]
fn each_ink_has_its_look_and_the_end_is_plain() {
    let inks = [Ink::Bold, Ink::Faint, Ink::Alarm, Ink::Plain];
    let texts: Vec<_> = (0..).zip(inks).map(|(column, ink)| (column, ink, "x")).collect();
    let text = written(&[], &texts);
    let wanted = concat!(
        "\u{1b}[2;1H\u{1b}[0m\u{1b}[1mx\u{1b}[0m\u{1b}[2mx",
        "\u{1b}[0m\u{1b}[38;5;1mx\u{1b}[0mx\u{1b}[0m"
    );
    assert_eq!(text, wanted);
}
