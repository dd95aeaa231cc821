//! Parses queries by recursive descent, and checks tags, numbers and patterns.
//!
//! Tags are whole names, in any case, or globs with `*` at an end; those of 2.1 and 3.0 mean what
//! took their place. A name that is no tag is an error that names a similar one.
//! Invariant: one problem ends parsing, with its line and column.
//! Never here: evaluation (`condition.rs`).

use regex::bytes::{Regex, RegexBuilder};

use super::condition::{
    BYTES_MAX, Bound, Condition, QueryError, QueryOptions, QueryRelation, Test, Wanted,
};
use super::lexer::{QueryToken, Wrong, split};
use crate::tag::{Tag, TagSet};

const DEPTH_MAX: usize = 64;
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Parses a whole text.
pub(super) fn parse(text: &str, options: QueryOptions) -> Result<Condition, QueryError> {
    let located = |(offset, message): Wrong| {
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        QueryError::Unread { line, column, message }
    };
    if text.len() > BYTES_MAX {
        return Err(located((0, format!("the query is longer than {BYTES_MAX} bytes"))));
    }
    let tokens = split(text).map_err(located)?;
    let mut parser = Parser { text, tokens, at: 0, depth: 0, options };
    parser.whole().map_err(located)
}

type ParsedQuery<T> = Result<T, Wrong>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, QueryToken<'a>)>,
    at: usize,
    depth: usize,
    options: QueryOptions,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> ParsedQuery<Condition> {
        let mut queries = Vec::new();
        loop {
            while self.take(&QueryToken::Newline) {}
            if self.peek() == &QueryToken::End {
                break;
            }
            queries.push(self.either()?);
            if !matches!(self.peek(), QueryToken::Newline | QueryToken::End) {
                return Err(self.unexpected("`and`, `or` or the end"));
            }
        }
        if queries.is_empty() {
            return Err((0, "the query is empty; write one such as RespStatus >= 500".to_owned()));
        }
        Ok(single_or(queries, Condition::Either))
    }

    fn either(&mut self) -> ParsedQuery<Condition> {
        let mut conditions = vec![self.both()?];
        while self.take(&QueryToken::Word("or")) {
            conditions.push(self.both()?);
        }
        Ok(single_or(conditions, Condition::Either))
    }

    fn both(&mut self) -> ParsedQuery<Condition> {
        let mut conditions = vec![self.one()?];
        while self.take(&QueryToken::Word("and")) {
            conditions.push(self.one()?);
        }
        Ok(single_or(conditions, Condition::Both))
    }

    fn one(&mut self) -> ParsedQuery<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((self.offset(), format!("more than {DEPTH_MAX} levels deep")));
        }
        let condition = if self.take(&QueryToken::Word("not")) {
            Condition::Not(Box::new(self.one()?))
        } else if self.take(&QueryToken::Sign("(")) {
            let condition = self.either()?;
            self.expect(")")?;
            condition
        } else if self.take(&QueryToken::Word("vxid")) {
            self.vxid()?
        } else {
            Condition::Test(Box::new(self.test()?))
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn vxid(&mut self) -> ParsedQuery<Condition> {
        let Some(relation) = self.relation() else {
            return Err(self.unexpected("a comparison of numbers, such as `vxid == 1234`"));
        };
        let offset = self.offset();
        let number = self.operand()?.parse();
        let number = number.map_err(|_| (offset, "a vxid is a whole number".to_owned()))?;
        Ok(Condition::Vxid(relation, number))
    }

    fn test(&mut self) -> ParsedQuery<Test> {
        let start = self.offset();
        let level = self.level()?;
        let offset = self.offset();
        let tags = match self.peek() {
            QueryToken::Word(word @ ("and" | "or" | "eq" | "ne")) => {
                return Err((offset, format!("expected a tag, found `{word}`")));
            }
            QueryToken::Word(word) => tags(word).map_err(|message| (offset, message))?,
            _ => return Err(self.unexpected("a tag such as RespStatus, `not` or `(`")),
        };
        self.at += 1;
        let prefix = if self.take(&QueryToken::Sign(":")) {
            Some(self.operand()?.into_bytes().into_boxed_slice())
        } else {
            None
        };
        let field = self.field()?;
        let wanted = self.wanted()?;
        let text = self.text[start..self.offset()].trim().into();
        Ok(Test { level, tags, prefix, field, wanted, text })
    }

    /// `{2+}`
    fn level(&mut self) -> ParsedQuery<Option<(Bound, u32)>> {
        if !self.take(&QueryToken::Sign("{")) {
            return Ok(None);
        }
        let offset = self.offset();
        let wrong = || (offset, "a level is a number from 0 on, such as {1} or {2+}".to_owned());
        let word = self.operand()?;
        let (digits, bound) = match word.strip_suffix(['+', '-']) {
            Some(digits) if word.ends_with('+') => (digits, Bound::AtLeast),
            Some(digits) => (digits, Bound::AtMost),
            None => (word.as_str(), Bound::Exactly),
        };
        let level = digits.parse().map_err(|_| wrong())?;
        self.expect("}")?;
        Ok(Some((bound, level)))
    }

    /// `[2]`
    fn field(&mut self) -> ParsedQuery<Option<usize>> {
        if !self.take(&QueryToken::Sign("[")) {
            return Ok(None);
        }
        let offset = self.offset();
        let field = self.operand()?.parse().ok().filter(|field| (1..=65535).contains(field));
        let field = field.ok_or((offset, "a field is a number from 1 on".to_owned()))?;
        self.expect("]")?;
        Ok(Some(field))
    }

    fn wanted(&mut self) -> ParsedQuery<Wanted> {
        if let Some(relation) = self.relation() {
            let offset = self.offset();
            return self.number(relation).map_err(|message| (offset, message));
        }
        let ignores_case = self.options.ignores_case;
        for (word, is_equal) in [("eq", true), ("ne", false)] {
            if self.take(&QueryToken::Word(word)) {
                let text = self.operand()?.into_bytes().into_boxed_slice();
                return Ok(Wanted::Text { is_equal, text, ignores_case });
            }
        }
        for (sign, is_match) in [("~", true), ("!~", false)] {
            if self.take(&QueryToken::Sign(sign)) {
                let offset = self.offset();
                let flags = if ignores_case { "(?i)" } else { "" };
                let pattern = format!("{flags}{}", self.operand()?);
                let pattern = pattern_of(&pattern).map_err(|message| (offset, message))?;
                return Ok(Wanted::Pattern { is_match, pattern });
            }
        }
        Ok(Wanted::Any)
    }

    fn number(&mut self, relation: QueryRelation) -> Result<Wanted, String> {
        let word = self.operand().map_err(|(_, message)| message)?;
        let wrong = || match word.parse::<stdx::Span>() {
            Ok(span) => {
                let seconds = span.0.as_secs_f64();
                format!("`{word}` is no number; times are in seconds, so write {seconds}")
            }
            Err(_) => format!("`{word}` is no number; compare texts with `eq`, `ne`, `~` or `!~`"),
        };
        if word.contains(['.', 'e', 'E']) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            return Ok(Wanted::Real(relation, number.ok_or_else(wrong)?));
        }
        Ok(Wanted::Integer(relation, word.parse().map_err(|_| wrong())?))
    }

    fn relation(&mut self) -> Option<QueryRelation> {
        let relation = match self.peek() {
            QueryToken::Sign("==") => QueryRelation::Equal,
            QueryToken::Sign("!=") => QueryRelation::Unequal,
            QueryToken::Sign("<") => QueryRelation::Less,
            QueryToken::Sign("<=") => QueryRelation::LessOrEqual,
            QueryToken::Sign(">") => QueryRelation::More,
            QueryToken::Sign(">=") => QueryRelation::MoreOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(relation)
    }

    fn operand(&mut self) -> ParsedQuery<String> {
        let operand = match self.peek() {
            QueryToken::Word(word) => (*word).to_owned(),
            QueryToken::Quoted(text) => text.clone(),
            _ => return Err(self.unexpected("a word, a number or a text in quotes")),
        };
        self.at += 1;
        Ok(operand)
    }

    fn peek(&self) -> &QueryToken<'a> {
        &self.tokens[self.at].1
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].0
    }

    fn take(&mut self, token: &QueryToken<'_>) -> bool {
        let is_there = self.peek() == token;
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &'static str) -> ParsedQuery<()> {
        match self.take(&QueryToken::Sign(sign)) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Wrong {
        let found = match self.peek() {
            QueryToken::Word(word) => format!("`{word}`"),
            QueryToken::Quoted(text) => format!("\"{text}\""),
            QueryToken::Sign(sign) => format!("`{sign}`"),
            QueryToken::Newline => "the end of the line".to_owned(),
            QueryToken::End => "the end".to_owned(),
        };
        (self.offset(), format!("expected {wanted}, found {found}"))
    }
}

