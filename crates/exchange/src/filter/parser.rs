//! Parses a filter into a tree of conditions by recursive descent, checking names, types and
//! patterns.
//!
//! The grammar stands in `filter.rs`. A literal is checked by its field: a decision or cache result
//! in quotes must exist. `time` wants a time in quotes; a length of time other than 0 wants a unit.
//! `status`, `bytes_in`, `bytes_out` and `propensity` want no quotes; a new number joins them in
//! `text_literal`. A pattern may search any field.
//! Bounds, each an error: 4096 bytes of text, 64 levels, 256 KiB for a compiled pattern. The page
//! docs/operating/filters.md names the first two.
//! Invariant: one problem ends parsing, with its column in characters. The text is split first, so
//! a bad character is told before a wrong name that precedes it.
//! Never here: which fields exist, which [`Resolve`] says; evaluation, which is in
//! `filter/condition.rs`.

use regex::bytes::RegexBuilder;
use stdx::{ByteSize, Span};

use super::condition::{Condition, Literal, Relation};
use super::lexer::{Token, split};
use crate::field::{FieldName, UnknownField};
use crate::line::parse_time;
use crate::outcome::{CacheResult, Decision};

const BYTES_MAX: usize = 4096;
const DEPTH_MAX: usize = 64;
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter, column {column}: {message}")]
pub struct FilterError {
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there, and what would be right.
    pub message: String,
}

/// Finds the field of a name.
pub type Resolve<'r> = dyn Fn(&str) -> Result<FieldName, UnknownField> + 'r;

/// Parses a whole filter.
pub(super) fn parse(text: &str, resolve: &Resolve<'_>) -> Result<Condition, FilterError> {
    let column = |offset: usize| text[..offset].chars().count() + 1;
    let located = |(offset, message)| FilterError { column: column(offset), message };
    if text.len() > BYTES_MAX {
        return Err(located((0, format!("the filter is longer than {BYTES_MAX} bytes"))));
    }
    let tokens = split(text).map_err(located)?;
    let mut parser = Parser { tokens, at: 0, depth: 0, resolve };
    parser.whole().map_err(located)
}

type Parsed<T> = Result<T, (usize, String)>;

struct Parser<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    depth: usize,
    resolve: &'a Resolve<'a>,
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> Parsed<Condition> {
        let condition = self.either()?;
        match self.peek() {
            Token::End => Ok(condition),
            _ => Err(self.unexpected("`and`, `or` or the end")),
        }
    }

    fn either(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.both()?];
        while self.take_word("or") {
            conditions.push(self.both()?);
        }
        Ok(single_or(conditions, Condition::Either))
    }

    fn both(&mut self) -> Parsed<Condition> {
        let mut conditions = vec![self.unary()?];
        while self.take_word("and") {
            conditions.push(self.unary()?);
        }
        Ok(single_or(conditions, Condition::Both))
    }

    fn unary(&mut self) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((self.offset(), format!("more than {DEPTH_MAX} levels deep")));
        }
        let condition = if self.take_word("not") {
            Condition::Not(Box::new(self.unary()?))
        } else if self.take_sign("(") {
            let condition = self.either()?;
            self.expect_sign(")")?;
            condition
        } else if self.take_word("true") {
            Condition::Always(true)
        } else if self.take_word("false") {
            Condition::Always(false)
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Parsed<Condition> {
        let offset = self.offset();
        let name = match self.peek() {
            Token::Word("and" | "or" | "in") => return Err(self.unexpected("a field name")),
            Token::Word(name) => *name,
            _ => return Err(self.unexpected("a field name, `not` or `(`")),
        };
        let name = (self.resolve)(name).map_err(|error| (offset, error.to_string()))?;
        self.at += 1;
        if self.take_word("in") {
            return self.list(name);
        }
        let Token::Sign(sign) = *self.peek() else { return Ok(Condition::Exists(name)) };
        let relation = match sign {
            "==" | "!=" => Relation::Equal,
            "<" => Relation::Less,
            "<=" => Relation::LessOrEqual,
            ">" => Relation::More,
            ">=" => Relation::MoreOrEqual,
            "~" | "!~" => {
                self.at += 1;
                return Ok(negated_if(sign == "!~", self.search(name)?));
            }
            _ => return Ok(Condition::Exists(name)),
        };
        self.at += 1;
        let literal = self.literal(&name)?;
        Ok(negated_if(sign == "!=", Condition::Compare(name, relation, literal)))
    }

    fn list(&mut self, name: FieldName) -> Parsed<Condition> {
        self.expect_sign("[")?;
        let mut literals = vec![self.literal(&name)?];
        while self.take_sign(",") {
            literals.push(self.literal(&name)?);
        }
        self.expect_sign("]")?;
        Ok(Condition::In(name, literals))
    }

    fn search(&mut self, name: FieldName) -> Parsed<Condition> {
        let offset = self.offset();
        let Token::Text(pattern) = self.peek() else {
            return Err(self.unexpected("a regular expression in quotes"));
        };
        let regex = RegexBuilder::new(pattern)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| (offset, regex_message(&error)))?;
        self.at += 1;
        Ok(Condition::Search(name, regex))
    }

    fn literal(&mut self, name: &FieldName) -> Parsed<Literal> {
        let offset = self.offset();
        let literal = match self.peek() {
            Token::Text(text) => text_literal(name, text),
            Token::Number(text) => number_literal(name, text),
            Token::Word(word) => Err(format!("put text in quotes: '{word}'")),
            _ => return Err(self.unexpected("text in quotes or a number")),
        };
        self.at += 1;
        literal.map_err(|message| (offset, message))
    }

    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.at].1
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].0
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = *self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    fn take_sign(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &'static str) -> Parsed<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> (usize, String) {
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            Token::Text(_) => "text".to_owned(),
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Sign(sign) => format!("`{sign}`"),
        };
        (self.offset(), format!("expected {wanted}, found {found}"))
    }
}

