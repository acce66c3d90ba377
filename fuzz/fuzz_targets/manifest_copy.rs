//! Fuzzes copies of manifests.
#![no_main]

use knotwork_fuzz::case::stores::Kind;
use knotwork_fuzz::run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| run(Kind::ManifestCopy, bytes));
