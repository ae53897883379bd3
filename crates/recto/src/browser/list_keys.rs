//! What keys do in the list, and in the transcript beside it.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use super::list::Focus;
use super::list::List;
use super::list::Mode;
use super::state::Ask;
use super::state::COMMAND;

impl List {
    pub(super) fn key(&mut self, key: KeyEvent) -> Ask {
        match self.focus {
            Focus::List => self.list_key(key),
            Focus::Preview => self.preview_key(key),
        }
    }

    fn list_key(&mut self, key: KeyEvent) -> Ask {
        let page = self.height.saturating_sub(1).max(1) as isize;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Down => self.move_by(1),
            KeyCode::Up => self.move_by(-1),
            KeyCode::Char('n' | 'j') if is_control => self.move_by(1),
            KeyCode::Char('p' | 'k') if is_control => self.move_by(-1),
            KeyCode::PageDown => self.move_by(page),
            KeyCode::PageUp => self.move_by(-page),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Enter if self.fits_nothing() => return self.search_typed(),
            KeyCode::Char('f') if is_control => return self.search_typed(),
            KeyCode::Enter => return Ask::Open,
            // Where there is no room for a transcript beside the list, it gets the screen.
            KeyCode::Tab | KeyCode::Right if !self.has_room_beside => return Ask::Open,
            KeyCode::Tab | KeyCode::Right if self.chosen().is_some() => {
                self.focus = Focus::Preview;
                return Ask::Nothing;
            }
            KeyCode::Esc => return self.escape(),
            KeyCode::Backspace => {
                if self.typed().pop().is_none() {
                    return if self.mode == Mode::Search {
                        self.leave_search()
                    } else {
                        Ask::Nothing
                    };
                }
                return self.was_typed();
            }
            KeyCode::Char('u') if is_control => {
                self.typed().clear();
                return self.was_typed();
            }
            KeyCode::Char('w') if is_control => {
                let text = self.typed().trim_end();
                let kept = text.rfind(' ').map_or(0, |at| at + 1);
                self.typed().truncate(kept);
                return self.was_typed();
            }
            KeyCode::F(1) => return Ask::Help,
            KeyCode::F(2) => return self.command('R'),
            KeyCode::Delete => return self.command('D'),
            KeyCode::Insert => return self.mark(),
            KeyCode::Char(' ') if is_control => return self.mark(),
            KeyCode::Char(c) if key.modifiers.intersects(COMMAND) => return self.command(c),
            // Inside of what is typed it is a letter: branches and directories have it.
            KeyCode::Char('/') if self.mode == Mode::Filter && self.filter.is_empty() => {
                return self.enter_search();
            }
            KeyCode::Char('?') if self.mode == Mode::Filter => return Ask::Help,
            KeyCode::Char(c) => {
                self.typed().push(c);
                return self.was_typed();
            }
            _ => return Ask::Nothing,
        }
        Ask::Preview
    }

    /// A command that needs no other focus: letters with Ctrl or Alt.
    fn command(&mut self, letter: char) -> Ask {
        // Ctrl+C leaves, so that a copy has a key of its own.
        let letter = if letter == 'y' { 'c' } else { letter };
        match letter {
            's' => {
                self.scope = self.scope.next();
                return self.list_again();
            }
            'o' => {
                self.order = self.order.next();
                return self.list_again();
            }
            'm' => return self.mark(),
            'U' => return Ask::Undo,
            _ => {}
        }
        let Some((entry, _)) = self.chosen() else { return Ask::Nothing };
        match letter {
            'd' => Ask::Nothing,
            letter => self.for_marked(Ask::of_command(KeyCode::Char(letter), entry)),
        }
    }

    /// The same for all that are marked, where a command can do that.
    fn for_marked(&self, ask: Ask) -> Ask {
        match ask {
            ask if self.marked.is_empty() => ask,
            Ask::Copy(..) => Ask::Copy(self.meant(), None),
            Ask::Export(_) => Ask::Export(self.meant()),
            Ask::Remove(_) => Ask::Remove(self.meant()),
            ask => ask,
        }
    }

    fn escape(&mut self) -> Ask {
        if self.mode == Mode::Search {
            return self.leave_search();
        }
        if self.filter.is_empty() {
            let has_marks = !std::mem::take(&mut self.marked).is_empty();
            return if has_marks { Ask::Nothing } else { Ask::Back };
        }
        self.filter.clear();
        self.was_typed()
    }

    fn preview_key(&mut self, key: KeyEvent) -> Ask {
        let is_back = matches!(
            key.code,
            KeyCode::Tab
                | KeyCode::BackTab
                | KeyCode::Esc
                | KeyCode::Backspace
                | KeyCode::Left
                | KeyCode::Char('q' | 'h')
        );
        let Some(preview) = self.preview.as_mut().filter(|_| !is_back) else {
            self.focus = Focus::List;
            return Ask::Nothing;
        };
        match key.code {
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => return Ask::Open,
            KeyCode::Char('/') => return self.enter_search(),
            KeyCode::Char('n') if self.mode == Mode::Search => self.move_by(1),
            KeyCode::Char('N') if self.mode == Mode::Search => self.move_by(-1),
            KeyCode::Char('n' | 'N') => {
                return Ask::Say("no search yet; / searches all sessions".into());
            }
            KeyCode::Char('d') => {
                let turn = preview.turn();
                let entry = preview.entry.clone();
                return turn.map_or(Ask::Nothing, |turn| Ask::Changes(entry, turn));
            }
            KeyCode::Char(letter @ ('s' | 'o' | 'm')) => return self.command(letter),
            KeyCode::Delete => return self.command('D'),
            KeyCode::Char('c') if self.marked.is_empty() => {
                return Ask::Copy(vec![preview.entry.clone()], preview.turn());
            }
            KeyCode::Char('F') => return preview.fork(),
            _ if preview.move_key(key) => return Ask::Nothing,
            code => {
                let ask = Ask::of_command(code, &preview.entry);
                return self.for_marked(ask);
            }
        }
        Ask::Preview
    }
}
