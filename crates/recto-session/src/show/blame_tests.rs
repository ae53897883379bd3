use recto_log::RawLine;
use recto_log::decode;

use super::*;

fn text(lines: &str) -> String {
    lines.split_whitespace().map(|line| format!("{line}\n")).collect()
}

fn create(after: &str) -> FileChange {
    FileChange { after: Some(text(after)), is_new: true, ..FileChange::default() }
}

fn write(before: Option<&str>, after: &str, hunks: &[Hunk]) -> FileChange {
    FileChange {
        before: before.map(text),
        after: Some(text(after)),
        hunks: hunks.to_vec(),
        ..FileChange::default()
    }
}

fn edit(before: Option<&str>, old: &str, new: &str) -> FileChange {
    FileChange {
        before: before.map(text),
        replaced: Some((text(old), text(new))),
        ..FileChange::default()
    }
}

fn patch(hunks: &[Hunk]) -> FileChange {
    FileChange { hunks: hunks.to_vec(), ..FileChange::default() }
}

fn hunk(start: usize, lines: &[&str]) -> Hunk {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    Hunk { old_start: start, new_start: start, lines }
}

/// The writers of the text now, a digit a line; `?` is unknown.
fn blamed(changes: &[FileChange], now: &str) -> String {
    let mut blame = Blame::default();
    for (writer, change) in changes.iter().enumerate() {
        blame.apply(writer, change);
    }
    let writers = blame.writers(&text(now)).into_iter();
    writers.map(|writer| writer.map_or("?".to_owned(), |writer| writer.to_string())).collect()
}

#[test]
fn lines_belong_to_the_change_that_wrote_them_last() {
    assert_eq!(blamed(&[create("a b c")], "a b c"), "000");
    let changes = [create("a b c"), edit(Some("a b c"), "b", "x y"), create("a z")];
    assert_eq!(blamed(&changes[..2], "a x y c"), "0110");
    assert_eq!(blamed(&changes[..2], "a x c"), "010");
    assert_eq!(blamed(&changes, "a z"), "22", "a file that was made anew has one writer");
    let changes = [create("a b c"), write(Some("a b c"), "a c d", &[])];
    assert_eq!(blamed(&changes, "a c d"), "001");
}

#[test]
fn nothing_is_known_of_a_file_without_changes() {
    assert_eq!(blamed(&[], "a b"), "??");
    assert_eq!(blamed(&[], ""), "");
}

#[test]
fn what_happened_outside_is_unknown() {
    assert_eq!(blamed(&[create("a b c")], "a out c"), "0?0");
    // The log has the text before the second change, which shows it.
    let changes = [create("a b c"), edit(Some("a out c"), "c", "d")];
    assert_eq!(blamed(&changes, "a out d"), "0?1");
    assert_eq!(blamed(&[edit(Some("a b c"), "b", "x")], "a x c"), "?0?");
}

#[test]
fn a_file_that_went_back_has_its_writers_again() {
    let changes = [create("a b c"), edit(Some("a b c"), "b", "x")];
    assert_eq!(blamed(&changes, "a b c"), "000");
    let changes = [create("a b c"), edit(Some("a b c"), "b", "x"), edit(Some("a b c"), "c", "y")];
    assert_eq!(blamed(&changes, "a b y"), "002");
}

#[test]
fn a_write_over_an_unknown_file_counts_by_its_patch() {
    let hunks = [hunk(1, &[" a", "-b", "+x", " c"])];
    assert_eq!(blamed(&[write(None, "a x c", &hunks)], "a x c"), "?0?");
    assert_eq!(blamed(&[write(None, "a x c", &[])], "a x c"), "???");
}

