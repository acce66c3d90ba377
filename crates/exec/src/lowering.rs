//! From plan to operators that run: which column holds which slot, and which columns nobody needs.
//!
//! Lowering goes from the root down with what the consumer demands, and comes back with the layout of the rows. It asks
//! nothing of the store, so that a lowered plan is kept with the plan and outlives changes of the schema.

pub(crate) mod liveness;
mod local;
pub(crate) mod properties;

use cypher::plan::{Expression, Operator, OperatorId, OperatorKind, Plan, SlotId, SubqueryKind};
use model::{Error, Map, Result};

use self::properties::Properties;
use crate::chunk::Layout;
use crate::context::{CompileEnvironment, SubplanId};
use crate::expression::{self, CompiledExpression, CompiledExpressions};
use crate::parallel::spread::SpreadPipeline;
use crate::runtime::turn::Place;
use crate::runtime::{Physical, RowSubplan, Step};

pub(crate) use liveness::{Slots, inputs};
pub(crate) use local::{is_row_local, keeps_row_order, starts_from_argument};

/// Requirements of a consumer for the rows of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The slots it reads. Others may be dropped.
    pub(crate) slots: Slots,
    /// True if the number of times that equal rows come matters. If not, any number above zero will do.
    pub(crate) multiplicity: bool,
    /// True if a few rows may be enough: the first ones should come before others are worked on.
    pub(crate) few: bool,
}

impl Demand {
    /// These slots, of every row.
    pub(crate) fn all(slots: Slots) -> Demand {
        Demand { slots, multiplicity: true, few: false }
    }

    /// The same, and what an expression reads.
    #[must_use]
    pub(crate) fn and_expression(mut self, expression: &Expression) -> Demand {
        liveness::add_expression(expression, &mut self.slots);
        self
    }

    /// The same, and these slots.
    #[must_use]
    pub(crate) fn and_slots<'a>(mut self, slots: impl IntoIterator<Item = &'a SlotId>) -> Demand {
        self.slots.extend(slots);
        self
    }

    /// The same without these slots.
    #[must_use]
    pub(crate) fn without<'a>(mut self, slots: impl IntoIterator<Item = &'a SlotId>) -> Demand {
        slots.into_iter().for_each(|slot| {
            self.slots.remove(slot);
        });
        self
    }

    /// The same, of which a few rows may be enough.
    #[must_use]
    pub(crate) fn of_few(mut self) -> Demand {
        self.few = true;
        self
    }

    /// The same, of every row.
    #[must_use]
    pub(crate) fn of_every_row(mut self) -> Demand {
        self.multiplicity = true;
        self
    }
}

/// An operator and the layout of its rows.
pub(crate) type Lowered = (Box<dyn Physical>, Layout);

/// The lowering of one plan.
pub(crate) struct Lowering {
    hidden_from: u32,
    next_slot: u32,
    registry: Registry,
    subplans: Vec<Box<dyn RowSubplan>>,
    outer: Vec<Outer>,
    /// Properties read of the nodes that operators find.
    pub(crate) properties: Properties,
    /// The expansion below which rows are held on demand.
    pub(crate) spread: Option<SpreadPipeline>,
    /// Points at which the rest of the plan may be made anew.
    pub(crate) horizons: Horizons,
    /// Equal rows come from `Held` as often as they should.
    pub(crate) held_multiplicity: bool,
}

/// Operators over which there is a horizon.
pub(crate) type Horizons = Map<OperatorId, Place>;

/// Lowers an operator and its inputs.
pub(crate) type LowerOperator = fn(&mut Lowering, &Operator, &Demand) -> Result<Lowered>;

/// Lowers the subplan of an expression over rows of a layout.
pub(crate) type LowerSubplan = fn(&mut Lowering, SubqueryKind, &Operator, &Layout) -> Result<Box<dyn RowSubplan>>;

/// The operators that plans are lowered to: a function for operators, one for the subplans of expressions.
#[derive(Clone, Copy)]
pub(crate) struct Registry {
    pub(crate) operator: LowerOperator,
    pub(crate) subplan: LowerSubplan,
}

/// The rows around a subplan.
struct Outer {
    layout: Layout,
    /// Takes the number of the outer row, when a subplan runs for many rows at once.
    row: Option<SlotId>,
}

impl Lowering {
    /// The lowering of a plan to the operators of a registry.
    pub(crate) fn new(plan: &Plan, registry: Registry) -> Lowering {
        let hidden_from = plan.slots.len() as u32;
        let properties = Properties::of(&plan.root);
        let (subplans, outer) = (Vec::new(), Vec::new());
        let (horizons, held_multiplicity) = (Horizons::default(), false);
        Lowering {
            hidden_from,
            next_slot: hidden_from,
            registry,
            subplans,
            outer,
            properties,
            spread: None,
            horizons,
            held_multiplicity,
        }
    }

    /// The subplans of all expressions that were compiled.
    pub(crate) fn into_subplans(self) -> Vec<Box<dyn RowSubplan>> {
        self.subplans
    }

