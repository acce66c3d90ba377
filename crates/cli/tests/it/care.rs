//! Backups and restores as a stranger runs them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};

use crate::command::{Folder, finish, pause, signal};
use crate::mishaps::SmallDisk;

/// A shell on `s.knot` that has answered once.
fn shell(folder: &Folder) -> (Child, BufReader<ChildStdout>) {
    let mut child = folder.command(&["s.knot", "-m", "jsonl"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let stdin = child.stdin.as_mut().expect("it is piped");
    stdin.write_all(b"RETURN 1 AS ready;\n").expect("the child reads");
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the child answers");
    assert_eq!(line, "{\"ready\":1}\n");
    (child, stdout)
}

fn count(folder: &Folder, store: &str) -> String {
    folder.run(&["query", store, "MATCH (n) RETURN count(n)", "-s"]).ok()
}

#[test]
fn a_backup_and_back() {
    let folder = Folder::new();
    folder.make_store("UNWIND range(1, 100) AS i CREATE (:A {i: i})");
    let output = folder.run(&["backup", "s.knot", "b1"]);
    assert!(output.stderr.starts_with("backed up to b1: "), "{output:?}");
    folder.make_store("CREATE (:A {i: 101})");
    folder.run(&["backup", "s.knot", "b2", "--base", "b1"]).ok();
    folder.run(&["check", "b1"]).ok();
    assert_eq!(folder.run(&["query", "b1", "MATCH (n) RETURN count(n)", "-s", "-r"]).ok(), "count(n)\n100\n");
    let message = folder.run(&["b1", "-c", "CREATE (:A)"]).fails(1);
    assert!(message.starts_with("READ_ONLY: b1 is a backup") && message.contains("knot restore"), "{message}");
    for (backup, expected) in [("b1", "count(n)\n100\n"), ("b2", "count(n)\n101\n")] {
        folder.run(&["restore", backup, "r.knot"]).ok();
        assert_eq!(count(&folder, "r.knot"), expected);
        folder.run(&["check", "r.knot"]).ok();
        std::fs::remove_dir_all(folder.join("r.knot")).expect("it is there");
    }
}

#[test]
fn a_backup_of_a_store_that_is_open_and_what_the_lock_says() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    let (mut child, mut stdout) = shell(&folder);
    let pid = format!("process {} (", child.id());
    let message = folder.run(&["import", "s.knot", "-n", "A=a.csv"]).fails(1);
    assert!(message.contains(&pid) && message.contains("knot)") && !message.contains("jsonl"), "{message}");
    // Statements go through the process that has the store; reading needs no lock.
    assert_eq!(folder.run(&["query", "s.knot", "RETURN 1", "-s"]).ok(), "1\n1\n");
    assert!(folder.run(&["info", "s.knot"]).ok().contains("1 nodes, 0 edges"));
    assert_eq!(folder.run(&["query", "s.knot", "MATCH (n) RETURN count(n)", "-s", "-r"]).ok(), "count(n)\n1\n");
    folder.run(&["backup", "s.knot", "b1"]).ok();
    let stdin = child.stdin.as_mut().expect("it is piped");
    stdin.write_all(b"CREATE (:A);\n:backup b2\nRETURN 2 AS ready;\n").expect("the child reads");
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the child answers");
    assert_eq!(line, "{\"ready\":2}\n");
    for (backup, expected) in [("b1", "count(n)\n1\n"), ("b2", "count(n)\n2\n")] {
        folder.run(&["restore", backup, &format!("{backup}.knot")]).ok();
        assert_eq!(count(&folder, &format!("{backup}.knot")), expected);
    }
    signal(&child, "KILL");
    finish(child);
    // The content of the lock file means nothing, whether a killed process or somebody else left it.
    for text in ["999999999 knot", "no number", "", "\u{1}"] {
        folder.write("s.knot/LOCK", text);
        assert_eq!(count(&folder, "s.knot"), "count(n)\n2\n");
    }
}

#[test]
fn damage_is_told_and_salvaged() {
    let folder = Folder::new();
    // An import writes files at once.
    let mut people = String::from("id,name\n");
    (0..2_000).for_each(|id| people += &format!("{id},name {id}\n"));
    folder.write("people.csv", people);
    folder.run(&["import", "s.knot", "--nodes", "P=people.csv"]).ok();
    folder.run(&["recover", "s.knot", "whole.knot"]).ok();
    assert_eq!(count(&folder, "whole.knot"), "count(n)\n2000\n");
    let files = std::fs::read_dir(folder.join("s.knot")).expect("it is there");
    let path = files.map(|file| file.expect("it is there").path()).find(|path| path.ends_with("00000001.nodes"));
    let path = path.unwrap_or_else(|| folder.join("s.knot/00000002.nodes"));
    let mut bytes = std::fs::read(&path).expect("an import writes nodes");
    bytes[3_000] ^= 4;
    std::fs::write(&path, bytes).expect("a file can be written");
    let output = folder.run(&["check", "s.knot"]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains(".nodes at byte 0: ") && output.stdout.contains("nodes 0 to 2000"), "{output:?}");
    assert!(output.stderr.contains("knot restore") && output.stderr.contains("knot recover s.knot NEW"), "{output:?}");
    let output = folder.run(&["recover", "s.knot", "r.knot"]);
    assert_eq!(output.code, Some(0), "the store is made: {output:?}");
    assert!(output.stdout.starts_with("lost: ") && output.stderr.contains("nodes and 0 edges copied"), "{output:?}");
    folder.run(&["check", "r.knot"]).ok();
}

#[test]
fn files_are_merged_and_told_by_level() {
    let folder = Folder::new();
    folder.make_store("UNWIND range(1, 3000) AS i CREATE (:A {i: i})-[:E {w: i}]->(:B)");
    folder.run(&["compact", "s.knot"]).ok();
    let info = folder.run(&["info", "s.knot"]).ok();
    for words in ["files (format ", "edges, level ", "3,000 edges", "bytes an edge", "memory"] {
        assert!(info.contains(words), "{words} in {info}");
    }
    let json = folder.run(&["info", "--json", "s.knot"]).ok();
    for words in ["\"layout\": [", "\"edgesStored\": 3000", "\"hitRate\"", "\"writeAmplification\""] {
        assert!(json.contains(words), "{words} in {json}");
    }
    let shell = folder.run_with(&["s.knot"], "CREATE (:A);\n:info\n").ok();
    assert!(shell.contains("since it was opened") && shell.contains("commits"), "{shell}");
    let message = folder.run(&["compact", "missing.knot"]).fails(1);
    assert!(message.starts_with("NOT_A_STORE: "), "{message}");
}

#[test]
fn where_no_copy_can_be_taken_or_go() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    folder.run(&["backup", "s.knot", "b"]).ok();
    folder.write("file", "text");
    std::fs::create_dir(folder.join("half")).expect("the temporary folder can be written");
    folder.write("half/COPYING", "a copy of s.knot; unfinished as long as this file is here\n");
    for (arguments, code, words) in [
        (&["backup", "missing.knot", "x"][..], "NOT_A_STORE", "missing.knot"),
        (&["backup", "file", "x"], "NOT_A_STORE", "file"),
        (&["backup", "s.knot", "file"], "FILE", "a file is there"),
        (&["backup", "s.knot", "b"], "FILE", "a backup is there already"),
        (&["backup", "s.knot", "s.knot"], "FILE", "cannot lie in"),
        (&["backup", "s.knot", "s.knot/backup"], "FILE", "cannot lie in"),
        (&["backup", "s.knot", "x", "--base", "s.knot"], "FILE", "the base is no backup"),
        (&["backup", "s.knot", "file/below"], "IO", "file/below"),
        (&["restore", "missing", "x"], "NOT_A_STORE", "missing"),
        (&["restore", "half", "x"], "NOT_A_STORE", "half"),
        (&["restore", "b", "s.knot"], "FILE", "a store is there already"),
        (&["info", "half"], "NOT_A_STORE", "unfinished"),
        (&["half", "-c", "RETURN 1"], "NOT_A_STORE", "unfinished"),
    ] {
        let message = folder.run(arguments).fails(1);
        assert!(message.starts_with(&format!("{code}: ")) && message.contains(words), "{arguments:?}: {message}");
        assert!(message.contains("\n  = "), "a remedy: {message}");
    }
    assert!(!folder.join("x").exists(), "nothing is left of what was refused");
    // An unfinished copy is begun anew.
    folder.run(&["backup", "s.knot", "half"]).ok();
    folder.run(&["check", "half"]).ok();
}

