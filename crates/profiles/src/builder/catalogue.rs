//! Numbers the items and categories that users have read, while profiles are built.
//!
//! Ids of items and names of categories are numbered apart, each from 0 in the order in which they
//! come. They are stored twice: by name and by number. An item's category is the one that its last
//! added read named, even an empty one, whatever the time of that read.
//! Invariant: numbers are never reused, so a history may keep them. More than 2^32 names panic.
//! `ITEM_BYTES_MAX` stands here and is enforced by `Builder::add`. A greater one makes profiles
//! longer, and `DATA_BYTES_MAX` of `profile.rs` bounds those.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Ids of items and names of categories longer than this are left out.
pub(super) const ITEM_BYTES_MAX: usize = 200;

/// All items that were read.
#[derive(Default)]
pub(super) struct Catalogue {
    items: NameTable,
    categories: NameTable,
    /// Number of the category of each item.
    category_of: Vec<u32>,
}

/// Names numbered from 0.
#[derive(Default)]
struct NameTable {
    numbers: HashMap<Box<str>, u32, RandomState>,
    names: Vec<Box<str>>,
}

impl Catalogue {
    /// Returns the number of the item `id`, which is now of `category`.
    pub(super) fn item(&mut self, id: &str, category: &str) -> u32 {
        let item = self.items.number(id);
        let category = self.categories.number(category);
        match self.category_of.get_mut(item as usize) {
            Some(known) => *known = category,
            None => self.category_of.push(category),
        }
        item
    }

    /// How many items there are.
    pub(super) fn items(&self) -> u64 {
        self.items.names.len() as u64
    }

    /// Returns the id of an item.
    pub(super) fn id(&self, item: u32) -> &str {
        self.items.get(item)
    }

    /// Returns the number of an item's category; none when it has no category.
    pub(super) fn category_of(&self, item: u32) -> Option<u32> {
        let category = self.category_of[item as usize];
        (!self.categories.get(category).is_empty()).then_some(category)
    }

    /// Returns the name of a category.
    pub(super) fn category(&self, category: u32) -> &str {
        self.categories.get(category)
    }
}

impl NameTable {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).expect("four billion names fill any memory");
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    fn get(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}
