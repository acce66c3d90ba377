//! The tables of a job of Spark: folders of Parquet files, one for each part.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use model::job::{JobColumn, JobPart};
use model::limits::BATCH_ROWS;
use model::{Column, Error, Interrupt, Result, error};
use sources::files::Table;
use sources::files::parquet::ParquetTable;
use sources::files::parquet_columns::ParquetColumns;

/// A part of a table, being written.
pub(super) struct TablePart {
    path: PathBuf,
    writer: ParquetColumns<BufWriter<File>>,
}

impl TablePart {
    /// The part of that number of the table in that folder, which is made if it is missing.
    pub(super) fn new(folder: &Path, number: u64, columns: &[JobColumn]) -> Result<TablePart> {
        let path = folder.join(format!("part-{number:05}.parquet"));
        let file = std::fs::create_dir_all(folder).and_then(|()| File::create(&path));
        let file = file.map_err(|cause| Error::of_file(&path, &cause))?;
        let writer = ParquetColumns::new(BufWriter::new(file), columns);
        Ok(TablePart { writer: writer.map_err(|failed| within(&path, failed))?, path })
    }
}

fn within(path: &Path, failed: Error) -> Error {
    let failed = failed.within(&path.display().to_string());
    failed.with_remedy("free space there, or name another folder by spark_folder (--spark-folder)")
}

impl JobPart for TablePart {
    fn append(&mut self, columns: &[Column]) -> Result<()> {
        self.writer.append(columns).map_err(|failed| within(&self.path, failed))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let TablePart { path, writer } = *self;
        let out = writer.finish().map_err(|failed| within(&path, failed))?;
        out.into_inner().map(drop).map_err(|cause| within(&path, Error::of_file(&path, cause.error())))
    }
}

/// Gives the rows of a table in the order of its parts, in batches, until no more are wanted.
pub(super) fn read(
    folder: &Path,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.map_err(|cause| {
        error!(Job, "the job of Spark has left no result in {}: {cause}", folder.display()).with_remedy(
            "see that spark_folder (--spark-folder) is a folder that Spark's machines see by the same path",
        )
    })?;
    let mut parts: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    parts.retain(|path| path.extension().is_some_and(|end| end == "parquet"));
    parts.sort_unstable();
    let mut is_wanted = true;
    for path in parts {
        let place = |failed: Error| match failed.code() {
            model::ErrorCode::Import => error!(Job, "the result of Spark, {}: {}", path.display(), failed.message()),
            _ => failed,
        };
        let table = ParquetTable::open(&path, &[]).map_err(place)?;
        while let Some(chunk) = table.next_chunk()? {
            let mut take = |batch: sources::files::RowBatch| {
                if let Some(bad) = batch.bad.first() {
                    return Err(error!(Job, "the result of Spark, {}: {}", path.display(), bad.reason));
                }
                let rows = batch.columns.first().map_or(0, Column::len);
                for start in (0..rows).step_by(BATCH_ROWS) {
                    interrupt.check()?;
                    let end = (start + BATCH_ROWS).min(rows);
                    is_wanted = is_wanted && sink(batch.columns.iter().map(|c| c.slice(start, end)).collect())?;
                }
                Ok(())
            };
            table.parse(chunk, &mut take).map_err(place)?;
            if !is_wanted {
                return Ok(());
            }
        }
    }
    Ok(())
}
