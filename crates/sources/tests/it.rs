//! Tables in files: what is read from text, and what is said of what cannot be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its file fails")]

use std::io::Write;

use model::{Result, Value};
use sources::files::{self, ReadOptions, RowBatch, Table};
use testing::Folder;

fn read(table: &dyn Table) -> Result<RowBatch> {
    let mut all: Option<RowBatch> = None;
    while let Some(chunk) = table.next_chunk()? {
        table.parse(chunk, &mut |batch| {
            match &mut all {
                None => all = Some(batch),
                Some(rows) => {
                    rows.columns.iter_mut().zip(&batch.columns).for_each(|(to, from)| to.append(from));
                    rows.lines.extend(&batch.lines);
                    rows.bad.extend(batch.bad);
                }
            }
            Ok(())
        })?;
    }
    Ok(all.unwrap_or_default())
}

/// The table as text: a header, rows with their lines, and bad rows with their reasons.
fn render(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let folder = Folder::new();
    let file = folder.write(name, bytes);
    let table = match files::open(&file, options) {
        Ok(table) => table,
        Err(failure) => return failure.message().replace(&file.display().to_string(), name),
    };
    let mut text: Vec<String> =
        vec![table.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(" | ")];
    let rows = match read(table.as_ref()) {
        Ok(rows) => rows,
        Err(failure) => return failure.message().to_string(),
    };
    for (row, line) in rows.lines.iter().enumerate() {
        let values: Vec<String> = rows.columns.iter().map(|column| column.value(row).to_string()).collect();
        text.push(format!("{line}: {}", values.join(" | ")));
    }
    for bad in rows.bad {
        text.push(format!("bad {}: {} {} <{}>", bad.line, bad.column.unwrap_or_default(), bad.reason, bad.text));
    }
    text.join("\n")
}

fn check(test: &str, name: &str, bytes: &[u8], expected: &str) {
    assert_eq!(render(name, bytes, &ReadOptions::default()), expected.trim(), "{test}");
}

#[test]
fn csv_with_quotes_line_ends_and_a_byte_order_mark() {
    let bytes = b"\xEF\xBB\xBFid,name,score\r\n1,\"a, \"\"b\"\"\nc\",1.5\r\n2,,\r\n";
    check("quotes", "x.csv", bytes, "id | name | score\n2: 1 | 'a, \"b\"\\nc' | 1.5\n4: 2 | null | null");
}

#[test]
fn csv_delimiters_are_found() {
    check("pipe", "x.csv", b"a|b\n1|2\n", "a | b\n2: 1 | 2");
    check("tab", "x.tsv", b"a\tb\n1\t2", "a | b\n2: 1 | 2");
    check("semicolon", "x.csv", b"a;b\n1;x\n", "a | b\n2: 1 | 'x'");
}

#[test]
fn csv_header_of_neo4j_admin() {
    let bytes = b"id:ID(Person),name:string,age:int,tags:string[],:LABEL\n7,Ann,30,a;b,Person;Admin\n8,Bob,x,,Person\n";
    let expected = "id:ID(Person) | name | age | tags | :LABEL\n2: 7 | 'Ann' | 30 | ['a', 'b'] | 'Person;Admin'\nbad 3: age expected int, found 'x' <8,Bob,x,,Person>";
    check("neo4j", "x.csv", bytes, expected);
}

#[test]
fn csv_rows_that_do_not_fit_are_named() {
    check(
        "fields",
        "x.csv",
        b"a,b\n1,2\n3\n4,5,6\n",
        "a | b\n2: 1 | 2\nbad 3:  expected 2 fields, found 1 <3>\nbad 4:  expected 2 fields, found 3 <4,5,6>",
    );
    check("mixed", "x.csv", b"a\n1\nx\n", "a\n2: '1'\n3: 'x'");
    check("twice", "x.csv", b"a,a,a\n1,2,3\n", "a | a_2 | a_3\n2: 1 | 2 | 3");
    check("empty", "x.csv", b"", "x.csv: the file is empty, expected a header");
    check("utf16", "x.csv", b"\xFF\xFEa\0", "x.csv: the file is UTF-16");
    check(
        "utf8",
        "x.csv",
        b"a,b\nx,\xFF\n",
        "a | b\nbad 2: b the text is not UTF-8: convert the file, as with iconv -f LATIN1 -t UTF-8 <x,\u{FFFD}>",
    );
}

