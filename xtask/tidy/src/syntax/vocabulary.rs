//! Collects the words of a file: every name that its author chose, and where readers meet it.
//!
//! Readers meet names of code, modules and types, keys of the configuration, labels of metrics,
//! fields of the log. Labels are first elements of pairs in arrays, in files that register metrics.
//! Names that others chose are left out: what is only used here, and the functions of an `impl
//! Trait for`. Elsewhere: which words are right (`rules/words.rs`).

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, ImplItem, Item, Lit};

use super::attributes;
use super::facts::{Audience, Word, line};

/// Macros of `tracing` whose arguments are fields.
const LOGGING: [&str; 8] =
    ["trace", "debug", "info", "warn", "error", "event", "info_span", "error_span"];
/// Methods of the registry of metrics: name, help, labels.
const METRICS: [&str; 3] = ["counter", "gauge", "timer"];

#[derive(Default)]
pub(super) struct Vocabulary {
    words: Vec<Word>,
    /// First elements of pairs in arrays, which are labels if the file asks for metrics.
    pairs: Vec<Word>,
    asks_for_metrics: bool,
    /// The type around is a section of the configuration.
    is_configuration: bool,
    implements: bool,
}

impl Vocabulary {
    pub(super) fn finish(mut self) -> Vec<Word> {
        if self.asks_for_metrics {
            self.words.append(&mut self.pairs);
        }
        self.words
    }

    fn note(&mut self, audience: Audience, name: &Ident) {
        self.words.push(Word { audience, text: name.to_string(), line: line(name.span()) });
    }

    fn note_pairs(&mut self, array: &syn::ExprArray) {
        for element in &array.elems {
            let Expr::Tuple(pair) = element else { continue };
            let first = pair.elems.first().filter(|_| pair.elems.len() == 2);
            let Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })) = first else { continue };
            let (text, line) = (text.value(), line(text.span()));
            if text.chars().all(|c| c == '_' || c.is_ascii_lowercase()) {
                self.pairs.push(Word { audience: Audience::Labels, text, line });
            }
        }
    }

    /// Notes `name = value`, `%name`, `?name` and a bare `name` between commas.
    fn note_fields(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for field in tokens.split(|token| is_punct(token, ',')) {
            let field = match field {
                [sigil, rest @ ..] if is_punct(sigil, '%') || is_punct(sigil, '?') => rest,
                all => all,
            };
            match field {
                [TokenTree::Ident(name)] => self.note(Audience::Fields, name),
                [TokenTree::Ident(name), equals, ..] if is_punct(equals, '=') => {
                    self.note(Audience::Fields, name);
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Vocabulary {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = attributes::of_item(item);
        if attributes::are_test(attributes) {
            return;
        }
        let around = self.is_configuration;
        self.is_configuration = attributes::derive_schema(attributes);
        match item {
            Item::Use(_) | Item::ForeignMod(_) => {}
            Item::Mod(module) => self.note(Audience::Modules, &module.ident),
            Item::Struct(_) | Item::Enum(_) | Item::Trait(_) | Item::Type(_) | Item::Union(_) => {
                if let Some(name) = attributes::name_of(item) {
                    self.note(Audience::Types, name);
                }
            }
            _ => {
                if let Some(name) = attributes::name_of(item) {
                    self.note(Audience::Code, name);
                }
            }
        }
        visit::visit_item(self, item);
        self.is_configuration = around;
    }

    fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}

    fn visit_item_foreign_mod(&mut self, _: &'ast syn::ItemForeignMod) {}

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let around = self.implements;
        self.implements = item.trait_.is_some();
        visit::visit_item_impl(self, item);
        self.implements = around;
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(function) if attributes::are_test(&function.attrs) => return,
            ImplItem::Fn(function) if !self.implements => {
                self.note(Audience::Code, &function.sig.ident);
            }
            ImplItem::Const(constant) if !self.implements => {
                self.note(Audience::Code, &constant.ident);
            }
            _ => {}
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.note(Audience::Code, &function.sig.ident);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            if self.is_configuration {
                let line = line(name.span());
                let text = attributes::renamed(&field.attrs).unwrap_or_else(|| name.to_string());
                self.words.push(Word { audience: Audience::Keys, text, line });
            } else {
                self.note(Audience::Code, name);
            }
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.note(Audience::Code, &variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.note(Audience::Code, &pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_array(&mut self, array: &'ast syn::ExprArray) {
        self.note_pairs(array);
        visit::visit_expr_array(self, array);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let registers = METRICS.iter().any(|method| call.method == method);
        self.asks_for_metrics |= registers && call.args.len() == 3;
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let name = invocation.path.segments.last().map(|segment| segment.ident.to_string());
        if name.is_some_and(|name| LOGGING.contains(&name.as_str())) {
            self.note_fields(invocation.tokens.clone());
        }
        visit::visit_macro(self, invocation);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
