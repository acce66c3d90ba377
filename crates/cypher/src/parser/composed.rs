//! Queries made of queries: `NEXT`, and `WHEN … THEN … ELSE …`. Both become the clauses that mean the same.

use model::{Result, Span, error};

use super::Parser;
use super::clause::order;
use crate::ast::{
    CaseBranch, Clause, ClauseKind, Comparison, ComparisonOperator, Expression, ExpressionKind, Imports, LetItem, Name,
    Projection, ProjectionItem, Query, SingleQuery, SubqueryClause, Union, UnwindClause,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The query behind `NEXT` goes on with the rows of the one before it: its `RETURN` is a `WITH`.
    // Kept out of the frames of what calls it, of which many may lie on the stack.
    #[inline(never)]
    pub(super) fn followed(&mut self, query: Query, next: Span) -> Result<Query> {
        let start = query.span;
        let columns = self.columns_of(&query, "before NEXT with UNION after it");
        let mut clauses = self.passed_on(query, next)?;
        let rest = self.union_query()?;
        if rest.unions.is_empty() {
            clauses.extend(rest.first.clauses);
        } else {
            clauses.extend(self.joined_behind(&columns?.unwrap_or_default(), rest, next)?);
        }
        let span = self.since(start);
        Ok(Query { span, first: SingleQuery { span, clauses }, unions: Vec::new() })
    }

    /// Clauses whose rows are those of a query.
    fn passed_on(&mut self, query: Query, next: Span) -> Result<Vec<Clause>> {
        if !order::returns_rows(&query) {
            return Err(error!(Syntax, "expected RETURN before NEXT")
                .at(next)
                .with_remedy("a query that returns nothing has no rows to go on with"));
        }
        if !query.unions.is_empty() {
            self.grow()?;
            return Ok(vec![subquery(query, Imports::Listed(Vec::new()))]);
        }
        let mut clauses = query.first.clauses;
        if let Some(Clause { kind, .. }) = clauses.last_mut()
            && let ClauseKind::Return(projection) = kind
        {
            let mut projection = std::mem::take(projection);
            for item in &mut projection.items {
                item.alias = Some(self.column_name(item));
            }
            *kind = ClauseKind::With(projection);
        }
        Ok(clauses)
    }

    /// Queries joined by `UNION` behind `NEXT`. Each begins with all rows, which therefore become a list first:
    /// `WITH collect([columns]) AS list CALL (*) { UNWIND list AS row WITH row[0] AS … query UNION … } RETURN columns`.
    fn joined_behind(&mut self, columns: &[Name], mut rest: Query, next: Span) -> Result<Vec<Clause>> {
        let results = self.columns_of(&rest, "after NEXT with UNION")?;
        // The subquery lies deeper, and so do the columns of the rows.
        (0..4).try_for_each(|_| self.grow())?;
        let place = |what: &str| Name { text: format!("{what} at {}", next.start), span: next };
        let (list, row) = (place("rows"), place("row"));
        let variable = |name: &Name| Expression::new(next, ExpressionKind::Variable(name.text.clone()));
        let with = |items: Vec<(Expression, Name)>| {
            let item = |(expression, alias)| ProjectionItem { span: next, expression, alias: Some(alias) };
            let projection = Projection { items: items.into_iter().map(item).collect(), ..Projection::default() };
            Clause { span: next, kind: ClauseKind::With(projection) }
        };
        let values = Expression::new(next, ExpressionKind::List(columns.iter().map(variable).collect()));
        let name = vec![Name { text: "collect".to_owned(), span: next }];
        let collect = ExpressionKind::Function { name, distinct: false, arguments: vec![values] };
        let gathered = with(vec![(Expression::new(next, collect), list.clone())]);
        let column = |(at, name): (i64, &Name)| {
            let (base, index) = (Box::new(variable(&row)), Box::new(integer(at, next)));
            (Expression::new(next, ExpressionKind::Index { base, index }), name.clone())
        };
        let unwind = UnwindClause { list: variable(&list), variable: row.clone() };
        let begin =
            [Clause { span: next, kind: ClauseKind::Unwind(unwind) }, with((0..).zip(columns).map(column).collect())];
        for query in std::iter::once(&mut rest.first).chain(rest.unions.iter_mut().map(|union| &mut union.query)) {
            query.clauses.splice(0..0, begin.iter().cloned());
        }
        let span = rest.span;
        let mut clauses = vec![gathered, subquery(rest, Imports::All(next))];
        clauses.extend(results.map(|results| returned(&results, span)));
        Ok(clauses)
    }

    /// The name of a column: its alias, or its text.
    fn column_name(&self, item: &ProjectionItem) -> Name {
        match (&item.alias, &item.expression.kind) {
            (Some(alias), _) => alias.clone(),
            (None, ExpressionKind::Variable(text)) => Name { text: text.clone(), span: item.span },
            (None, _) => Name { text: self.slice(item.expression.span).trim().to_owned(), span: item.span },
        }
    }

    /// `WHEN condition THEN query … [ELSE query]`: the number of the first condition that holds is found once, before
    /// any of the queries runs, then the query of that number runs.
    // Kept out of the frames of what calls it, of which many may lie on the stack.
    #[inline(never)]
    pub(super) fn conditional_query(&mut self) -> Result<SingleQuery> {
        let start = self.here();
        let number = Name { text: format!("case at {}", start.start), span: start };
        let mut branches: Vec<(Query, Span)> = Vec::new();
        let mut cases = Vec::new();
        let mut otherwise = None;
        loop {
            let word = self.here();
            let count = branches.len() as i64;
            if self.take_keyword("WHEN") {
                self.open_cases += 1;
                let condition = self.expression()?;
                self.open_cases -= 1;
                self.expect_keyword("THEN")?;
                cases.push(CaseBranch { condition, others: Vec::new(), value: integer(count, word) });
            } else if self.take_keyword("ELSE") {
                otherwise = Some(Box::new(integer(count, word)));
            } else {
                break;
            }
            branches.push((self.branch()?, word));
            if otherwise.is_some() {
                break;
            }
        }
        let kind = ExpressionKind::Case { subject: None, branches: cases, otherwise };
        let value = self.made(start, kind)?;
        let columns = self.common_columns(&branches)?;
        // The subqueries lie two levels deep.
        (0..4).try_for_each(|_| self.grow())?;
        let mut parts = Vec::with_capacity(branches.len());
        for (at, (query, word)) in branches.into_iter().enumerate() {
            parts.push((chosen(&number, at as i64, query, columns.as_deref(), word), word));
        }
        let (first, _) = parts.remove(0);
        let joined = |(query, span)| Union { span, all: true, query };
        let span = self.since(start);
        let cases = Query { span, first, unions: parts.into_iter().map(joined).collect() };
        let known = Clause { span: start, kind: ClauseKind::Let(vec![LetItem { variable: number, value }]) };
        let mut clauses = vec![known, subquery(cases, Imports::All(start))];
        clauses.extend(columns.map(|columns| returned(&columns, start)));
        Ok(SingleQuery { span, clauses })
    }

    /// Reads the branch after `THEN` and `ELSE`: a query in braces, or one without.
    fn branch(&mut self) -> Result<Query> {
        self.nested(|parser| {
            let outer = std::mem::replace(&mut parser.needs_result, true);
            let query = if parser.take(TokenKind::LeftBrace) {
                let query = parser.query()?;
                if !parser.is(TokenKind::RightBrace) {
                    return Err(parser.expected("a clause or }"));
                }
                parser.advance();
                query
            } else if parser.is_word(0, "WHEN") {
                return Err(parser.expected("a clause or {").with_remedy("put a condition within another into braces"));
            } else {
                let ends = std::mem::replace(&mut parser.branch_ends, true);
                let first = parser.single_query()?;
                parser.branch_ends = ends;
                Query { span: first.span, first, unions: Vec::new() }
            };
            parser.needs_result = outer;
            Ok(query)
        })
    }

    /// The columns that all of the queries return; nothing if none returns any.
    fn common_columns(&self, branches: &[(Query, Span)]) -> Result<Option<Vec<Name>>> {
        let mut common: Option<Option<Vec<Name>>> = None;
        for (query, word) in branches {
            let columns = self.columns_of(query, "after WHEN … THEN")?;
            let texts = |columns: &Option<Vec<Name>>| {
                columns.as_ref().map(|names| names.iter().map(|name| name.text.clone()).collect::<Vec<_>>())
            };
            match &common {
                Some(first) if texts(first) != texts(&columns) => {
                    return Err(error!(Syntax, "expected the same columns after every THEN and ELSE")
                        .at(*word)
                        .with_remedy("name the columns alike with AS, in the same order"));
                }
                Some(_) => {}
                None => common = Some(columns),
            }
        }
        Ok(common.flatten())
    }

    fn columns_of(&self, query: &Query, place: &str) -> Result<Option<Vec<Name>>> {
        let Some(Clause { kind: ClauseKind::Return(projection), .. }) = query.first.clauses.last() else {
            return Ok(None);
        };
        match projection.star {
            Some(star) => Err(error!(Syntax, "expected the names of the columns {place}, found *").at(star)),
            None => Ok(Some(projection.items.iter().map(|item| self.column_name(item)).collect())),
        }
    }
}

