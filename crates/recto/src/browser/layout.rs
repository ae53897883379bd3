//! Where everything is on the screen; a function of its size alone.

use ratatui::layout::Rect;

/// Below this width the preview gives way.
const WIDE_ENOUGH: u16 = 60;

/// The parts of the list's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListLayout {
    pub(super) header: Rect,
    pub(super) input: Rect,
    pub(super) list: Rect,
    /// The lines above the transcript, and the transcript.
    pub(super) preview: Option<(Rect, Rect)>,
    pub(super) status: Rect,
}

/// The parts of the reader's and of a table's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageLayout {
    pub(super) header: Rect,
    pub(super) body: Rect,
    pub(super) status: Rect,
}

fn rows(size: (u16, u16), from: u16, count: u16) -> Rect {
    let from = from.min(size.1);
    Rect::new(0, from, size.0, count.min(size.1 - from))
}

/// How the list shares the screen with the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Titles are short.
    Titles,
    /// What was found needs room.
    Hits,
}

pub(super) fn list(size: (u16, u16), share: Share) -> ListLayout {
    let (width, height) = size;
    let status = rows(size, height.saturating_sub(1), 1);
    // On a screen of a few lines, the list is what matters.
    let header = rows(size, 0, u16::from(height > 5));
    let input = rows(size, header.bottom(), u16::from(height > 2));
    let body = rows(size, input.bottom(), status.y.saturating_sub(input.bottom()));
    if width < WIDE_ENOUGH {
        return ListLayout { header, input, list: body, preview: None, status };
    }
    let left = match share {
        Share::Titles => (width * 9 / 20).clamp(30, 64),
        // Beside the words there are the turn, the role and the age.
        Share::Hits => (width * 11 / 20).clamp(30, 100),
    };
    let list = Rect::new(0, body.y, left, body.height);
    // The transcript begins beside the input, to the right of a rule.
    let (x, y) = (left + 2, input.y);
    let room = status.y.saturating_sub(y);
    // On a low screen, the blank line below the facts gives way.
    let lines = if height > 14 { 3 } else { 2 };
    // The last column is for the scroll bar.
    let head = Rect::new(x, y, width - x - 1, room.min(lines));
    let text = Rect::new(x, head.bottom(), width - x - 1, room.saturating_sub(lines));
    let input = Rect { width: left, ..input };
    ListLayout { header, input, list, preview: Some((head, text)), status }
}

pub(super) fn page(size: (u16, u16)) -> PageLayout {
    let (_, height) = size;
    let status = rows(size, height.saturating_sub(1), 1);
    let head = match height {
        0..6 => 0,
        6..12 => 1,
        _ => 3,
    };
    let header = rows(size, 0, head);
    let body = rows(size, header.bottom(), status.y.saturating_sub(header.bottom()));
    let margin = u16::from(body.width > 20);
    let body = Rect { x: body.x + margin, width: body.width.saturating_sub(2 * margin), ..body };
    PageLayout { header, body, status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_inside_every_screen_and_none_overlap() {
        for width in 0..150 {
            for height in 0..50 {
                let size = (width, height);
                let screen = Rect::new(0, 0, width, height);
                let parts = |share| {
                    let layout = list(size, share);
                    let mut parts = vec![layout.header, layout.input, layout.list, layout.status];
                    if let Some((head, text)) = layout.preview {
                        parts.extend([head, text]);
                    }
                    parts
                };
                let page = page(size);
                let page = vec![page.header, page.body, page.status];
                for parts in [parts(Share::Titles), parts(Share::Hits), page] {
                    for (at, part) in parts.iter().enumerate() {
                        assert_eq!(part.intersection(screen).area(), part.area(), "{size:?}");
                        for other in &parts[at + 1..] {
                            assert!(!part.intersects(*other), "{size:?}: {part:?} {other:?}");
                        }
                    }
                }
            }
        }
    }
}
