//! Parses path patterns and matches paths: `/1/items.{format:json}`, `/items/{id}`, `/{*rest}`.
//!
//! A pattern is a list of segments between slashes. A segment is literal text, then at most one
//! capture, then at most one format behind a dot. A path without the format counts as its first
//! allowed value. `{*rest}` ends a pattern, and matches even an empty rest. Invariant: paths are
//! matched byte for byte; `route` gives them with unreserved characters decoded. A value that is
//! not allowed is `Forbidden`, not `No`: the search of routes ends there (`route`). `covers` must
//! stay certain, because `plan::hidden` reports routes by it. A new form goes into `matches`,
//! `covers`, `folded`, and the doc of `path` in `config`. Never here: normalising a path and its
//! readings (`spelling`).

use smallvec::SmallVec;

/// Captured values, in the order of the pattern.
pub(crate) type Captures<'p> = SmallVec<[&'p str; 4]>;

/// A parsed pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    segments: Vec<PathSegment>,
    /// Whether it ends in `{*name}`, which matches the rest of a path, even an empty one.
    rest: bool,
    names: Vec<Box<str>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct PathSegment {
    prefix: Box<str>,
    capture: Option<Capture>,
    format: Option<Capture>,
}

#[derive(Debug, Clone, PartialEq)]
struct Capture {
    /// The allowed values; if there are none, any text is allowed.
    allowed: Vec<Box<str>>,
}

/// How a path compares with a pattern.
#[derive(Debug, PartialEq, Eq)]
pub enum Match<'p> {
    /// It matches.
    Yes(Captures<'p>),
    /// It would match, but a value is not allowed: 404, without trying other routes.
    Forbidden,
    /// It does not match.
    No,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// With a message when the pattern is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix('/') else {
            return Err(format!("the pattern `{text}` must begin with `/`"));
        };
        let mut pattern = Self { segments: Vec::new(), rest: false, names: Vec::new() };
        for part in path.split('/') {
            if pattern.rest {
                return Err(format!("nothing may follow `{{*…}}` in `{text}`"));
            }
            if let Some(name) = part.strip_prefix("{*").and_then(|p| p.strip_suffix('}')) {
                pattern.names.push(name.into());
                pattern.rest = true;
            } else {
                let segment = segment(part, &mut pattern.names)
                    .map_err(|reason| format!("the segment `{part}` of `{text}` {reason}"))?;
                pattern.segments.push(segment);
            }
        }
        Ok(pattern)
    }

    /// Returns the names of the captures, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Returns whether a path that matches may have a segment at this place, from 1.
    pub(crate) fn has_place(&self, place: usize) -> bool {
        self.rest || place <= self.segments.len()
    }

    /// Returns the segment at a place, counted from 1, if it is the same in all paths but for a
    /// format.
    pub(crate) fn literal_at(&self, place: usize) -> Option<&str> {
        let segment = place.checked_sub(1).and_then(|index| self.segments.get(index))?;
        segment.capture.is_none().then_some(&*segment.prefix)
    }

    /// Returns whether the segment at this place, from 1, is a value with a format behind it.
    pub(crate) fn has_format_at(&self, place: usize) -> bool {
        let segment = place.checked_sub(1).and_then(|index| self.segments.get(index));
        segment.is_some_and(|segment| segment.capture.is_some() && segment.format.is_some())
    }

    /// Returns whether a path must have two slashes in a row to match.
    pub fn has_empty_segment(&self) -> bool {
        let last = if self.rest { self.segments.len() } else { self.segments.len() - 1 };
        self.segments[..last].contains(&PathSegment::default())
    }

    /// Whether a path that it would match can have values that it does not allow.
    pub fn forbids_values(&self) -> bool {
        let captures = self.segments.iter().flat_map(|it| [&it.capture, &it.format]);
        captures.flatten().any(|capture| !capture.allowed.is_empty())
    }

    /// Whether a path may have a format other than JSON.
    pub fn allows_other_formats(&self) -> bool {
        let is_json = |format: &Capture| *format.allowed == ["json".into()];
        self.segments.iter().filter_map(|it| it.format.as_ref()).any(|format| !is_json(format))
    }

    /// Returns whether it certainly matches every path that `other` matches, or forbids it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let fits = match self.rest {
            true => self.segments.len() <= other.segments.len(),
            false => !other.rest && self.segments.len() == other.segments.len(),
        };
        fits && self.segments.iter().zip(&other.segments).all(|(one, other)| one.covers(other))
    }

    /// Returns the pattern in lower case: a path in lower case matches it where the path matches
    /// this one, whatever the case of either.
    pub(crate) fn folded(&self) -> Self {
        let folded = self.segments.iter().map(PathSegment::folded).collect();
        Self { segments: folded, ..self.clone() }
    }

    /// Compares a path with the pattern.
    pub fn matches<'p>(&'p self, path: &'p str) -> Match<'p> {
        let mut captures = Captures::new();
        let mut left = Some(path.strip_prefix('/').unwrap_or(path));
        let mut forbidden = false;
        for segment in &self.segments {
            let Some(rest) = left else { return Match::No };
            let (part, after) = match rest.split_once('/') {
                Some((part, after)) => (part, Some(after)),
                None => (rest, None),
            };
            match segment.matches(part, &mut captures) {
                Some(allowed) => forbidden |= !allowed,
                None => return Match::No,
            }
            left = after;
        }
        match (self.rest, left) {
            (true, rest) => captures.push(rest.unwrap_or("")),
            (false, None) => {}
            (false, Some(_)) => return Match::No,
        }
        if forbidden { Match::Forbidden } else { Match::Yes(captures) }
    }
}

