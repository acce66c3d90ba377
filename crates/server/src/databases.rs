//! The databases of a server: that of the store which it was started with, and those in a folder, each in a directory `NAME.knot`.
//!
//! Invariants: a directory goes only after the last session in it has ended and the store is closed; it is renamed first, so that a
//! kill leaves a whole database or none. A database that cannot be opened keeps no other from being served.
//! Cost: a request that names a database takes an uncontended lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use database::administration::{DatabaseRow, Existing};
use database::tools::SYSTEM_NAME;
use database::{Config, DATABASE_NAME, Database, Interrupt};
use model::error::ErrorDetail;
use model::{Error, Result, error};

use crate::credentials::random_name;
use crate::private_file::sync_folder;

/// Ending of the directory of a database.
const ENDING: &str = ".knot";
/// Start of the name of a directory that is about to be deleted.
const DROPPED: &str = ".dropped-";
/// The most databases in a folder.
const DATABASES_MAX: usize = 100;
/// Lengths of names, as in Neo4j.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=63;
/// Time for which a database that is to go waits for its sessions, and between two looks.
const LEAVE_TIME: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(2);

/// A folder with databases.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// The memory limit of each in bytes.
    pub memory_bytes_max: usize,
}

/// State of a database of the folder.
enum State {
    Online(Database),
    /// It could not be opened, for this reason.
    Broken(String),
    /// It waits for its sessions to end.
    Leaving,
}

/// A database that was found, and its name.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) name: Arc<str>,
    pub(crate) database: Database,
}

/// Outcome of looking for a database.
pub(crate) enum Found {
    Here(Place),
    /// There is none of that name.
    Nothing,
    /// It is there, and cannot be used now, for this reason.
    Offline(String),
}

/// The databases of a server.
pub(crate) struct Databases {
    home: Place,
    folder: Option<Folder>,
    others: RwLock<BTreeMap<Arc<str>, State>>,
    /// Held while one is made or dropped.
    changing: Mutex<()>,
}

impl Databases {
    /// The database of a store, and those in a folder, which is made if it is not there.
    pub(crate) fn open(home: Database, folder: Option<Folder>) -> Result<Databases> {
        let home = Place { name: Arc::from(DATABASE_NAME), database: home };
        let databases = Databases { home, folder, others: RwLock::default(), changing: Mutex::default() };
        if let Some(folder) = &databases.folder {
            std::fs::create_dir_all(&folder.path).map_err(|cause| Error::of_file(&folder.path, &cause))?;
            databases.find_all(&folder.path)?;
        }
        Ok(databases)
    }