#[test]
fn a_backup_that_is_stopped_leaves_nothing_that_opens() {
    let folder = Folder::new();
    let statement = "UNWIND range(1, 400000) AS i CREATE (:A {i: i, text: 'text of number ' + i})";
    folder.make_store(statement);
    for (name, milliseconds) in [("INT", 0), ("INT", 5), ("INT", 20), ("KILL", 5), ("KILL", 20), ("KILL", 60)] {
        let child = folder.command(&["backup", "s.knot", "b"]).spawn().expect("it starts");
        pause(milliseconds);
        // It may have ended by itself.
        let _ = std::process::Command::new("kill")
            .args([&format!("-{name}"), &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let output = finish(child);
        if output.code == Some(0) {
            folder.run(&["check", "b"]).ok();
            std::fs::remove_dir_all(folder.join("b")).expect("it is there");
        } else if folder.join("b").exists() {
            let output = folder.run(&["query", "b", "MATCH (n) RETURN count(n)", "-s", "-r"]);
            if output.code == Some(0) {
                // It was whole, and stopped between its last write and the end of the process.
                assert_eq!(output.ok(), "count(n)\n400000\n", "{name}");
                folder.run(&["check", "b"]).ok();
                std::fs::remove_dir_all(folder.join("b")).expect("it is there");
            } else {
                let message = output.fails(1);
                assert!(message.starts_with("NOT_A_STORE: "), "{name}: {message}");
            }
        }
    }
    folder.run(&["backup", "s.knot", "b"]).ok();
    folder.run(&["restore", "b", "r.knot"]).ok();
    assert_eq!(count(&folder, "r.knot"), "count(n)\n400000\n");
}

#[test]
fn a_small_disk_and_one_that_is_only_read() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 1 << 20) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    folder.make_store("UNWIND range(1, 60000) AS i CREATE (:A {i: i, text: toString(i * 7919) + ' and more of it'})");
    let message = folder.run(&["backup", "s.knot", "disk/b"]).fails(1);
    assert!(message.starts_with("DISK_FULL: ") && message.contains("disk/b"), "{message}");
    assert!(!folder.join("disk/b").exists(), "nothing is left");
    folder.run(&["disk/t.knot", "-c", "CREATE (:A)"]).ok();
    let remount = ["-o", "remount,ro", "disk"];
    let status = std::process::Command::new("mount").args(remount).current_dir(folder.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "what was mounted can be mounted for reading");
    assert_eq!(folder.run(&["query", "disk/t.knot", "MATCH (n) RETURN count(n)", "-s", "-r"]).ok(), "count(n)\n1\n");
    let message = folder.run(&["query", "disk/t.knot", "MATCH (n) RETURN count(n)"]).fails(1);
    assert!(message.starts_with("IO: ") && message.contains("the store can be read: pass -r"), "{message}");
    folder.run(&["check", "disk/t.knot"]).ok();
    folder.run(&["backup", "disk/t.knot", "b"]).ok();
    let message = folder.run(&["backup", "s.knot", "disk/b"]).fails(1);
    assert!(message.starts_with("IO: ") && message.contains("disk/b"), "{message}");
}