fn single_or(mut conditions: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    if conditions.len() > 1 { many(conditions) } else { conditions.remove(0) }
}

fn negated_if(negated: bool, condition: Condition) -> Condition {
    if negated { Condition::Not(Box::new(condition)) } else { condition }
}

fn text_literal(name: &FieldName, text: &str) -> Result<Literal, String> {
    match name {
        FieldName::Decision if Decision::from_name(text).is_none() => {
            Err(no_such("decision", text, &Decision::ALL.map(Decision::name)))
        }
        FieldName::Cache if CacheResult::from_name(text).is_none() => {
            Err(no_such("cache result", text, &CacheResult::ALL.map(CacheResult::name)))
        }
        FieldName::Time => match parse_time(text.as_bytes()) {
            Some(micros) => Ok(Literal::Number(micros as f64)),
            None => Err(format!("`{text}` is no time; write it like 2026-11-21T03:54:12Z")),
        },
        FieldName::Status | FieldName::BytesIn | FieldName::BytesOut | FieldName::Propensity => {
            Err(format!("`{name}` is a number; write it without quotes"))
        }
        name if name.is_duration() => Err(needs_unit(name)),
        _ => Ok(Literal::Text(text.as_bytes().into())),
    }
}

fn number_literal(name: &FieldName, text: &str) -> Result<Literal, String> {
    if *name == FieldName::Time {
        return Err("write a time in quotes, like '2026-11-21T03:54:12Z'".to_owned());
    }
    let plain: Result<f64, _> = text.parse();
    if name.is_duration() {
        return match (plain, text.parse::<Span>()) {
            (Err(_), Ok(Span(length))) => Ok(Literal::Number(length.as_secs_f64() * 1e6)),
            (Ok(0.0), _) => Ok(Literal::Number(0.0)),
            _ => Err(needs_unit(name)),
        };
    }
    if let Ok(number) = plain {
        return Ok(Literal::Number(number));
    }
    match text.parse::<ByteSize>() {
        Ok(ByteSize(bytes)) => Ok(Literal::Number(bytes as f64)),
        Err(_) if text.parse::<Span>().is_ok() => {
            Err(format!("`{name}` is no length of time, so `{text}` cannot be compared with it"))
        }
        Err(_) => Err(format!("`{text}` is neither a number nor a size; put text in quotes")),
    }
}

fn needs_unit(name: &FieldName) -> String {
    format!("`{name}` is a length of time; write it with a unit, like 20ms")
}

fn no_such(what: &str, text: &str, names: &[&str]) -> String {
    format!("no {what} `{text}`; there are `{}`", names.join("`, `"))
}

fn regex_message(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
        error => {
            // The engine draws a picture over several lines; its last line says what is wrong.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("bad regular expression: {}", last.trim_start_matches("error: "))
        }
    }
}
