//! Text to plan: lexer, parser, binder, planner. Never sees a row.