#[test]
fn a_torn_log_is_told_and_what_was_cut_off_is_kept() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A {i: 1})");
    let names = std::fs::read_dir(folder.join("s.knot")).expect("it is there").map(|entry| entry.expect("it is there"));
    let log = names.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|kind| kind == "wal"));
    let log = log.expect("a store has a log");
    let mut bytes = std::fs::read(&log).expect("it is there");
    // The seal, and the last byte of the record before it.
    bytes.truncate(bytes.len() - 17);
    std::fs::write(&log, &bytes).expect("it can be written");
    let told = |text: &str| text.contains(".wal: ") && text.contains("are not sound");
    let output = folder.run(&["check", "s.knot"]);
    assert!(told(&output.stdout) && output.stdout.contains("before the end of the log is right"), "{output:?}");
    let output = folder.run(&["info", "s.knot"]);
    assert!(output.stderr.starts_with("warning: ") && told(&output.stderr), "{output:?}");
    let output = folder.run(&["s.knot", "-c", "MATCH (n) RETURN count(n)"]);
    assert!(told(&output.stderr) && output.stderr.contains("were kept in"), "{output:?}");
    assert!(folder.run(&["check", "s.knot"]).ok().contains("bytes that were cut off a log"));
    assert!(!folder.run(&["s.knot", "-c", "MATCH (n) RETURN count(n)"]).stderr.contains("warning"));
}

#[test]
fn the_lock_says_who_and_nothing_else() {
    let folder = Folder::new();
    folder.make_store("CREATE (:Secret {word: 'xyzzy'})");
    folder.run(&["s.knot", "-c", "CREATE (:Secret {word: 'xyzzy'})"]).ok();
    let text = std::fs::read_to_string(folder.join("s.knot").join("LOCK")).expect("it is there");
    assert_eq!(text.trim(), "", "nobody has the store open");
}