impl PathSegment {
    /// Returns whether every part that `other` matches is certainly one that this matches or
    /// forbids.
    fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let Some(literal) = other.prefix.strip_prefix(self.prefix.as_ref()) else { return false };
        match (&self.capture, &self.format) {
            (Some(_), None) => !literal.is_empty() || other.capture.is_some(),
            // What is left of the ending must not be empty.
            (Some(_), Some(_)) => match literal.is_empty() {
                true => other.capture.is_some() && other.format.is_some(),
                false => !literal.starts_with('.'),
            },
            (None, Some(_)) => {
                let is_ending = literal.strip_prefix('.').is_some_and(|it| !it.contains('.'));
                other.capture.is_none()
                    && (literal.is_empty() || is_ending && other.format.is_none())
            }
            (None, None) => false,
        }
    }

    fn folded(&self) -> Self {
        Self {
            prefix: self.prefix.to_ascii_lowercase().into(),
            capture: self.capture.as_ref().map(Capture::folded),
            format: self.format.as_ref().map(Capture::folded),
        }
    }

    /// Returns whether all values are allowed; `None` if the segment does not match.
    fn matches<'p>(&'p self, part: &'p str, captures: &mut Captures<'p>) -> Option<bool> {
        let mut part = part.strip_prefix(self.prefix.as_ref())?;
        let mut ending = None;
        if self.format.is_some() {
            match part.rsplit_once('.') {
                Some((stem, format)) => (part, ending) = (stem, Some(format)),
                None => ending = None,
            }
        }
        let mut allowed = true;
        match &self.capture {
            Some(capture) => {
                if part.is_empty() {
                    return None;
                }
                allowed &= capture.allows(part);
                captures.push(part);
            }
            None if part.is_empty() => {}
            None => return None,
        }
        if let Some(format) = &self.format {
            let value = ending.unwrap_or_else(|| format.allowed.first().map_or("", AsRef::as_ref));
            allowed &= format.allows(value);
            captures.push(value);
        }
        Some(allowed)
    }
}

impl Capture {
    fn folded(&self) -> Self {
        let folded = self.allowed.iter().map(|value| value.to_ascii_lowercase().into());
        Self { allowed: folded.collect() }
    }

    fn allows(&self, value: &str) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|allowed| **allowed == *value)
    }
}

fn segment(part: &str, names: &mut Vec<Box<str>>) -> Result<PathSegment, &'static str> {
    let Some((prefix, rest)) = part.split_once('{') else {
        if part.contains('}') {
            return Err("closes a brace that it does not open");
        }
        return Ok(PathSegment { prefix: part.into(), ..PathSegment::default() });
    };
    let (inside, rest) = rest.split_once('}').ok_or("does not close its brace")?;
    // `name.{format}`: the only capture is a format, the text before it is literal.
    if let Some(stem) = prefix.strip_suffix('.') {
        if !rest.is_empty() {
            return Err("has text behind its format");
        }
        let format = Some(capture(inside, names)?);
        return Ok(PathSegment { prefix: stem.into(), capture: None, format });
    }
    let first = capture(inside, names)?;
    let format = match rest {
        "" => None,
        _ => {
            let inside = rest.strip_prefix(".{").and_then(|r| r.strip_suffix('}'));
            Some(capture(inside.ok_or("may continue with `.{format}` only")?, names)?)
        }
    };
    Ok(PathSegment { prefix: prefix.into(), capture: Some(first), format })
}

fn capture(inside: &str, names: &mut Vec<Box<str>>) -> Result<Capture, &'static str> {
    let (name, values) = inside.split_once(':').unwrap_or((inside, ""));
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err("needs a name of letters, digits and `_` in its braces");
    }
    names.push(name.into());
    let allowed = values.split('|').filter(|v| !v.is_empty()).map(Into::into).collect();
    Ok(Capture { allowed })
}

#[cfg(test)]
mod tests;
