//! What all pages have.

use maud::DOCTYPE;
use maud::Markup;
use maud::html;

use crate::answer::Page;
use crate::assets;

/// A page with a title. Everything in it is escaped by maud.
pub(crate) fn page(title: &str, body: &Markup) -> Page {
    Page(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · recto" }
                link rel="stylesheet" href=(assets::address("style.css"));
                script type="module" src=(assets::address("app.js")) {}
            }
            body { (body) }
        }
    })
}
