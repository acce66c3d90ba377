//! Jobs of Spark: algorithms with `execution: 'spark'` are computed by PySpark, which runs in a Python of its own.
//!
//! A job has a folder of its own, with the tables that are written for it, the program, and its result. The program is
//! `python/knotwork/spark/job.py`, which is part of this binary, so that a Python with PySpark is all that is needed.
//!
//! Invariant: when a job is dropped, all processes that it started have ended, and its folder is gone. If this process is
//! killed, the program finds its input closed, and sees to both itself.
//!
//! - [`program`]: the process, and what is said between it and us.
//! - [`tables`]: the tables that are written for it, and its rows.

mod program;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::job::{Job, JobColumn, JobEngine, JobFigures, JobPart, JobTask};
use model::{Column, Error, Interrupt, Result, error};

use crate::settings::SparkSettings;
use program::Program;
use tables::TablePart;

/// The program, in Python.
const SOURCE: &str = include_str!("../../../python/knotwork/spark/job.py");
/// Names that are tried for a folder.
const NAMES_MAX: u64 = 100;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Spark, as a database was told of it.
pub(crate) struct Spark {
    settings: SparkSettings,
}

impl Spark {
    pub(crate) fn new(settings: SparkSettings) -> Spark {
        Spark { settings }
    }
}

impl JobEngine for Spark {
    fn start(&self, interrupt: &Interrupt) -> Result<Box<dyn Job>> {
        let folder = JobFolder::new(&self.settings)?;
        let write = |name: &str, text: &str| {
            let path = folder.0.join(name);
            std::fs::write(&path, text).map(|()| path.clone()).map_err(|cause| Error::of_file(&path, &cause))
        };
        let source = write("job.py", SOURCE)?;
        let options = self.settings.options.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        let session = serde_json::json!({
            "folder": folder.0.to_string_lossy(),
            "master": self.settings.master,
            "options": options.collect::<serde_json::Map<_, _>>(),
        });
        let session = write("session.json", &session.to_string())?;
        let mut program = Program::start(&self.settings, &folder.0, [&source, &session])?;
        program.await_begin(interrupt)?;
        Ok(Box::new(SparkJob { program: Mutex::new(program), parts: AtomicU64::new(0), folder }))
    }
}

/// The folder of a job, removed with it.
struct JobFolder(PathBuf);

impl JobFolder {
    fn new(settings: &SparkSettings) -> Result<JobFolder> {
        let parent = settings.folder.clone().unwrap_or_else(storage::os::temporary_directory);
        let parent = std::path::absolute(&parent).map_err(|cause| Error::of_file(&parent, &cause))?;
        for _ in 0..NAMES_MAX {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("knotwork-spark-{}-{number}", std::process::id()));
            match make_folder(&path, settings.folder.is_some()) {
                Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| JobFolder(path.clone())).map_err(|cause| refused(&parent, &cause)),
            }
        }
        Err(error!(File, "{}: has folders of other jobs under each name that was tried", parent.display()))
    }
}

fn refused(parent: &Path, cause: &std::io::Error) -> Error {
    let error = Error::of_file(parent, cause);
    let message = format!("no folder for the tables of Spark: {}", error.message());
    Error::new(error.code(), message).with_remedy("name a folder that can be written by spark_folder (--spark-folder)")
}

/// Makes a folder: one that all of Spark's machines are to see as the user's folders are, another for this user alone.
#[cfg(unix)]
fn make_folder(path: &Path, is_shared: bool) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mode = if is_shared { 0o777 } else { 0o700 };
    std::fs::DirBuilder::new().mode(mode).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path, _is_shared: bool) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

impl Drop for JobFolder {
    fn drop(&mut self) {
        // Machines of a cluster may be writing their last file: what came between is removed by a second attempt.
        if std::fs::remove_dir_all(&self.0).is_err() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A job. Its fields are dropped in their order: first the program ends, then the folder goes.
struct SparkJob {
    program: Mutex<Program>,
    parts: AtomicU64,
    folder: JobFolder,
}

impl SparkJob {
    fn program(&self) -> MutexGuard<'_, Program> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job for SparkJob {
    fn part(&self, table: &'static str, columns: &'static [JobColumn]) -> Result<Box<dyn JobPart>> {
        // A program that has failed meanwhile is told before more is written for it.
        self.program().look()?;
        let number = self.parts.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(TablePart::new(&self.folder.0.join(table), number, columns)?))
    }

    fn run(&mut self, task: &JobTask, interrupt: &Interrupt) -> Result<JobFigures> {
        let mut program = self.program();
        program.await_session(interrupt)?;
        program.ask(task)?;
        program.await_figures(interrupt)
    }

    fn rows(&mut self, interrupt: &Interrupt, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        tables::read(&self.folder.0.join("result"), interrupt, sink)
    }
}
