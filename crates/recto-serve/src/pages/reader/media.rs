//! Images and documents: shown small, enlarged by a click. What is not an image is a card
//! with a link that keeps it as a file.

use maud::Markup;
use maud::html;

use crate::pages::format::size;
use recto_view::MediaRow;

/// How many bytes an image has at most that is shown in its place.
const MOST_INLINE: usize = 12 * 1024 * 1024;

/// The images and documents of an item; `count` is how many its text counts, so that those
/// of which the log has nothing are named, too.
pub(super) fn media(media: &[MediaRow], count: usize) -> Markup {
    html! {
        @if !media.is_empty() {
            div.media {
                @for (at, one) in media.iter().enumerate() { (figure(one, at + 1, media.len())) }
            }
        }
        @if count > media.len() {
            p.faint { (count - media.len()) @if count - media.len() == 1 { " image or document" } @else { " images or documents" } }
        }
    }
}

fn figure(one: &MediaRow, number: usize, all: usize) -> Markup {
    let place = if all > 1 { format!(" {number} of {all}") } else { String::new() };
    match &one.address {
        Some(address) if one.is_image && one.bytes <= MOST_INLINE => html! {
            figure.picture {
                a href=(address) data-enlarge=(caption(one)) aria-label=(format!("Enlarge image{place}")) {
                    img src=(address) alt=(format!("Image{place}, {}", caption(one))) loading="lazy" decoding="async"
                        width=[one.width] height=[one.height];
                }
                figcaption.faint { (caption(one)) }
            }
        },
        Some(address) => html! {
            a.document-card href=(address) download {
                svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { path d="M4 1.5h5l3 3v10H4zM9 1.5v3h3" {} }
                span { strong { (name(one)) (place) } span.faint { (size(one.bytes as u64)) " · save as a file" } }
            }
        },
        None => html! {
            p.document-card {
                span { strong { "Image or document" (place) } span.faint { "not in the log; recto does not load it" } }
            }
        },
    }
}

fn name(one: &MediaRow) -> &'static str {
    match one.kind {
        "pdf" => "PDF document",
        "png" | "jpeg" | "gif" | "webp" => "Large image",
        _ => "Attached file",
    }
}

fn caption(one: &MediaRow) -> String {
    let kind = one.kind.to_uppercase();
    match (one.width, one.height) {
        (Some(width), Some(height)) => {
            format!("{kind}, {width} × {height}, {}", size(one.bytes as u64))
        }
        _ => format!("{kind}, {}", size(one.bytes as u64)),
    }
}
