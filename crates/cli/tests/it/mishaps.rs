//! Paths that hold no store, newer stores, other processes, Ctrl-C, full disks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{Folder, finish, pause, signal};

#[test]
fn a_path_that_holds_no_store() {
    let folder = Folder::new();
    folder.write("file.knot", "text");
    std::fs::create_dir(folder.join("plain")).expect("the temporary folder can be written");
    folder.write("plain/readme.txt", "mine");
    for path in ["missing.knot", "file.knot", "plain"] {
        for verb in [&["query", path, "RETURN 1"][..], &["info", path], &["check", path], &["export", path, "out"]] {
            let message = folder.run(verb).fails(1);
            assert!(message.starts_with("NOT_A_STORE: ") && message.contains(path), "{verb:?}: {message}");
        }
    }
    // A folder with other files is not turned into a store either.
    for path in ["file.knot", "plain"] {
        let message = folder.run_with(&[path], "CREATE (:A);\n").fails(1);
        assert!(message.starts_with("NOT_A_STORE: "), "{message}");
        folder.write("people.csv", "id\n1\n");
        let message = folder.run(&["import", path, "--nodes", "P=people.csv"]).fails(1);
        assert!(message.starts_with("NOT_A_STORE: "), "{message}");
    }
    assert_eq!(std::fs::read_dir(folder.join("plain")).expect("it is there").count(), 1, "nothing was added");
    assert!(!folder.join("missing.knot").exists(), "reading makes no store");
}

/// A name that is there and leads to nothing, of the store or of a directory above it.
#[test]
#[cfg(unix)]
fn a_link_that_leads_to_nothing() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("away", folder.join("link.knot")).expect("the temporary folder can be written");
    for path in ["link.knot", "link.knot/below.knot"] {
        let message = folder.run_with(&[path], "CREATE (:A);\n").fails(1);
        let expected = format!("NOT_A_STORE: {path}: a symbolic link in this path leads to nothing\n");
        assert!(message.starts_with(&expected) && message.contains("make the directory"), "{message}");
        let message = folder.run(&["query", path, "RETURN 1"]).fails(1);
        assert!(message.starts_with("NOT_A_STORE: "), "{message}");
    }
    std::fs::create_dir(folder.join("away")).expect("the temporary folder can be written");
    folder.run(&["link.knot", "-c", "CREATE (:A)"]).ok();
}

#[test]
fn a_store_of_a_newer_format() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    let path = folder.join("s.knot/MANIFEST");
    let bytes = std::fs::read(&path).expect("a store has a manifest");
    // The least version that a reader must know stands in bytes 10 and 11; see docs/format.md.
    let mut newer = bytes.clone();
    newer[8..12].copy_from_slice(&[9, 0, 9, 0]);
    std::fs::write(&path, newer).expect("a file can be written");
    for verb in [&["query", "s.knot", "RETURN 1"][..], &["s.knot", "-c", "RETURN 1"], &["info", "s.knot"]] {
        let message = folder.run(verb).fails(1);
        assert!(message.starts_with("VERSION: ") && message.contains('9'), "{message}");
    }
    std::fs::write(&path, bytes).expect("a file can be written");
    assert_eq!(folder.value("MATCH (a:A) RETURN count(a)"), "1");
}

#[test]
fn another_process_has_the_store_open() {
    let folder = Folder::new();
    folder.make_store("CREATE (:A)");
    let mut child = folder.command(&["s.knot", "-m", "jsonl"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"RETURN 1 AS ready;\n").expect("the child reads");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("the child answers");
    assert_eq!(line, "{\"ready\":1}\n");
    // Verbs that need the store for themselves cannot have it meanwhile; statements can, see `together`.
    std::fs::write(folder.join("people.csv"), "id,name\n1,Ann\n").expect("it is written");
    let message = folder.run(&["import", "s.knot", "-n", "Person=people.csv"]).fails(1);
    assert!(message.starts_with("BUSY: ") && message.contains("s.knot"), "{message}");
    assert!(message.contains("COPY Label FROM"), "{message}");
    let count = "MATCH (a:A) RETURN count(a) AS found";
    assert!(folder.run(&["-r", "s.knot", "-m", "jsonl", "-c", count]).ok().contains("{\"found\":1}"));
    assert!(folder.run_with(&["-r", "s.knot"], ":refresh\n").ok().contains("nothing new"));
    assert!(folder.run(&["info", "s.knot"]).ok().contains('A'));
    assert_eq!(folder.run(&["check", "s.knot"]).code, Some(0));
    drop(stdin);
    assert_eq!(finish(child).code, Some(0));
    assert_eq!(folder.value("MATCH (a:A) RETURN count(a)"), "1");
}

#[test]
fn ctrl_c_ends_a_query_with_130() {
    let folder = Folder::new();
    folder.make_store("UNWIND range(1, 300) AS i CREATE (:A {i: i})");
    for query in [
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b)",
        "MATCH (a:A), (b:A), (c:A) CREATE (:B)",
    ] {
        let child = folder.command(&["query", "s.knot", query]).spawn().expect("it starts");
        pause(600);
        signal(&child, "INT");
        let output = finish(child);
        assert_eq!(output.code, Some(130), "{output:?}");
        assert!(output.stderr.contains("CANCELLED: "), "{output:?}");
        assert_eq!(folder.value("MATCH (n) RETURN count(n)"), "300");
    }
}

