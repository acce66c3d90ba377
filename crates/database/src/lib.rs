//! The façade: databases, sessions, transactions, import, export; wires functions and procedures.