    /// Lowers an operator and its inputs.
    pub(crate) fn lower(&mut self, plan: &Operator, demand: &Demand) -> Result<(Step, Layout)> {
        let (operator, layout) = (self.registry.operator)(self, plan, demand)?;
        let in_parts = demand.few && makes_rows(&plan.kind);
        Ok((Step { id: plan.id, operator, in_parts }, layout))
    }

    /// Lowers a subplan that runs for rows of that layout; with a row slot, for many rows at once.
    pub(crate) fn lower_subplan(
        &mut self,
        subplan: &Operator,
        layout: &Layout,
        row: Option<SlotId>,
        demand: &Demand,
    ) -> Result<(Step, Layout)> {
        self.enter_subplan(layout, row);
        let lowered = self.lower(subplan, demand);
        self.leave_subplan();
        lowered
    }

    /// Begins the lowering of a subplan that runs for rows of that layout.
    pub(crate) fn enter_subplan(&mut self, layout: &Layout, row: Option<SlotId>) {
        self.outer.push(Outer { layout: layout.clone(), row });
    }

    /// Ends the lowering of a subplan.
    pub(crate) fn leave_subplan(&mut self) {
        self.outer.pop();
    }

    /// The layout of the rows around the subplan being lowered, and the slot for their number.
    pub(crate) fn outer(&self) -> Result<(&Layout, Option<SlotId>)> {
        let outer = self.outer.last().ok_or_else(|| internal("an Argument stands outside of a subplan"))?;
        Ok((&outer.layout, outer.row))
    }

    /// Compiles an expression over rows of that layout.
    pub(crate) fn compile(&mut self, expression: &Expression, layout: &Layout) -> Result<CompiledExpression> {
        expression::compile(expression, layout, self)
    }

    /// Compiles expressions over the same rows of that layout, which then share what they read of the graph.
    pub(crate) fn compile_all<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        layout: &Layout,
    ) -> Result<CompiledExpressions> {
        expression::compile_all(expressions, layout, self)
    }

    /// A slot that no query knows.
    pub(crate) fn hidden_slot(&mut self) -> SlotId {
        self.next_slot += 1;
        SlotId(self.next_slot - 1)
    }

    /// The hidden slots among the demanded: they go through every operator untouched.
    pub(crate) fn hidden_in(&self, demand: &Demand) -> Vec<SlotId> {
        demand.slots.range(SlotId(self.hidden_from)..).copied().collect()
    }
}

impl CompileEnvironment for Lowering {
    fn subplan(&mut self, kind: SubqueryKind, plan: &Operator, layout: &Layout) -> Result<SubplanId> {
        let subplan = (self.registry.subplan)(self, kind, plan, layout)?;
        self.subplans.push(subplan);
        Ok(SubplanId(self.subplans.len() - 1))
    }
}

/// True of operators that may give many rows for one.
fn makes_rows(kind: &OperatorKind) -> bool {
    matches!(
        kind,
        OperatorKind::NodeScan { .. }
            | OperatorKind::NodeUnionScan { .. }
            | OperatorKind::NodeLookup { .. }
            | OperatorKind::IndexSeek { .. }
            | OperatorKind::Expand { .. }
            | OperatorKind::VariableExpand { .. }
            | OperatorKind::ShortestPath { .. }
            | OperatorKind::PathSearch { .. }
            | OperatorKind::Intersect { .. }
            | OperatorKind::Unwind { .. }
            | OperatorKind::HashJoin { .. }
            | OperatorKind::CrossProduct { .. }
    )
}

/// The columns of a layout that are demanded, and the layout they make.
pub(crate) fn keep(layout: &Layout, demand: &Demand) -> (Vec<usize>, Layout) {
    let kept = layout.slots().iter().enumerate().filter(|(_, slot)| demand.slots.contains(slot));
    let (columns, slots): (Vec<usize>, Vec<SlotId>) = kept.map(|(column, slot)| (column, *slot)).unzip();
    (columns, Layout::new(slots))
}

/// The column of a slot that the plan promises to be there.
pub(crate) fn column_of(layout: &Layout, slot: SlotId) -> Result<usize> {
    layout.column(slot).ok_or_else(|| internal(&format!("slot {} is read where it is not bound", slot.0)))
}

/// Up to this many slots are looked for one by one.
const FEW_SLOTS: usize = 64;

/// The columns of several slots.
pub(crate) fn columns_of(layout: &Layout, slots: &[SlotId]) -> Result<Vec<usize>> {
    if slots.len() <= FEW_SLOTS {
        return slots.iter().map(|&slot| column_of(layout, slot)).collect();
    }
    let places: Map<SlotId, usize> = layout.slots().iter().rev().copied().zip((0..layout.len()).rev()).collect();
    slots.iter().map(|slot| places.get(slot).copied().map_or_else(|| column_of(layout, *slot), Ok)).collect()
}

/// A plan that breaks the rules of plans.
pub(crate) fn internal(message: &str) -> Error {
    model::error!(Internal, "the plan is not well formed: {message}")
}

/// An operator that came where another was expected.
pub(crate) fn misplaced(kind: &OperatorKind) -> Error {
    let text = format!("{kind:?}");
    let name: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    internal(&format!("{name} is lowered in the wrong place"))
}