#[test]
fn a_patch_applies_where_its_lines_are() {
    let file = "a b c d e f g h";
    let here = patch(&[hunk(2, &[" b", "-c", "+x", " d"]), hunk(6, &[" f", "+y", " g"])]);
    assert_eq!(blamed(&[create(file), here], "a b x d e f y g h"), "001000100");
    let moved = patch(&[hunk(4, &[" b", "-c", "+x", " d"])]);
    assert_eq!(blamed(&[create(file), moved], "a b x d e f g h"), "00100000");
}

#[test]
fn a_patch_of_an_unknown_file_counts_where_a_line_is_unique() {
    let unknown = patch(&[hunk(3, &[" {", "+new", "+}", " last"])]);
    assert_eq!(blamed(std::slice::from_ref(&unknown), "1 2 { new } last 3 }"), "???00???");
    assert_eq!(blamed(&[unknown], "1 } 2"), "???", "a brace alone says nothing");
    // It fits nowhere: what it says is kept, the rest is no longer certain.
    let lost = patch(&[hunk(1, &["-gone", "+here", "+}"])]);
    assert_eq!(blamed(&[create("alpha b gamma"), lost], "here } alpha b gamma"), "11000");
}

#[test]
fn a_replacement_needs_no_patch() {
    let twice = FileChange { replaces_all: true, ..edit(None, "b", "x") };
    assert_eq!(blamed(&[create("a b c b"), twice], "a x c x"), "0101");
    assert_eq!(blamed(&[create("a b c b"), edit(None, "b", "x")], "a x c b"), "0?00");
    assert_eq!(blamed(&[create("a b c"), edit(None, "b", "x")], "a x c"), "010");
}

#[test]
fn patches_show_tabs_as_spaces() {
    let mut blame = Blame::default();
    blame.apply(0, &FileChange { after: Some("if\n\tone\nfi\n".into()), ..create("") });
    blame.apply(1, &patch(&[hunk(1, &[" if", "   one", "+    two", " fi"])]));
    assert_eq!(blame.writers("if\n\tone\n\t\ttwo\nfi\n"), [Some(0), Some(0), Some(1), Some(0)]);
    let spaces = blame.writers("if\n  one\n    two\nfi\n");
    assert_eq!(spaces, [Some(0), None, Some(1), Some(0)], "tabs that became spaces are a change");
    assert_eq!(blame.writers("if\r\n\tone\r\n")[1], Some(0), "line ends are no text");
}

#[test]
fn absurd_patches_do_no_harm() {
    for start in [0, 1, 5_000_000, usize::MAX] {
        let change = patch(&[hunk(start, &["+x", "-y", "", "+ü"]), hunk(start, &[])]);
        assert_eq!(blamed(&[create("a"), change.clone(), change], "a b").len(), 2);
    }
}

#[test]
fn changes_are_read_from_a_log() {
    let read = |result: &str| {
        let line = format!(r#"{{"type":"user","message":{{}},"toolUseResult":{result}}}"#);
        FileChange::of(&decode(RawLine::alone(line.as_bytes())).0)
    };
    let edit = read(
        r#"{"filePath":"/f","oldString":"a","newString":"b","originalFile":"a\n","structuredPatch":[{"oldStart":3,"newStart":4,"lines":["-a","+b","\\ No newline at end of file"]}]}"#,
    );
    let edit = edit.unwrap();
    assert_eq!(edit.before.as_deref(), Some("a\n"));
    assert_eq!(edit.replaced, Some(("a".into(), "b".into())));
    let lines = vec!["-a".to_owned(), "+b".into()];
    assert_eq!(edit.hunks, [Hunk { old_start: 3, new_start: 4, lines }]);
    let written = read(
        r#"{"type":"create","filePath":"/f","content":"x","structuredPatch":[],"originalFile":null}"#,
    );
    assert_eq!(
        written,
        Some(FileChange {
            path: "/f".into(),
            after: Some("x".into()),
            is_new: true,
            ..FileChange::default()
        })
    );
    assert_eq!(read(r#"{"stdout":"x"}"#), None);
    assert_eq!(read(r#""Error""#), None);
}
