//! Tokens to a syntax tree, by recursive descent.
//!
//! Invariant: every recursion goes through [`Parser::deeper`], and every node above others through [`Parser::grow`],
//! so that no text makes this, or anything that walks its tree, overflow the stack.

use model::suggestion;
use model::{Error, ErrorDetail, Result, Span, error, limits};

use crate::ast::{Expression, Name, Statement};
use crate::lexer;
use crate::lexer::literal::{self, excerpt};
use crate::token::{self, RESERVED, Token, TokenKind};

mod administration;
mod clause;
mod composed;
mod copy;
mod expression;
mod path;
mod pattern;
mod schema;
mod show;
mod sort_key;
mod source;
mod statement;
mod table;
mod unsupported;

/// Parses a text of one statement; a semicolon may close it.
pub fn parse(text: &str) -> Result<Statement> {
    let mut parser = Parser::new(text)?;
    let statement = parser.statement()?;
    parser.statement_end()?;
    if !parser.is(TokenKind::End) {
        return Err(error!(Syntax, "expected one statement, found another after the semicolon")
            .at(parser.here())
            .with_remedy("run one statement at a time"));
    }
    Ok(statement)
}

/// Parses a text of any number of statements, separated by semicolons; spans count from the start of the text.
pub fn parse_script(text: &str) -> Result<Vec<Statement>> {
    let mut parser = Parser::new(text)?;
    let mut statements = Vec::new();
    while parser.take(TokenKind::Semicolon) {}
    while !parser.is(TokenKind::End) {
        statements.push(parser.statement()?);
        parser.statement_end()?;
    }
    Ok(statements)
}

/// Parses a text that is one expression, as the value of a parameter in a shell.
pub fn parse_expression(text: &str) -> Result<Expression> {
    let mut parser = Parser::new(text)?;
    let expression = parser.expression()?;
    if !parser.is(TokenKind::End) {
        return Err(parser.expected("an operator or the end of the expression"));
    }
    Ok(expression)
}

/// Words of SQL, and what says the same in Cypher.
const SQL_WORDS: &[(&str, &str)] = &[
    ("LIKE", "there is no LIKE: use STARTS WITH, ENDS WITH, CONTAINS, or =~ with a regular expression"),
    ("ILIKE", "there is no ILIKE: use =~ '(?i)…', or compare toLower() of both sides"),
    ("SELECT", "there is no SELECT: write MATCH (n:Label) WHERE … RETURN n.property"),
    ("GROUP", "there is no GROUP BY: RETURN and WITH group by whatever they do not aggregate"),
    ("HAVING", "there is no HAVING: aggregate in a WITH, and filter in the WHERE behind it"),
    ("UPDATE", "there is no UPDATE: MATCH what is to change, then SET its properties"),
    ("OVER", "there are no window functions: collect() the rows of a group, or use CALL (row) { … }"),
    ("BETWEEN", "there is no BETWEEN: write low <= value AND value <= high, or low <= value <= high"),
    ("JOIN", "there is no JOIN: match a pattern, as in (a)-[:TYPE]->(b)"),
];

