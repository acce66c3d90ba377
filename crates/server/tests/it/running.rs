//! A server on a free port and a store of its own, gone with the test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use database::{Config, Database, Interrupt};
use server::Settings;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) folder: PathBuf,
    pub(crate) database: Database,
    end: Interrupt,
    thread: Option<JoinHandle<()>>,
}

/// A folder for one test.
pub(crate) fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("knotwork-server-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

impl Running {
    pub(crate) fn start(settings: Settings) -> Running {
        Running::start_with(settings, Config::default(), folder())
    }

    pub(crate) fn start_with(settings: Settings, config: Config, folder: PathBuf) -> Running {
        let settings = Settings { listen: vec!["127.0.0.1:0".parse().unwrap()], ..settings };
        let database = Database::open(&folder.join("a.knot"), config).unwrap();
        let (end, (told, ready)) = (Interrupt::new(), mpsc::channel());
        let thread = std::thread::spawn({
            let (database, end) = (database.clone(), end.clone());
            move || server::serve(database, settings, &end, |addresses| told.send(addresses[0]).unwrap()).unwrap()
        });
        let address = ready.recv().unwrap();
        Running { address, folder, database, end, thread: Some(thread) }
    }

    /// Tells it to end.
    pub(crate) fn tell_to_end(&self) {
        self.end.cancel();
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(std::thread::panicking() || ended.is_ok());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
