//! Puts secrets into a configuration that names them: `${credential:NAME}` in any of its strings.
//!
//! A secret is a file of `$CREDENTIALS_DIRECTORY`, which systemd fills by `LoadCredential=`. Where
//! that loads a folder as `tidegate`, the file `NAME` of it arrives as `tidegate_NAME`: both names
//! are looked for. The line feed that ends the file does not belong to the secret.
//! Invariant: what is shown of a configuration (`config print`, `config explain`) is the text
//! before this, so a secret is not in it. Lines stay where they are. All that is missing is
//! reported at once, each with its line and key. A text that is no TOML is left to its reader.
//! Never here: what a key means, and the variable itself (`environment.rs`).

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use chassis::config::Problem;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::environment;

/// How a secret is named.
const OPENING: &str = "${credential:";
/// Before the names of the files of a folder that is loaded whole.
const OF_DIR: &str = "tidegate_";

/// Returns the text with the secrets in their places, and a problem for each that cannot be had.
pub(crate) fn put_into(text: &str) -> (Cow<'_, str>, Vec<Problem>) {
    if !text.contains(OPENING) {
        return (Cow::Borrowed(text), Vec::new());
    }
    put_from(environment::credentials_dir().as_deref(), text)
}

fn put_from<'t>(dir: Option<&Path>, text: &'t str) -> (Cow<'t, str>, Vec<Problem>) {
    let Ok(root) = DeTable::parse(text) else { return (Cow::Borrowed(text), Vec::new()) };
    let mut search = SecretSearch { dir, text, found: Vec::new(), problems: Vec::new() };
    for (name, value) in root.get_ref() {
        search.look_at(name.get_ref(), value);
    }
    search.problems.sort_by_key(|problem| problem.line);
    search.found.sort_by_key(|(place, _)| place.start);
    let mut filled = text.to_owned();
    for (place, value) in search.found.into_iter().rev() {
        filled.replace_range(place, &value);
    }
    (Cow::Owned(filled), search.problems)
}

/// The strings with secrets, on the way through a document.
struct SecretSearch<'t> {
    dir: Option<&'t Path>,
    text: &'t str,
    /// Where each stands, and what stands there instead.
    found: Vec<(Range<usize>, String)>,
    problems: Vec<Problem>,
}

impl SecretSearch<'_> {
    fn look_at(&mut self, key: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => {
                for (name, value) in table {
                    self.look_at(&format!("{key}.{}", name.get_ref()), value);
                }
            }
            DeValue::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.look_at(&format!("{key}[{at}]"), value);
                }
            }
            DeValue::String(string) if string.contains(OPENING) => {
                let place = value.span();
                match self.filled(string, &place) {
                    Ok(filled) => self.found.push((place, filled)),
                    Err(message) => {
                        let line = self.text[..place.start].matches('\n').count() + 1;
                        self.problems.push(Problem { line, key: key.to_owned(), message });
                    }
                }
            }
            _ => {}
        }
    }

    /// The string with its secrets, as TOML has it.
    fn filled(&self, string: &str, place: &Range<usize>) -> Result<String, String> {
        if self.text[place.clone()].contains('\n') {
            return Err("write a string with a credential on one line".to_owned());
        }
        let mut filled = String::new();
        let mut rest = string;
        while let Some((before, after)) = rest.split_once(OPENING) {
            let (name, behind) = after.split_once('}').ok_or("`${credential:` wants its `}`")?;
            filled += before;
            filled += &self.secret(name)?;
            rest = behind;
        }
        filled += rest;
        // What JSON escapes, TOML reads alike; only `secret` might bring what neither does.
        Ok(serde_json::Value::String(filled).to_string())
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_part) {
            return Err(format!("`{name}` is no name of a credential; write letters and digits"));
        }
        let Some(dir) = self.dir else {
            return Err(format!(
                "there is no credential `{name}`: `CREDENTIALS_DIRECTORY` names the folder with \
                 this file, and is not set (systemd sets it by `LoadCredential=`)"
            ));
        };
        let file = [dir.join(name), dir.join(format!("{OF_DIR}{name}"))];
        let file = file.iter().find(|file| file.exists()).unwrap_or(&file[0]);
        let cannot = |error| format!("read the credential `{}`: {error}", file.display());
        let secret = std::fs::read_to_string(file).map_err(|error| cannot(error.to_string()))?;
        let secret = secret.strip_suffix('\n').unwrap_or(&secret);
        if secret.is_empty() || secret.contains(char::is_control) {
            return Err(cannot("it is not one line of text".to_owned()));
        }
        Ok(secret.to_owned())
    }
}

#[cfg(test)]
mod tests;
