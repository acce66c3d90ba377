//! Fuzzes edge partitions.
#![no_main]

use knotwork_fuzz::case::stores::Kind;
use knotwork_fuzz::run;
use libfuzzer_sys::fuzz_target;
use storage::format::FileKind;

fuzz_target!(|bytes: &[u8]| run(Kind::File(FileKind::Edges), bytes));
