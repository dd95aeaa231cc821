//! Says a query in the filter language of `exchange`, for sources without records.
//!
//! | test | field |
//! |---|---|
//! | `ReqMethod` `ReqURL` `ReqProtocol` | `method` `var.url` `var.protocol` |
//! | `ReqHeader:NAME` | `header.NAME` |
//! | `ReqStart[1]` | `client_ip` |
//! | `RespStatus` `RespReason` | `status` `var.reason` |
//! | `ReqAcct[2]` `ReqAcct[5]` | `bytes_in` `bytes_out` |
//! | `Timestamp:Resp[2]` | `var.total_s` |
//! | `Hit` | `var.hit` |
//!
//! A level other than 1 and `vxid` are of records alone. Invariant: what comes out holds where the
//! query would, if the source had such records; every comparison also asks that the field is there.

use super::condition::{Bound, Condition, QueryError, QueryRelation, Test, Wanted};
use crate::tag::Tag;

/// The query as the text of a filter.
pub(super) fn text(condition: &Condition) -> Result<String, QueryError> {
    let joined = |conditions: &[Condition], word: &str| {
        let parts: Result<Vec<String>, _> = conditions.iter().map(text).collect();
        Ok(format!("({})", parts?.join(word)))
    };
    match condition {
        Condition::Either(conditions) => joined(conditions, " or "),
        Condition::Both(conditions) => joined(conditions, " and "),
        Condition::Not(condition) => Ok(format!("not ({})", text(condition)?)),
        Condition::Vxid(..) => Err(QueryError::NoRecords { test: "vxid".to_owned() }),
        Condition::Test(test) => {
            let no_records = || QueryError::NoRecords { test: test.text.to_string() };
            let field = field(test).ok_or_else(no_records)?;
            compared(&field, &test.wanted).ok_or_else(no_records)
        }
    }
}

/// The field that a test asks for, or none.
fn field(test: &Test) -> Option<String> {
    let is_first = match test.level {
        None | Some((Bound::Exactly | Bound::AtLeast, 1)) => true,
        Some((bound, level)) => match bound {
            Bound::AtMost => level >= 1,
            Bound::AtLeast => level == 0,
            Bound::Exactly => false,
        },
    };
    let mut tags = test.tags.iter();
    let (Some(tag), None, true) = (tags.next(), tags.next(), is_first) else { return None };
    let plain = |name: &str| Some(name.to_owned());
    let prefix = test.prefix.as_deref().map(String::from_utf8_lossy);
    match (tag, prefix.as_deref(), test.field) {
        (Tag::REQ_METHOD, None, None | Some(1)) => plain("method"),
        (Tag::REQ_URL, None, None | Some(1)) => plain("var.url"),
        (Tag::REQ_PROTOCOL, None, None | Some(1)) => plain("var.protocol"),
        (Tag::REQ_HEADER, Some(name), None) if is_name(name) => {
            Some(format!("header.{}", name.to_ascii_lowercase()))
        }
        (Tag::REQ_START, None, Some(1)) => plain("client_ip"),
        (Tag::RESP_STATUS, None, None | Some(1)) => plain("status"),
        (Tag::RESP_REASON, None, None) => plain("var.reason"),
        (Tag::REQ_ACCT, None, Some(2)) => plain("bytes_in"),
        (Tag::REQ_ACCT, None, Some(5)) => plain("bytes_out"),
        (Tag::TIMESTAMP, Some(label), Some(2)) if label.eq_ignore_ascii_case("resp") => {
            plain("var.total_s")
        }
        (Tag::HIT, None, None) if matches!(test.wanted, Wanted::Any) => plain("var.hit"),
        _ => None,
    }
}

/// Whether the name of a header is one word of the filter language.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn compared(field: &str, wanted: &Wanted) -> Option<String> {
    let is_number = matches!(field, "status" | "bytes_in" | "bytes_out");
    Some(match wanted {
        Wanted::Any => field.to_owned(),
        Wanted::Integer(relation, number) => whole_part(field, *relation, *number)?,
        Wanted::Real(relation, number) => {
            let number = Some(number).filter(|number| **number >= 0.0)?;
            format!("({field} and {field} {} {number})", relation.sign())
        }
        Wanted::Text { .. } if is_number => return None,
        Wanted::Text { is_equal, text, ignores_case: false } => {
            let sign = if *is_equal { "==" } else { "!=" };
            format!("({field} and {field} {sign} {})", quoted(std::str::from_utf8(text).ok()?))
        }
        Wanted::Text { is_equal, text, ignores_case: true } => {
            let pattern = regex::escape(std::str::from_utf8(text).ok()?);
            let sign = if *is_equal { "~" } else { "!~" };
            format!("({field} and {field} {sign} {})", quoted(&format!("(?i-u)^{pattern}$")))
        }
        Wanted::Pattern { is_match, pattern } => {
            let sign = if *is_match { "~" } else { "!~" };
            format!("({field} and {field} {sign} {})", quoted(pattern.as_str()))
        }
    })
}

/// A whole number is compared with the whole part of the value.
fn whole_part(field: &str, relation: QueryRelation, number: i128) -> Option<String> {
    let number = u64::try_from(number).ok()?;
    let next = number.checked_add(1)?;
    Some(match relation {
        QueryRelation::Equal => format!("({field} >= {number} and {field} < {next})"),
        QueryRelation::Unequal => format!("({field} < {number} or {field} >= {next})"),
        QueryRelation::Less => format!("{field} < {number}"),
        QueryRelation::LessOrEqual => format!("{field} < {next}"),
        QueryRelation::More => format!("{field} >= {next}"),
        QueryRelation::MoreOrEqual => format!("{field} >= {number}"),
    })
}

/// A text as the filter language writes it.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl QueryRelation {
    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::More => ">",
            Self::MoreOrEqual => ">=",
        }
    }
}
