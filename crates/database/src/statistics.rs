//! Statistics of a store that the planner knows, as rows to look at: counts, which are exact, and sketches, which are
//! of some time ago and mostly from samples.

use std::sync::Arc;

use model::procedure::{Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec};
use model::statistics::{EdgeSketch, LabelPair, Sketches};
use model::{Column, ColumnBuilder, EdgeTypeId, LabelId, Result, Schema, Statistics, Value};

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Name of the fact, as `distinct values`.
    pub name: &'static str,
    /// Of what, in Cypher's notation where it has one.
    pub subject: String,
    /// A number.
    pub value: Value,
    /// True if it holds of this moment; otherwise it is from a sketch, which may be old, and a sample.
    pub is_exact: bool,
}

/// All facts: the counts, then what the sketches say of edges and values.
pub fn list(schema: &Schema, statistics: &Statistics) -> Vec<Statistic> {
    let count = |count: u64| Value::Int(count as i64);
    let fact = |name, subject, value| Statistic { name, subject, value, is_exact: true };
    let mut facts = vec![
        fact("nodes", String::new(), count(statistics.nodes)),
        fact("relationships", String::new(), count(statistics.edges)),
    ];
    for label in (0..schema.labels.len() as u32).map(LabelId) {
        facts.push(fact("nodes", node(schema, Some(label)), count(statistics.label(label))));
    }
    for edge_type in (0..schema.edge_types.len() as u32).map(EdgeTypeId) {
        let subject = pattern(schema, (None, None), edge_type);
        facts.push(fact("relationships", subject, count(statistics.edge_type(edge_type))));
    }
    if let Some(sketches) = &statistics.sketches {
        let mut add = |name, subject, value| facts.push(Statistic { name, subject, value, is_exact: false });
        edge_facts(schema, sketches, &mut add);
        value_facts(schema, sketches, &mut add);
    }
    facts
}

fn node(schema: &Schema, label: Option<LabelId>) -> String {
    label.map_or_else(|| "()".to_owned(), |label| format!("(:{})", schema.label_name(label)))
}

fn pattern(schema: &Schema, (source, target): LabelPair, edge_type: EdgeTypeId) -> String {
    format!("{}-[:{}]->{}", node(schema, source), schema.edge_type_name(edge_type), node(schema, target))
}

fn edge_facts(schema: &Schema, sketches: &Sketches, add: &mut dyn FnMut(&'static str, String, Value)) {
    let mut types: Vec<(EdgeTypeId, &EdgeSketch)> = sketches.edge_types.iter().map(|(&id, held)| (id, held)).collect();
    types.sort_unstable_by_key(|&(id, _)| id);
    for &(edge_type, sketch) in &types {
        let mut pairs: Vec<(LabelPair, u64)> = sketch.pairs.iter().map(|(&pair, &count)| (pair, count)).collect();
        pairs.sort_unstable();
        for (pair, count) in pairs {
            add("relationships", pattern(schema, pair, edge_type), Value::Int(count as i64));
        }
    }
    for &(edge_type, sketch) in &types {
        let name = schema.edge_type_name(edge_type);
        for (side, degrees) in [("outgoing", &sketch.out_degrees), ("incoming", &sketch.in_degrees)] {
            for (power, &nodes) in degrees.iter().enumerate().filter(|(_, nodes)| **nodes > 0) {
                let (least, most) = (1u128 << power, (2u128 << power) - 1);
                let subject = format!("with {least} to {most} {side} :{name}");
                add("nodes by degree", subject, Value::Int(nodes as i64));
            }
        }
    }
}

fn value_facts(schema: &Schema, sketches: &Sketches, add: &mut dyn FnMut(&'static str, String, Value)) {
    let mut values: Vec<_> = sketches.values.iter().collect();
    values.sort_unstable_by_key(|(place, _)| **place);
    for (&(label, key), sketch) in values {
        let subject = format!(":{}({})", schema.label_name(label), schema.property_key_name(key));
        add("nodes with a value", subject.clone(), Value::Int(sketch.present as i64));
        add("distinct values", subject.clone(), Value::Int(sketch.distinct as i64));
        if let Some((least, largest)) = sketch.numbers {
            add("least number", subject.clone(), Value::Float(least));
            add("largest number", subject, Value::Float(largest));
        }
    }
}

/// `CALL db.statistics()`.
pub(crate) struct ListStatistics(ProcedureSignature);

impl ListStatistics {
    pub(crate) fn procedure() -> Arc<dyn Procedure> {
        Arc::new(ListStatistics(ProcedureSignature {
            name: "db.statistics",
            aliases: &[],
            description: "The statistics of the planner: exact counts, and sketches drawn some time ago.",
            mode: ProcedureMode::Read,
            arguments: &[],
            yields: &[
                YieldSpec { name: "name", type_name: "STRING" },
                YieldSpec { name: "subject", type_name: "STRING" },
                YieldSpec { name: "value", type_name: "NUMBER" },
                YieldSpec { name: "exact", type_name: "BOOLEAN" },
            ],
        }))
    }
}

impl Procedure for ListStatistics {
    fn signature(&self) -> &ProcedureSignature {
        &self.0
    }

    fn call(&self, context: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let view = context.graph.view();
        let facts = list(view.schema(), view.statistics());
        let column = |value: &dyn Fn(&Statistic) -> Value| -> Column {
            let mut builder = ColumnBuilder::default();
            facts.iter().for_each(|fact| builder.push(&value(fact)));
            builder.finish()
        };
        sink(vec![
            column(&|fact| Value::from(fact.name)),
            column(&|fact| Value::from(fact.subject.as_str())),
            column(&|fact| fact.value.clone()),
            column(&|fact| Value::Bool(fact.is_exact)),
        ])?;
        Ok(())
    }
}
