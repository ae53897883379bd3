//! The first page.

use axum::extract::State;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::data::overview;
use crate::pages::layout::page;

pub(crate) async fn home(State(context): State<Context>) -> Result<Page, Failure> {
    let overview = context.work(|context| Ok(overview(context))).await?;
    Ok(page(
        "Sessions",
        &html! {
            main {
                h1 { "Sessions" }
                p { (overview.sessions) " sessions in " (overview.projects) " projects" }
            }
        },
    ))
}