    /// Opens the databases that are in the folder, and removes what was about to be deleted.
    fn find_all(&self, folder: &Path) -> Result<()> {
        let failed = |cause: std::io::Error| Error::of_file(folder, &cause);
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(file) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if file.starts_with(DROPPED) {
                std::fs::remove_dir_all(entry.path()).map_err(|cause| Error::of_file(&entry.path(), &cause))?;
            }
            let Some(name) =
                file.strip_suffix(ENDING).filter(|name| checked_name(name).is_ok_and(|held| held == *name))
            else {
                continue;
            };
            let state = match self.open_one(&entry.path()) {
                Ok(database) => State::Online(database),
                Err(error) => State::Broken(format!("{error}{}", error.remedy_line())),
            };
            self.write().insert(Arc::from(name), state);
        }
        Ok(())
    }

    fn open_one(&self, directory: &Path) -> Result<Database> {
        let memory = self.folder.as_ref().map(|folder| folder.memory_bytes_max);
        let config = Config { memory_bytes_max: memory, ..self.home.database.config().clone() };
        Database::open(directory, config)
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Arc<str>, State>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Arc<str>, State>> {
        self.others.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database of that name; that of the server's store for none and for `system`.
    pub(crate) fn find(&self, name: Option<&str>) -> Found {
        let home = || Found::Here(self.home.clone());
        let Some(name) = name else { return home() };
        if name.eq_ignore_ascii_case(DATABASE_NAME) || name.eq_ignore_ascii_case(SYSTEM_NAME) {
            return home();
        }
        match self.read().get_key_value(&*name.to_ascii_lowercase()) {
            Some((name, State::Online(database))) => {
                Found::Here(Place { name: name.clone(), database: database.clone() })
            }
            Some((name, State::Broken(message))) => {
                Found::Offline(format!("the database '{name}' cannot be opened: {message}"))
            }
            Some((name, State::Leaving)) => Found::Offline(format!("the database '{name}' is being dropped")),
            None => Found::Nothing,
        }
    }

    /// Microseconds since the Unix epoch.
    pub(crate) fn unix_us(&self) -> i64 {
        self.home.database.clock().unix_us()
    }

    /// Those that are open.
    pub(crate) fn all(&self) -> Vec<Place> {
        let others = self.read();
        let online = others.iter().filter_map(|(name, state)| match state {
            State::Online(database) => Some(Place { name: name.clone(), database: database.clone() }),
            _ => None,
        });
        online.chain([self.home.clone()]).collect()
    }

    /// All, for `SHOW DATABASES`.
    pub(crate) fn rows(&self) -> Vec<DatabaseRow> {
        let row = |(name, state): (&Arc<str>, &State)| {
            let (is_online, message) = match state {
                State::Online(_) => (true, String::new()),
                State::Broken(message) => (false, message.clone()),
                State::Leaving => (false, "it is being dropped".to_owned()),
            };
            DatabaseRow { name: name.clone(), is_default: false, is_online, message }
        };
        let (name, is_online, message) = (self.home.name.clone(), true, String::new());
        let mut rows = vec![DatabaseRow { name, is_default: true, is_online, message }];
        rows.extend(self.read().iter().map(row));
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }

    /// True if there is a database of that name, whatever its state.
    pub(crate) fn has(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(DATABASE_NAME) || self.read().contains_key(&*name.to_ascii_lowercase())
    }

    fn folder(&self) -> Result<&Folder> {
        self.folder.as_ref().ok_or_else(|| {
            error!(Unsupported, "this server has the database {DATABASE_NAME} alone, and no folder for others")
                .with_remedy("start it with knot serve STORE --databases FOLDER")
        })
    }

    /// Makes a database. `None` if there is one already and it is to be kept; otherwise the new one.
    pub(crate) fn create(&self, name: &str, existing: Existing, interrupt: &Interrupt) -> Result<Option<Place>> {
        let folder = self.folder()?;
        let name = checked_name(name)?;
        let _changing = self.change();
        if self.has(&name) {
            match existing {
                Existing::Keep => return Ok(None),
                Existing::Refuse => {
                    return Err(error!(SchemaRule, "there is a database '{name}' already")
                        .with_detail(ErrorDetail::DatabaseExists)
                        .with_remedy("choose another name, or write IF NOT EXISTS"));
                }
                Existing::Replace => self.drop_one(folder, &name, interrupt)?,
            }
        }
        let count = self.read().len();
        if count >= DATABASES_MAX {
            return Err(error!(
                Limit,
                "the server has {count} databases besides {DATABASE_NAME}, as many as it may have"
            )
            .with_remedy("drop one"));
        }
        let directory = folder.path.join(format!("{name}{ENDING}"));
        let database = self.open_one(&directory).inspect_err(|_| {
            // Nobody was told of a database.
            let _ = std::fs::remove_dir_all(&directory);
        })?;
        let place = Place { name: name.into(), database };
        self.write().insert(place.name.clone(), State::Online(place.database.clone()));
        Ok(Some(place))
    }

    /// Drops a database with all that it holds. False if there is none of that name.
    pub(crate) fn drop_named(&self, name: &str, interrupt: &Interrupt) -> Result<bool> {
        if [DATABASE_NAME, SYSTEM_NAME].iter().any(|held| name.eq_ignore_ascii_case(held)) {
            return Err(error!(SchemaRule, "the database '{name}' is the server's own, and cannot be dropped")
                .with_remedy("drop another; to have no graph in it, delete its nodes"));
        }
        let folder = self.folder()?;
        let name = name.to_ascii_lowercase();
        let _changing = self.change();
        if !self.has(&name) {
            return Ok(false);
        }
        self.drop_one(folder, &name, interrupt)?;
        Ok(true)
    }

    fn drop_one(&self, folder: &Folder, name: &str, interrupt: &Interrupt) -> Result<()> {
        let state = self.write().insert(Arc::from(name), State::Leaving);
        let left = match state {
            Some(State::Online(database)) => {
                leave(database, name, interrupt).map_err(|(database, error)| (State::Online(database), error))
            }
            _ => Ok(()),
        };
        let gone = left.and_then(|()| remove(folder, name).map_err(|error| (self.again(folder, name), error)));
        match gone {
            Ok(()) => {
                self.write().remove(name);
                Ok(())
            }
            Err((state, error)) => {
                self.write().insert(Arc::from(name), state);
                Err(error)
            }
        }
    }

    /// Opens a database that was closed to go, and has to stay.
    fn again(&self, folder: &Folder, name: &str) -> State {
        match self.open_one(&folder.path.join(format!("{name}{ENDING}"))) {
            Ok(database) => State::Online(database),
            Err(error) => State::Broken(error.to_string()),
        }
    }
}

/// Ends what is at work in a database, and closes it. It is given back if that takes too long.
fn leave(database: Database, name: &str, interrupt: &Interrupt) -> std::result::Result<(), (Database, Error)> {
    let start_ns = database.clock().now_ns();
    while !database.is_last_handle() {
        database.terminate_all();
        let waited_ns = database.clock().now_ns().saturating_sub(start_ns);
        if waited_ns > LEAVE_TIME.as_nanos() as u64 {
            let error = error!(Busy, "the database '{name}' is still in use after {} s", LEAVE_TIME.as_secs());
            return Err((database, error.with_remedy("try again; SHOW TRANSACTIONS tells what is at work in it")));
        }
        if let Err(error) = interrupt.check() {
            return Err((database, error));
        }
        std::thread::sleep(LOOK);
    }
    drop(database);
    Ok(())
}

/// Removes the directory of a database that is closed.
fn remove(folder: &Folder, name: &str) -> Result<()> {
    let from = folder.path.join(format!("{name}{ENDING}"));
    let to = folder.path.join(format!("{DROPPED}{}", random_name()?));
    let renamed = std::fs::rename(&from, &to).and_then(|()| sync_folder(&folder.path));
    renamed.map_err(|cause| Error::of_file(&from, &cause))?;
    // The next start removes the rest.
    let _ = std::fs::remove_dir_all(&to);
    Ok(())
}

/// A name in small letters, if it is one of a database.
fn checked_name(name: &str) -> Result<String> {
    let lower = name.to_ascii_lowercase();
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
    let is_right = NAME_BYTES.contains(&lower.len())
        && lower.starts_with(|c: char| c.is_ascii_lowercase())
        && lower.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && lower.chars().all(is_letter);
    if is_right && lower != SYSTEM_NAME && !lower.starts_with("system") {
        return Ok(lower);
    }
    let (least, most) = NAME_BYTES.into_inner();
    Err(error!(Argument, "'{name}' is no name of a database").with_remedy(format!(
        "take {least} to {most} letters from a to z, digits, dots and dashes, a letter first and no dot or dash last; \
         names that begin with system are the server's"
    )))
}

#[cfg(test)]
mod tests {
    use database::administration::Existing;
    use database::{Config, Database, Interrupt};

    use super::{DROPPED, Databases, Folder, Found, checked_name};

    #[test]
    fn names_are_those_of_neo4j() {
        for name in ["abc", "Sales.2026", "a-b.c9", &"x".repeat(63)] {
            assert_eq!(checked_name(name).unwrap(), name.to_ascii_lowercase());
        }
        let long = "x".repeat(64);
        for name in
            ["", "ab", "1abc", "a b", "system", "systematic", "a/b", "../abc", "abc.", "abc-", "ä-graph", "a\0b", &long]
        {
            assert!(checked_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn databases_are_made_found_again_and_dropped() {
        let folder = std::env::temp_dir().join(format!("knotwork-databases-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let home = || Database::open(&folder.join("home.knot"), Config::default()).unwrap();
        let path = folder.join("others");
        let others = Folder { path: path.clone(), memory_bytes_max: 64 << 20 };
        let interrupt = Interrupt::new();
        let databases = Databases::open(home(), Some(others.clone())).unwrap();
        let sales = databases.create("Sales", Existing::Refuse, &interrupt).unwrap().unwrap();
        assert_eq!(&*sales.name, "sales");
        sales.database.session().query("CREATE (:Sold)", &Default::default()).unwrap();
        drop(sales);
        assert!(databases.create("sales", Existing::Keep, &interrupt).unwrap().is_none());
        assert!(databases.create("sales", Existing::Refuse, &interrupt).is_err());
        drop(databases);
        // One that cannot be opened, and what a kill left of one that was dropped.
        std::fs::create_dir_all(path.join("broken.knot")).unwrap();
        std::fs::write(path.join("broken.knot/MANIFEST"), "nothing").unwrap();
        std::fs::create_dir_all(path.join(format!("{DROPPED}1/x"))).unwrap();
        let databases = Databases::open(home(), Some(others)).unwrap();
        assert!(!path.join(format!("{DROPPED}1")).exists());
        let rows = databases.rows();
        let states: Vec<(&str, bool)> = rows.iter().map(|row| (&*row.name, row.is_online)).collect();
        assert_eq!(states, [("broken", false), ("neo4j", true), ("sales", true)], "{rows:?}");
        assert!(matches!(databases.find(Some("broken")), Found::Offline(_)));
        let Found::Here(sales) = databases.find(Some("SALES")) else { panic!("it is there") };
        let count = sales.database.session().query("MATCH (s:Sold) RETURN count(s)", &Default::default()).unwrap();
        assert_eq!(count.single(), Some(1.into()));
        // A session keeps it, until it ends.
        let (held, waiting) = (sales.database.session(), Interrupt::new());
        waiting.cancel();
        assert!(databases.drop_named("sales", &waiting).is_err());
        assert!(matches!(databases.find(Some("sales")), Found::Here(_)), "it is back");
        drop((held, sales));
        assert!(databases.drop_named("sales", &interrupt).unwrap());
        assert!(!databases.drop_named("sales", &interrupt).unwrap());
        assert!(databases.drop_named("broken", &interrupt).unwrap());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        assert!(databases.drop_named("neo4j", &interrupt).is_err());
        drop(databases);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
