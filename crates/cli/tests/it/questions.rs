//! Questions that a grammar makes, asked of an attached database and in SQL: the script of the benchmark, with few rows.

use std::process::Command;

use testing::random::seed_or;
use testing::servers::skip;

use crate::command::Folder;

#[test]
fn generated_questions_have_the_answers_of_sql() {
    if Command::new("python3").args(["-c", "import sqlite3"]).status().is_ok_and(|status| status.success()) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/sources/questions.py");
        let folder = Folder::new();
        for seed in seed_or(1)..seed_or(1) + 2 {
            let mut run = Command::new("python3");
            run.arg(script).arg(folder.path()).args(["--knot", env!("CARGO_BIN_EXE_knot"), "--check"]);
            run.args(["--questions", "33", "--seed", &seed.to_string()]);
            let done = run.output().expect("python3 starts");
            let (out, error) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            assert!(done.status.success(), "seed {seed}: {error}");
            assert!(out.contains("33 questions, all answers equal"), "seed {seed}: {out}");
        }
    } else {
        skip("generated questions: python3 with sqlite3 is not installed");
    }
}
