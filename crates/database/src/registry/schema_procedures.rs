//! Procedures that tell of the store: its labels, edge types and property keys, as Neo4j's tools ask for them.

use std::sync::Arc;

use model::procedure::{Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec};
use model::schema::Names;
use model::{Column, ColumnData, Result, Schema, Value};

/// A procedure that lists names of the schema.
struct ListNames {
    signature: ProcedureSignature,
    names: fn(&Schema) -> &Names,
}

/// All procedures of this file.
pub(super) fn procedures() -> Vec<Arc<dyn Procedure>> {
    vec![
        list("db.labels", "The labels of the store.", &[YieldSpec { name: "label", type_name: "STRING" }], |schema| {
            &schema.labels
        }),
        list(
            "db.relationshipTypes",
            "The edge types of the store.",
            &[YieldSpec { name: "relationshipType", type_name: "STRING" }],
            |schema| &schema.edge_types,
        ),
        list(
            "db.propertyKeys",
            "The property keys of the store.",
            &[YieldSpec { name: "propertyKey", type_name: "STRING" }],
            |schema| &schema.property_keys,
        ),
    ]
}

fn list(
    name: &'static str,
    description: &'static str,
    yields: &'static [YieldSpec],
    names: fn(&Schema) -> &Names,
) -> Arc<dyn Procedure> {
    let signature =
        ProcedureSignature { name, aliases: &[], description, mode: ProcedureMode::Read, arguments: &[], yields };
    Arc::new(ListNames { signature, names })
}

impl Procedure for ListNames {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let names = (self.names)(context.graph.view().schema());
        let column = ColumnData::String(names.iter().map(|name| &**name).collect());
        sink(vec![Column::new(column)])?;
        Ok(())
    }
}