/// The log is repeated when the store is opened, with the indexes over it. Ctrl-C ends that at any moment, and the store opens
/// afterwards.
#[test]
#[allow(clippy::disallowed_methods, reason = "the time from a real signal to the end of a real process is measured")]
fn ctrl_c_while_a_store_is_opened() {
    const STATEMENTS: u32 = 20;
    const NODES: u32 = 10_000;
    let folder = Folder::new();
    let rules = "CREATE CONSTRAINT FOR (n:N) REQUIRE n.key IS UNIQUE; CREATE INDEX FOR (n:N) ON (n.text)";
    let nodes = |part| {
        format!("UNWIND range(1, {NODES}) AS i CREATE (:N {{i: i, key: '{part} ' + i, text: 'text ' + i % 1000}})")
    };
    folder.make_store(&format!("{rules}; {}", (0..STATEMENTS).map(nodes).collect::<Vec<_>>().join("; ")));
    let start = Instant::now();
    folder.run(&["query", "s.knot", "RETURN 1"]).ok();
    let whole = start.elapsed();
    let mut waits = Vec::new();
    let kinds = [
        &["query", "s.knot", "RETURN 1"][..],
        &["s.knot", "-c", "RETURN 1"],
        &["s.knot", "-r", "-c", "RETURN 1"],
        &["info", "s.knot"],
    ];
    for arguments in kinds.into_iter().cycle().take(3 * kinds.len()) {
        // Before the command listens the signal ends it, and a machine that has become faster is done before the signal.
        let is_heard = [4, 3, 6, 5, 8, 12, 2].into_iter().cycle().take(35).any(|part| {
            let child = folder.command(arguments).spawn().expect("it starts");
            std::thread::sleep(whole / part);
            let start = Instant::now();
            signal(&child, "INT");
            let output = finish(child);
            let is_heard = output.stderr.starts_with("CANCELLED: opening s.knot was cancelled");
            assert!(!is_heard || output.code == Some(130), "{arguments:?}: {output:?}");
            waits.extend(is_heard.then(|| start.elapsed()));
            is_heard
        });
        assert!(is_heard, "{arguments:?} is not heard while the store is opened, which takes {whole:?}");
    }
    // The machine may be busy, so that one of them counts, and slow.
    waits.sort_unstable();
    assert!(waits[0] < Duration::from_millis(100).max(whole / 8), "of {whole:?}, ended after {waits:?}");
    assert_eq!(folder.value("MATCH (n:N) RETURN count(n)"), (STATEMENTS * NODES).to_string());
    assert_eq!(folder.value("MATCH (n:N {key: '7 77'}) RETURN n.i"), "77");
    folder.run(&["check", "s.knot"]).ok();
}

/// A small disk, where it may be mounted.
pub(crate) struct SmallDisk<'f>(&'f Folder);

impl<'f> SmallDisk<'f> {
    pub(crate) fn mount(folder: &'f Folder, bytes: u64) -> Option<SmallDisk<'f>> {
        let place = folder.join("disk");
        std::fs::create_dir(&place).expect("the temporary folder can be written");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(&place);
        let is_mounted = command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        is_mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // A mount that cannot be undone shows as a folder that cannot be removed.
        let _ = Command::new("umount").arg(self.0.join("disk")).status();
    }
}

#[test]
fn a_disk_that_fills() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 6 << 20) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    folder.run(&["disk/s.knot", "-c", "UNWIND range(1, 100) AS i CREATE (:Old {i: i})"]).ok();
    let mut text = String::from("id,text\n");
    for id in 0..400_000_u64 {
        text += &format!("{id},{:x}\n", id.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    folder.write("large.csv", text);
    let message = folder.run(&["import", "disk/s.knot", "--nodes", "New=large.csv"]).fails(1);
    assert!(message.starts_with("DISK_FULL: "), "{message}");
    let count = || folder.run(&["query", "disk/s.knot", "MATCH (n) RETURN count(n)", "-s"]).ok();
    assert_eq!(count(), "count(n)\n100\n");
    folder.run(&["check", "disk/s.knot"]).ok();
    // There is room again: what the import wrote is gone.
    folder.run(&["disk/s.knot", "-c", "CREATE (:Old {i: 101})"]).ok();
    assert_eq!(count(), "count(n)\n101\n");
    // Writes that fill the disk fail, and what was committed before them stays.
    let query = "UNWIND range(1, 200000) AS i CREATE (:Big {i: i, text: 'some text for number ' + i})";
    let message = folder.run(&["query", "disk/s.knot", query]).fails(1);
    assert!(message.starts_with("DISK_FULL: "), "{message}");
    assert_eq!(count(), "count(n)\n101\n");
    folder.run(&["check", "disk/s.knot"]).ok();
}

#[test]
fn an_export_to_a_disk_that_fills_leaves_nothing() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 6 << 20) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    let text = "UNWIND range(1, 200000) AS i CREATE (:Big {i: i, text: 'some text for number ' + i})";
    folder.run(&["big.knot", "-c", text]).ok();
    let message = folder.run(&["export", "big.knot", "disk/out"]).fails(1);
    assert!(message.starts_with("DISK_FULL: ") && message.contains("No space left"), "{message}");
    assert!(!folder.join("disk/out").exists(), "the folder goes with the files");
    // Into a place with room it goes.
    folder.run(&["export", "big.knot", "out"]).ok();
    assert!(folder.join("out").exists());
}

