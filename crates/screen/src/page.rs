//! Makes HTML pages of reports: nothing is loaded from elsewhere, and no script runs.
//!
//! Light and dark follow the reader's system, and a phone shows it without zooming. Classes have
//! their rules in `page.css`; drawings come from `svg.rs`.
//! Invariant: text of titles, heads and cells is escaped. Whatever is handed over as markup, such
//! as drawings and bodies, its maker has escaped (`svg::escaped`).

use crate::svg::escaped;

/// The style sheet, inlined.
const STYLE: &str = include_str!("page.css");

/// Returns a whole page around a body of markup.
pub fn whole(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n</body>\n</html>\n"
    )
}

/// Returns a section of a drawing with what stands below it.
pub fn figure(title: &str, drawing: &str, below: &str) -> String {
    let title = escaped(title);
    format!(
        "<section>\n<h2>{title}</h2>\n<figure>\n<div class=\"scroll\">\n{drawing}</div>\n\
         </figure>\n{below}\n</section>\n"
    )
}

/// Returns a table that is there for who wants figures, or cannot see the drawing.
pub fn folded(table: &str) -> String {
    format!("<details><summary>As a table</summary>\n{table}</details>")
}

/// Returns a table; a row may ask for attention.
pub fn table(heads: &[&str], rows: impl Iterator<Item = (Vec<String>, bool)>) -> String {
    let heads = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escaped(head)));
    let mut out = format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n",
        heads.collect::<String>()
    );
    for (row, is_alarming) in rows {
        let class = if is_alarming { " class=\"alarm\"" } else { "" };
        let cells = row.iter().map(|cell| format!("<td>{}</td>", escaped(cell)));
        out += &format!("<tr{class}>{}</tr>\n", cells.collect::<String>());
    }
    out + "</table></div>\n"
}
