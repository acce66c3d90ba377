//! `LOAD CSV`: a call of the procedure that reads such files.

use model::Result;

use super::super::Parser;
use crate::ast::{CallClause, Expression, ExpressionKind, Name, Yield, YieldItem};

impl Parser<'_> {
    /// `LOAD CSV [WITH HEADERS] FROM file AS row [FIELDTERMINATOR text]`.
    pub(super) fn load_csv(&mut self) -> Result<CallClause> {
        let start = self.expect_keyword("LOAD")?;
        self.expect_keyword("CSV")?;
        let with_headers = self.take_keyword("WITH");
        if with_headers {
            self.expect_keyword("HEADERS")?;
        }
        self.expect_keyword("FROM")?;
        let span = self.since(start);
        let file = self.expression()?;
        self.expect_keyword("AS")?;
        let row = self.variable()?;
        let terminator = if self.take_keyword("FIELDTERMINATOR") {
            self.expression()?
        } else {
            Expression { span, kind: ExpressionKind::Null }
        };
        let headers = Expression { span, kind: ExpressionKind::Boolean(with_headers) };
        let procedure = ["db", "loadCsv"].map(|part| Name { text: part.to_owned(), span }).to_vec();
        let column = Name { text: "row".to_owned(), span: row.span };
        let item = YieldItem { span: row.span, column, alias: Some(row) };
        let results = Yield::Items { items: vec![item], predicate: None };
        Ok(CallClause { optional: false, procedure, arguments: Some(vec![file, headers, terminator]), results })
    }
}
