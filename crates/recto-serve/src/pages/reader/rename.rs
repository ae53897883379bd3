//! The name of a session. Where the user has allowed edits, it can be changed here,
//! and changed back for a while; elsewhere nothing of that is in the page.
//!
//! `edits.js` opens the form, sends it, and asks for `/session/ID/name` anew.

use axum::extract::Path;
use axum::extract::State;
use maud::Markup;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::assets;
use crate::context::Context;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::SessionName;
use recto_view::SessionRow;

/// `/session/ID/name`: the name only.
pub(super) async fn name(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    parameters.finish()?;
    let missing = |_| Failure::not_found("no session has this id");
    let id: SessionName = session.parse().map_err(missing)?;
    context
        .work(move |context| {
            let found = context.library.find(id)?;
            let row = context.library.session_row(&found.file);
            Ok(Page(session_name(context, id, &row)))
        })
        .await
}

/// The name of a session, with the script that changes it.
pub(super) fn editable(context: &Context, id: SessionName, row: &SessionRow) -> Markup {
    html! {
        (session_name(context, id, row))
        @if context.allows_edits && row.archived {
            p.edit-error.bad role="alert" hidden {}
        }
        @if context.allows_edits {
            script type="module" src=(assets::address("edits.js")) {}
        }
    }
}

fn session_name(context: &Context, id: SessionName, row: &SessionRow) -> Markup {
    let name = title(row);
    // A session that only the archive has is not changed.
    if !context.allows_edits || row.archived {
        return html! { h1 { bdi { (name) } } };
    }
    let undo = context.library.last_rename(id.id);
    html! {
        div #session-name .session-name data-title=(one_line(&name, 80)) data-session-name=(format!("/session/{id}/name")) {
            h1 { bdi { (name) } }
            button.button.quiet.small type="button" data-edit="rename" data-command="Rename this session" hidden { "Rename" }
            @if let Some(undo) = undo {
                span.renamed { "Title changed." button.button.quiet.small type="button" data-edit="undo" data-operation=(undo.number()) { "Undo" } }
            }
            form.rename-form action=(format!("/api/v1/sessions/{id}/title")) hidden {
                label.unseen for="new-title" { "Title of the session" }
                input #new-title .field name="title" value=(shown(row.title.as_deref().unwrap_or(&name)))
                    placeholder="Default title" autocomplete="off";
                button.button { "Save" }
                button.button.quiet type="button" data-edit="cancel" { "Cancel" }
            }
            p.edit-error.bad role="alert" hidden {}
        }
    }
}