fn subquery(query: Query, imports: Imports) -> Clause {
    let span = query.span;
    let clause = SubqueryClause { optional: false, imports, query, batches: None };
    Clause { span, kind: ClauseKind::Subquery(clause) }
}

/// `FILTER number = at CALL (*) { query } RETURN columns`.
fn chosen(number: &Name, at: i64, query: Query, columns: Option<&[Name]>, word: Span) -> SingleQuery {
    let (span, variable) = (query.span, |name: &Name| ExpressionKind::Variable(name.text.clone()));
    let is_chosen = ExpressionKind::Comparison {
        first: Box::new(Expression::new(word, variable(number))),
        rest: vec![Comparison { operator: ComparisonOperator::Equal, operand: integer(at, word) }],
    };
    let filter = Clause { span: word, kind: ClauseKind::Filter(Expression::new(word, is_chosen)) };
    let mut clauses = vec![filter, subquery(query, Imports::All(word))];
    clauses.extend(columns.map(|columns| returned(columns, word)));
    SingleQuery { span: word.to(span), clauses }
}

fn returned(columns: &[Name], span: Span) -> Clause {
    let item = |name: &Name| {
        let expression = Expression::new(name.span, ExpressionKind::Variable(name.text.clone()));
        ProjectionItem { span: name.span, expression, alias: Some(name.clone()) }
    };
    let projection = Projection { items: columns.iter().map(item).collect(), ..Projection::default() };
    Clause { span, kind: ClauseKind::Return(projection) }
}

fn integer(value: i64, span: Span) -> Expression {
    Expression::new(span, ExpressionKind::Integer(value))
}