/// No bracket closes this one.
const NO_PARTNER: u32 = u32::MAX;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// For each opening bracket the token that closes it.
    partners: Vec<u32>,
    at: usize,
    /// Number of open steps of recursion.
    depth: usize,
    /// Height of the highest tree that was finished within the innermost open level.
    height: usize,
    /// Number of clauses, and of nodes and edges to be matched, that the query has so far.
    steps: usize,
    /// A bar ends the expression, as in `[x IN list WHERE x:A | x]`, rather than joining labels.
    bar_ends: bool,
    /// Number of open `CASE`; in them `WHEN`, `THEN`, `ELSE` and `END` are no variables.
    open_cases: usize,
    /// The query ends at a closing parenthesis, as in `COPY (query) TO …`.
    paren_ends: bool,
    /// The query ends at `WHEN` and `ELSE`, as behind `THEN`.
    branch_ends: bool,
    /// A query must end in `RETURN`, a change or a call; in `EXISTS { … }` and `COUNT { … }` it need not.
    needs_result: bool,
    /// The keywords that would have been right at the token `tried_at`.
    tried: Vec<&'static str>,
    tried_at: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Parser<'a>> {
        let tokens = lexer::tokens(text)?;
        let partners = partners(&tokens);
        Ok(Parser {
            text,
            tokens,
            partners,
            at: 0,
            depth: 0,
            height: 0,
            steps: 0,
            bar_ends: false,
            open_cases: 0,
            paren_ends: false,
            branch_ends: false,
            needs_result: true,
            tried: Vec::new(),
            tried_at: 0,
        })
    }

    // ----- Looking

    /// The token so far ahead; the end of the text goes on for ever.
    fn token(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn kind(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind(0) == kind
    }

    fn here(&self) -> Span {
        self.token(0).span
    }

    /// The end of the token before this one.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// From `start` to the end of the token before this one.
    fn since(&self, start: Span) -> Span {
        start.to(self.previous())
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The word so far ahead, or nothing that any keyword equals.
    fn word(&self, ahead: usize) -> &'a str {
        match self.token(ahead) {
            Token { kind: TokenKind::Word, span } => self.slice(span),
            _ => "",
        }
    }

    fn is_word(&self, ahead: usize, keyword: &str) -> bool {
        self.word(ahead).eq_ignore_ascii_case(keyword)
    }

    fn is_name(&self, ahead: usize) -> bool {
        matches!(self.kind(ahead), TokenKind::Word | TokenKind::QuotedName)
    }

    // ----- Taking

    fn advance(&mut self) -> Token {
        let token = self.token(0);
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.is(kind);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Span> {
        if self.is(kind) { Ok(self.advance().span) } else { Err(self.expected(kind.description())) }
    }

    /// True if the keyword stands here; if not, it is a candidate for what was meant.
    fn at_keyword(&mut self, keyword: &'static str) -> bool {
        if !self.is(TokenKind::Word) {
            return false;
        }
        let found = self.is_word(0, keyword);
        if !found {
            self.try_keywords(&[keyword]);
        }
        found
    }

    fn take_keyword(&mut self, keyword: &'static str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn expect_keyword(&mut self, keyword: &'static str) -> Result<Span> {
        if self.take_keyword(keyword) { Ok(self.previous()) } else { Err(self.expected(keyword)) }
    }

    /// Notes keywords that would have been right here.
    fn try_keywords(&mut self, keywords: &[&'static str]) {
        if !self.is(TokenKind::Word) {
            return;
        }
        if self.tried_at != self.at {
            self.tried.clear();
            self.tried_at = self.at;
        }
        self.tried.extend_from_slice(keywords);
    }

    /// One or more of something, between commas.
    fn comma_separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A label, edge type, property key or part of a function's name: any word is one.
    fn name(&mut self, what: &str) -> Result<Name> {
        if !self.is_name(0) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        Ok(Name { text: self.name_text(token)?, span: token.span })
    }

    /// The key of an entry of a map, which may be empty: `{``: 1}`.
    fn key(&mut self) -> Result<Name> {
        let span = self.here();
        if self.is(TokenKind::QuotedName) && self.slice(span) == "``" {
            self.advance();
            return Ok(Name { text: String::new(), span });
        }
        self.name("a key")
    }

    /// A variable: a word that is not reserved, or anything in backticks.
    fn variable(&mut self) -> Result<Name> {
        if token::is_one_of(self.word(0), RESERVED) {
            let word = self.word(0);
            return Err(error!(Syntax, "expected a variable, found the keyword {word}")
                .at(self.here())
                .with_remedy(format!("a variable of that name is written `{word}`, in backticks")));
        }
        self.name("a variable")
    }

    fn name_text(&self, token: Token) -> Result<String> {
        let text = self.slice(token.span);
        if token.kind == TokenKind::QuotedName { literal::quoted_name(text, token.span) } else { Ok(text.to_owned()) }
    }

    // ----- Limits

    /// Runs `parse` one bracket, prefix or subquery deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.deeper(2, parse)
    }

    /// Runs `parse` deeper in the recursion; a bracket is two steps deep, a right operand one.
    fn deeper<T>(&mut self, steps: usize, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth + steps > 2 * limits::QUERY_DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += steps;
        let beside = std::mem::take(&mut self.height);
        let result = parse(self)?;
        self.depth -= steps;
        self.height = self.height.max(beside);
        Ok(result)
    }

    /// Notes that what was parsed last on this level becomes part of a new node above it.
    fn grow(&mut self) -> Result<()> {
        self.height += 1;
        if self.height > limits::QUERY_DEPTH_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Adds `count` further steps to those of the query.
    fn add_steps(&mut self, count: usize) -> Result<()> {
        self.steps += count;
        if self.steps <= limits::QUERY_STEPS_MAX {
            return Ok(());
        }
        let most = limits::QUERY_STEPS_MAX;
        Err(error!(Limit, "the query has more than {most} clauses, and nodes and relationships to match")
            .at(self.here())
            .with_remedy("run parts of it as queries of their own, or UNWIND a list that is a parameter"))
    }

    fn too_deep(&self) -> Error {
        error!(Limit, "the query nests deeper than {} levels", limits::QUERY_DEPTH_MAX)
            .at(self.here())
            .with_remedy("compute parts of it in a WITH before, or pass a list as a parameter")
    }

    // ----- Errors

    /// "expected …, found …" here, with the keyword that was probably meant.
    fn expected(&self, what: &str) -> Error {
        let error = error!(Syntax, "expected {what}, found {}", self.found());
        if self.tried_at == self.at
            && let Some(remedy) = suggestion::did_you_mean(self.word(0), self.tried.iter().copied())
        {
            return error.at(self.here()).with_remedy(remedy);
        }
        if let Some(remedy) = self.misspelt_before() {
            return error.at(self.previous()).with_remedy(remedy);
        }
        if let Some(remedy) = self.foreign_word() {
            return error.at(self.here()).with_remedy(remedy);
        }
        match self.foreign_operator() {
            Some(remedy) if !self.slice(self.here()).is_ascii() => {
                error.at(self.here()).with_remedy(remedy).with_detail(ErrorDetail::InvalidUnicodeCharacter)
            }
            Some(remedy) => error.at(self.here()).with_remedy(remedy),
            None => error.at(self.here()),
        }
    }

    /// Describes what stands here in words.
    fn found(&self) -> String {
        match self.kind(0) {
            TokenKind::End => "the end of the query".to_owned(),
            _ => excerpt(self.slice(self.here())),
        }
    }

    /// Correction of the word before an operand that stands here, which may be a misspelt prefix: `RETURN DISTINT n`.
    fn misspelt_before(&self) -> Option<String> {
        let starts_operand = matches!(
            self.kind(0),
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Integer | TokenKind::String | TokenKind::Parameter
        );
        let before = self.at.checked_sub(1).map(|at| self.tokens[at])?;
        if !starts_operand || before.kind != TokenKind::Word {
            return None;
        }
        suggestion::did_you_mean(self.slice(before.span), ["DISTINCT", "NOT", "CASE"])
    }

    /// The Cypher for a word of SQL.
    fn foreign_word(&self) -> Option<&'static str> {
        let word = self.word(0).to_ascii_uppercase();
        SQL_WORDS.iter().find(|(sql, _)| *sql == word).map(|(_, remedy)| *remedy)
    }

    /// The Cypher for an operator of another language.
    fn foreign_operator(&self) -> Option<&'static str> {
        match (self.kind(0), self.kind(1)) {
            (TokenKind::DoubleEqual, _) => Some("equality is written ="),
            (TokenKind::BangEqual, _) => Some("inequality is written <>"),
            (TokenKind::Ampersand, TokenKind::Ampersand) => Some("conjunction is written AND"),
            (TokenKind::Bang, _) => Some("negation is written NOT"),
            (TokenKind::Minus, _) if !self.slice(self.here()).is_ascii() => Some("the minus sign is written -"),
            _ => None,
        }
    }
}

/// For each opening bracket the token that closes it, so that the parser can look behind a group in one step.
fn partners(tokens: &[Token]) -> Vec<u32> {
    let mut partners = vec![NO_PARTNER; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let opening = match token.kind {
            TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                open.push(at);
                continue;
            }
            TokenKind::RightParen => TokenKind::LeftParen,
            TokenKind::RightBracket => TokenKind::LeftBracket,
            TokenKind::RightBrace => TokenKind::LeftBrace,
            _ => continue,
        };
        if let Some(from) = open.pop_if(|from| tokens[*from].kind == opening) {
            partners[from] = at as u32;
        }
    }
    partners
}

#[cfg(test)]
mod tests;