#[test]
fn a_recording_on_a_disk_that_fills_tells_what_is_lost() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 1 << 20) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    folder.make_store("CREATE (:N {i: 1})");
    folder.write("disk/fill", vec![b'x'; 1_000 << 10]);
    let statements: String = (0..400).map(|i| format!("RETURN {i}, '{}' AS s;\n", "x".repeat(200))).collect();
    let ended = folder.run_with(&["s.knot", "--record", "disk/t.jsonl"], &statements);
    assert_eq!(ended.code, Some(0), "no statement fails because of it");
    assert_eq!(ended.stderr.matches("warning: disk/t.jsonl: ").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(" lines could not be written"), "{}", ended.stderr);
    let replay = ["replay", "disk/t.jsonl", "--on", "s.knot", "--speed", "max"];
    let told = folder.run(&replay);
    assert!(told.code == Some(0) && told.stderr.contains("1 line is cut off"), "{told:?}");
    // There is no room for anything.
    let ended = folder.run(&["s.knot", "--record", "disk/none.jsonl", "-c", "RETURN 1"]);
    assert!(ended.code == Some(0) && ended.stderr.contains("warning: disk/none.jsonl: "), "{ended:?}");
    let message = folder.run(&["replay", "disk/none.jsonl", "--on", "s.knot"]).fails(1);
    assert!(message.contains("disk/none.jsonl is no trace: it is empty"), "{message}");
    // There is room again: what follows is recorded behind the line that is cut off.
    std::fs::remove_file(folder.join("disk/fill")).expect("the file is there");
    folder.run(&["s.knot", "--record", "disk/t.jsonl", "-c", "RETURN 'again'"]).ok();
    let told = folder.run(&replay).ok();
    assert!(told.contains(" statements of 2 sessions"), "{told}");
    folder.run(&["introspect", "s.knot", "--quick", "--trace", "disk/t.jsonl"]).ok();
    folder.write("other.json", "{\"schema\": 1}\n");
    let message = folder.run(&["s.knot", "--record", "other.json", "-c", "RETURN 1"]).fails(1);
    assert!(message.contains("other.json: its first line is not") && message.contains("new file"), "{message}");
}

#[test]
fn results_on_a_disk_that_is_full_leave_those_that_were_there() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(&folder, 64 << 10) else {
        println!("not run: no small disk can be mounted here");
        return;
    };
    folder.make_store("UNWIND range(1, 100) AS i CREATE (:N {i: i})");
    folder.run(&["introspect", "s.knot", "--quick", "--json", "out.json"]).ok();
    folder.run_with(&["s.knot", "--record", "t.jsonl"], &"RETURN 1;\n".repeat(10)).ok();
    folder.write("disk/out", "what was there");
    std::fs::write(folder.join("disk/fill"), vec![b'x'; 100 << 10]).expect_err("the disk is small");
    for words in [
        &["introspect", "s.knot", "--quick", "--json", "disk/out"][..],
        &["introspect", "s.knot", "--quick", "--html", "disk/out"],
        &["bench", "report", "out.json", "--html", "disk/out"],
        &["replay", "t.jsonl", "--on", "s.knot", "--speed", "max", "--json", "disk/out"],
    ] {
        let message = folder.run(words).fails(1);
        assert!(message.contains("DISK_FULL: ") && message.contains("disk/out"), "{words:?}: {message}");
        assert_eq!(std::fs::read_to_string(folder.join("disk/out")).expect("it is there"), "what was there");
        assert_eq!(std::fs::read_dir(folder.join("disk")).expect("it is there").count(), 2, "{words:?}");
    }
}
