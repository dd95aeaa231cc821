//! Computes the values of an example that CSV and Parquet share.
//!
//! Ids are hexadecimal. The user is text, with U+FFFD for what is no UTF-8. The propensity is
//! absent if it is not finite. The label is 1 where there was feedback, else 0. All other columns
//! come from the [`Example`] as they are.

use std::borrow::Cow;

use training::Example;

/// What stands in one row.
pub(super) struct ExampleRow<'e> {
    pub request_id: String,
    pub ranked_by: String,
    pub user: Option<Cow<'e, str>>,
    pub propensity: Option<f64>,
    pub label: i32,
    pub example: &'e Example<'e>,
}

impl<'e> ExampleRow<'e> {
    pub(super) fn of(example: &'e Example<'e>) -> Self {
        let shown = example.shown;
        let propensity = Some(example.ranked.propensity);
        Self {
            request_id: format!("{:032x}", shown.id),
            ranked_by: format!("{:032x}", example.ranking),
            user: shown.user.as_ref().map(|user| String::from_utf8_lossy(user)),
            propensity: propensity.filter(|propensity| propensity.is_finite()),
            label: i32::from(example.feedback > 0),
            example,
        }
    }

    pub(super) fn model(&self) -> (&str, &str) {
        (&self.example.ranked.model, &self.example.ranked.version)
    }
}
