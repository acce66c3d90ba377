//! Paths: nodes and edges in a row, groups of them that repeat, and which of the paths are wanted.

use model::{Result, Span, error};

use super::Parser;
use crate::ast::{
    Arrow, EdgePattern, Expression, MatchMode, NodePattern, PathGroup, PathMode, PathPattern, PathSelector,
    PatternStep, Repetition, SelectorKind, Shortest,
};
use crate::lexer::literal;
use crate::token::TokenKind;

/// A path as it is read: the first node, what follows it, and the `WHERE` of parentheses around it.
type Path = (NodePattern, Vec<PatternStep>, Option<Expression>);

impl Parser<'_> {
    /// The comma-separated parts of a pattern.
    pub(super) fn patterns(&mut self) -> Result<Vec<PathPattern>> {
        self.comma_separated(Self::path_pattern)
    }

    /// `REPEATABLE ELEMENTS` or `DIFFERENT RELATIONSHIPS` before the parts of a pattern.
    pub(super) fn match_mode(&mut self) -> Option<MatchMode> {
        let is_any = |parser: &Self, words: &[&str]| words.iter().any(|word| parser.is_word(1, word));
        let mode = if self.is_word(0, "REPEATABLE") && is_any(self, &["ELEMENT", "ELEMENTS"]) {
            MatchMode::Repeatable
        } else if self.is_word(0, "DIFFERENT") && is_any(self, &["RELATIONSHIP", "RELATIONSHIPS", "EDGE", "EDGES"]) {
            MatchMode::Different
        } else {
            return None;
        };
        self.advance();
        self.advance();
        if self.is_word(0, "BINDINGS") {
            self.advance();
        }
        Some(mode)
    }

    /// `[variable =] [selector] [mode] [shortestPath(] (a)-[r]->(b)… [)]`.
    pub(super) fn path_pattern(&mut self) -> Result<PathPattern> {
        let start = self.here();
        let mut variable = None;
        if self.is_name(0) && self.kind(1) == TokenKind::Equal {
            variable = Some(self.variable()?);
            self.advance();
        }
        let (selector, mode) = self.path_prefix()?;
        let shortest = match self.word(0) {
            word if word.eq_ignore_ascii_case("shortestPath") => Some(Shortest::One),
            word if word.eq_ignore_ascii_case("allShortestPaths") => Some(Shortest::All),
            _ => None,
        };
        if shortest.is_some() {
            if selector.is_some() || mode.is_some() {
                let error = error!(Syntax, "a path selector or mode cannot stand before {}", self.word(0));
                return Err(error.at(self.here()).with_remedy("write SHORTEST 1 or ALL SHORTEST and the path alone"));
            }
            self.advance();
            self.expect(TokenKind::LeftParen)?;
        }
        let outer = std::mem::replace(&mut self.bar_ends, false);
        let path = if shortest.is_none() && self.is_group() { self.outer_path() } else { self.path() };
        self.bar_ends = outer;
        let (first, steps, predicate) = path?;
        if shortest.is_some() {
            self.expect(TokenKind::RightParen)?;
        }
        let span = self.since(start);
        Ok(PathPattern { span, variable, shortest, selector, mode, start: first, steps, predicate })
    }

    /// `ANY 2 TRAIL PATHS`, `ALL SHORTEST`, `SHORTEST 3 GROUPS`, `WALK`.
    fn path_prefix(&mut self) -> Result<(Option<PathSelector>, Option<PathMode>)> {
        let start = self.here();
        let mut kind = None;
        if self.is_word(0, "SHORTEST") || (self.is_word(0, "ANY") || self.is_word(0, "ALL")) && !self.is_call() {
            let word = self.word(0).to_ascii_uppercase();
            self.advance();
            kind = Some(match word.as_str() {
                "SHORTEST" => SelectorKind::Shortest(self.selector_count()?),
                "ANY" if self.take_keyword("SHORTEST") => SelectorKind::Shortest(1),
                "ANY" => SelectorKind::Any(self.selector_count()?),
                _ if self.take_keyword("SHORTEST") => SelectorKind::Groups(1),
                _ => SelectorKind::All,
            });
        }
        let mut mode = self.path_mode();
        let is_path = self.is_word(0, "PATH") || self.is_word(0, "PATHS");
        if is_path && (kind.is_some() || mode.is_some()) {
            self.advance();
        }
        if let Some(SelectorKind::Shortest(count)) = kind
            && (self.is_word(0, "GROUP") || self.is_word(0, "GROUPS"))
        {
            self.advance();
            kind = Some(SelectorKind::Groups(count));
            mode = mode.or_else(|| self.path_mode());
        }
        let span = self.since(start);
        Ok((kind.map(|kind| PathSelector { span, kind }), mode))
    }

    fn path_mode(&mut self) -> Option<PathMode> {
        let modes = [PathMode::Walk, PathMode::Trail, PathMode::Acyclic, PathMode::Simple];
        let mode = modes.into_iter().find(|mode| self.is_word(0, mode.keyword()));
        if mode.is_some() {
            self.advance();
        }
        mode
    }

    /// True if a word and a parenthesis here are a call rather than a selector: `any(x IN …)`.
    fn is_call(&self) -> bool {
        self.kind(1) == TokenKind::LeftParen && self.is_name(2) && self.is_word(3, "IN")
    }

    fn selector_count(&mut self) -> Result<u64> {
        match self.kind(0) {
            TokenKind::Integer => {
                let span = self.advance().span;
                let count = literal::integer(self.slice(span), false, span)?.unsigned_abs();
                if count == 0 {
                    return Err(error!(Syntax, "expected a number of paths of at least 1, found 0").at(span));
                }
                Ok(count)
            }
            TokenKind::Parameter => {
                let remedy = "write the number into the query";
                Err(self.unsupported("a number of paths that is a parameter", self.here(), remedy))
            }
            _ => Ok(1),
        }
    }

    /// True if the parenthesis here opens a path rather than a node.
    fn is_group(&self) -> bool {
        self.is(TokenKind::LeftParen)
            && (self.kind(1) == TokenKind::LeftParen
                || self.is_name(1) && self.kind(2) == TokenKind::Equal && self.kind(3) == TokenKind::LeftParen)
    }

    /// A path that begins with a group: one that repeats, or parentheses around the whole path.
    fn outer_path(&mut self) -> Result<Path> {
        let group = self.nested(|parser| parser.group())?;
        self.grow()?;
        match self.repetition()? {
            Some(repetition) => {
                self.check_repeated(&group)?;
                let first = implicit_node(group.span);
                self.path_after(first, Some((group, repetition)))
            }
            None if matches!(self.kind(0), TokenKind::LeftParen | TokenKind::Minus | TokenKind::Less) => {
                let error = self.expected("+, * or {n}: a part of a path stands in parentheses only if it repeats");
                Err(error.with_remedy("write {1} there, or leave the parentheses out"))
            }
            None => Ok((group.start, group.steps, group.predicate)),
        }
    }

    fn path(&mut self) -> Result<Path> {
        let first = self.node_pattern()?;
        self.path_after(first, None)
    }

    /// The steps after a node, the first of them perhaps a group that has been read.
    fn path_after(&mut self, first: NodePattern, group: Option<(PathGroup, Repetition)>) -> Result<Path> {
        let mut steps: Vec<PatternStep> = Vec::new();
        if let Some((group, repetition)) = group {
            steps.push(self.repeated_step(group, repetition)?);
        }
        loop {
            match self.kind(0) {
                TokenKind::Minus | TokenKind::Less => {
                    let edge = self.edge_pattern()?;
                    steps.push(PatternStep { edge, node: self.node_pattern()? });
                }
                TokenKind::LeftParen if self.is_group() => {
                    let group = self.nested(|parser| parser.group())?;
                    self.grow()?;
                    self.check_repeated(&group)?;
                    let Some(repetition) = self.repetition()? else {
                        let error = self.expected("+, * or {n} behind the parentheses");
                        return Err(error.with_remedy("a part of a path stands in parentheses only if it repeats"));
                    };
                    steps.push(self.repeated_step(group, repetition)?);
                }
                TokenKind::LeftParen => {
                    return Err(self.expected("a relationship, a comma or the end of the pattern"));
                }
                _ => return Ok((first, steps, None)),
            }
        }
    }

    /// A group as a step, and the node after it, which may be left out.
    fn repeated_step(&mut self, group: PathGroup, repetition: Repetition) -> Result<PatternStep> {
        let span = group.span.to(repetition.span);
        let edge = EdgePattern {
            span,
            arrow: Arrow::Both,
            variable: None,
            types: None,
            length: None,
            repetition: Some(repetition),
            group: Some(Box::new(group)),
            properties: None,
            predicate: None,
        };
        let has_node = self.is(TokenKind::LeftParen) && !self.is_group();
        if matches!(self.kind(0), TokenKind::Minus | TokenKind::Less) {
            return Err(self.expected("a node between a repeated path and a relationship"));
        }
        let node = if has_node { self.node_pattern()? } else { implicit_node(span) };
        Ok(PatternStep { edge, node })
    }

    /// `((a)-[r]->(b) WHERE predicate)`.
    fn group(&mut self) -> Result<PathGroup> {
        let start = self.expect(TokenKind::LeftParen)?;
        if self.is_name(0) && self.kind(1) == TokenKind::Equal {
            let span = self.here();
            return Err(self.unsupported("a path variable in parentheses", span, "name the path as a whole, before it"));
        }
        let (first, steps, _) = self.path()?;
        let predicate = self.predicate()?;
        if !self.is(TokenKind::RightParen) {
            return Err(self.expected(if predicate.is_some() { "an operator or )" } else { "WHERE or )" }));
        }
        self.advance();
        Ok(PathGroup { span: self.since(start), start: first, steps, predicate })
    }

    /// Checks that a path that repeats has an edge, and that nothing in it repeats.
    fn check_repeated(&self, group: &PathGroup) -> Result<()> {
        if group.steps.is_empty() {
            let error = error!(Syntax, "a path that repeats needs a relationship, found a node only").at(group.span);
            return Err(error.with_remedy("write ((a)-[r]->(b)){1,3}"));
        }
        let nested = group.steps.iter().find_map(|step| {
            let length = step.edge.length.map(|length| length.span);
            step.edge.repetition.map(|repetition| repetition.span).or(length)
        });
        match nested {
            Some(span) => Err(error!(Syntax, "a path that repeats cannot hold another that repeats").at(span)),
            None => Ok(()),
        }
    }

    /// `+`, `*`, `{2}`, `{1,5}`, `{,3}`, `{2,}`.
    pub(super) fn repetition(&mut self) -> Result<Option<Repetition>> {
        let start = self.here();
        let (min, max) = match self.kind(0) {
            TokenKind::Plus => (1, None),
            TokenKind::Star => (0, None),
            TokenKind::LeftBrace => return self.bounds(start).map(Some),
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(Repetition { span: start, min, max }))
    }

    fn bounds(&mut self, start: Span) -> Result<Repetition> {
        self.expect(TokenKind::LeftBrace)?;
        let min = self.bound()?;
        let (min, max) =
            if self.take(TokenKind::Comma) { (min.unwrap_or(0), self.bound()?) } else { (min.unwrap_or(0), min) };
        if self.previous() == start {
            return Err(self.expected("a number of repetitions"));
        }
        self.expect(TokenKind::RightBrace)?;
        let span = self.since(start);
        match max {
            Some(0) => Err(error!(Syntax, "expected a path to repeat at most once or more, found at most 0").at(span)),
            Some(max) if max < min => {
                let error = error!(Syntax, "a path cannot repeat at least {min} times and at most {max}");
                Err(error.at(span).with_remedy("put the smaller number first"))
            }
            max => Ok(Repetition { span, min, max }),
        }
    }

    fn bound(&mut self) -> Result<Option<u64>> {
        match self.kind(0) {
            TokenKind::Integer => {
                let span = self.advance().span;
                Ok(Some(literal::integer(self.slice(span), false, span)?.unsigned_abs()))
            }
            TokenKind::Parameter => {
                let remedy = "write the number into the query";
                Err(self.unsupported("a number of repetitions that is a parameter", self.here(), remedy))
            }
            TokenKind::Comma | TokenKind::RightBrace => Ok(None),
            _ => Err(self.expected("a number of repetitions")),
        }
    }
}

/// The node that stands, unwritten, beside a repeated path.
fn implicit_node(beside: Span) -> NodePattern {
    NodePattern { span: beside, variable: None, labels: None, properties: None, predicate: None }
}
