//! What the mouse does.

use crossterm::event::MouseButton;
use crossterm::event::MouseEvent;
use crossterm::event::MouseEventKind;
use ratatui::layout::Position;
use ratatui::layout::Rect;

use super::layout;
use super::list::Focus;
use super::state::Ask;
use super::state::Browser;
use super::state::Page;

/// How many lines a turn of the wheel moves.
const WHEEL: isize = 3;

impl Browser {
    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        let position = Position::new(mouse.column, mouse.row);
        let wheel = match mouse.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => 0,
            _ => return,
        };
        if self.overlay.is_some() {
            // A click beside it puts it away.
            if wheel == 0 {
                self.overlay = None;
            }
            return;
        }
        let within = |area: Rect| area.contains(position).then(|| usize::from(mouse.row - area.y));
        let body = layout::page(self.size).body;
        let ask = match self.pages.last_mut() {
            Some(Page::Reader(reader)) => {
                reader.scroll(wheel);
                Ask::Nothing
            }
            Some(Page::Table(table)) if wheel != 0 => {
                table.move_by(wheel);
                Ask::Nothing
            }
            Some(Page::Table(table)) => within(body).map_or(Ask::Nothing, |row| table.click(row)),
            None => {
                let layout = self.list_layout();
                let preview = layout.preview.map_or(Rect::ZERO, |(head, text)| head.union(text));
                if within(preview).is_some() {
                    if wheel == 0 {
                        self.list.focus = Focus::Preview;
                    }
                    self.list.preview.iter_mut().for_each(|preview| preview.scroll(wheel));
                    Ask::Nothing
                } else if wheel != 0 {
                    self.list.scroll(wheel);
                    Ask::Nothing
                } else {
                    within(layout.list).map_or(Ask::Nothing, |row| self.list.click(row))
                }
            }
        };
        self.answer(ask);
    }
}