/// The tags of a list such as `ReqHeader,Resp*`.
fn tags(list: &str) -> Result<TagSet, String> {
    let mut set = TagSet::default();
    for name in list.split(',') {
        let is_meant = |tag: &Tag| {
            let known = tag.name().as_bytes();
            let is_begin = |begin: &str| {
                known
                    .get(..begin.len())
                    .is_some_and(|part| part.eq_ignore_ascii_case(begin.as_bytes()))
            };
            match (name.strip_suffix('*'), name.strip_prefix('*')) {
                (Some(begin), _) => is_begin(begin),
                (None, Some(end)) => {
                    known.len() >= end.len()
                        && known[known.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
                }
                (None, None) => known.eq_ignore_ascii_case(name.as_bytes()),
            }
        };
        let mut found = Tag::all().filter(is_meant).peekable();
        if found.peek().is_none() {
            return Err(unknown(name));
        }
        found.for_each(|tag| set.insert(tag.modern()));
    }
    Ok(set)
}

/// A compiled pattern, or why it is none.
pub(crate) fn pattern_of(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
        error => {
            // The engine draws a picture over several lines; its last line says what is wrong.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("bad regular expression: {}", last.trim_start_matches("error: "))
        }
    })
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = Tag::all().map(Tag::name).collect();
    match exchange::nearest_name(name, &known) {
        Some(near) => format!("no tag `{name}`; did you mean `{near}`?"),
        None => format!("no tag `{name}`; vsl(7) lists them, and `--where` takes other fields"),
    }
}

fn single_or(mut conditions: Vec<Condition>, of: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => of(conditions),
    }
}
