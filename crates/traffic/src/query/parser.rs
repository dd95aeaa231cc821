//! Parses queries by recursive descent, and checks tags, numbers and patterns.
//!
//! Tags are whole names, in any case, or globs with `*` at an end; those of 2.1 and 3.0 mean what
//! took their place. A name that is no tag is an error that names a similar one.
//! Invariant: one problem ends parsing, with its line and column.
//! Never here: evaluation (`query.rs`).

use regex::bytes::{Regex, RegexBuilder};

use super::lexer::{Token, Wrong, split};
use super::{BYTES_MAX, Bound, Condition, QueryError, QueryOptions, Relation, Test, Wanted};
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

type Parsed<T> = Result<T, Wrong>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    depth: usize,
    options: QueryOptions,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> Parsed<Condition> {
        let mut queries = Vec::new();
        loop {
            while self.take(&Token::Newline) {}
            if self.peek() == &Token::End {
                break;
            }
            queries.push(self.either()?);
            if !matches!(self.peek(), Token::Newline | Token::End) {
                return Err(self.unexpected("`and`, `or` or the end"));
            }
        }
        if queries.is_empty() {
            return Err((0, "the query is empty; write one such as RespStatus >= 500".to_owned()));
        }
        Ok(single_or(queries, Condition::Either))
    }

    fn either(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.both()?];
        while self.take(&Token::Word("or")) {
            conditions.push(self.both()?);
        }
        Ok(single_or(conditions, Condition::Either))
    }

    fn both(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.one()?];
        while self.take(&Token::Word("and")) {
            conditions.push(self.one()?);
        }
        Ok(single_or(conditions, Condition::Both))
    }

    fn one(&mut self) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((self.offset(), format!("more than {DEPTH_MAX} levels deep")));
        }
        let condition = if self.take(&Token::Word("not")) {
            Condition::Not(Box::new(self.one()?))
        } else if self.take(&Token::Sign("(")) {
            let condition = self.either()?;
            self.expect(")")?;
            condition
        } else if self.take(&Token::Word("vxid")) {
            self.vxid()?
        } else {
            Condition::Test(Box::new(self.test()?))
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn vxid(&mut self) -> Parsed<Condition> {
        let Some(relation) = self.relation() else {
            return Err(self.unexpected("a comparison of numbers, such as `vxid == 1234`"));
        };
        let offset = self.offset();
        let number = self.operand()?.parse();
        let number = number.map_err(|_| (offset, "a vxid is a whole number".to_owned()))?;
        Ok(Condition::Vxid(relation, number))
    }

    fn test(&mut self) -> Parsed<Test> {
        let start = self.offset();
        let level = self.level()?;
        let offset = self.offset();
        let tags = match self.peek() {
            Token::Word(word @ ("and" | "or" | "eq" | "ne")) => {
                return Err((offset, format!("expected a tag, found `{word}`")));
            }
            Token::Word(word) => tags(word).map_err(|message| (offset, message))?,
            _ => return Err(self.unexpected("a tag such as RespStatus, `not` or `(`")),
        };
        self.at += 1;
        let prefix = if self.take(&Token::Sign(":")) {
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
    fn level(&mut self) -> Parsed<Option<(Bound, u32)>> {
        if !self.take(&Token::Sign("{")) {
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
    fn field(&mut self) -> Parsed<Option<usize>> {
        if !self.take(&Token::Sign("[")) {
            return Ok(None);
        }
        let offset = self.offset();
        let field = self.operand()?.parse().ok().filter(|field| (1..=65535).contains(field));
        let field = field.ok_or((offset, "a field is a number from 1 on".to_owned()))?;
        self.expect("]")?;
        Ok(Some(field))
    }

    fn wanted(&mut self) -> Parsed<Wanted> {
        if let Some(relation) = self.relation() {
            let offset = self.offset();
            return self.number(relation).map_err(|message| (offset, message));
        }
        let ignores_case = self.options.ignores_case;
        for (word, is_equal) in [("eq", true), ("ne", false)] {
            if self.take(&Token::Word(word)) {
                let text = self.operand()?.into_bytes().into_boxed_slice();
                return Ok(Wanted::Text { is_equal, text, ignores_case });
            }
        }
        for (sign, is_match) in [("~", true), ("!~", false)] {
            if self.take(&Token::Sign(sign)) {
                let offset = self.offset();
                let flags = if ignores_case { "(?i)" } else { "" };
                let pattern = format!("{flags}{}", self.operand()?);
                let pattern = pattern_of(&pattern).map_err(|message| (offset, message))?;
                return Ok(Wanted::Pattern { is_match, pattern });
            }
        }
        Ok(Wanted::Any)
    }

    fn number(&mut self, relation: Relation) -> Result<Wanted, String> {
        let word = self.operand().map_err(|(_, message)| message)?;
        let wrong = || format!("`{word}` is no number; compare texts with `eq`, `ne`, `~` or `!~`");
        if word.contains(['.', 'e', 'E']) {
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            return Ok(Wanted::Real(relation, number.ok_or_else(wrong)?));
        }
        Ok(Wanted::Integer(relation, word.parse().map_err(|_| wrong())?))
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.peek() {
            Token::Sign("==") => Relation::Equal,
            Token::Sign("!=") => Relation::Unequal,
            Token::Sign("<") => Relation::Less,
            Token::Sign("<=") => Relation::LessOrEqual,
            Token::Sign(">") => Relation::More,
            Token::Sign(">=") => Relation::MoreOrEqual,
            _ => return None,
        };
        self.at += 1;
        Some(relation)
    }

    fn operand(&mut self) -> Parsed<String> {
        let operand = match self.peek() {
            Token::Word(word) => (*word).to_owned(),
            Token::Quoted(text) => text.clone(),
            _ => return Err(self.unexpected("a word, a number or a text in quotes")),
        };
        self.at += 1;
        Ok(operand)
    }

    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.at].1
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].0
    }

    fn take(&mut self, token: &Token<'_>) -> bool {
        let is_there = self.peek() == token;
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<()> {
        match self.take(&Token::Sign(sign)) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Wrong {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Quoted(text) => format!("\"{text}\""),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end".to_owned(),
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
