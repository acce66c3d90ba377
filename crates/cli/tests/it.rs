//! The command as its users run it: output, exit codes, and what is left when it is killed or the disk is full.
//!
//! Modules in reading order:
//! - `command`: running the command in a folder that goes away.
//! - `conventions`: what goes where, with which exit code.
//! - `verbs`: each verb does what it says.
//! - `measurements`: measurements of a store, their comparison, and the report in a browser.
//! - `mishaps`: paths that hold no store, newer stores, other processes, Ctrl-C, full disks.
//! - `together`: several processes write one store.
//! - `distant`: the shell on a server.
//! - `guests`: servers whose store another process has open.
//! - `care`: backups and restores.
//! - `sources`: what goes wrong with databases that are attached.
//! - `questions`: questions to an attached database have the answers of SQL.
//! - `kills`: killed at any moment, a store opens with all that was acknowledged.

#[path = "it/care.rs"]
mod care;
#[path = "it/command.rs"]
mod command;
#[path = "it/conventions.rs"]
mod conventions;
#[path = "it/distant.rs"]
mod distant;
#[path = "it/guests.rs"]
mod guests;
#[path = "it/kills.rs"]
mod kills;
#[path = "it/measurements.rs"]
mod measurements;
#[path = "it/mishaps.rs"]
mod mishaps;
#[cfg(feature = "sqlite")]
#[path = "it/questions.rs"]
mod questions;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "sqlite"))]
#[path = "it/sources.rs"]
mod sources;
#[path = "it/together.rs"]
mod together;
#[path = "it/verbs.rs"]
mod verbs;
