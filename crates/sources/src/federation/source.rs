//! Sources as members.

use std::sync::Arc;

use model::store::EdgeCursor;
use model::{EdgeTypeId, Expand, NodeId, Result};

use super::{MemberStore, MemberTransaction, MemberView};
use crate::store::{Crossing, SourceStore, SourceTransaction, SourceView};

impl MemberStore for SourceStore {
    fn read_member(&self) -> Result<Arc<dyn MemberView>> {
        Ok(Arc::new(self.view()))
    }

    fn write_member(&self) -> Result<Box<dyn MemberTransaction>> {
        Ok(Box::new(self.begin()?))
    }

    fn write_member_later(&self) -> Option<Box<dyn MemberTransaction>> {
        Some(Box::new(self.begin_later().ok()?))
    }
}

impl MemberTransaction for SourceTransaction {
    fn member_view(&self) -> &dyn MemberView {
        self.source_view()
    }
}

impl MemberView for SourceView {
    fn crossing_types(&self) -> Vec<EdgeTypeId> {
        SourceView::crossing_types(self)
    }

    fn expand_across<'a>(
        &'a self,
        from: &'a [NodeId],
        expand: &'a Expand,
        others: &'a dyn Crossing,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.expand_with(from, expand, Some(others))
    }
}
