//! The files that the statements of a session may name: all that the process reaches, those of one folder, or none.
//!
//! `LOAD CSV`, `COPY`, `ATTACH` and `BACKUP DATABASE` have their paths from here, so that a server decides once for each client.

use std::path::{Component, Path, PathBuf};

use model::error::ErrorDetail;
use model::{Error, Result, error};

/// The files that the statements of a session may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Those that the process reaches. Relative paths begin in this folder; `None` for that of the process.
    Everywhere(Option<PathBuf>),
    /// Those in a folder, at any depth, in which all paths begin.
    Within(PathBuf),
    /// None: whoever writes the statements is not on this machine.
    Nowhere,
}

impl Default for FileAccess {
    fn default() -> FileAccess {
        FileAccess::Everywhere(None)
    }
}

impl FileAccess {
    /// The path of a file that `statement` is to read, from its text: a path, or a URL of the scheme `file`.
    pub(crate) fn to_read(&self, statement: &str, text: &str) -> Result<PathBuf> {
        let path = path_of(statement, text)?;
        let FileAccess::Within(folder) = self else { return self.free(statement, path) };
        let place = within(folder, &path).ok_or_else(|| outside(statement, text))?;
        match place.canonicalize() {
            Ok(real) if is_inside(&real, folder) => Ok(real),
            Ok(_) => Err(outside(statement, text)),
            // An error of opening it says that it is not there.
            Err(_) => Ok(place),
        }
    }

    /// The path of a file that `statement` is to make or replace.
    pub(crate) fn to_write(&self, statement: &str, text: &str) -> Result<PathBuf> {
        let path = path_of(statement, text)?;
        let FileAccess::Within(folder) = self else { return self.free(statement, path) };
        let place = within(folder, &path).ok_or_else(|| outside(statement, text))?;
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(outside(statement, text));
        };
        match parent.canonicalize() {
            Ok(real) if is_inside(&real, folder) => Ok(real.join(name)),
            Ok(_) => Err(outside(statement, text)),
            Err(cause) => Err(Error::of_file(parent, &cause)),
        }
    }

    /// A path where no folder bounds it.
    fn free(&self, statement: &str, path: PathBuf) -> Result<PathBuf> {
        match self {
            FileAccess::Everywhere(Some(base)) => Ok(base.join(path)),
            FileAccess::Nowhere => {
                Err(error!(Unsupported, "{statement} names a file of the machine that serves this database")
                    .with_detail(ErrorDetail::Forbidden)
                    .with_remedy(
                        "read the file where the client runs, and pass its rows as a parameter to UNWIND; or have the \
                         server started with --files FOLDER",
                    ))
            }
            _ => Ok(path),
        }
    }

    /// The folder in which relative paths begin, if it is not that of the process.
    pub(crate) fn base(&self) -> Option<&Path> {
        match self {
            FileAccess::Everywhere(base) => base.as_deref(),
            FileAccess::Within(folder) => Some(folder),
            FileAccess::Nowhere => None,
        }
    }
}

fn outside(statement: &str, text: &str) -> Error {
    error!(File, "{statement}: '{text}' does not lie in the folder of files that the server gives to its clients")
        .with_detail(ErrorDetail::Forbidden)
        .with_remedy("name a file by its path in that folder, without `..`")
}

/// The place in a folder that a path means, with or without a slash in front; an absolute path may name the folder too.
fn within(folder: &Path, path: &Path) -> Option<PathBuf> {
    let inner = path.strip_prefix(folder).unwrap_or(path);
    let mut place = folder.to_path_buf();
    for component in inner.components() {
        match component {
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
}

/// True if a path without links lies in a folder.
fn is_inside(real: &Path, folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| real.starts_with(folder))
}

/// The path that a text means.
fn path_of(statement: &str, text: &str) -> Result<PathBuf> {
    if let Some(path) = text.strip_prefix("file://") {
        return Ok(PathBuf::from(unescaped(path)));
    }
    match text.split_once("://") {
        Some((scheme, _)) => Err(error!(Unsupported, "{statement} cannot read {scheme} URLs")
            .with_remedy("fetch the file first, and name it by its path")),
        None => Ok(PathBuf::from(text)),
    }
}

/// The path of a URL, in which `%20` stands for a space.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = if *first == b'%' { tail.get(..2) } else { None };
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use model::error::ErrorDetail;

    use super::FileAccess;

    #[test]
    fn paths_stay_in_their_folder() {
        let root = std::env::temp_dir().join(format!("knotwork-files-{}", std::process::id()));
        let folder = root.join("given");
        std::fs::create_dir_all(folder.join("deep")).expect("folder");
        for file in ["secret.csv", "given/a.csv", "given/deep/b c.csv"] {
            std::fs::write(root.join(file), "x\n").expect("file");
        }
        std::os::unix::fs::symlink(root.join("secret.csv"), folder.join("link.csv")).expect("link");
        std::os::unix::fs::symlink(&root, folder.join("up")).expect("link");
        let access = FileAccess::Within(folder.clone());
        let real = folder.canonicalize().expect("folder");
        let read = |text: &str| access.to_read("LOAD CSV", text);
        let write = |text: &str| access.to_write("COPY", text);
        for (text, place) in [
            ("a.csv", "a.csv"),
            ("/a.csv", "a.csv"),
            ("file:///a.csv", "a.csv"),
            ("./deep/b c.csv", "deep/b c.csv"),
            ("file:///deep/b%20c.csv", "deep/b c.csv"),
        ] {
            assert_eq!(read(text).expect(text), real.join(place), "{text}");
            assert_eq!(write(text).expect(text), real.join(place), "{text}");
        }
        assert_eq!(read(&folder.join("a.csv").display().to_string()).expect("its own path"), real.join("a.csv"));
        assert_eq!(write("new.csv").expect("a new file"), real.join("new.csv"));
        for text in ["../secret.csv", "deep/../../secret.csv", "file:///..%2Fsecret.csv", "up/secret.csv", "link.csv"] {
            assert_eq!(read(text).expect_err(text).detail(), Some(ErrorDetail::Forbidden), "{text}");
        }
        for text in ["../new.csv", "up/new.csv", "/", ""] {
            assert!(write(text).is_err(), "{text}");
        }
        // Not there, and told so by whoever opens it, in the folder.
        let elsewhere = root.join("secret.csv").display().to_string();
        assert!(read(&elsewhere).expect("a place").starts_with(&folder));
        std::fs::remove_dir_all(root).expect("gone");
    }

    #[test]
    fn without_a_folder_paths_are_those_of_the_process_or_the_client() {
        let read = |access: FileAccess, text: &str| access.to_read("LOAD CSV", text);
        assert_eq!(read(FileAccess::default(), "a.csv").expect("free"), PathBuf::from("a.csv"));
        let client = FileAccess::Everywhere(Some(PathBuf::from("/data/ann")));
        assert_eq!(read(client.clone(), "a.csv").expect("free"), Path::new("/data/ann/a.csv"));
        assert_eq!(read(client, "/tmp/a.csv").expect("free"), Path::new("/tmp/a.csv"));
        assert!(read(FileAccess::Nowhere, "a.csv").is_err());
        assert!(read(FileAccess::default(), "https://example.com/a.csv").is_err());
    }
}
