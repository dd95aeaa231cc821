//! Walks the tree of one file and notes the facts, module by module.
//!
//! `Self` becomes the type of the `impl` around; in a trait it is no path. Visibilities, C
//! signatures and paths from `::` on are left out. `self.name(` is noted as a use of the type's
//! function.
//! Invariant: what stands under `#[cfg(test)]` is noted only as a child that is test.
//! Elsewhere: names that people chose (`syntax/vocabulary.rs`).

use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, Fields, FnArg, ImplItem, Item, ItemImpl, ItemMod, Macro, Meta, Stmt, Type,
    Visibility,
};

use super::facts::{self, Child, Impl, Module, Path, Reference, Signature, Syntax, Word, line};
use super::{attributes, imports, tokens};

/// Invariant: `open` holds the file's own module first, then the inline ones around where the
/// walk is.
pub(super) struct Visitor {
    open: Vec<Module>,
    closed: Vec<Module>,
    /// The `impl` blocks and traits around where the walk is, the innermost last.
    around: Vec<Around>,
}

struct Around {
    /// What `Self` is; `None` in a trait.
    of: Option<Path>,
    /// It is `impl Trait for`: the signatures are the trait's.
    implements: bool,
}

impl Visitor {
    pub(super) fn new() -> Visitor {
        Visitor { open: vec![Module::default()], closed: Vec::new(), around: Vec::new() }
    }

    /// Closes the file, whose words are these.
    pub(super) fn finish(mut self, words: Vec<Word>) -> Syntax {
        self.module().words = words;
        while let Some(mut module) = self.open.pop() {
            module.drop_local_references();
            self.closed.push(module);
        }
        Syntax { modules: self.closed }
    }

    fn module(&mut self) -> &mut Module {
        self.open.last_mut().expect("the file's own module is never closed before the end")
    }

    fn refer(&mut self, reference: Reference) {
        let Reference { mut path, line } = reference;
        if path[0] == "Self" {
            let Some(Around { of: Some(of), .. }) = self.around.last() else { return };
            path.splice(0..1, of.iter().cloned());
        }
        self.module().references.entry(path).or_insert(line);
    }

    fn note_type(&mut self, name: &syn::Ident, of: Option<(&Fields, bool)>) {
        let (fields, plain) = of.map_or((0, false), |(fields, read)| {
            let public = |field: &syn::Field| matches!(field.vis, Visibility::Public(_));
            (fields.len(), read || fields.iter().all(public))
        });
        let noted = facts::Type { name: name.to_string(), line: line(name.span()), fields, plain };
        self.module().types.push(noted);
    }

    fn note_function(&mut self, signature: &syn::Signature) {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(elements(&typed.ty)),
            FnArg::Receiver(_) => None,
        });
        let name = signature.ident.to_string();
        let noted = Signature { name, line: line(signature.ident.span()), arity: typed.sum() };
        self.module().functions.push(noted);
    }

    fn note_item(&mut self, item: &Item) {
        let Some(name) = attributes::name_of(item) else { return };
        self.module().items.insert(name.to_string());
        match item {
            Item::Struct(i) => {
                let read = attributes::derive_reading(&i.attrs);
                self.note_type(name, Some((&i.fields, read)));
            }
            Item::Enum(_) | Item::Trait(_) | Item::Type(_) | Item::Union(_) => {
                self.note_type(name, None);
            }
            _ => {}
        }
    }

    fn note_impl(&mut self, item: &ItemImpl, of: &Path) {
        let functions = item.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
            _ => None,
        });
        let inherent = if item.trait_.is_none() { functions.collect() } else { Vec::new() };
        let first = line(item.impl_token.span);
        let last = line(item.brace_token.span.close());
        let noted = Impl { of: of.clone(), inherent, line: first, lines: last - first + 1 };
        self.module().impls.push(noted);
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast Item) {
        let test = attributes::are_test(attributes::of_item(item));
        if let Item::Mod(module) = item {
            let name = module.ident.to_string();
            self.module().children.push(Child { name, test });
        }
        if test {
            return;
        }
        self.note_item(item);
        if let Item::Use(item) = item {
            let found = imports::of(item);
            self.module().imports.extend(found);
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_none() {
            return;
        }
        let mut inline = self.module().inline.clone();
        inline.push(item.ident.to_string());
        self.open.push(Module { inline, ..Module::default() });
        visit::visit_item_mod(self, item);
        let mut module = self.open.pop().expect("it was pushed above");
        module.drop_local_references();
        self.closed.push(module);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let of = type_path(&item.self_ty);
        if let Some(of) = &of {
            self.note_impl(item, of);
        }
        self.around.push(Around { of, implements: item.trait_.is_some() });
        visit::visit_item_impl(self, item);
        self.around.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.around.push(Around { of: None, implements: false });
        visit::visit_item_trait(self, item);
        self.around.pop();
    }

    // Signatures of C are not ours to choose.
    fn visit_item_foreign_mod(&mut self, _: &'ast syn::ItemForeignMod) {}

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let test = match item {
            ImplItem::Fn(function) => attributes::are_test(&function.attrs),
            ImplItem::Const(item) => attributes::are_test(&item.attrs),
            _ => false,
        };
        if !test {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !attributes::are_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let test = matches!(statement, Stmt::Local(local) if attributes::are_test(&local.attrs));
        if !test {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note_function(&function.sig);
        visit::visit_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.note_function(&function.sig);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !self.around.last().is_some_and(|around| around.implements) {
            self.note_function(&function.sig);
        }
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.refer(Reference {
                path: segments(path),
                line: line(path.segments[0].ident.span()),
            });
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Expr::Path(receiver) = &*call.receiver
            && receiver.path.is_ident("self")
        {
            let path = vec!["Self".to_owned(), call.method.to_string()];
            self.refer(Reference { path, line: line(call.method.span()) });
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        for reference in tokens::paths(invocation.tokens.clone()) {
            self.refer(reference);
        }
        visit::visit_macro(self, invocation);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attributes::is_silent(attribute) {
            return;
        }
        if let Meta::List(list) = &attribute.meta {
            let named = tokens::paths(list.tokens.clone());
            let quoted = tokens::quoted_paths(list.tokens.clone());
            for reference in named.into_iter().chain(quoted) {
                self.refer(reference);
            }
        }
    }
}

fn segments(path: &syn::Path) -> Path {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Returns how many values the parameter is, looking into tuples.
fn elements(of: &Type) -> usize {
    match of {
        Type::Tuple(tuple) => tuple.elems.iter().map(elements).sum::<usize>().max(1),
        Type::Reference(reference) => elements(&reference.elem),
        Type::Paren(inner) => elements(&inner.elem),
        Type::Group(inner) => elements(&inner.elem),
        _ => 1,
    }
}

/// Returns the path of the type that an `impl` is for.
fn type_path(of: &Type) -> Option<Path> {
    match of {
        Type::Path(of) if of.qself.is_none() && of.path.leading_colon.is_none() => {
            Some(segments(&of.path))
        }
        Type::Reference(reference) => type_path(&reference.elem),
        Type::Paren(inner) => type_path(&inner.elem),
        Type::Group(inner) => type_path(&inner.elem),
        _ => None,
    }
}
