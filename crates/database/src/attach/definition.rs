//! Graph definitions: written from the tables of a database, and compared with their source.

use model::Result;
use sources::connect::{connect, scheme};

use super::address;
use super::options::AttachOptions;

pub use sources::check::{Finding, Severity};

/// A graph definition that was made from the tables of a database.
#[derive(Clone, Debug)]
pub struct InferredDefinition {
    /// The definition, as JSON.
    pub json: String,
    /// A sentence for each table or key that is not in it, with the reason.
    pub notes: Vec<String>,
}

/// Writes a graph definition from the tables and keys of the database at a URL. It names the URL without a password.
pub fn infer_definition(url: &str) -> Result<InferredDefinition> {
    let found = address::inferred(address::of_text(url)?)?;
    let mut definition = found.definition;
    definition.url = Some(sources::connect::without_password(&found.url));
    Ok(InferredDefinition { json: definition.to_json(), notes: found.notes })
}

/// Compares a graph definition (JSON or the path of a file), or what is inferred of the database at a URL, with its source:
/// what is wrong, and what would make it fast. `url` says where the source is, if the definition does not.
pub fn check_definition(text: &str, url: Option<&str>) -> Result<Vec<Finding>> {
    let found = match url {
        Some(url) => {
            let options = AttachOptions { definition: Some(text.to_owned()), ..AttachOptions::default() };
            address::resolve("source", url, &options)?
        }
        None => address::resolve("source", text, &AttachOptions::default())?,
    };
    found.definition.check()?;
    let source = connect(&found.url, &found.definition)?;
    match scheme(&found.url) {
        // Their connectors look at what is there when they are asked for its sizes.
        "redis" | "rediss" | "file" => source.facts().map(|_| Vec::new()),
        _ => source.check(),
    }
}
