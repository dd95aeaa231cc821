//! Reads what items and their attributes say of themselves.
//!
//! That is an item's name and attributes, the name that serde gives it, and whether it is test
//! code. It is also whether serde or clap reads a struct, whether it makes the reference, and which
//! attributes name nothing of ours.
//! `#[cfg(test)]` with more conditions is test code; `#[cfg(not(test))]` is not.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Ident, Item, Meta};

/// Traits whose derivation makes a struct plain data: what a user writes, field by field.
const READ: [&str; 4] = ["Deserialize", "JsonSchema", "Args", "Parser"];

pub(super) fn of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::ExternCrate(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::ForeignMod(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::TraitAlias(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// Returns the name that the item defines and a path can lead to.
pub(super) fn name_of(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(i) => Some(&i.ident),
        Item::Enum(i) => Some(&i.ident),
        Item::Fn(i) => Some(&i.sig.ident),
        Item::Macro(i) => i.ident.as_ref(),
        Item::Static(i) => Some(&i.ident),
        Item::Struct(i) => Some(&i.ident),
        Item::Trait(i) => Some(&i.ident),
        Item::Type(i) => Some(&i.ident),
        Item::Union(i) => Some(&i.ident),
        _ => None,
    }
}

/// Returns the name that serde reads and writes instead: `#[serde(rename = "…")]`.
pub(super) fn renamed(attributes: &[Attribute]) -> Option<String> {
    let lists = attributes.iter().filter_map(|attribute| attribute.meta.require_list().ok());
    let serde = lists.filter(|list| list.path.is_ident("serde"));
    serde.filter_map(|list| rename(list.tokens.clone())).next()
}

fn rename(tokens: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.windows(3).find_map(|three| match three {
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)]
            if name == "rename" =>
        {
            Some(text.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    })
}

/// Returns whether the attributes keep their item out of the product: `#[cfg(test)]`, also with
/// more conditions, but not `#[cfg(not(test))]`.
pub(super) fn are_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list().ok();
        let cfg = list.filter(|list| list.path.is_ident("cfg"));
        cfg.is_some_and(|list| names_test(list.tokens.clone()))
    })
}

fn names_test(tokens: TokenStream) -> bool {
    let mut negated = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name == "test" => return true,
            TokenTree::Ident(name) => negated = name == "not",
            TokenTree::Group(group) if !negated && names_test(group.stream()) => return true,
            _ => {}
        }
    }
    false
}

pub(super) fn derive_reading(attributes: &[Attribute]) -> bool {
    derive(attributes, &READ)
}

/// Returns whether the reference of the configuration is made from the type.
pub(super) fn derive_schema(attributes: &[Attribute]) -> bool {
    derive(attributes, &["JsonSchema"])
}

fn derive(attributes: &[Attribute], traits: &[&str]) -> bool {
    let derives = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("derive") => Some(list.tokens.clone()),
        _ => None,
    });
    derives.flatten().any(|token| match token {
        TokenTree::Ident(name) => traits.iter().any(|of| name == of),
        _ => false,
    })
}

/// Attributes whose tokens name nothing of ours.
pub(super) fn is_silent(attribute: &Attribute) -> bool {
    ["doc", "cfg", "derive", "expect", "must_use", "inline", "repr"]
        .iter()
        .any(|name| attribute.path().is_ident(name))
}
