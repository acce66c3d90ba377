//! `LOAD CSV` and `LOAD FROM`: calls of the procedures that read such files, and tables of the session.

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

    /// `LOAD FROM table`: the columns of a table that the session knows, each a variable. The table has a name or is a
    /// parameter.
    pub(super) fn load_from(&mut self) -> Result<CallClause> {
        self.expect_keyword("LOAD")?;
        self.expect_keyword("FROM")?;
        let table = self.expression()?;
        let span = table.span;
        let name = match &table.kind {
            ExpressionKind::Variable(name) => name.clone(),
            ExpressionKind::Parameter(name) => format!("${name}"),
            _ => {
                let error = model::error!(Syntax, "LOAD FROM needs the name of a table").at(span);
                return Err(error.with_remedy("write LOAD CSV FROM for a file"));
            }
        };
        let table = Expression { span, kind: ExpressionKind::String(name) };
        let procedure = ["db", "loadFrom"].map(|part| Name { text: part.to_owned(), span }).to_vec();
        let results = Yield::Items { items: Vec::new(), predicate: None };
        Ok(CallClause { optional: false, procedure, arguments: Some(vec![table]), results })
    }
}
