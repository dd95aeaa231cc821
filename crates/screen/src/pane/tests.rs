//! Claims about panes.

use super::drawn;
use crate::style::{Ink, Style};

const NARROW: Style = Style { width: 10, colour: true, ascii: false };

#[test]
fn what_lies_outside_is_not_drawn_and_what_is_too_long_is_cut() {
    let text = drawn(NARROW, 2, |pane| {
        pane.line(0, &[(Ink::Bold, "abc "), (Ink::Alarm, "0123456789")]);
        pane.text((1, 10), Ink::Plain, "x");
        pane.text((7, 0), Ink::Plain, "x");
        pane.select(9);
        assert_eq!(pane.part(5, 5).rows(), 0);
    });
    assert_eq!(text, "abc 01234…\n\n");
}

#[test]
fn hostile_text_is_shown_as_question_marks() {
    let text = drawn(NARROW, 1, |pane| {
        pane.text((0, 0), Ink::Plain, "a\u{1b}[2J\u{202e}b");
    });
    assert_eq!(text, "a?[2J?b\n");
    let wide = drawn(NARROW, 1, |pane| {
        pane.text((0, 0), Ink::Plain, "漢字漢字漢字");
    });
    assert_eq!(wide, "漢字漢字…\n");
    let ascii = Style { ascii: true, ..NARROW };
    let text = drawn(ascii, 1, |pane| {
        pane.text((0, 0), Ink::Plain, "é…µ");
    });
    assert_eq!(text, "?~u\n");
}
