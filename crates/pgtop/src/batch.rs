//! Writes one frame for scripts and logs: as text, or as one JSON document.
//!
//! Text is what the screen would show, without its keys. JSON has the header's figures, the view's
//! rows by the columns' titles, and what could not be seen.
//! Invariant: JSON is one line, and its names stay.

use screen::{Ink, Style};
use serde_json::{Value, json};

use crate::header::HeaderFigures;
use crate::listing::ViewList;
use crate::view::{PgView, ViewedFrames};

/// A frame of a server, to be written.
#[derive(Debug, Clone, Copy)]
pub struct BatchFrame<'f> {
    /// The server's name.
    pub host: &'f str,
    /// The time of day.
    pub time_of_day: &'f str,
    /// The frames.
    pub frames: ViewedFrames<'f>,
    /// The view.
    pub view: PgView,
    /// Its list.
    pub listing: &'f ViewList,
}

impl BatchFrame<'_> {
    /// Returns it as text.
    pub fn text(&self, style: &Style, has_header: bool) -> String {
        let mut out = String::new();
        let ViewedFrames { frame, before, slow_threshold_s } = self.frames;
        if has_header {
            let figures = HeaderFigures::of(frame, before, slow_threshold_s);
            for line in figures.lines(frame, self.host, self.time_of_day) {
                out += &screen::cut(&line, style.columns(), style);
                out.push('\n');
            }
            for missing in &frame.missing {
                for line in screen::wrapped(&format!(" {missing}"), 1, style) {
                    out += &style.paint(Ink::Second, &line);
                    out.push('\n');
                }
            }
            out.push('\n');
        }
        out + &self.listing.table(style)
    }

    /// Returns it as one line of JSON.
    pub fn json(&self) -> String {
        let ViewedFrames { frame, before, slow_threshold_s } = self.frames;
        let figures = HeaderFigures::of(frame, before, slow_threshold_s);
        let document: Value = json!({
            "host": self.host,
            "time_us": frame.time_us,
            "server": frame.server,
            "header": figures,
            "view": self.view.name(),
            "rows": self.listing.json(),
            "missing": frame.missing,
        });
        let mut out = String::new();
        for character in document.to_string().chars() {
            // What turns the direction of what follows is written as JSON can.
            if screen::clean(character.encode_utf8(&mut [0; 4])) == "?" && character != '?' {
                out += &format!("\\u{:04x}", u32::from(character));
            } else {
                out.push(character);
            }
        }
        out + "\n"
    }
}
