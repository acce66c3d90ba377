//! Graph definitions: written from the tables of a database, and compared with their source.

use model::Result;
use sources::connect::connect;
use sources::registry::{Driver, examples, one_of, password_variables};

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

/// URLs that definitions can be inferred of, and where passwords come from, as a sentence of help.
pub fn inferable_sources() -> String {
    let (urls, variables) = (one_of(examples(Driver::is_relational)), password_variables(Driver::is_relational));
    format!(
        "The database, as {urls}. The password comes with the URL or from the environment ({variables}) and is not written \
         down"
    )
}

/// Writes a graph definition from the tables and keys of the database at a URL. It names the URL without a password.
pub fn infer_definition(url: &str) -> Result<InferredDefinition> {
    let found = address::inferred(address::of_text(url)?)?;
    let mut definition = found.definition;
    definition.url = Some(sources::urls::without_password(&found.url));
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
    connect(&found.url, &found.definition)?.check()
}
