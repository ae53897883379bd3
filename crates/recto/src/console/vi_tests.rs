//! Keys of vi in, texts out.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use super::editor::Editor;
use super::editor::Typed;

/// Types keys: `<` is Esc, `>` is Ctrl-R, `|` is a new line.
fn typed(editor: &mut Editor, keys: &str) {
    for c in keys.chars() {
        editor.key(match c {
            '<' => KeyEvent::from(KeyCode::Esc),
            '>' => KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL),
            '|' => KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL),
            c => KeyEvent::from(KeyCode::Char(c)),
        });
    }
}

fn after(text: &str, keys: &str) -> String {
    let mut editor = Editor::default();
    editor.set_vi(true);
    typed(&mut editor, text);
    typed(&mut editor, "<gg0");
    typed(&mut editor, keys);
    // The cursor is marked.
    let (before, behind) = editor.text().split_at(editor.cursor());
    format!("{before}^{behind}")
}

#[test]
fn motions_go_where_they_go_in_vi() {
    for (text, keys, shown) in [
        ("one two", "w", "one ^two"),
        ("one two", "e", "on^e two"),
        ("one two", "2e", "one tw^o"),
        ("one two", "$", "one tw^o"),
        ("one two", "$b", "one ^two"),
        ("a.b c", "w", "a^.b c"),
        ("a.b c", "W", "a.b ^c"),
        ("one two", "fo", "one tw^o"),
        ("one two", "ft", "one ^two"),
        ("one two", "tt", "one^ two"),
        ("a,b,c", "f,;", "a,b^,c"),
        ("a,b,c", "f,;,", "a^,b,c"),
        ("  one", "^", "  ^one"),
        ("one|two", "j", "one\n^two"),
        ("one|two|three", "G", "one\ntwo\n^three"),
        ("one|two|three", "2G", "one\n^two\nthree"),
        ("one|two", "Ggg", "^one\ntwo"),
        ("日本 語", "l", "日^本 語"),
        ("one", "9l", "on^e"),
        ("one", "99999999999999999999h", "^one"),
    ] {
        assert_eq!(after(text, keys), shown, "{text:?} {keys:?}");
    }
}

#[test]
fn operators_work_on_motions_objects_and_lines() {
    for (text, keys, shown) in [
        ("one two three", "dw", "^two three"),
        ("one two three", "2dw", "^three"),
        ("one two three", "d2w", "^three"),
        ("one two", "wdw", "one^ "),
        ("one two", "cwX<", "^X two"),
        ("a b c", "cwX<", "^X b c"),
        ("one two three", "c2wX<", "^X three"),
        ("one two", "de", "^ two"),
        ("one two", "d$", "^"),
        ("one two", "wD", "one^ "),
        ("one two", "wCX<", "one ^X"),
        ("one two", "dfo", "^"),
        ("one two", "dtw", "^wo"),
        ("one two", "wdTe", "one^two"),
        ("one two", "$db", "one ^o"),
        ("one two", "wdiw", "one^ "),
        ("one two three", "wdaw", "one ^three"),
        ("say \"a b\" now", "ci\"X<", "say \"^X\" now"),
        ("f(a, (b))", "fadi(", "f(^)"),
        ("f(a)", "fada(", "^f"),
        ("one|two|three", "jdd", "one\n^three"),
        ("one|two|three", "2dd", "^three"),
        ("one|two", "jdd", "^one"),
        ("one|two|three", "dj", "^three"),
        ("one|two", "jccX<", "one\n^X"),
        ("one|two", "yyjp", "one\ntwo\n^one"),
        ("one|two", "yyP", "^one\none\ntwo"),
        ("one two", "xp", "n^oe two"),
        ("one two", "3xP", "on^e two"),
        ("one two", "rX", "^Xne two"),
        ("one two", "3rX", "XX^X two"),
        ("one", "5rX", "^one"),
        ("one", "~~", "ON^e"),
        ("one|two", "J", "one^ two"),
        ("one", "ofoo<", "one\nfo^o"),
        ("one", "Ofoo<", "fo^o\none"),
        ("one", "A!<", "one^!"),
        ("one", "aX<", "o^Xne"),
        ("one", "sX<", "^Xne"),
        ("one", "SX<", "^X"),
        ("", "dwxdd", "^"),
        ("one", "zdqw", "on^e"),
    ] {
        assert_eq!(after(text, keys), shown, "{text:?} {keys:?}");
    }
}

#[test]
fn changes_are_undone_redone_and_repeated() {
    assert_eq!(after("one two", "dwu"), "^one two");
    assert_eq!(after("one two", "dwu>"), "^two");
    assert_eq!(after("a b c d", "dw."), "^c d");
    assert_eq!(after("a b c d", "cwX<w."), "X ^X c d");
    assert_eq!(after("a b c d", "cwX<w.u"), "X ^b c d");
    assert_eq!(after("a b c", "x.."), "^ c");
    assert_eq!(after("a", "uuu>>"), "^a");
}

#[test]
fn escape_belongs_to_the_editor_only_where_it_means_something() {
    let mut editor = Editor::default();
    assert!(!editor.wants_escape());
    editor.set_vi(true);
    assert!(!editor.wants_escape(), "nothing is typed");
    typed(&mut editor, "one");
    assert!(editor.wants_escape());
    typed(&mut editor, "<");
    assert!(!editor.wants_escape());
    typed(&mut editor, "2d");
    assert!(editor.wants_escape());
    typed(&mut editor, "<w");
    assert_eq!(editor.text(), "one");
    assert_eq!(editor.key(KeyEvent::from(KeyCode::Enter)), Typed::Send);
    editor.take();
    assert_eq!(editor.vi_mode(), Some("INSERT"));
}

#[test]
fn any_keys_at_all_leave_a_text_with_a_cursor_in_it() {
    let letters: Vec<char> =
        "dcyxwbeWBEhjkl0^$GgfFtT;,iaIAoOpPu.~JrsSDCX12\"(é日<>|".chars().collect();
    let mut random = recto_testkit::fuzz::Random::new(5);
    let mut editor = Editor::default();
    editor.set_vi(true);
    for _ in 0..50_000 {
        let key = letters[random.below(letters.len())];
        typed(&mut editor, &key.to_string());
        assert!(editor.text().is_char_boundary(editor.cursor()));
        if editor.text().len() > 2_000 {
            editor.take();
        }
    }
}
