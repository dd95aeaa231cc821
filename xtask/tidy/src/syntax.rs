//! Reads what a Rust file says beyond its lines: modules, imports, paths, types, functions, words.
//!
//! Owns the only use of `syn`: a file is parsed once, and its tree is dropped for plain facts.
//! Invariant: code under `#[cfg(test)]` leaves no fact.
//! Refuses: to resolve a name, which takes the other files of the crate (`crates.rs`). Elsewhere:
//! lines and comments (`lexer.rs`).

mod attributes;
mod facts;
mod imports;
mod tokens;
mod visitor;
mod vocabulary;

use proc_macro2::TokenStream;
use syn::visit::Visit;

pub(crate) use facts::{Audience, Import, Module, Path, Syntax, Word};

/// Parses the tokens of a file; the error says where it is no Rust.
pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Syntax> {
    let file = syn::parse2(tokens)?;
    let mut visitor = visitor::Visitor::new();
    visitor.visit_file(&file);
    let mut vocabulary = vocabulary::Vocabulary::default();
    vocabulary.visit_file(&file);
    Ok(visitor.finish(vocabulary.finish()))
}

#[cfg(test)]
mod tests;