#[test]
fn a_misfit_after_the_sample_is_a_bad_row() {
    let mut bytes = b"n,text\n".to_vec();
    for row in 0..200_000 {
        writeln!(bytes, "{row},word").unwrap();
    }
    writeln!(bytes, "oops,word").unwrap();
    writeln!(bytes, "200001,word").unwrap();
    let folder = Folder::new();
    let file = folder.write("x.csv", &bytes);
    let table = files::open(&file, &ReadOptions::default()).unwrap();
    let rows = read(table.as_ref()).unwrap();
    assert_eq!(rows.len(), 200_001);
    assert_eq!(rows.columns[0].value(200_000), Value::Int(200_001));
    assert_eq!(rows.lines[200_000], 200_003);
    assert_eq!((rows.bad[0].line, rows.bad[0].column.as_deref()), (200_002, Some("n")));
}

#[test]
fn quoted_line_ends_across_chunks() {
    let mut bytes = b"id,text\n".to_vec();
    let long = "x\ny,".repeat(50_000);
    for row in 0..40 {
        writeln!(bytes, "{row},\"{long}\"").unwrap();
    }
    let folder = Folder::new();
    let file = folder.write("x.csv", &bytes);
    let rows = read(files::open(&file, &ReadOptions::default()).unwrap().as_ref()).unwrap();
    assert!(rows.bad.is_empty());
    assert_eq!(rows.len(), 40);
    assert_eq!(rows.columns[1].value(39), Value::string(&long));
    assert_eq!(rows.lines[1], 2 + 100_000 / 2 + 1);
}

#[test]
fn an_open_quote_is_an_error_that_says_where() {
    let mut bytes = b"a,b\n1,\"open\n".to_vec();
    bytes.extend(b"2,3\n".repeat(5_000_000));
    let message = render("x.csv", &bytes, &ReadOptions::default());
    assert!(message.contains("is a quote left open?"), "{message}");
}

#[test]
fn snap_and_dimacs() {
    check(
        "snap",
        "x.txt",
        b"# c\n0\t1\n 2 3 \nx\n",
        "source | target\n2: '0' | '1'\n3: '2' | '3'\nbad 4:  expected 2 fields, found 1 <x>"
            .replace('\'', "")
            .as_str(),
    );
    check(
        "gr",
        "x.gr",
        b"c x\np sp 2 1\na 1 2 30\nq\n",
        "source | target | length\n3: 1 | 2 | 30\nbad 4:  expected a line of kind a, found 'q' <q>",
    );
    check("co", "x.co", b"v 1 12500000 41900000\n", "id | longitude | latitude\n1: 1 | 12.5 | 41.9");
}

#[test]
fn json_lines() {
    let bytes = b"{\"id\":1,\"x\":[1,2]}\n\n{\"id\":\"two\",\"y\":2.5}\n{bad\n{\"id\":3,\"x\":{}}\n";
    let text = render("x.jsonl", bytes, &ReadOptions::default());
    assert!(text.starts_with("id | x | y\n1: 1 | [1, 2] | null\n3: 'two' | null | 2.5\nbad 4:"), "{text}");
    assert!(text.contains("bad 5: x an object cannot be a property"), "{text}");
}

#[test]
fn compressed_files() {
    let plain = b"a,b\n1,2\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain).unwrap();
    check("gz", "x.csv.gz", &gzip.finish().unwrap(), "a | b\n2: 1 | 2");
    check("zst", "x.csv.zst", &zstd::encode_all(&plain[..], 1).unwrap(), "a | b\n2: 1 | 2");
}

#[test]
fn what_is_not_there_is_named() {
    let missing = files::open(std::path::Path::new("/nowhere/x.csv"), &ReadOptions::default()).err().unwrap();
    assert_eq!(missing.message(), "/nowhere/x.csv: no such file");
    let unknown = files::open(std::path::Path::new("x.dat"), &ReadOptions::default()).err().unwrap();
    assert_eq!(unknown.message(), "x.dat: the name does not say the format");
}

#[test]
fn a_quote_that_is_not_closed() {
    let reason = "a quote is opened here and not closed before the end of the file";
    check("open", "x.csv", b"a,b\n1,2\n3,\"x\n4,5\n", &format!("a | b\n2: 1 | '2'\nbad 3:  {reason} <3,\"x>"));
    check("open_short", "x.csv", b"a,b\n1,2\n\"3,4\n", &format!("a | b\n2: '1' | 2\nbad 3:  {reason} <\"3,4>"));
    check("open_at_end", "x.csv", b"a,b\n1,\"", &format!("a | b\nbad 2:  {reason} <1,\">"));
    check("closed", "x.csv", b"a,b\n1,\"x \"\"y\"\"\"", "a | b\n2: 1 | 'x \"y\"'");
    check("in_the_middle", "x.csv", b"a,b\n1,5\" pipe", "a | b\n2: 1 | '5\" pipe'");
}
