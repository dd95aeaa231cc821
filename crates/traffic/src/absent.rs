//! Finds fields that a filter asks for and no exchange of a log has.
//!
//! A filter on what a log does not say takes nothing, as one that found nothing does. Here the two
//! are told apart. The names are those that the filter asked the first exchange for in vain. Each
//! later exchange that has one removes it, so a usual filter soon costs nothing more.
//! Never here: `var.hit` and `var.miss`, which are absent where they are not so.

use std::cell::RefCell;

use exchange::{FieldName, FieldValue, Fields, Filter};

use crate::view::View;

/// Fields that were asked for and never there.
#[derive(Debug, Default)]
pub(crate) struct AbsentFields {
    has_looked: bool,
    names: Vec<FieldName>,
}

/// Notes what is asked for in vain.
struct AskedView<'v, 'a> {
    view: &'v View<'a>,
    in_vain: RefCell<Vec<FieldName>>,
}

impl Fields for AskedView<'_, '_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        let value = self.view.field(name);
        let may_be_absent =
            matches!(name, FieldName::Variable(name) if matches!(&**name, "hit" | "miss"));
        let mut in_vain = self.in_vain.borrow_mut();
        if value.is_none() && !may_be_absent && !in_vain.contains(name) {
            in_vain.push(name.clone());
        }
        value
    }
}

impl AbsentFields {
    /// Looks which fields the filters ask of an exchange in vain.
    pub(crate) fn look(&mut self, filters: [Option<&Filter>; 2], view: &View<'_>) {
        if self.has_looked {
            self.names.retain(|name| view.field(name).is_none());
            return;
        }
        self.has_looked = true;
        let asked = AskedView { view, in_vain: RefCell::default() };
        for filter in filters.into_iter().flatten() {
            let _ = filter.matches(&asked);
        }
        self.names = asked.in_vain.into_inner();
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().map(ToString::to_string).collect()
    }
}
