//! Finds patterns of other frameworks in a path, which would match nothing but their own text.
//!
//! Invariant: what is refused has a way out that means the same, and the error names it. Captures
//! of Flask (`<n>`), Express (`:n`), Go (`{n...}`), Starlette (`{n:int}`) and regular expressions
//! (`{n:[0-9]+}`) are known, and `*` for any text. Never here: patterns of this program
//! (`pattern`).

/// Names of types that others write behind the name of a capture.
const TYPES: [&str; 9] =
    ["any", "default", "float", "int", "path", "slug", "str", "string", "uuid"];

/// Returns the reason if a segment of a path is a pattern of another framework.
pub(super) fn reason(path: &str) -> Option<String> {
    let means = path.split('/').find_map(|segment| Some((segment, meant(segment)?)));
    means.map(|(segment, meant)| {
        format!("`{segment}` is the pattern of another program; write `{meant}`")
    })
}

/// Returns what a segment means here, if it is a pattern of another framework.
fn meant(segment: &str) -> Option<String> {
    if segment.starts_with('*') {
        return Some("{*rest}".to_owned());
    }
    if let Some(name) = segment.strip_prefix(':').filter(|name| !name.is_empty()) {
        return Some(format!("{{{}}}", letters(name)));
    }
    if let Some((before, rest)) = segment.split_once('<') {
        let inside = rest.split('>').next().unwrap_or(rest);
        let (kind, name) = inside.split_once(':').unwrap_or(("", inside));
        return Some(capture(before, kind, name));
    }
    let (before, rest) = segment.split_once('{')?;
    let inside = rest.split('}').next().unwrap_or(rest);
    if let Some(name) = inside.strip_suffix("...") {
        return Some(format!("{{*{}}}", letters(name)));
    }
    let (name, kind) = inside.split_once(':')?;
    let is_expression = kind.contains(['[', '\\', '^', '*', '$']);
    (is_expression || TYPES.contains(&kind)).then(|| capture(before, kind, name))
}

/// Returns a capture that takes the text of this type.
fn capture(before: &str, kind: &str, name: &str) -> String {
    let name = letters(name);
    match kind {
        "path" | ".*" if before.is_empty() => format!("{{*{name}}}"),
        _ => format!("{before}{{{name}}}"),
    }
}

/// Returns the beginning of a text that may be the name of a capture.
fn letters(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let name = &text[..end.unwrap_or(text.len())];
    if name.is_empty() { "name" } else { name }
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn patterns_of_other_programs_are_told_with_ours() {
        for (path, meant) in [
            ("/item/<n>", "{n}"),
            ("/item/<int:n>/x", "{n}"),
            ("/files/<path:rest>", "{*rest}"),
            ("/item/:n", "{n}"),
            ("/item/:n.json", "{n}"),
            ("/item/{n:int}", "{n}"),
            ("/files/{file:path}", "{*file}"),
            ("/item/{n:[0-9]+}", "{n}"),
            ("/item/n-{n:\\d+}", "n-{n}"),
            ("/{rest:.*}", "{*rest}"),
            ("/{rest...}", "{*rest}"),
            ("/static/*", "{*rest}"),
            ("/static/**", "{*rest}"),
        ] {
            let said = reason(path).unwrap_or_default();
            assert!(said.ends_with(&format!("write `{meant}`")), "{path}: {said}");
        }
    }

    #[test]
    fn patterns_of_ours_and_plain_paths_are_none_of_others() {
        for path in [
            "/",
            "/{*rest}",
            "/item/{n}",
            "/1/list.{format:json}",
            "/{kind:int|path}",
            "/v1/{model}:predict",
            "/a:b/c@d/",
            "/{lang:de|en}/x",
        ] {
            assert_eq!(reason(path), None, "{path}");
        }
    }
}
