//! Statements about attached sources: what they say, with patterns of nodes as queries.

use std::sync::Arc;

use super::copy_value;
use crate::ast;
use crate::plan::SourceStatement;

pub(super) fn attach(attach: &ast::Attach) -> SourceStatement {
    let option = |option: &ast::CopyOption| {
        (Arc::from(option.name.text.to_lowercase()), copy_value(&option.value), option.name.span)
    };
    SourceStatement::Attach {
        from: copy_value(&attach.from),
        name: attach.name.as_ref().map(|name| Arc::from(name.text.as_str())),
        options: attach.options.iter().map(option).collect(),
    }
}

pub(super) fn detach(detach: &ast::Detach) -> SourceStatement {
    let (name, span, if_exists) = (Arc::from(detach.name.text.as_str()), detach.name.span, detach.if_exists);
    SourceStatement::Detach { name, span, if_exists }
}

pub(super) fn preload(text: &str, preload: &ast::Preload) -> SourceStatement {
    let names = |names: &Vec<ast::Name>| names.iter().map(|name| Arc::from(name.text.as_str())).collect();
    SourceStatement::Preload {
        name: Arc::from(preload.name.text.as_str()),
        span: preload.name.span,
        nodes: preload.nodes.as_ref().map(|nodes| nodes.iter().map(|node| ids_of(text, node)).collect()),
        types: preload.types.as_ref().map(names),
    }
}

/// A query for the ids of the nodes that a pattern describes.
fn ids_of(text: &str, node: &ast::NodePattern) -> Arc<str> {
    let pattern = &text[node.span.start as usize..node.span.end as usize];
    match &node.variable {
        Some(variable) => format!("MATCH {pattern} RETURN id(`{}`)", variable.text.replace('`', "``")).into(),
        // The text behind the parenthesis is not a variable.
        None => format!("MATCH (n {} RETURN id(n)", &pattern[1..]).into(),
    }
}
